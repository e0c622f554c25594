# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A packed projection is gathered as if it were one.

Each rank's shard is [q k v] of its own heads; the gather makes [q0 k0 v0 q1 k1 v1] of it,
and whoever takes the first third for the queries reads keys and values.
"""

import torch

from zoo.common.collectives import all_gather

ISSUE = ("ndif-team/nnsight", 719)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (4, 8), "wq": (8, 8), "wk": (8, 4), "wv": (8, 4)}
RELATIONS = {
    "inputs": {"wqkv": "cat([shard(wq, 1), shard(wk, 1), shard(wv, 1)], 1)"},
    "outputs": {"0": "replicated", "1": "replicated"},
}
SAYS = ("order",)


def reference(x, wq, wk, wv):
    packed = x @ torch.cat([wq, wk, wv], 1)
    return packed, packed[:, :8].exp()


def faulty(mesh, x, wqkv):
    packed = all_gather(x @ wqkv, mesh.tp, dim=1)  # the fault
    return packed, packed[:, :8].exp()  # its first reader


def mended(mesh, x, wqkv):
    parts = (x @ wqkv).split([4, 2, 2], 1)
    packed = torch.cat([all_gather(part, mesh.tp, dim=1) for part in parts], 1)
    return packed, packed[:, :8].exp()
