# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor: a number is added to a partial sum on every rank, and so counts once a rank."""

from zoo.common.collectives import all_reduce

ISSUE = ("pytorch/pytorch", 163193)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (10, 4), "y": (4,)}
RELATIONS = {"inputs": {"x": "shard(x, 0)"}, "outputs": {"0": "replicated"}}
SAYS = ("every rank", "each rank")


def reference(x, y):
    return (x.sum(0) + 10) * y


def faulty(mesh, x, y):
    total = x.sum(0) + 10  # the fault
    total = all_reduce(total, mesh.tp)  # its first reader
    return total * y


def mended(mesh, x, y):
    return (all_reduce(x.sum(0), mesh.tp) + 10) * y
