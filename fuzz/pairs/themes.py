# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Structures of real programs, each in several spellings that compute the same.

A theme draws operands and numbers once; `build` spells it. All spellings give
results of the same shapes and types. Positions, thresholds and cuts are at real
sizes, which a checker that makes programs small must not lose.
"""

import math
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


# ------------------------------------------------------------- small helpers


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


def swapped(b, x, first, second):
    return b.call(aten.transpose.int, x, first, second, exact=True)


def number(p):
    return p.choice([0.0, 1.0, -1.0, 0.5, 2.0, -1e9, 3.0, 0.1, 1e-3])


def floats(p, least=1, most=3, fits=None):
    return p.operand([p.floats], least=least, most=most, fits=fits)


def wide(value):
    return max(value.shape) >= 3


# ------------------------------------------------------ positions and masks


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


def like_float(b, mask):
    return b.call(aten.to.dtype, mask, torch.float32, exact=True)


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


# ----------------------------------------------------------- cuts and orders


def draw_along(p, least=3):
    x = floats(p, 1, 3, lambda v: max(v.shape) >= least)
    dim = p.choice([d for d in range(x.rank) if x.shape[d] >= least] or [0])
    if x.shape[dim] < least:
        return None
    return x, dim


def draw_roll(p):
    drawn = draw_along(p)
    if not drawn:
        return None
    x, dim = drawn
    return [x], {"dim": dim, "shift": p.random.randint(1, x.shape[dim] - 1)}


@theme(4, draw_roll)
def roll(b, s, x, dim, shift):
    size = x.shape[dim]
    if s == 0:
        return cat(b, [take(b, x, dim, shift, size), take(b, x, dim, 0, shift)], dim)
    if s == 1:
        return take(b, cat(b, [x, x], dim), dim, shift, shift + size)
    if s == 2:
        order = b.call(aten.remainder.Scalar, b.call(aten.add.Scalar, iota(b, size), shift), size, exact=True)
    else:
        order = cat(b, [iota(b, size, shift), iota(b, shift)], 0)
    return b.call(aten.index_select.default, x, dim, order, exact=True)


def draw_piece(p):
    drawn = draw_along(p)
    if not drawn:
        return None
    x, dim = drawn
    start = p.random.randint(0, x.shape[dim] - 2)
    return [x], {"dim": dim, "start": start, "end": p.random.randint(start + 1, x.shape[dim])}


@theme(5, draw_piece)
def piece(b, s, x, dim, start, end):
    size = x.shape[dim]
    if s == 0:
        return take(b, x, dim, start, end)
    if s == 1:
        return b.call(aten.narrow.default, x, dim, start, end - start, exact=True)
    if s == 2:
        return b.call(aten.split_with_sizes.default, x, [start, end - start, size - end], dim, exact=True)[1]
    if s == 3:
        return b.call(aten.index_select.default, x, dim, iota(b, end, start), exact=True)
    middle = (start + end) // 2
    return cat(b, [take(b, x, dim, start, middle), take(b, x, dim, middle, end)], dim)


def draw_stride(p):
    drawn = draw_along(p, 4)
    if not drawn:
        return None
    x, dim = drawn
    steps = [d for d in range(2, x.shape[dim]) if x.shape[dim] % d == 0]
    if not steps:
        return None
    step = p.choice(steps)
    return [x], {"dim": dim, "step": step, "start": p.random.randrange(step)}


@theme(3, draw_stride)
def every(b, s, x, dim, step, start):
    size = x.shape[dim]
    if s == 0:
        return take(b, x, dim, start, size, step)
    if s == 1:
        split = b.call(aten.unflatten.int, x, dim, [size // step, step], exact=True)
        return b.call(aten.select.int, split, dim + 1, start, exact=True)
    order = b.call(aten.add.Scalar, b.call(aten.mul.Scalar, iota(b, size // step), step), start, exact=True)
    return b.call(aten.index_select.default, x, dim, order, exact=True)


def draw_pad(p):
    drawn = draw_along(p, 2)
    if not drawn:
        return None
    x, dim = drawn
    return [x], {"dim": dim, "before": p.random.randint(1, 5), "fill": number(p)}


@theme(3, draw_pad)
def shift_in(b, s, x, dim, before, fill):
    """The last rows fall off; as many of one number come in before the first."""
    size = x.shape[dim]
    before = min(before, size - 1)
    shape = list(x.shape)
    shape[dim] = before
    if s < 2:
        padding = b.call(aten.full.default, shape, fill, dtype=x.dtype)
        if s == 0:
            return cat(b, [padding, take(b, x, dim, 0, size - before)], dim)
        return take(b, cat(b, [padding, x], dim), dim, 0, size)
    rolled = cat(b, [take(b, x, dim, size - before, size), take(b, x, dim, 0, size - before)], dim)
    sizes = [1] * x.rank
    sizes[dim] = size
    mask = b.call(aten.lt.Scalar, shaped(b, iota(b, size), sizes), before)
    return b.call(aten.masked_fill.Scalar, rolled, mask, fill)


def draw_rope(p):
    x = floats(p, 2, 3, lambda v: v.shape[-1] % 2 == 0 and v.shape[-1] >= 4)
    if x.shape[-1] % 2 or x.shape[-1] < 4:
        return None
    return [x], {"base": p.choice([0.01, 0.5, 1.0])}


@theme(3, draw_rope)
def rotary(b, s, x, base):
    half = x.shape[-1] // 2
    angles = mul(b, b.call(aten.to.dtype, iota(b, x.shape[-2]), x.dtype), base)
    angles = shaped(b, angles, [x.shape[-2], 1])
    sine, cosine = b.call(aten.sin.default, angles), b.call(aten.cos.default, angles)
    if s == 1:
        low, high = b.call(aten.chunk.default, x, 2, -1, exact=True)
    elif s == 2:
        low, high = b.call(aten.split_with_sizes.default, x, [half, half], -1, exact=True)
    else:
        low, high = take(b, x, -1, 0, half), take(b, x, -1, half, 2 * half)
    if s == 0:
        turned = cat(b, [b.call(aten.neg.default, high), low], -1)
        return add(b, mul(b, x, cosine), mul(b, turned, sine))
    first = b.call(aten.sub.Tensor, mul(b, low, cosine), mul(b, high, sine))
    second = add(b, mul(b, high, cosine), mul(b, low, sine))
    return cat(b, [first, second], -1)


# ------------------------------------------------------------------ choices


def draw_bounds(p):
    x = p.operand([p.floats, INT], least=1, most=3)
    if x.is_float:
        low = p.choice([0.0, -1.0, 0.5, -0.25])
        return [x], {"low": low, "high": low + p.choice([1.0, 2.0, 0.5])}
    low = p.random.randint(-5, 30)
    return [x], {"low": low, "high": low + p.random.randint(1, 40)}


@theme(3, draw_bounds)
def bounded(b, s, x, low, high):
    if s == 0:
        return b.call(aten.clamp.default, x, low, high, exact=True)
    bounds = [b.call(aten.full.default, [], n, dtype=x.dtype, exact=True) for n in (low, high)]
    if s == 1:
        return b.call(aten.minimum.default, b.call(aten.maximum.default, x, bounds[0], exact=True),
                      bounds[1], exact=True)  # fmt: skip
    above = b.call(aten.where.ScalarSelf, b.call(aten.lt.Scalar, x, low), low, x)
    above = b.call(aten.to.dtype, above, x.dtype, exact=True)
    result = b.call(aten.where.ScalarSelf, b.call(aten.gt.Scalar, above, high), high, above)
    return b.call(aten.to.dtype, result, x.dtype, exact=True)


def draw_relu(p):
    return [floats(p)], {}


@theme(4, draw_relu)
def relu(b, s, x):
    if s == 0:
        return b.call(aten.relu.default, x)
    if s == 1:
        return b.call(aten.clamp.default, x, 0.0)
    mask = b.call(aten.gt.Scalar, x, 0.0)
    if s == 2:
        return b.call(aten.where.ScalarOther, mask, x, 0.0)
    return mul(b, x, like(b, x, mask))


def draw_choice(p):
    x = floats(p)
    return [x, p.operand([x.dtype], x.shape), p.operand([x.dtype], x.shape)], {}


@theme(4, draw_choice)
def chosen(b, s, x, y, z):
    if s == 0:
        return b.call(aten.where.self, b.call(aten.lt.Tensor, x, y), x, z)
    if s == 1:
        return b.call(aten.where.self, b.call(aten.gt.Tensor, y, x), x, z)
    if s == 2:
        return b.call(aten.where.self, b.call(aten.ge.Tensor, x, y), z, x)
    mask = like(b, x, b.call(aten.lt.Tensor, x, y))
    rest = b.call(aten.rsub.Scalar, mask, 1)
    return add(b, mul(b, mask, x), mul(b, rest, z))


def draw_extremum(p):
    drawn = draw_along(p, 2)
    if not drawn:
        return None
    x, dim = drawn
    return [x], {"dim": dim, "cut": p.random.randint(1, x.shape[dim] - 1), "is_max": p.chance(0.5)}


@theme(2, draw_extremum)
def extremum(b, s, x, dim, cut, is_max):
    reduce = aten.amax.default if is_max else aten.amin.default
    if s == 0:
        return b.call(reduce, x, [dim], exact=True)
    parts = [take(b, x, dim, 0, cut), take(b, x, dim, cut, x.shape[dim])]
    both = [b.call(reduce, part, [dim], exact=True) for part in parts]
    return b.call(aten.maximum.default if is_max else aten.minimum.default, *both, exact=True)


def draw_truth(p):
    x = floats(p, 1, 2)
    return [x], {"threshold": number(p), "dim": p.random.randrange(x.rank)}


@theme(3, draw_truth)
def any_above(b, s, x, threshold, dim):
    above = b.call(aten.gt.Scalar, x, threshold)
    if s == 0:
        return b.call(aten.any.dim, above, dim)
    below = b.call(aten.le.Scalar, x, threshold)
    if s == 1:
        return b.call(aten.logical_not.default, b.call(aten.all.dim, below, dim))
    count = b.call(aten.sum.dim_IntList, b.call(aten.to.dtype, above, INT), [dim])
    return b.call(aten.gt.Scalar, count, 0)


# ---------------------------------------------------------- rows and products


def draw_rows(p):
    x = floats(p, 1, 3, lambda v: v.shape[-1] >= 2)
    if x.shape[-1] < 2:
        return None
    return [x, p.operand([x.dtype], x.shape[-1:])], {"epsilon": p.choice([1e-5, 1e-6, 1e-2])}


@theme(3, draw_rows)
def rms_norm(b, s, x, weight, epsilon):
    if s == 0:
        return b.call(aten.rms_norm.default, x, [x.shape[-1]], weight, epsilon)
    squares = mul(b, x, x)
    if s == 1:
        mean = b.call(aten.mean.dim, squares, [-1], True)
    else:
        mean = b.call(aten.div.Scalar, b.call(aten.sum.dim_IntList, squares, [-1], True), x.shape[-1])
    root = b.call(aten.rsqrt.default, b.call(aten.add.Scalar, mean, epsilon))
    return mul(b, mul(b, x, root), weight)


@theme(2, draw_rows)
def layer_norm(b, s, x, weight, epsilon):
    if s == 0:
        return b.call(aten.layer_norm.default, x, [x.shape[-1]], weight, None, epsilon)
    centered = b.call(aten.sub.Tensor, x, b.call(aten.mean.dim, x, [-1], True))
    variance = b.call(aten.mean.dim, mul(b, centered, centered), [-1], True)
    root = b.call(aten.rsqrt.default, b.call(aten.add.Scalar, variance, epsilon))
    return mul(b, mul(b, centered, root), weight)


def draw_mean(p):
    x = floats(p)
    return [x], {"dim": p.random.randrange(x.rank)}


@theme(4, draw_mean)
def mean(b, s, x, dim):
    size = x.shape[dim]
    if s == 0:
        return b.call(aten.mean.dim, x, [dim])
    if s == 1:
        return b.call(aten.div.Scalar, b.call(aten.sum.dim_IntList, x, [dim]), size)
    if s == 2:
        return b.call(aten.sum.dim_IntList, b.call(aten.div.Scalar, x, size), [dim])
    cut = size // 2
    parts = [take(b, x, dim, 0, cut), take(b, x, dim, cut, size)]
    total = add(b, *(b.call(aten.sum.dim_IntList, part, [dim]) for part in parts))
    return b.call(aten.div.Scalar, total, size)


def draw_constant_rows(p):
    return [], {"size": p.size(100), "value": number(p)}


@theme(3, draw_constant_rows)
def softmax_of_constants(b, s, size, value):
    if s == 0:
        full = b.call(aten.full.default, [size], float(value), dtype=torch.float32)
        return b.call(aten.softmax.int, full, 0)
    if s == 1:
        return b.call(aten.full.default, [size], 1.0 / size, dtype=torch.float32)
    ones = b.call(aten.ones.default, [size], dtype=torch.float32)
    return b.call(aten.div.Tensor, ones, b.call(aten.sum.dim_IntList, ones, [0]))


def draw_linear(p):
    x = floats(p, 2, 3, lambda v: v.shape[-1] >= 2)
    columns, inner = p.choice([2, 5, 16]), x.shape[-1]
    if inner < 2:
        return None
    weight = p.operand([x.dtype], (columns, inner))
    bias = p.operand([x.dtype], (columns,))
    return [x, weight, bias], {"cut": p.random.randint(1, inner - 1), "row": p.random.randint(1, columns - 1)}


@theme(5, draw_linear)
def linear(b, s, x, weight, bias, cut, row):
    inner, columns = x.shape[-1], weight.shape[0]
    if s == 0:
        return b.call(aten.linear.default, x, weight, bias)
    turned = b.call(aten.t.default, weight, exact=True)
    if s == 1:
        return add(b, b.call(aten.matmul.default, x, turned), bias)
    if s == 2:
        first = b.call(aten.linear.default, take(b, x, -1, 0, cut), take(b, weight, 1, 0, cut), bias)
        second = b.call(aten.linear.default, take(b, x, -1, cut, inner), take(b, weight, 1, cut, inner))
        return add(b, second, first)
    if s == 3:
        parts = [
            b.call(aten.linear.default, x, take(b, weight, 0, low, high), take(b, bias, 0, low, high))
            for low, high in ((0, row), (row, columns))
        ]
        return cat(b, parts, -1)
    rows = x.tensors[0].numel() // inner
    product = b.call(aten.addmm.default, bias, shaped(b, x, [rows, inner]), turned)
    return shaped(b, product, [*x.shape[:-1], columns])


def draw_attention(p):
    batch, heads = p.choice([1, 2]), p.choice([1, 2, 4])
    queries, keys, width = p.size(16), p.size(24), p.choice([4, 8])
    shape = (batch, heads, keys, width)
    query = p.operand([p.floats], (batch, heads, queries, width))
    key = p.operand([query.dtype], shape)
    kind = p.choice(["none", "causal", "window"])
    if kind != "none":
        query = p.operand([p.floats], shape)
    return [query, key, p.operand([query.dtype], shape)], {
        "kind": kind,
        "width": p.random.randint(1, max(1, keys - 1)),
    }


@theme(3, draw_attention)
def attention(b, s, query, key, value, kind, width):
    keys = key.shape[-2]
    queries = query.shape[-2]
    mask = None
    if kind != "none" and (s == 1 or kind == "window"):
        row = shaped(b, iota(b, queries), [queries, 1])
        distance = b.call(aten.sub.Tensor, row, iota(b, keys))
        mask = b.call(aten.ge.Scalar, distance, 0)
        if kind == "window":
            near = b.call(aten.lt.Scalar, distance, width)
            mask = b.call(aten.logical_and.default, mask, near)

    def attend(query, key, value):
        if mask is not None:
            return b.call(aten.scaled_dot_product_attention.default, query, key, value, mask)
        causal = kind == "causal"
        return b.call(aten.scaled_dot_product_attention.default, query, key, value, None, 0.0, causal)

    if s < 2:
        return b.dense(attend(query, key, value))
    # Head by head.
    heads = query.shape[1]
    parts = [
        attend(*(take(b, x, 1, head, head + 1) for x in (query, key, value))) for head in range(heads)
    ]
    return b.dense(cat(b, parts, 1) if heads > 1 else parts[0])


def draw_scores(p):
    x = floats(p, 2, 3, lambda v: min(v.shape[-2:]) >= 2)
    return [x], {"diagonal": p.random.randint(0, max(0, x.shape[-1] - 1)), "scale": p.choice([0.25, 0.5])}


@theme(3, draw_scores)
def causal_softmax(b, s, x, diagonal, scale):
    masked = lower_triangle(b, [0, 3, 4][s], mul(b, x, scale), diagonal, -1e9)
    return b.call(aten.softmax.int if s != 1 else aten._softmax.default, masked, -1, *([False] * (s == 1)))


# -------------------------------------------------------------- collectives


def divided(p, value, dim):
    return value.shape[dim] % p.world_size == 0


def draw_partial(p):
    x = p.operand([p.floats], (p.world_size * p.choice([1, 2, 6, 16]), *p.sizes(0, 1)))
    return [p_dense(p, x)], {"size": p.world_size}


def p_dense(p, value):
    return p.dense(value)


@theme(4, draw_partial)
def all_reduce(b, s, x, size):
    if s == 0:
        return b.collective("all_reduce", x, "sum", GROUP)
    if s == 1:
        shard = b.collective("reduce_scatter_tensor", x, "sum", size, GROUP)
        return b.collective("all_gather_into_tensor", shard, size, GROUP, exact=True)
    if s == 2:
        mean = b.collective("all_reduce", x, "avg", GROUP)
        return mul(b, mean, float(size))
    whole = b.collective("all_gather_into_tensor", x, size, GROUP, exact=True)
    stacked = shaped(b, whole, [size, *x.shape])
    return b.call(aten.sum.dim_IntList, stacked, [0])


def draw_gather(p):
    x = p.dense(floats(p, 2, 3))
    return [x], {"size": p.world_size, "dim": p.random.randrange(1, x.rank)}


@theme(3, draw_gather)
def gather_along(b, s, x, size, dim):
    if s == 0:
        whole = b.collective("all_gather_into_tensor", x, size, GROUP, exact=True)
        return cat(b, b.call(aten.chunk.default, whole, size, 0, exact=True), dim)
    if s == 1:
        turned = b.dense(swapped(b, x, 0, dim))
        whole = b.collective("all_gather_into_tensor", turned, size, GROUP, exact=True)
        return b.dense(swapped(b, whole, 0, dim))
    whole = b.collective("all_gather_into_tensor", x, size, GROUP, exact=True)
    stacked = shaped(b, whole, [size, *x.shape])
    order = [*range(1, dim + 1), 0, *range(dim + 1, x.rank + 1)]
    moved = b.call(aten.permute.default, stacked, order, exact=True)
    shape = list(x.shape)
    shape[dim] *= size
    return b.dense(shaped(b, moved, shape))


def draw_scatter(p):
    rows = p.choice([2, 3, 4])
    x = p.operand([p.floats], (rows, p.world_size * p.choice([1, 2, 5, 16])))
    return [x], {"size": p.world_size, "reduction": p.choice(["sum", "avg", "max"])}


@theme(2, draw_scatter)
def scatter_along(b, s, x, size, reduction):
    if s == 0:
        stacked = cat(b, b.call(aten.chunk.default, x, size, 1, exact=True), 0)
        return b.collective("reduce_scatter_tensor", stacked, reduction, size, GROUP)
    turned = b.dense(b.call(aten.t.default, x, exact=True))
    shard = b.collective("reduce_scatter_tensor", turned, reduction, size, GROUP)
    return b.dense(b.call(aten.t.default, shard, exact=True))


def draw_sequence(p):
    rows, inner, width = p.choice([1, 2, 4, 16]), p.choice([2, 8]), p.choice([4, 6, 16])
    size = p.world_size
    x = p.operand([p.floats], (rows * size, inner))
    weight = p.operand([x.dtype], (inner, width))
    residual = p.dense(p.operand([x.dtype], (rows, width)))
    scale = p.input(p.floats, (width,), kinds=("replicated",))
    return [x, weight, residual, scale], {"size": size, "epsilon": 1e-5}


@theme(3, draw_sequence)
def sequence_parallel(b, s, x, weight, residual, scale, size, epsilon):
    """A product, its sum over ranks, the residual, a norm: whole or by rows."""
    product = b.call(aten.mm.default, x, weight)
    if s == 0:
        total = b.collective("all_reduce", product, "sum", GROUP)
        rows = b.collective("all_gather_into_tensor", residual, size, GROUP, exact=True)
        return rms_norm(b, 0, add(b, total, rows), scale, epsilon)
    shard = b.collective("reduce_scatter_tensor", product, "sum", size, GROUP)
    normed = rms_norm(b, 0 if s == 1 else 1, add(b, shard, residual), scale, epsilon)
    return b.collective("all_gather_into_tensor", b.dense(normed), size, GROUP, exact=True)


def draw_vocabulary(p):
    rows = p.choice([4, 10, 100, 333])
    table = p.operand([p.floats], (rows, p.choice([2, 4])))
    shape = p.sizes(1, 2)
    if math.prod(shape) > 600:
        return None
    kinds = ("replicated", "varying")
    ids = p.input(INT, shape, kinds=kinds)
    if p.chance(0.5):
        first = p.input(INT, (), kinds=("varying",))
        return [table, ids, first], {"start": None}
    return [table, ids], {"start": p.random.randrange(rows * p.world_size)}


@theme(3, draw_vocabulary)
def vocabulary_parallel(b, s, table, ids, first=None, start=None):
    rows = table.shape[0]
    base = start if first is None else first
    local = b.call(aten.sub.Tensor, ids, base)
    if s == 0:
        inside = b.call(
            aten.logical_and.default, b.call(aten.ge.Scalar, local, 0), b.call(aten.lt.Scalar, local, rows)
        )
        found = b.call(aten.embedding.default, table, b.call(aten.where.ScalarOther, inside, local, 0))
        mask = b.call(aten.unsqueeze.default, inside, -1)
        partial = mul(b, found, like(b, table, mask))
    else:
        compare = (aten.lt.Scalar, aten.ge.Scalar) if first is None else (aten.lt.Tensor, aten.ge.Tensor)
        last = base + rows if first is None else b.call(aten.add.Scalar, base, rows)
        outside = b.call(
            aten.logical_or.default, b.call(compare[0], ids, base), b.call(compare[1], ids, last)
        )
        if s == 1:
            local = b.call(aten.where.ScalarSelf, outside, 0, local)
        else:
            keep = b.call(aten.to.dtype, b.call(aten.logical_not.default, outside), INT)
            local = mul(b, local, keep)
        found = b.call(aten.embedding.default, table, local)
        mask = b.call(aten.unsqueeze.default, outside, -1)
        partial = b.call(aten.masked_fill.Scalar, found, mask, 0.0)
    return b.collective("all_reduce", b.dense(partial), "sum", GROUP)


def draw_exchange(p):
    x = p.operand([p.floats], (p.world_size * p.choice([1, 2, 3]), *p.sizes(0, 1)))
    return [p.dense(x)], {"size": p.world_size}


@theme(2, draw_exchange)
def exchange_twice(b, s, x, size):
    if s == 0:
        return b.call(aten.mul.Tensor, x, 2.0)
    splits = [x.shape[0] // size] * size
    there = b.collective("all_to_all_single", x, splits, splits, GROUP, exact=True)
    doubled = mul(b, there, 2.0)
    return b.collective("all_to_all_single", doubled, splits, splits, GROUP, exact=True)


def draw_source(p):
    return [p.dense(floats(p))], {"size": p.world_size, "source": p.random.randrange(p.world_size)}


@theme(2, draw_source)
def broadcast(b, s, x, size, source):
    if s == 0:
        return b.collective("broadcast", x, source, GROUP, exact=True)
    whole = b.collective("all_gather_into_tensor", x, size, GROUP, exact=True)
    return b.dense(b.call(aten.chunk.default, whole, size, 0, exact=True)[source])


# ------------------------------------------------------------------- random


def draw_noise(p):
    return [floats(p)], {"probability": p.choice([0.1, 0.5])}


@theme(2, draw_noise)
def noise(b, s, x, probability):
    first, second = b.call(aten.rand_like.default, x), b.call(aten.rand_like.default, x)
    if s == 0:
        return add(b, mul(b, first, x), second)
    return add(b, second, mul(b, x, first))
