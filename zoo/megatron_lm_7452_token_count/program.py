# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Reducing the count of tokens overwrites the rank's own count.

The auxiliary loss is scaled by the number of the rank's tokens, and summed over the ranks.
The count was reduced in place before: each rank scales by the number of all tokens.
"""

import torch

from zoo.common.collectives import all_reduce

ISSUE = ("NVIDIA/Megatron-LM", 7452)
MESH = {"tp": [[0, 1]]}
INPUTS = {"logits": (8, 4), "mask": (8,)}
RELATIONS = {
    "inputs": {"logits": "shard(logits, 0)", "mask": "shard(mask, 0)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("2 times",)


def reference(logits, mask):
    count = torch.sigmoid(mask).sum()
    scores = (torch.softmax(logits, -1) * torch.sigmoid(mask).unsqueeze(-1)).sum(0)
    return (scores / count).square().sum() * count


def auxiliary(mesh, logits, kept, count):
    scores = all_reduce((torch.softmax(logits, -1) * kept.unsqueeze(-1)).sum(0), mesh.tp)
    return (scores / count).square().sum()


def faulty(mesh, logits, mask):
    kept = torch.sigmoid(mask)
    count = all_reduce(kept.sum(), mesh.tp)
    loss = auxiliary(mesh, logits, kept, count) * count  # the fault
    return all_reduce(loss, mesh.tp)  # its first reader


def mended(mesh, logits, mask):
    kept = torch.sigmoid(mask)
    own = kept.sum()
    loss = auxiliary(mesh, logits, kept, all_reduce(own, mesh.tp)) * own
    return all_reduce(loss, mesh.tp)
