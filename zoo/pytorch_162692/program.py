# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor: a mean over uneven shards is the mean of the shards' means.

Three rows on two ranks are two and one: each rank's mean has the same weight.
"""

from zoo.common.collectives import all_reduce

ISSUE = ("pytorch/pytorch", 162692)
MESH = {"dp": [[0, 1]]}
INPUTS = {"x": (3, 4)}
RELATIONS = {"inputs": {"x": "shard(x, 0)"}, "outputs": {"0": "replicated"}}
SAYS = ("needs all of dim",)


def reference(x):
    return x.mean()


def faulty(mesh, x):
    mean = x.mean()  # the fault
    return all_reduce(mean, mesh.dp, "avg")  # its first reader


def mended(mesh, x):
    return all_reduce(x.sum(), mesh.dp) / (3 * 4)
