# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models of fairscale's layers, with which Meta's reference code of Llama is written."""

from unittest import mock

import torch
import torch.nn.functional as F
from fairscale.nn.model_parallel import initialize_model_parallel, layers
from torch import nn

IDS = torch.arange(16).reshape(2, 8) % 12


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        options = {"bias": False, "init_method": nn.init.normal_}
        self.w1 = layers.ColumnParallelLinear(8, 16, gather_output=False, **options)
        self.w2 = layers.RowParallelLinear(16, 8, input_is_parallel=True, **options)
        self.w3 = layers.ColumnParallelLinear(8, 16, gather_output=False, **options)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Model(nn.Module):
    def __init__(self, embedding=layers.ParallelEmbedding, gather_output=True):
        super().__init__()
        self.embedding = embedding(12, 8, init_method=nn.init.normal_)
        self.layers = nn.ModuleList(FeedForward() for _ in range(2))
        self.head = layers.ColumnParallelLinear(
            8, 12, bias=False, init_method=nn.init.normal_, gather_output=gather_output
        )

    def forward(self, ids):
        h = self.embedding(ids)
        for layer in self.layers:
            h = h + layer(h)
        return self.head(h).float()


def llama(rank, world, **options):
    initialize_model_parallel(world)
    torch.manual_seed(1)
    return Model(**options), (IDS,)


def vocabulary(rank, world):
    return llama(rank, world, embedding=layers.VocabParallelEmbedding)


def forgotten_gather(rank, world):
    return llama(rank, world, gather_output=world == 1)


def forgotten_reduction(rank, world):
    made = llama(rank, world)
    if world > 1:
        mock.patch.object(layers, "reduce_from_model_parallel_region", lambda x: x).start()
    return made


def wrong_scale(rank, world):
    made = llama(rank, world)
    if world > 1:
        reduce = layers.reduce_from_model_parallel_region
        mock.patch.object(
            layers, "reduce_from_model_parallel_region", lambda x: reduce(x) / world
        ).start()
    return made
