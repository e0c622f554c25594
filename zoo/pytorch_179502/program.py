# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor: a view of a tensor that is sharded by columns passes for one sharded by rows."""

import torch.nn.functional as F

from zoo.common.collectives import all_gather, shard

ISSUE = ("pytorch/pytorch", 179502)
MESH = {"tp": [[0, 1, 2, 3]]}
INPUTS = {"x": (12, 8), "scale": (6,)}
RELATIONS = {"inputs": {"x": "shard(x, 1)"}, "outputs": {"0": "shard(0)"}}
SAYS = ("shard along dim 1", "order")


def reference(x, scale):
    return F.silu(x.reshape(16, 6)) * scale


def faulty(mesh, x, scale):
    rows = x.reshape(4, 6)  # the fault
    return F.silu(rows) * scale  # its first reader


def mended(mesh, x, scale):
    rows = shard(all_gather(x, mesh.tp, dim=1).reshape(16, 6), mesh.tp)
    return F.silu(rows) * scale
