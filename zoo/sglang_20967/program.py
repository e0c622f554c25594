# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fewer key heads than ranks: the key norm's weight is cut by rank, not by head.

Each key head is on two ranks. The norm spans all heads; its variance is reduced over all
ranks, and each head occurs equally often. The rank must take the weight of the head it
has. A cousin of the thread's program, whose shards of the weight were half a head.
"""

import torch

from zoo.common.collectives import all_reduce

ISSUE = ("sgl-project/sglang", 20967)
MESH = {"head": [[0, 2], [1, 3]], "tp": [[0, 1, 2, 3]]}
INPUTS = {"x": (5, 8), "query": (8, 16), "key": (8, 8), "norm": (8,), "out": (20, 6)}
RELATIONS = {
    "inputs": {
        "query": "shard(query, 1, tp)", "key": "shard(key, 1, head)", "out": "shard(out, 0, tp)",
    },
    "outputs": {"0": "replicated"},
}  # fmt: skip
SAYS = ("on rank 1 holds block 1 of 2",)


def reference(x, query, key, norm, out):
    keys = x @ key
    keys = keys * torch.rsqrt(keys.square().mean(-1, keepdim=True) + 1e-5) * norm
    keys = keys.unflatten(-1, (2, 4)).repeat_interleave(2, 1)
    queries = (x @ query).unflatten(-1, (4, 4))
    attention = torch.softmax(queries.transpose(0, 1) @ keys.permute(1, 2, 0), -1)
    return attention.transpose(0, 1).flatten(1) @ out


def normalize(mesh, keys):
    variance = all_reduce(keys.square().mean(-1, keepdim=True), mesh.tp) / mesh.tp.size
    return keys * torch.rsqrt(variance + 1e-5)


def faulty(mesh, x, query, key, norm, out):
    weight = norm.narrow(0, mesh.tp.index % 2 * 4, 4)  # the fault
    keys = normalize(mesh, x @ key) * weight  # its first reader
    attention = torch.softmax((x @ query) @ keys.t(), -1)
    return all_reduce(attention @ out, mesh.tp)


def mended(mesh, x, query, key, norm, out):
    weight = norm.narrow(0, mesh.tp.index // 2 * 4, 4)
    keys = normalize(mesh, x @ key) * weight
    attention = torch.softmax((x @ query) @ keys.t(), -1)
    return all_reduce(attention @ out, mesh.tp)
