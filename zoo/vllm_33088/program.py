# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The fused product and reduce_scatter takes the mean of partial sums.

Partial products of a row-parallel linear are to be added; the rewrite averaged them.
"""

import torch.nn.functional as F

from zoo.common.collectives import all_gather, reduce_scatter

ISSUE = ("vllm-project/vllm", 33088)
MESH = {"tp": [[0, 1, 2, 3]]}
INPUTS = {"x": (8, 16), "w": (16, 8), "residual": (8, 8)}
RELATIONS = {
    "inputs": {"x": "shard(x, 1)", "w": "shard(w, 0)", "residual": "shard(residual, 0)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("averaged",)


def reference(x, w, residual):
    return F.silu(residual + x @ w)


def faulty(mesh, x, w, residual):
    rows = reduce_scatter(x @ w, mesh.tp, reduction="avg")  # the fault
    hidden = residual + rows  # its first reader
    return all_gather(F.silu(hidden), mesh.tp)


def mended(mesh, x, w, residual):
    rows = reduce_scatter(x @ w, mesh.tp)
    return all_gather(F.silu(residual + rows), mesh.tp)
