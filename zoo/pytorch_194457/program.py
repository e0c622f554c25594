# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor: nested uneven shards are gathered at once, as if they were cut at once.

Five rows over two ranks, and each part over two, are 2, 1, 1 and 1; five rows over four
ranks are 2, 2, 1 and 0. The flattened gather removed padding where the latter has it.
"""

import torch
import torch.nn.functional as F

from zoo.common.collectives import all_gather

ISSUE = ("pytorch/pytorch", 194457)
MESH = {"dp": [[0, 2], [1, 3]], "tp": [[0, 1], [2, 3]], "world": [[0, 1, 2, 3]]}
INPUTS = {"x": (5, 3), "w": (3, 4)}
RELATIONS = {
    "inputs": {"x": "shard(shard(x, 0, dp), 0, tp)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("order", "index")


def reference(x, w):
    return F.silu(x) @ w


def gather_padded(mesh, x):
    padded = torch.cat([x, x.new_zeros(2 - x.shape[0], 3)])
    return all_gather(padded, mesh.world).split(2)


def faulty(mesh, x, w):
    blocks = gather_padded(mesh, x)
    rows = [block[:count] for block, count in zip(blocks, (2, 2, 1))]
    whole = torch.cat(rows)  # the fault
    return F.silu(whole) @ w  # its first reader


def mended(mesh, x, w):
    blocks = gather_padded(mesh, x)
    rows = [block[:count] for block, count in zip(blocks, (2, 1, 1, 1))]
    return F.silu(torch.cat(rows)) @ w
