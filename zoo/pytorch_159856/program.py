# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor: the norm of partial sums is summed, which is not the norm of the sum."""

from zoo.common.collectives import all_reduce

ISSUE = ("pytorch/pytorch", 159856)
MESH = {"tp": [[0, 1]]}
INPUTS = {"gradient": (4, 6), "limit": (1,)}
RELATIONS = {"inputs": {"gradient": "partial(gradient)"}, "outputs": {"0": "replicated"}}
SAYS = ("no rank has reduced",)


def reference(gradient, limit):
    norm = gradient.square().sum().sqrt()
    return gradient * (limit / norm)


def faulty(mesh, gradient, limit):
    squares = gradient.square().sum()  # the fault
    norm = squares.sqrt()  # its first reader
    norm = all_reduce(norm, mesh.tp)
    return all_reduce(gradient, mesh.tp) * (limit / norm)


def mended(mesh, gradient, limit):
    gradient = all_reduce(gradient, mesh.tp)
    norm = gradient.square().sum().sqrt()
    return gradient * (limit / norm)
