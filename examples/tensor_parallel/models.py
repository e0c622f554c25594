# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The models by name: module, inputs, and how the inputs lie on the ranks."""

from dataclasses import dataclass, replace

import torch
from torch import nn
from torch.export import Dim

from .bert import BertModel
from .every_collective import EveryCollective, InPlaceCollectives, InPlaceWithHoles
from .gpt2 import GPT2Model
from .layers import divide, draw
from .llama import LlamaBlocks, LlamaModel

DESCRIPTIONS = {
    "llama": "Llama blocks between activations, one all_reduce per region",
    "llama_model": "the same between tokens and logits, embedding and head sharded by vocabulary",
    "llama_sequence_parallel": "Llama blocks, activations sharded along the sequence",
    "llama_transposed_gather": "parallel attention and MLP, a transposed value in two all-gathers",
    "qwen": "Llama blocks with query-key-value bias and a norm per head",
    "gpt2": "GPT-2: layer norm first, fused query-key-value with weights [inputs, outputs]",
    "bert": "BERT: norm after the residual, attention mask, token types",
    "every_collective": "no model: each functional collective once, on two groups",
    "in_place_collectives": "no model: all_reduce_ and broadcast_, also on a transposed value",
    "in_place_with_holes": "no model: all_reduce_ of every other column, wrong in eager PyTorch",
}

ONLY_COMMUNICATING = ("every_collective", "in_place_collectives", "in_place_with_holes")


@dataclass
class Input:
    """A graph input of one rank.

    `shape` is local. `sharded_dim` is None for a value that all ranks share.
    `dynamic` names the dims that --dynamic leaves symbolic, with their largest
    size.
    """

    shape: tuple
    sharded_dim: int | None = None
    integers_below: int | None = None
    dynamic: dict | None = None

    def dtype(self, activations):
        return torch.int64 if self.integers_below else activations

    def value(self, dtype, group, rank, seed):
        shape = list(self.shape)
        if self.sharded_dim is not None:
            shape[self.sharded_dim] *= group.size
        if self.integers_below:
            generator = torch.Generator().manual_seed(seed)
            value = torch.randint(self.integers_below, shape, generator=generator)
        else:
            value = draw(shape, seed).to(dtype)
        if self.sharded_dim is not None:
            value = value.chunk(group.size, self.sharded_dim)[rank].clone()
        return value

    @property
    def placement(self):
        return "replicated" if self.sharded_dim is None else f"shard({self.sharded_dim})"


@dataclass
class Model:
    module: nn.Module
    inputs: dict  # name of the forward argument -> Input
    output: str = "replicated"  # the placement of the first output

    def dynamic_shapes(self):
        # One Dim object per name: equal sizes get one symbol.
        dims = {}
        shapes = {}
        for name, entry in self.inputs.items():
            if not entry.dynamic:
                raise ValueError(f"this model has no dynamic form (input {name} has fixed sizes)")
            shapes[name] = {
                dim: dims.setdefault(label, Dim(label, min=2, max=largest))
                for dim, (label, largest) in entry.dynamic.items()
            }
        return shapes


def _tokens(config, below):
    dynamic = {0: ("batch", 1024), 1: ("sequence", config.positions)}
    return Input((config.batch, config.sequence), integers_below=below, dynamic=dynamic)


def _activations(config, group):
    """The hidden states: whole, or this rank's shard of the sequence."""
    sequence, largest, sharded_dim = config.sequence, config.positions, None
    sequence_dim = 0 if config.layout == "sequence_first" else 1
    if config.sequence_parallel:
        sequence = divide(sequence, group, "sequence")
        largest = largest // group.size
        sharded_dim = sequence_dim
    shape = [config.batch, config.batch, config.hidden]
    shape[sequence_dim] = sequence
    dynamic = {1 - sequence_dim: ("batch", 1024), sequence_dim: ("sequence", largest)}
    return Input(tuple(shape), sharded_dim, dynamic=dynamic)


def build(name, config, world, pair):
    """The model `name` for one rank of `world`; `pair` is a subgroup of it."""
    if name in ONLY_COMMUNICATING:
        rows = 2 * world.size
        inputs = {"x": Input((rows, 2 * rows), sharded_dim=0)}
        if name == "every_collective":
            return Model(EveryCollective(world, pair), inputs)
        module = InPlaceCollectives if name == "in_place_collectives" else InPlaceWithHoles
        return Model(module(world), inputs)
    if name == "gpt2":
        return Model(GPT2Model(config, world), {"tokens": _tokens(config, config.vocabulary)})
    if name == "bert":
        inputs = {
            "tokens": _tokens(config, config.vocabulary),
            "attention_mask": _tokens(config, 2),
            "token_types": _tokens(config, 2),
        }
        return Model(BertModel(config, world), inputs)
    if name == "llama_model":
        return Model(LlamaModel(config, world), {"tokens": _tokens(config, config.vocabulary)})
    if name == "qwen":
        config = replace(config, qkv_bias=True, qk_norm=True)
    elif name == "llama_sequence_parallel":
        config = replace(config, sequence_parallel=True)
    elif name == "llama_transposed_gather":
        config = replace(config, sequence_parallel=True, layout="transposed")
    elif name != "llama":
        raise ValueError(f"no model named {name}; there are {', '.join(DESCRIPTIONS)}")
    activations = _activations(config, world)
    return Model(LlamaBlocks(config, world), {"x": activations}, activations.placement)
