# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Themes of whole rows and of products: norms, means, linear layers, attention."""

import torch

from pairs.mask_themes import lower_triangle
from pairs.programs import aten
from pairs.theme import add, cat, floats, iota, mul, number, shaped, take, theme


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
        mean = b.call(
            aten.div.Scalar, b.call(aten.sum.dim_IntList, squares, [-1], True), x.shape[-1]
        )
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
    return [x, weight, bias], {
        "cut": p.random.randint(1, inner - 1),
        "row": p.random.randint(1, columns - 1),
    }


@theme(5, draw_linear)
def linear(b, s, x, weight, bias, cut, row):
    inner, columns = x.shape[-1], weight.shape[0]
    if s == 0:
        return b.call(aten.linear.default, x, weight, bias)
    turned = b.call(aten.t.default, weight, exact=True)
    if s == 1:
        return add(b, b.call(aten.matmul.default, x, turned), bias)
    if s == 2:
        first = b.call(
            aten.linear.default, take(b, x, -1, 0, cut), take(b, weight, 1, 0, cut), bias
        )
        second = b.call(
            aten.linear.default, take(b, x, -1, cut, inner), take(b, weight, 1, cut, inner)
        )
        return add(b, second, first)
    if s == 3:
        parts = [
            b.call(
                aten.linear.default, x, take(b, weight, 0, low, high), take(b, bias, 0, low, high)
            )
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
        return b.call(
            aten.scaled_dot_product_attention.default, query, key, value, None, 0.0, causal
        )

    if s < 2:
        return b.dense(attend(query, key, value))
    # Head by head.
    heads = query.shape[1]
    parts = [
        attend(*(take(b, x, 1, head, head + 1) for x in (query, key, value)))
        for head in range(heads)
    ]
    return b.dense(cat(b, parts, 1) if heads > 1 else parts[0])


def draw_scores(p):
    x = floats(p, 2, 3, lambda v: min(v.shape[-2:]) >= 2)
    return [x], {
        "diagonal": p.random.randint(0, max(0, x.shape[-1] - 1)),
        "scale": p.choice([0.25, 0.5]),
    }


@theme(3, draw_scores)
def causal_softmax(b, s, x, diagonal, scale):
    masked = lower_triangle(b, [0, 3, 4][s], mul(b, x, scale), diagonal, -1e9)
    return b.call(
        aten.softmax.int if s != 1 else aten._softmax.default, masked, -1, *([False] * (s == 1))
    )
