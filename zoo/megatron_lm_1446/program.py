# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sequence parallelism: the final norm's gradient is of the rank's own tokens.

The weight of the norm is the same on all ranks, and each sees its own rows. The gradients
have to be added up, which the last norm was left out of.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import GatherFromSequence, ReduceFromRegion, all_reduce

ISSUE = ("NVIDIA/Megatron-LM", 1446)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "norm": (8,), "head": (8, 12)}
RELATIONS = {
    "inputs": {"x": "shard(x, 0)", "head": "shard(head, 1)"},
    "outputs": {"0": "replicated", "1": "replicated", "2": "shard(1)"},
}
SAYS = ("no rank has reduced",)


def normalize(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight


def reference(x, norm, head):
    norm, head = leaf(norm), leaf(head)
    loss = (normalize(x, norm) @ head).square().sum()
    return loss, *gradients(loss, [norm, head])


def faulty(mesh, x, norm, head):
    norm, head = leaf(norm), leaf(head)
    rows = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * norm  # the fault
    logits = GatherFromSequence.apply(rows, mesh.tp) @ head
    loss = ReduceFromRegion.apply(logits.square().sum(), mesh.tp)
    return loss, *gradients(loss, [norm, head])


def mended(mesh, x, norm, head):
    norm, head = leaf(norm), leaf(head)
    logits = GatherFromSequence.apply(normalize(x, norm), mesh.tp) @ head
    loss = ReduceFromRegion.apply(logits.square().sum(), mesh.tp)
    of_norm, of_head = gradients(loss, [norm, head])
    return loss, all_reduce(of_norm, mesh.tp), of_head
