# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Ulysses' exchange mixes tokens of different batches.

The exchange sends blocks of heads and receives blocks of positions. What arrives is
ordered by rank, batch and position; it was reshaped as if it were ordered by batch, rank
and position, which is the same for a batch of one.
"""

import torch

from zoo.common.collectives import all_to_all

ISSUE = ("deepspeedai/DeepSpeed", 5664)
MESH = {"sp": [[0, 1]]}
INPUTS = {"x": (2, 6, 4, 3)}
RELATIONS = {"inputs": {"x": "shard(x, 1)"}, "outputs": {"0": "shard(2)"}}
SAYS = ("order", "index")


def reference(x):
    return torch.softmax(x, 1)


def exchanged(mesh, x):
    batch, rows, heads, size = x.shape
    blocks = x.reshape(batch, rows, mesh.sp.size, heads // mesh.sp.size, size)
    return all_to_all(blocks.permute(2, 0, 1, 3, 4), mesh.sp)


def faulty(mesh, x):
    received = exchanged(mesh, x)
    whole = received.reshape(2, 6, 2, 3)  # the fault
    return torch.softmax(whole, 1)  # its first reader


def mended(mesh, x):
    received = exchanged(mesh, x)
    whole = received.transpose(0, 1).reshape(2, 6, 2, 3)
    return torch.softmax(whole, 1)
