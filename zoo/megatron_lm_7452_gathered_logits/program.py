# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Gathered logits go into the loss for logits that are sharded by words.

The loss adds up exponentials over the ranks, and looks for the target in the words from
the rank's first on. With the output gathered, each rank has all words: the sum counts them
once a rank, and the loss is too large by log(2).
"""

from zoo.common.cases import Integers
from zoo.common.collectives import all_gather, all_reduce

ISSUE = ("NVIDIA/Megatron-LM", 7452)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "head": (8, 12), "labels": Integers((6,), 0, 12)}
RELATIONS = {"inputs": {"head": "shard(head, 1)"}, "outputs": {"0": "replicated"}}
SAYS = ("2 times",)


def reference(x, head, labels):
    logits = x @ head
    picked = logits.gather(1, labels.unsqueeze(1)).squeeze(1)
    return logits.exp().sum(-1).log() - picked


def loss_of_shards(mesh, logits, labels):
    words = logits.shape[-1]
    own = labels - mesh.tp.index * words
    is_own = (own >= 0) & (own < words)
    picked = logits.gather(1, own.clamp(0, words - 1).unsqueeze(1)).squeeze(1)
    picked = all_reduce(picked.where(is_own, 0.0), mesh.tp)
    total = all_reduce(logits.exp().sum(-1), mesh.tp)  # the fault
    return total.log() - picked  # its first reader


def faulty(mesh, x, head, labels):
    logits = all_gather(x @ head, mesh.tp, dim=1)  # the fault
    return loss_of_shards(mesh, logits, labels)  # its first reader


def mended(mesh, x, head, labels):
    return loss_of_shards(mesh, x @ head, labels)
