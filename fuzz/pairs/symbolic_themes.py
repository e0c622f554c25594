# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Themes whose sizes depend on the symbol s0, as those of dynamic shapes do.

Numbers beside the symbol (its value in the first sample) are what mutations put
in its place: a mean over s0 rows is no sum divided by 6.
"""

import torch

from pairs.programs import Size, aten
from pairs.theme import GROUP, INT, Theme, add, cat, mul, number, shaped, take

SYMBOL = Size(1)
THEMES = []


def theme(spellings, draw):
    def register(build):
        THEMES.append(Theme(f"symbolic {build.__name__}", spellings, draw, build))
        return build

    return register


def rows(p, width=None):
    """A value with s0 rows."""
    width = width or p.choice([1, 2, 5, 6])
    found = [
        v
        for v in p.visible
        if v.rank == 2 and v.is_float and is_symbolic(p, v) and v.shape[1] == width
    ]
    if found and p.chance(0.7):
        return p.choice(found)
    return p.input(p.floats, (SYMBOL, width))


def is_symbolic(p, value):
    """Whether the value has s0 rows, and no other dim that depends on it."""
    try:
        shapes = [
            p.pool.compute(value.node, sample)[value.position][0].shape
            for sample in range(len(p.pool.symbol_values))
        ]
    except (RuntimeError, IndexError):
        return False
    return all(
        shape[0] == symbol and shape[1:] == shapes[0][1:]
        for shape, symbol in zip(shapes, p.pool.symbol_values)
    )


def draw_rows(p):
    return [rows(p)], {}


def span(b, start=0, end=SYMBOL):
    return b.call(aten.arange.start_step, start, end, 1, dtype=INT, exact=True)


@theme(3, draw_rows)
def mean(b, s, x):
    if s == 0:
        return b.call(aten.mean.dim, x, [0])
    ones = b.call(aten.full.default, [SYMBOL], 1.0, dtype=x.dtype, exact=True)
    count = b.call(aten.sum.dim_IntList, ones, [0])
    if s == 1:
        return b.call(aten.div.Tensor, b.call(aten.sum.dim_IntList, x, [0]), count)
    return b.call(aten.sum.dim_IntList, b.call(aten.div.Tensor, x, count), [0])


def draw_fixed_mean(p):
    return [rows(p)], {"size": p.pool.symbol_values[0]}


@theme(2, draw_fixed_mean)
def sum_by_number(b, s, x, size):
    """A number that happens to be the size of the first sample."""
    if s == 0:
        return b.call(aten.div.Scalar, b.call(aten.sum.dim_IntList, x, [0]), size)
    return b.call(aten.sum.dim_IntList, b.call(aten.div.Scalar, x, size), [0])


def draw_mask(p):
    return [p.input(p.floats, (SYMBOL, SYMBOL))], {"diagonal": p.choice([-2, -1, 0, 1, 2])}


@theme(3, draw_mask)
def causal(b, s, x, diagonal):
    if s == 0:
        return b.call(aten.tril.default, x, diagonal)
    row = b.call(aten.unsqueeze.default, span(b), 1, exact=True)
    if s == 1:
        mask = b.call(aten.ge.Tensor, b.call(aten.add.Scalar, row, diagonal), span(b))
        return b.call(aten.where.ScalarOther, mask, x, 0.0)
    distance = b.call(aten.sub.Tensor, span(b), row)
    mask = b.call(aten.gt.Scalar, distance, diagonal)
    return b.call(aten.masked_fill.Scalar, x, mask, 0.0)


@theme(3, draw_rows)
def roll(b, s, x):
    if s == 0:
        return cat(b, [take(b, x, 0, 1, SYMBOL), take(b, x, 0, 0, 1)], 0)
    if s == 1:
        return take(b, cat(b, [x, x], 0), 0, 1, Size(1, 1))
    order = cat(b, [span(b, 1), b.call(aten.zeros.default, [1], dtype=INT, exact=True)], 0)
    return b.call(aten.index_select.default, x, 0, order, exact=True)


@theme(3, draw_rows)
def all_but_last(b, s, x):
    if s == 0:
        return take(b, x, 0, 0, Size(1, -1))
    if s == 1:
        return take(b, x, 0, 0, -1)
    return b.call(aten.index_select.default, x, 0, span(b, 0, Size(1, -1)), exact=True)


@theme(3, draw_rows)
def add_positions(b, s, x):
    if s == 0:
        positions = span(b)
    elif s == 1:
        positions = b.call(aten.sub.Scalar, span(b, 3, Size(1, 3)), 3)
    else:
        positions = take(b, span(b, 0, Size(2)), 0, 0, SYMBOL)
    column = b.call(aten.unsqueeze.default, b.call(aten.to.dtype, positions, x.dtype), 1)
    return mul(b, x, column)


def draw_threshold(p):
    return [rows(p)], {"count": p.choice([1, 2, 5, 6]), "fill": number(p)}


@theme(2, draw_threshold)
def first_rows(b, s, x, count, fill):
    position = b.call(aten.unsqueeze.default, span(b), 1, exact=True)
    if s == 0:
        return b.call(aten.masked_fill.Scalar, x, b.call(aten.ge.Scalar, position, count), fill)
    return b.call(aten.where.ScalarOther, b.call(aten.lt.Scalar, position, count), x, fill)


@theme(2, draw_rows)
def flat(b, s, x):
    wide = x.shape[1]
    if s == 0:
        return shaped(b, mul(b, x, x), [-1])
    column = shaped(b, x, [Size(wide)])
    return mul(b, column, column)


def draw_doubled(p):
    x = rows(p)
    return [x, rows(p, x.shape[1])], {}


@theme(3, draw_doubled)
def halves_of_both(b, s, x, y):
    if s == 0:
        return add(b, x, y)
    both = cat(b, [x, y], 0)
    if s == 1:
        return add(b, take(b, both, 0, 0, SYMBOL), take(b, both, 0, SYMBOL, Size(2)))
    stacked = shaped(b, both, [2, SYMBOL, x.shape[1]])
    return b.call(aten.sum.dim_IntList, stacked, [0])


def draw_gathered(p):
    return [p.dense(rows(p))], {"size": p.world_size}


@theme(3, draw_gathered)
def all_reduce(b, s, x, size):
    if s == 0:
        return b.collective("all_reduce", x, "sum", GROUP)
    whole = b.collective("all_gather_into_tensor", x, size, GROUP, exact=True)
    if s == 1:
        return b.call(aten.sum.dim_IntList, shaped(b, whole, [size, SYMBOL, x.shape[1]]), [0])
    blocks = [take(b, whole, 0, Size(i) if i else 0, Size(i + 1)) for i in range(size)]
    total = blocks[0]
    for block in blocks[1:]:
        total = add(b, total, block)
    return total


@theme(2, draw_rows)
def softmax_of_rows(b, s, x):
    if s == 0:
        return b.call(aten.softmax.int, x, 0)
    turned = b.call(aten.softmax.int, b.call(aten.transpose.int, x, 0, 1, exact=True), 1)
    return b.dense(b.call(aten.transpose.int, turned, 0, 1, exact=True))


def draw_counted(p):
    return [p.input(torch.bool, (SYMBOL,))], {}


@theme(2, draw_counted)
def counted(b, s, mask):
    numbers = b.call(aten.to.dtype, mask, INT, exact=True)
    if s == 0:
        return b.call(aten.cumsum.default, numbers, 0, exact=True)
    others = b.call(aten.to.dtype, b.call(aten.logical_not.default, mask), INT, exact=True)
    passed = b.call(aten.add.Scalar, span(b), 1, exact=True)
    return b.call(aten.sub.Tensor, passed, b.call(aten.cumsum.default, others, 0, exact=True))
