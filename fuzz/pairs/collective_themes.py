# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Themes of collectives, and of random numbers."""

import math

from pairs.programs import aten
from pairs.row_themes import rms_norm
from pairs.theme import GROUP, INT, add, cat, floats, like, mul, shaped, swapped, theme


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
            aten.logical_and.default,
            b.call(aten.ge.Scalar, local, 0),
            b.call(aten.lt.Scalar, local, rows),
        )
        found = b.call(
            aten.embedding.default, table, b.call(aten.where.ScalarOther, inside, local, 0)
        )
        mask = b.call(aten.unsqueeze.default, inside, -1)
        partial = mul(b, found, like(b, table, mask))
    else:
        compare = (
            (aten.lt.Scalar, aten.ge.Scalar) if first is None else (aten.lt.Tensor, aten.ge.Tensor)
        )
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


def draw_noise(p):
    return [floats(p)], {"probability": p.choice([0.1, 0.5])}


@theme(2, draw_noise)
def noise(b, s, x, probability):
    first, second = b.call(aten.rand_like.default, x), b.call(aten.rand_like.default, x)
    if s == 0:
        return add(b, mul(b, first, x), second)
    return add(b, second, mul(b, x, first))
