# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The mixture layer is reduced by all_reduce, and again by reduce_scatter.

The block reduces its experts over all ranks; the code after it reduce-scatters the result
over the same ranks, which sums as many copies as there are ranks.
"""

import torch.nn.functional as F

from zoo.common.collectives import all_reduce, reduce_scatter, shard

ISSUE = ("sgl-project/sglang", 37199)
MESH = {"tp": [[0, 1, 2, 3]]}
INPUTS = {"x": (8, 8), "residual": (8, 8), "up": (8, 16), "down": (16, 8)}
RELATIONS = {
    "inputs": {"residual": "shard(residual, 0)", "up": "shard(up, 1)", "down": "shard(down, 0)"},
    "outputs": {"0": "shard(0)"},
}
SAYS = ("4 times",)


def reference(x, residual, up, down):
    return residual + F.silu(x @ up) @ down


def faulty(mesh, x, residual, up, down):
    experts = all_reduce(F.silu(x @ up) @ down, mesh.tp)
    mine = reduce_scatter(experts, mesh.tp)  # the fault
    return residual + mine  # its first reader


def mended(mesh, x, residual, up, down):
    experts = all_reduce(F.silu(x @ up) @ down, mesh.tp)
    return residual + shard(experts, mesh.tp)
