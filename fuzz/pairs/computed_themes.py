# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Themes in which what is compared, or looked up, is computed of an integer.

The number at which a program changes is then none of the program's numbers.
"""

import torch

from pairs.programs import aten
from pairs.theme import (
    INT,
    draw_along,
    floats,
    iota,
    like,
    like_float,
    mul,
    shaped,
    take,
    theme,
)  # fmt: skip


def draw_integers(p):
    ids = p.input(p.choice([INT, torch.int32]), p.sizes(1, 2))
    return [ids], {"factor": p.random.randint(2, 9), "threshold": p.random.randint(1, 100)}


@theme(4, draw_integers)
def multiple_below(b, s, ids, factor, threshold):
    if s == 0:
        multiple = b.call(aten.mul.Scalar, ids, factor, exact=True)
        return like_float(b, b.call(aten.lt.Scalar, multiple, factor * threshold))
    if s == 1:
        return like_float(b, b.call(aten.lt.Scalar, ids, threshold))
    if s == 2:
        shifted = b.call(
            aten.sub.Scalar, b.call(aten.mul.Scalar, ids, factor, exact=True), 3, exact=True
        )
        return like_float(b, b.call(aten.le.Scalar, shifted, factor * threshold - 4))
    halves = b.call(aten.mul.Scalar, b.call(aten.to.dtype, ids, torch.float32, exact=True), 0.5)
    return like_float(b, b.call(aten.lt.Scalar, halves, threshold / 2))


@theme(3, draw_integers)
def quotient_below(b, s, ids, factor, threshold):
    if s == 0:
        quotient = b.call(aten.floor_divide.default, ids, factor, exact=True)
        return like_float(b, b.call(aten.lt.Scalar, quotient, threshold))
    if s == 1:
        return like_float(b, b.call(aten.lt.Scalar, ids, factor * threshold))
    rest = b.call(aten.remainder.Scalar, ids, factor, exact=True)
    return like_float(
        b, b.call(aten.lt.Scalar, b.call(aten.sub.Tensor, ids, rest), factor * threshold)
    )


@theme(3, draw_integers)
def distance_below(b, s, ids, factor, threshold):
    """At most `threshold` away from ten times `factor`."""
    middle = 10 * factor
    away = b.call(aten.sub.Scalar, ids, middle, exact=True)
    if s == 0:
        return like_float(
            b, b.call(aten.le.Scalar, b.call(aten.abs.default, away, exact=True), threshold)
        )
    if s == 1:
        high = b.call(aten.le.Scalar, ids, middle + threshold)
        low = b.call(aten.ge.Scalar, ids, middle - threshold)
        return like_float(b, b.call(aten.logical_and.default, low, high))
    held = b.call(aten.clamp.default, away, -threshold, threshold, exact=True)
    return like_float(b, b.call(aten.eq.Tensor, held, away))


def draw_share(p):
    x = floats(p, 1, 3, lambda v: v.shape[-1] >= 2)
    size = x.shape[-1]
    # Not where the rounding of floats would decide.
    return [x], {"step": p.choice([0.5, 0.25, 2.0]), "count": p.random.randint(1, max(size - 1, 1))}


@theme(4, draw_share)
def first_positions(b, s, x, step, count):
    """The positions are floats, as those of rotary embeddings are."""
    positions = iota(b, x.shape[-1])
    real = b.call(aten.to.dtype, positions, torch.float32, exact=True)
    if s == 0:
        mask = b.call(aten.lt.Scalar, b.call(aten.mul.Scalar, real, step), step * (count - 0.5))
    elif s == 1:
        mask = b.call(aten.lt.Scalar, positions, count)
    elif s == 2:
        mask = b.call(aten.logical_not.default, b.call(aten.gt.Scalar, real, count - 0.5))
    else:
        ones = b.call(aten.full.default, [x.shape[-1]], step, dtype=torch.float32, exact=True)
        sums = b.call(aten.cumsum.default, ones, 0)
        mask = b.call(aten.lt.Scalar, sums, step * (count + 0.5))
    return mul(b, x, like(b, x, mask))


def draw_band(p):
    x = floats(p, 2, 3, lambda v: min(v.shape[-2:]) >= 2)
    return [x], {"width": p.random.randint(1, max(x.shape[-2:]))}


@theme(3, draw_band)
def band(b, s, x, width):
    """Distances as floats."""
    rows, columns = x.shape[-2:]
    row, column = shaped(b, iota(b, rows), [rows, 1]), iota(b, columns)
    if s < 2:
        row = b.call(aten.to.dtype, row, torch.float32, exact=True)
        column = b.call(aten.to.dtype, column, torch.float32, exact=True)
    distance = b.call(aten.sub.Tensor, row, column)
    if s == 0:
        mask = b.call(aten.lt.Scalar, b.call(aten.abs.default, distance), width - 0.5)
    elif s == 1:
        mask = b.call(
            aten.logical_and.default, b.call(aten.lt.Scalar, distance, width - 0.5),
            b.call(aten.gt.Scalar, distance, 0.5 - width),
        )  # fmt: skip
    else:
        mask = b.call(aten.le.Scalar, b.call(aten.abs.default, distance, exact=True), width - 1)
    return mul(b, x, like(b, x, mask))


def draw_reversal(p):
    drawn = draw_along(p, least=2)
    return drawn and ([drawn[0]], {"dim": drawn[1]})


@theme(3, draw_reversal)
def reversed_by_index(b, s, x, dim):
    size = x.shape[dim]
    if s == 0:
        return b.call(aten.flip.default, x, [dim], exact=True)
    if s == 1:
        order = b.call(aten.arange.start_step, size - 1, -1, -1, dtype=INT, exact=True)
    else:
        order = b.call(aten.rsub.Scalar, iota(b, size), size - 1, exact=True)
    return b.call(aten.index_select.default, x, dim, order, exact=True)


def draw_steps(p):
    drawn = draw_along(p, least=4)
    if not drawn:
        return None
    x, dim = drawn
    step = p.choice([2, 2, 3])
    return [x], {"dim": dim, "step": step, "start": p.random.randrange(step)}


@theme(3, draw_steps)
def every_by_index(b, s, x, dim, step, start):
    size = x.shape[dim]
    if s == 0:
        return take(b, x, dim, start, size, step)
    count = (size - start + step - 1) // step
    if s == 1:
        order = b.call(aten.arange.start_step, start, size, step, dtype=INT, exact=True)
    else:
        order = b.call(aten.mul.Scalar, iota(b, count), step, exact=True)
        order = b.call(aten.add.Scalar, order, start, exact=True)
    return b.call(aten.index_select.default, x, dim, order, exact=True)


def draw_lookup(p):
    count, width = p.random.randint(3, 60), p.random.randint(1, 4)
    table = p.input(p.floats, (count, width))
    ids = p.indices(2 * count, p.sizes(1, 1))
    return [table, ids], {"row": p.random.randrange(1, count - 1), "scale": 2.0}


@theme(3, draw_lookup)
def rows_of_halves(b, s, table, ids, row, scale):
    """One row is unlike the others, and two ids read it."""
    count = table.shape[0]
    other = mul(
        b, take(b, table, 0, row, row + 1), b.call(aten.full.default, [], scale, dtype=table.dtype)
    )
    rows = b.call(
        aten.cat.default,
        [take(b, table, 0, 0, row), other, take(b, table, 0, row + 1, count)],
        0,
        exact=True,
    )
    if s == 0:
        return b.call(
            aten.embedding.default,
            rows,
            b.call(aten.floor_divide.default, ids, 2, exact=True),
            exact=True,
        )
    if s == 1:
        shifted = b.call(aten.__rshift__.Scalar, ids, 1, exact=True)
        return b.call(aten.embedding.default, rows, shifted, exact=True)
    twice = b.call(aten.repeat_interleave.self_int, rows, 2, 0, exact=True)
    return b.call(aten.embedding.default, twice, ids, exact=True)


def draw_sum(p):
    ids = p.input(INT, p.sizes(1, 2))
    return [ids], {"dim": p.random.randrange(ids.rank), "threshold": p.random.randint(1, 200)}


@theme(3, draw_sum)
def sum_below(b, s, ids, dim, threshold):
    if s < 2:
        total = b.call(aten.sum.dim_IntList, ids, [dim], exact=True)
        if s == 0:
            return like_float(b, b.call(aten.lt.Scalar, total, threshold))
        return like_float(
            b, b.call(aten.logical_not.default, b.call(aten.ge.Scalar, total, threshold))
        )
    more = b.call(aten.add.Scalar, ids, 1, exact=True)
    total = b.call(aten.sum.dim_IntList, more, [dim], exact=True)
    return like_float(b, b.call(aten.lt.Scalar, total, threshold + ids.shape[dim]))
