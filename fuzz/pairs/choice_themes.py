# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Themes that choose between elements: bounds, comparisons, extrema."""

from pairs.programs import aten
from pairs.theme import INT, add, draw_along, floats, like, mul, number, take, theme


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
