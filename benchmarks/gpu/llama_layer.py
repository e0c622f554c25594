# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""One layer of a Llama, with grouped queries, and the plans that parallelize it."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel


class Sizes(NamedTuple):
    width: int
    heads: int
    kv_heads: int
    hidden: int
    tokens: int


class Layer(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.head_dim = sizes.width // sizes.heads

        def linear(inputs, outputs):
            return torch.nn.Linear(inputs, outputs, bias=False)

        self.query = linear(sizes.width, sizes.width)
        self.key = linear(sizes.width, sizes.kv_heads * self.head_dim)
        self.value = linear(sizes.width, sizes.kv_heads * self.head_dim)
        self.attended = linear(sizes.width, sizes.width)
        self.gate = linear(sizes.width, sizes.hidden)
        self.up = linear(sizes.width, sizes.hidden)
        self.down = linear(sizes.hidden, sizes.width)
        self.attention_norm = torch.nn.RMSNorm(sizes.width)
        self.norm = torch.nn.RMSNorm(sizes.width)

    def forward(self, x):
        def heads(projected):
            return projected.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

        normed = self.attention_norm(x)
        query, key, value = (heads(p(normed)) for p in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=True
        )
        x = x + self.attended(attended.transpose(1, 2).flatten(2))
        normed = self.norm(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


PROJECTIONS = ("query", "key", "value", "gate", "up")
PLANS = {
    "all_reduce": {
        **{name: ColwiseParallel() for name in PROJECTIONS},
        "attended": RowwiseParallel(),
        "down": RowwiseParallel(),
    },
    "sequence_parallel": {
        "attention_norm": SequenceParallel(),
        "norm": SequenceParallel(),
        **{name: ColwiseParallel(input_layouts=Shard(1)) for name in PROJECTIONS},
        "attended": RowwiseParallel(output_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1)),
    },
}
