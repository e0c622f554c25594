# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models of Megatron-core."""

from unittest import mock

import torch
import torch.nn.functional as F
from megatron.core import parallel_state
from megatron.core.models.gpt import gpt_layer_specs
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.tensor_parallel import layers
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.mlp import MLP
from megatron.core.transformer.transformer_config import TransformerConfig

IDS = torch.arange(16).reshape(2, 8) * 5 % 64
POSITIONS = torch.arange(8).expand(2, 8)
MASK = torch.ones(1, 1, 8, 8).triu(1).bool()
LABELS = IDS.flip(1)


class LocalNorm(torch.nn.RMSNorm):
    """Megatron's norm without Apex and TransformerEngine, which refuses sequence parallelism."""

    def __init__(self, config, hidden_size, eps=1e-5):
        super().__init__(hidden_size, eps)
        self.weight.sequence_parallel = config.sequence_parallel


def loss(model, ids, positions, mask, labels):
    return model(ids, positions, mask, labels=labels).mean()


def gpt(rank, world, layers=1, sequence_parallel=False, **options):
    """A GPT with RMSNorm and rotary positions, and its vocabulary-parallel loss."""
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=world)
    model_parallel_cuda_manual_seed(1)
    torch.manual_seed(1)
    config = TransformerConfig(
        num_layers=layers, hidden_size=32, num_attention_heads=8, use_cpu_initialization=True,
        tensor_model_parallel_size=world, sequence_parallel=sequence_parallel and world > 1,
        hidden_dropout=0.0, attention_dropout=0.0, bias_dropout_fusion=False,
        gradient_accumulation_fusion=False, **options,
    )  # fmt: skip
    with mock.patch("megatron.core.models.backends.LNImpl", LocalNorm):
        spec = gpt_layer_specs.get_gpt_layer_local_spec()
    with mock.patch("megatron.core.transformer.transformer_block.LayerNormImpl", LocalNorm):
        model = GPTModel(config, spec, 64, 16, position_embedding_type="rope")
    return model, (IDS, POSITIONS, MASK, LABELS), loss


SWIGLU = {"gated_linear_unit": True, "activation_func": F.silu, "add_bias_linear": False}


def swiglu(rank, world):
    """Two layers with packed gate and up projections, and fewer key heads than query heads."""
    return gpt(rank, world, layers=2, num_query_groups=4, **SWIGLU)


def sequence_parallel(rank, world):
    return gpt(rank, world, sequence_parallel=True, **SWIGLU)


#
# Planted faults: lines of Megatron as if they were others
#


def forgotten_reduction(rank, world):
    """The output of the attention is not summed over the ranks."""
    made = gpt(rank, world)
    made[0].decoder.layers[0].self_attention.linear_proj.explicit_expert_comm = world > 1
    return made


def wrong_shard(rank, world):
    """The packed gate and up projection is cut once, not each part for itself."""
    made = gpt(rank, world, **SWIGLU)
    for module in made[0].modules():
        if isinstance(module, MLP) and world > 1:
            module.linear_fc1.weight.partition_stride = 1
    return made


def wrong_scale(rank, world):
    """Logits are divided by the size of a group that they are not summed over."""
    made = gpt(rank, world)
    if world > 1:
        copy = layers.copy_to_tensor_model_parallel_region
        size = torch.distributed.get_world_size()
        mock.patch.object(
            layers, "copy_to_tensor_model_parallel_region",
            lambda x, group=None: copy(x, group=group) / size,
        ).start()  # fmt: skip
    return made
