# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fused product and reduce_scatter along dim 1: the scatter dim is not moved back (the
faulty line is reconstructed from the description).

The op moves the scatter dim to the front before the product, and must move it back before
the reduction. A view of the same shape mixes batches and tokens.
"""

from zoo.common.collectives import reduce_scatter

ISSUE = ("pytorch/pytorch", 153595)
MESH = {"tp": [[0, 1]]}
INPUTS = {"residual": (2, 6, 5), "a": (2, 6, 8), "b": (8, 5)}
RELATIONS = {
    "inputs": {"residual": "shard(residual, 1)", "a": "shard(a, 2)", "b": "shard(b, 0)"},
    "outputs": {"0": "shard(1)"},
}
SAYS = ("permuted the dims",)


def reference(residual, a, b):
    return residual + a @ b


def faulty(mesh, residual, a, b):
    mine = reduce_scatter(a.movedim(1, 0) @ b, mesh.tp)
    mine = mine.view(2, 3, 5)  # the fault
    return residual + mine  # its first reader


def mended(mesh, residual, a, b):
    mine = reduce_scatter(a.movedim(1, 0) @ b, mesh.tp)
    return residual + mine.movedim(0, 1)
