# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Structures of real programs, each in several spellings that compute the same.

A theme draws operands and numbers once; `build` spells it. All spellings give
results of the same shapes and types. Positions, thresholds and cuts are at real
sizes, which a checker that makes programs small must not lose.
"""

from dataclasses import dataclass

import torch

from pairs.programs import aten

GROUP = "0"
INT = torch.int64


@dataclass(frozen=True)
class Theme:
    name: str
    spellings: int
    draw: object
    build: object


THEMES = []


def theme(spellings, draw):
    def register(build):
        THEMES.append(Theme(build.__name__, spellings, draw, build))
        return build

    return register


def add(b, x, y):
    return b.call(aten.add.Tensor, x, y)


def mul(b, x, y):
    return b.call(aten.mul.Tensor, x, y)


def take(b, x, dim, start, end, step=1):
    return b.call(aten.slice.Tensor, x, dim, start, end, step, exact=True)


def cat(b, values, dim):
    return b.call(aten.cat.default, list(values), dim, exact=True)


def shaped(b, x, sizes):
    return b.call(aten.reshape.default, x, list(sizes), exact=True)


def iota(b, end, start=0, step=1):
    return b.call(aten.arange.start_step, start, end, step, dtype=INT, exact=True)


def like(b, x, mask):
    """A truth value as a float of x's type."""
    return b.call(aten.to.dtype, mask, x.dtype, exact=True)


def like_float(b, mask):
    return b.call(aten.to.dtype, mask, torch.float32, exact=True)


def swapped(b, x, first, second):
    return b.call(aten.transpose.int, x, first, second, exact=True)


def number(p):
    return p.choice([0.0, 1.0, -1.0, 0.5, 2.0, -1e9, 3.0, 0.1, 1e-3])


def floats(p, least=1, most=3, fits=None):
    return p.operand([p.floats], least=least, most=most, fits=fits)


def wide(value):
    return max(value.shape) >= 3


def draw_along(p, least=3):
    x = floats(p, 1, 3, lambda v: max(v.shape) >= least)
    dim = p.choice([d for d in range(x.rank) if x.shape[d] >= least] or [0])
    if x.shape[dim] < least:
        return None
    return x, dim
