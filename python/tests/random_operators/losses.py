# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of losses, and of their gradients."""

import torch

from random_operators.registry import as_long, aten_operators
from random_programs import aten

FLOATS = [torch.float32, torch.float64]
NONE, MEAN, SUM = 0, 1, 2


def reduction(p):
    return p.choice([NONE, MEAN, SUM])


@aten_operators("mse_loss.default l1_loss.default")
def distance(p, target):
    x = p.operand(FLOATS)
    p.call(target, x, p.operand([x.dtype], x.shape), reduction(p))


@aten_operators("smooth_l1_loss.default huber_loss.default")
def distance_with_bend(p, target):
    x = p.operand(FLOATS)
    p.call(target, x, p.operand([x.dtype], x.shape), reduction(p), p.choice([0.25, 1.0]))


@aten_operators("binary_cross_entropy_with_logits.default")
def logits_entropy(p, target):
    x = p.operand(FLOATS, least=1)
    positive, weight = (
        p.operand([x.dtype], x.shape, domain="positive"),
        p.operand([x.dtype], x.shape[-1:]),
    )
    weights = [p.choice([None, weight]), p.choice([None, weight])]
    p.call(target, x, positive, *weights, reduction(p))


@aten_operators("binary_cross_entropy.default")
def entropy(p, target):
    x = p.operand(FLOATS)
    # Scaled so that rounding does not lead to more than one.
    probabilities = [
        p.call(aten.mul.Scalar, p.call(aten.sigmoid.default, value), 0.9)
        for value in (x, p.operand([x.dtype], x.shape))
    ]
    p.call(target, *probabilities, p.choice([None, x]), reduction(p))


@aten_operators("kl_div.default")
def divergence(p, target):
    x = p.operand(FLOATS)
    y = p.operand([x.dtype], x.shape, domain="positive")
    p.call(target, x, y, reduction(p), log_target=p.chance(0.5))


def scores_and_classes(p, rank):
    """Scores whose dim 1 (or 0, without others) is for classes, and one class for each row."""
    scores = p.operand(FLOATS, least=rank, most=rank)
    dim = min(1, rank - 1)
    rows = [*scores.shape[:dim], *scores.shape[dim + 1 :]]
    return scores, as_long(p, p.indices(scores.shape[dim], rows))


@aten_operators("cross_entropy_loss.default nll_loss_nd.default nll_loss.default")
def class_loss(p, target):
    rank = 2 if target is aten.nll_loss.default else p.choice([1, 2, 3, 4])
    scores, classes = scores_and_classes(p, rank)
    # Without rows that count, the mean is not a number.
    p.call(target, scores, classes, None, reduction(p), p.choice([-100, 0]))


KERNELS = "nll_loss{0}_forward.default nll_loss{0}_backward.default"


@aten_operators(f"{KERNELS.format('')} {KERNELS.format('2d')}")
def nll_loss(p, target):
    is_planar = "2d" in str(target)
    scores, classes = scores_and_classes(p, 4 if is_planar else 2)
    how, ignored = p.choice([MEAN, SUM]), p.choice([-100, 0])
    forward = aten.nll_loss2d_forward.default if is_planar else aten.nll_loss_forward.default
    _, total = p.call(forward, scores, classes, None, how, ignored)
    if "backward" in str(target):
        gradient = p.operand([scores.dtype], ())
        p.call(target, gradient, scores, classes, None, how, ignored, total)
