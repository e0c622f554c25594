# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Tensor-parallel experts: the gradient of their input is not reduced.

All ranks have the input, and each multiplies it with its own part of the experts. The
gradient of the input is a sum over the ranks; the local tensors of the experts hid that
from autograd, which took each rank's part for the whole.
"""

import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import CopyToRegion, ReduceFromRegion

ISSUE = ("pytorch/torchtitan", 1805)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "w": (8, 8), "up": (8, 12), "down": (12, 8)}
RELATIONS = {
    "inputs": {"up": "shard(up, 1)", "down": "shard(down, 0)"},
    "outputs": {"0": "replicated", "1": "replicated", "2": "shard(1)"},
}
SAYS = ("no rank has reduced",)


def reference(x, w, up, down):
    w, up = leaf(w), leaf(up)
    hidden = F.silu(x @ w)
    loss = (F.silu(hidden @ up) @ down).square().sum()
    return loss, *gradients(loss, [w, up])


def faulty(mesh, x, w, up, down):
    w, up = leaf(w), leaf(up)
    hidden = F.silu(x @ w)  # its first reader
    inner = F.silu(hidden @ up)  # the fault
    loss = ReduceFromRegion.apply(inner @ down, mesh.tp).square().sum()
    return loss, *gradients(loss, [w, up])


def mended(mesh, x, w, up, down):
    w, up = leaf(w), leaf(up)
    hidden = CopyToRegion.apply(F.silu(x @ w), mesh.tp)
    inner = F.silu(hidden @ up)
    loss = ReduceFromRegion.apply(inner @ down, mesh.tp).square().sum()
    return loss, *gradients(loss, [w, up])
