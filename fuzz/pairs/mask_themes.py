# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Themes of positions and of masks that are made of them."""

import torch

from pairs.programs import aten
from pairs.theme import INT, floats, iota, like, like_float, mul, number, shaped, take, theme


def draw_mask(p):
    x = floats(p, 2, 3, lambda v: min(v.shape[-2:]) >= 2)
    rows, columns = x.shape[-2:]
    diagonal = p.random.randint(-rows + 1, columns - 1) if p.chance(0.6) else p.choice([-1, 0, 1])
    return [x], {"diagonal": diagonal, "fill": number(p)}


@theme(5, draw_mask)
def lower_triangle(b, s, x, diagonal, fill):
    rows, columns = x.shape[-2:]
    if s < 3:
        row = shaped(b, iota(b, rows), [rows, 1])
        column = iota(b, columns)
        if s == 0:
            last = b.call(aten.add.Scalar, row, diagonal)
            mask = b.call(aten.le.Tensor, column, last)
        elif s == 1:
            distance = b.call(aten.sub.Tensor, column, row)
            mask = b.call(aten.lt.Scalar, distance, diagonal + 1)
        else:
            first = b.call(aten.sub.Scalar, column, diagonal)
            mask = b.call(aten.ge.Tensor, row, first)
    elif s == 3:
        ones = b.call(aten.ones.default, [rows, columns], dtype=torch.bool)
        mask = b.call(aten.tril.default, ones, diagonal)
    else:
        ones = b.call(aten.ones.default, [rows, columns], dtype=torch.bool)
        upper = b.call(aten.triu.default, ones, diagonal + 1)
        return b.call(aten.masked_fill.Scalar, x, upper, fill)
    return b.call(aten.where.ScalarOther, mask, x, fill)


def draw_triangle(p):
    operands, parameters = draw_mask(p)
    return operands, {"diagonal": parameters["diagonal"]}


@theme(3, draw_triangle)
def triangle_of_values(b, s, x, diagonal):
    if s == 0:
        return b.call(aten.tril.default, x, diagonal)
    if s == 1:
        return b.call(aten.sub.Tensor, x, b.call(aten.triu.default, x, diagonal + 1))
    rows, columns = x.shape[-2:]
    mask = b.call(
        aten.ge.Tensor, b.call(aten.add.Scalar, shaped(b, iota(b, rows), [rows, 1]), diagonal),
        iota(b, columns),
    )  # fmt: skip
    return mul(b, x, like(b, x, mask))


def draw_window(p):
    x = floats(p, 2, 3, lambda v: min(v.shape[-2:]) >= 4)
    return [x], {"width": p.random.randint(1, min(x.shape[-2:]) - 1)}


@theme(3, draw_window)
def window(b, s, x, width):
    """The last `width` positions before each row's, itself included."""
    rows, columns = x.shape[-2:]
    if s == 2:
        ones = b.call(aten.ones.default, [rows, columns], dtype=x.dtype)
        band = b.call(aten.triu.default, b.call(aten.tril.default, ones, 0), 1 - width)
        return mul(b, x, band)
    row = shaped(b, iota(b, rows), [rows, 1])
    distance = b.call(aten.sub.Tensor, row, iota(b, columns))
    if s == 0:
        near = b.call(aten.lt.Scalar, distance, width)
        mask = b.call(aten.logical_and.default, near, b.call(aten.ge.Scalar, distance, 0))
        return b.call(aten.where.ScalarOther, mask, x, 0.0)
    far = b.call(aten.ge.Scalar, distance, width)
    mask = b.call(aten.logical_or.default, far, b.call(aten.lt.Scalar, distance, 0))
    return b.call(aten.masked_fill.Scalar, x, mask, 0.0)


def draw_positions(p):
    x = floats(p, 1, 3, lambda v: v.shape[-1] >= 2)
    start = p.random.randint(0, 40)
    return [x], {"start": start}


