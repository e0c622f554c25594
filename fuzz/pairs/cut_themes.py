# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Themes that cut rows, and put them together in other orders."""

from pairs.programs import aten
from pairs.theme import add, cat, draw_along, floats, iota, mul, number, shaped, take, theme


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
        order = b.call(
            aten.remainder.Scalar, b.call(aten.add.Scalar, iota(b, size), shift), size, exact=True
        )
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
        return b.call(
            aten.split_with_sizes.default, x, [start, end - start, size - end], dim, exact=True
        )[1]
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
    order = b.call(
        aten.add.Scalar, b.call(aten.mul.Scalar, iota(b, size // step), step), start, exact=True
    )
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
