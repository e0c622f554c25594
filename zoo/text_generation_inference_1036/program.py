# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A row-parallel linear adds its bias on every rank, before the sum."""

import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("huggingface/text-generation-inference", 1036)
MESH = {"tp": [[0, 1, 2, 3]]}
INPUTS = {"x": (4, 8), "up": (16, 8), "up_bias": (16,), "down": (8, 16), "down_bias": (8,)}
RELATIONS = {
    "inputs": {"up": "shard(up, 0)", "up_bias": "shard(up_bias, 0)", "down": "shard(down, 1)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("every rank",)


def reference(x, up, up_bias, down, down_bias):
    return x + F.linear(F.gelu(F.linear(x, up, up_bias)), down, down_bias)


def faulty(mesh, x, up, up_bias, down, down_bias):
    partial = F.linear(F.gelu(F.linear(x, up, up_bias)), down, down_bias)  # the fault
    return x + all_reduce(partial, mesh.tp)  # its first reader


def mended(mesh, x, up, up_bias, down, down_bias):
    partial = F.linear(F.gelu(F.linear(x, up, up_bias)), down)
    return x + (all_reduce(partial, mesh.tp) + down_bias)
