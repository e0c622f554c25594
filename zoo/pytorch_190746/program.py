# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""loss_parallel: the gradient of a log-softmax over sharded words is passed on unchanged.

The gradient of the negative log likelihood makes up for that; no other reader does.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import ReduceFromRegion, all_reduce

ISSUE = ("pytorch/pytorch", 190746)
MESH = {"tp": [[0, 1]]}
INPUTS = {"logits": (4, 6), "weights": (4, 6)}
RELATIONS = {
    "inputs": {"logits": "shard(logits, 1)", "weights": "shard(weights, 1)"},
    "outputs": {"0": "replicated", "1": "shard(1)"},
}
SAYS = ("not of this output",)


def log_softmax(logits, axis):
    shifted = logits - all_reduce(logits.amax(-1, keepdim=True), axis, "max")
    return shifted - all_reduce(shifted.exp().sum(-1, keepdim=True), axis).log()


class OverWords(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, axis):
        result = log_softmax(logits, axis)
        ctx.save_for_backward(result)
        ctx.axis = axis
        return result

    @staticmethod
    def backward(ctx, gradient):
        (result,) = ctx.saved_tensors
        total = all_reduce(gradient.sum(-1, keepdim=True), ctx.axis)
        return gradient - result.exp() * total, None


class Unchanged(OverWords):
    @staticmethod
    def backward(ctx, gradient):
        return gradient, None  # the fault


def reference(logits, weights):
    logits = leaf(logits)
    loss = (torch.log_softmax(logits, -1) * weights).sum()
    return loss, *gradients(loss, [logits])


def on_ranks(mesh, logits, weights, function):
    logits = leaf(logits)
    weighted = function(logits, mesh.tp) * weights  # its first reader
    loss = ReduceFromRegion.apply(weighted.sum(), mesh.tp)
    return loss, *gradients(loss, [logits])


def faulty(mesh, logits, weights):
    return on_ranks(mesh, logits, weights, Unchanged.apply)


def mended(mesh, logits, weights):
    return on_ranks(mesh, logits, weights, OverWords.apply)
