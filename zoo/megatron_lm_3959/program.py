# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Context parallelism: the gradient of the multi-token-prediction loss is 1/cp of its due.

Tokens are sharded over cp, and gradients are averaged over dp x cp; dp is 1 here. The main
loss has a factor of cp to make up for the average. The added loss enters the backward by
its own scale, which lacks this factor. Its value is right.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import all_reduce

ISSUE = ("NVIDIA/Megatron-LM", 3959)
MESH = {"cp": [[0, 1]]}
INPUTS = {
    "x": (6, 8), "target": (6, 5), "next_target": (6, 5),
    "trunk": (8, 8), "head": (8, 5), "mtp": (8, 5),
}  # fmt: skip
RELATIONS = {
    "inputs": {name: f"shard({name}, 0)" for name in ("x", "target", "next_target")},
    "outputs": {str(index): "replicated" for index in range(5)},
}
SAYS = ("1/2 of",)
TOKENS = 6


class AddLoss(torch.autograd.Function):
    """The identity of the hidden states; the gradient of the loss is the scale."""

    @staticmethod
    def forward(ctx, hidden, loss, scale):
        ctx.save_for_backward(loss)
        ctx.scale = scale
        return hidden.view_as(hidden)

    @staticmethod
    def backward(ctx, gradient):
        (loss,) = ctx.saved_tensors
        return gradient, torch.full_like(loss, ctx.scale), None


def step(x, target, next_target, trunk, head, mtp, main_scale, mtp_scale):
    trunk, head, mtp = leaf(trunk), leaf(head), leaf(mtp)
    hidden = torch.tanh(x @ trunk)
    mtp_loss = (hidden @ mtp - next_target).square().sum() / TOKENS
    hidden = AddLoss.apply(hidden, mtp_loss, mtp_scale)
    main_loss = (hidden @ head - target).square().sum() / TOKENS
    found = gradients(main_loss * main_scale, [mtp, head, trunk])
    return [main_loss, mtp_loss], found


def reference(x, target, next_target, trunk, head, mtp):
    losses, found = step(x, target, next_target, trunk, head, mtp, 1, 1)
    return *losses, *found


def reduce(mesh, losses, found):
    losses = [all_reduce(loss, mesh.cp) for loss in losses]
    averages = [all_reduce(gradient, mesh.cp, "avg") for gradient in found]  # its first reader
    return *losses, *averages


def faulty(mesh, x, target, next_target, trunk, head, mtp):
    mtp_scale = 1  # the fault
    return reduce(mesh, *step(x, target, next_target, trunk, head, mtp, mesh.cp.size, mtp_scale))


def mended(mesh, x, target, next_target, trunk, head, mtp):
    mtp_scale = mesh.cp.size
    return reduce(mesh, *step(x, target, next_target, trunk, head, mtp, mesh.cp.size, mtp_scale))