@theme(4, draw_positions)
def add_positions(b, s, x, start):
    size = x.shape[-1]
    if s == 0:
        positions = take(b, iota(b, start + size + 3), 0, start, start + size)
    elif s == 1:
        positions = b.call(aten.add.Scalar, iota(b, size), start)
    elif s == 2:
        positions = iota(b, start + size, start)
    else:
        ones = b.call(aten.ones.default, [size], dtype=INT)
        counted = b.call(aten.cumsum.default, ones, 0, exact=True)
        positions = b.call(aten.add.Scalar, counted, start - 1)
    return mul(b, x, b.call(aten.to.dtype, positions, x.dtype))


def draw_blocks(p):
    x = floats(p, 2, 2, lambda v: min(v.shape) >= 4)
    return [x], {"width": p.random.randint(2, min(x.shape)), "fill": number(p)}


@theme(3, draw_blocks)
def block_diagonal(b, s, x, width, fill):
    """Floor divisions and remainders of positions."""
    rows, columns = x.shape

    def block(positions):
        if s == 1:
            rest = b.call(aten.remainder.Scalar, positions, width)
            return b.call(aten.sub.Tensor, positions, rest)
        return b.call(aten.floor_divide.default, positions, width)

    first = block(shaped(b, iota(b, rows), [rows, 1]))
    second = block(iota(b, columns))
    if s == 2:
        apart = b.call(aten.ne.Tensor, first, second)
        return b.call(aten.masked_fill.Scalar, x, apart, fill)
    return b.call(aten.where.ScalarOther, b.call(aten.eq.Tensor, first, second), x, fill)


def draw_one_hot(p):
    count = p.random.randint(2, 60)
    ids = p.input(INT, p.sizes(1, 2))
    if ids.tensors[0].numel() * count > 20000:
        return None
    return [ids], {"count": count}


@theme(4, draw_one_hot)
def one_hot(b, s, ids, count):
    single = b.call(aten.unsqueeze.default, ids, -1, exact=True)
    numbers = iota(b, count)
    if s == 0:
        return like_float(b, b.call(aten.eq.Tensor, single, numbers))
    if s == 1:
        distance = b.call(aten.sub.Tensor, numbers, single)
        return like_float(b, b.call(aten.eq.Scalar, distance, 0))
    if s == 2:
        apart = b.call(aten.ne.Tensor, numbers, single)
        return b.call(aten.where.Scalar, apart, 0.0, 1.0)
    shape = [*ids.shape, count]
    wide_ids = b.call(aten.expand.default, single, shape, exact=True)
    near = b.call(aten.logical_and.default, b.call(aten.le.Tensor, wide_ids, numbers),
                  b.call(aten.ge.Tensor, wide_ids, numbers))  # fmt: skip
    return like_float(b, near)


def draw_count(p):
    ids = p.input(p.choice([INT, torch.int32]), p.sizes(1, 2))
    return [ids], {"threshold": p.random.randint(0, 40), "dim": p.random.randrange(ids.rank)}


@theme(3, draw_count)
def count_below(b, s, ids, threshold, dim):
    """How many tokens before each are below a threshold."""
    if s == 0:
        mask = b.call(aten.lt.Scalar, ids, threshold)
    elif s == 1:
        mask = b.call(aten.logical_not.default, b.call(aten.ge.Scalar, ids, threshold))
    else:
        mask = b.call(aten.le.Scalar, ids, threshold - 1)
    numbers = b.call(aten.to.dtype, mask, INT, exact=True)
    return b.call(aten.cumsum.default, numbers, dim, exact=True)


def draw_bytes(p):
    return [p.input(INT, p.sizes(1, 2))], {}


@theme(3, draw_bytes)
def byte_of(b, s, ids):
    if s == 0:
        byte = b.call(aten.to.dtype, ids, torch.uint8, exact=True)
        return b.call(aten.to.dtype, byte, INT, exact=True)
    if s == 1:
        return b.call(aten.bitwise_and.Scalar, ids, 255, exact=True)
    return b.call(aten.remainder.Scalar, ids, 256, exact=True)
