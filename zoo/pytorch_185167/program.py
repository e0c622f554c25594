# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor: a weighted mean over a sharded batch is the mean of the shards' means.

The loss divides by the sum of the weights of its targets, which differs between shards.
"""

import torch.nn.functional as F

from zoo.common.cases import Integers
from zoo.common.collectives import all_reduce

ISSUE = ("pytorch/pytorch", 185167)
MESH = {"dp": [[0, 1]]}
INPUTS = {"logits": (8, 5), "target": Integers((8,), 0, 5), "weight": (5,)}
RELATIONS = {
    "inputs": {"logits": "shard(logits, 0)", "target": "shard(target, 0)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("no rank has reduced",)


def weighted(logits, target, weight):
    weight = weight.exp()[target]
    picked = F.log_softmax(logits, -1).gather(1, target.unsqueeze(1)).squeeze(1)
    return -(picked * weight).sum(), weight.sum()


def reference(logits, target, weight):
    loss, total = weighted(logits, target, weight)
    return loss / total


def faulty(mesh, logits, target, weight):
    loss, total = weighted(logits, target, weight)
    mean = loss / total  # the fault
    return all_reduce(mean, mesh.dp, "avg")  # its first reader


def mended(mesh, logits, target, weight):
    loss, total = weighted(logits, target, weight)
    return all_reduce(loss, mesh.dp) / all_reduce(total, mesh.dp)
