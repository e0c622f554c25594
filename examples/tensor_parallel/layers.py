# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sharded parameters and the layers made of them.

Every module here computes on the *local* tensors of one rank. Nothing knows
about DTensor: a parameter holds this rank's shard, and only remembers how it
was cut (`shard_of`), so that the weights of any rank can be made
(`initialize`) and the placements can be written into the archive
(`placements`).
"""

import zlib
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Group:
    """A process group as the functional collectives see it: a name."""

    name: str
    size: int


@dataclass(frozen=True)
class Sharding:
    """How a local parameter was cut out of the global one.

    `parts` is the number of matrices fused along `dim` (3 for a fused
    query-key-value projection): each part is cut on its own, so that every
    rank has its share of each.
    """

    dim: int
    parts: int = 1


def divide(amount, group, what):
    """The share of one rank; an error if the ranks' shares are not equal."""
    if amount % group.size:
        raise ValueError(
            f"{what} ({amount}) must be divisible by the tensor-parallel size ({group.size})"
        )
    return amount // group.size


def replicated(*shape):
    """A parameter that is the same on all ranks."""
    return nn.Parameter(torch.empty(*shape))


def sharded(*shape, dim, parts=1):
    """A parameter of which each rank holds a shard of the given (local) shape."""
    parameter = nn.Parameter(torch.empty(*shape))
    parameter.sharding = Sharding(dim, parts)
    return parameter


def sharding(tensor):
    return getattr(tensor, "sharding", None)


class ColumnParallelLinear(nn.Module):
    """y = x W^T (+ b), output features sharded: needs a full x, gives a shard of y."""

    def __init__(self, inputs, outputs, group, bias=False):
        super().__init__()
        local = divide(outputs, group, "output features")
        self.weight = sharded(local, inputs, dim=0)
        self.bias = sharded(local, dim=0) if bias else None

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """y = x W^T (+ b), input features sharded: takes a shard of x, gives a partial sum.

    `reduce` turns the partial sum into the value (all_reduce or
    reduce_scatter). The bias is added once, after it.
    """

    def __init__(self, inputs, outputs, group, reduce, bias=False):
        super().__init__()
        self.weight = sharded(outputs, divide(inputs, group, "input features"), dim=1)
        self.bias = replicated(outputs) if bias else None
        self.reduce = reduce

    def forward(self, x):
        y = self.reduce(F.linear(x, self.weight))
        return y if self.bias is None else y + self.bias


class RMSNorm(nn.Module):
    """RMS norm, as PyTorch's fused op or as most model code spells it out."""

    def __init__(self, size, fused, epsilon=1e-5):
        super().__init__()
        self.weight = replicated(size)
        self.fused = fused
        self.epsilon = epsilon

    def forward(self, x):
        if self.fused:
            return F.rms_norm(x, (x.shape[-1],), self.weight, self.epsilon)
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(variance + self.epsilon)).to(x.dtype)


class LayerNorm(nn.Module):
    def __init__(self, size, epsilon=1e-5):
        super().__init__()
        self.weight = replicated(size)
        self.bias = replicated(size)
        self.epsilon = epsilon

    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias, self.epsilon)


class Embedding(nn.Module):
    """A table that every rank holds whole."""

    def __init__(self, entries, size):
        super().__init__()
        self.weight = replicated(entries, size)

    def forward(self, index):
        return F.embedding(index, self.weight)


class VocabularyParallelEmbedding(nn.Module):
    """A table whose entries are sharded: each rank looks up the tokens it holds.

    The first token of the rank's shard is a buffer, not a Python number:
    every rank then runs the same graph.
    """

    def __init__(self, entries, size, group, reduce):
        super().__init__()
        self.weight = sharded(divide(entries, group, "vocabulary"), size, dim=0)
        self.register_buffer("first_token", torch.zeros(1, dtype=torch.int64))
        self.first_token.sharding = Sharding(dim=0)
        self.reduce = reduce

    def set_rank(self, rank):
        self.first_token.fill_(rank * self.weight.shape[0])

    def forward(self, tokens):
        local = tokens - self.first_token
        elsewhere = (local < 0) | (local >= self.weight.shape[0])
        rows = F.embedding(local.masked_fill(elsewhere, 0), self.weight)
        return self.reduce(rows.masked_fill(elsewhere.unsqueeze(-1), 0.0))


def draw(shape, seed):
    """Reproducible numbers in [-2, 2], the same bits on every processor.

    torch.randn would not do: its last bit depends on the vector instructions.
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-512, 513, list(shape), generator=generator) / 256


def initialize(model, group, rank, seed=0):
    """Gives `model` the weights of one rank.

    A global tensor is drawn from a seed made of the parameter's name and then
    cut, so that the ranks together hold one model, the same for every
    tensor-parallel size.
    """
    for name, parameter in model.named_parameters():
        cut = sharding(parameter)
        shape = list(parameter.shape)
        if cut:
            shape[cut.dim] *= group.size
        value = draw(shape, zlib.crc32(name.encode()) + seed)
        is_norm = len(shape) == 1 and name.endswith("weight")
        value = 1 + 0.1 * value if is_norm else value / (shape[-1] ** 0.5)
        if cut:
            parts = value.chunk(cut.parts, cut.dim)
            value = torch.cat([p.chunk(group.size, cut.dim)[rank] for p in parts], cut.dim)
        with torch.no_grad():
            parameter.copy_(value)
    for module in model.modules():
        if isinstance(module, VocabularyParallelEmbedding):
            module.set_rank(rank)


def placements(model):
    """{fully qualified name: placement} of all parameters and buffers."""
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return {
        name: f"shard({sharding(tensor).dim})" if sharding(tensor) else "replicated"
        for name, tensor in tensors
    }
