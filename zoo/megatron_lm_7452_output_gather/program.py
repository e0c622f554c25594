# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The gather of the output reduces a gradient that all ranks have.

After the gather, all ranks compute the same loss, so that the gradient of its result is
the same on all. The gather's backward was that of a tensor-parallel region, which adds up
the ranks' gradients: all gradients before it are twice as large.
"""

import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import GatherFromSequence, GatherReplicated, all_reduce

ISSUE = ("NVIDIA/Megatron-LM", 7452)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "w": (8, 8), "target": (6, 8)}
RELATIONS = {"inputs": {"x": "shard(x, 0)"}, "outputs": {"0": "replicated", "1": "replicated"}}
SAYS = ("2 times",)


def reference(x, w, target):
    w = leaf(w)
    loss = (F.silu(x @ w) - target).square().sum()
    return loss, *gradients(loss, [w])


def faulty(mesh, x, w, target):
    w = leaf(w)
    rows = F.silu(x @ w)  # its first reader
    whole = GatherFromSequence.apply(rows, mesh.tp)  # the fault
    loss = (whole - target).square().sum()
    (gradient,) = gradients(loss, [w])
    return loss, all_reduce(gradient, mesh.tp)


def mended(mesh, x, w, target):
    w = leaf(w)
    whole = GatherReplicated.apply(F.silu(x @ w), mesh.tp)
    loss = (whole - target).square().sum()
    (gradient,) = gradients(loss, [w])
    return loss, all_reduce(gradient, mesh.tp)
