# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Partial linears, fused collectives, attention and opaque operators.

As rewrites_of_blocks.py: correct rewrites, and faults to plant into them.
"""

import torch

from rewrites_of_blocks import BIAS_STD, WEIGHT_STD, Rewrite, line
from spmd_programs import Group

# --------------------------------------------------------- partial linears


def linear_of_concat(p, fault="captured"):
    """linear(cat(a, b, c)) is a sum of linears with slices of the weight."""
    weight = {"std": WEIGHT_STD}
    parts = [p.input(name, [6, 4], {"0": "replicated"}) for name in "abc"]
    w = p.input("w", [12, 12], {"0": "replicated"}, **weight)
    bias = p.input("bias", [12], {"0": "replicated"}, std=BIAS_STD)
    if fault == "captured":
        return p.returns(p.linear(p.concat(parts, 1), w, bias))
    starts = [0, 4, 8]
    if fault == "weight slices swapped":
        starts = [4, 0, 8]
    elif fault == "weight slice off by one":
        starts = [0, 3, 8]
    elif fault == "one weight slice for all":
        starts = [0, 0, 0]
    elif fault == "weight slices reversed":
        starts = [8, 4, 0]
    if fault == "weight sliced along its rows":
        # [4, 12] blocks of a square weight, read the other way round.
        slices = [p.permute(p.slice(w, 0, start, 4), [1, 0]) for start in starts]
    else:
        slices = [p.slice(w, 1, start, 4) for start in starts]
    if fault == "operands swapped":
        parts = [parts[1], parts[0], parts[2]]
    everywhere = fault == "bias in every part"
    products = [
        p.linear(part, piece, bias if everywhere or (index == 0 and fault != "no bias") else None)
        for index, (part, piece) in enumerate(zip(parts, slices))
    ]
    if fault == "one part missing":
        products = products[:2]
    if fault == "one part twice":
        products.append(products[2])
    total = products[0]
    for product in products[1:]:
        total = p.map("sub" if fault == "parts subtracted" else "add", total, product)
    return p.returns(total)


LINEAR_FAULTS = {
    "weight slices swapped": "slices of equal size for the wrong parts",
    "weight slice off by one": "columns 3 to 7 in place of 4 to 8",
    "one weight slice for all": "the first slice three times",
    "weight slices reversed": "last slice first",
    "weight sliced along its rows": "a square weight cut the other way",
    "operands swapped": "two parts of equal size",
    "bias in every part": "the bias is added three times",
    "no bias": "the bias is lost",
    "one part missing": "two parts of three",
    "one part twice": "four parts of three",
    "parts subtracted": "sub in place of add",
}


def linear_of_rows(p, fault="captured"):
    """Linears of stacked operands, and a slice of a product."""
    a = p.input("a", [4, 6], {"0": "replicated"})
    b = p.input("b", [4, 6], {"0": "replicated"})
    w = p.input("w", [10, 6], {"0": "replicated"}, std=WEIGHT_STD)
    bias = p.input("bias", [10], {"0": "replicated"}, std=BIAS_STD)
    if fault == "captured":
        both = p.linear(p.concat([a, b], 0), w, bias)
        return p.returns(both, p.copy(p.slice(p.linear(a, w), 1, 2, 4)))
    first, second = p.linear(a, w, bias), p.linear(b, w, bias)
    if fault == "bias of the first rows only":
        second = p.linear(b, w)
    rows = [second, first] if fault == "rows in another order" else [first, second]
    piece = p.slice(w, 0, 3 if fault == "rows of the weight off by one" else 2, 4)
    return p.returns(p.concat(rows, 0), p.linear(a, piece))


ROWS_FAULTS = {
    "bias of the first rows only": "the second product has no bias",
    "rows in another order": "concat with its operands swapped",
    "rows of the weight off by one": "rows 3 to 7 in place of 2 to 6",
}


def parallel_linear_of_concat(p, fault="captured"):
    """The tensor-parallel form: one all_reduce for all parts."""
    group = p.groups[0]
    parts = [p.input(name, [6, 4], {"0": "varying"}) for name in "ab"]
    w = p.input("w", [9, 8], {"0": "varying"}, std=WEIGHT_STD)
    bias = p.input("bias", [9], {"0": "replicated"}, std=BIAS_STD)
    if fault == "captured":
        reduced = p.all_reduce("sum", p.linear(p.concat(parts, 1), w), group)
        return p.returns(p.add(reduced, bias))
    products = [p.linear(x, p.slice(w, 1, 4 * i, 4)) for i, x in enumerate(parts)]
    if fault == "bias inside the all-reduce":
        products[0] = p.add(products[0], bias)
    if fault == "one part reduced on its own and again":
        products[0] = p.all_reduce("sum", products[0], group)
    if fault == "one part not reduced":
        reduced = p.add(p.all_reduce("sum", products[0], group), products[1])
    elif fault == "all-reduce missing":
        reduced = p.add(*products)
    else:
        kind = "avg" if fault == "all-reduce by average" else "sum"
        reduced = p.all_reduce(kind, p.add(*products), group)
    if fault == "bias inside the all-reduce":
        return p.returns(reduced)
    return p.returns(p.add(reduced, bias))


PARALLEL_LINEAR_FAULTS = {
    "bias inside the all-reduce": "the bias is summed over ranks",
    "one part reduced on its own and again": "a sum of sums",
    "one part not reduced": "a full value plus a partial one",
    "all-reduce missing": "partial sums are returned",
    "all-reduce by average": "avg in place of sum",
}


# --------------------------------------------------------- fused operators


def fp8(p, name, shape, placement):
    return p.input(name, shape, {"0": placement}, dtype=torch.float8_e4m3fn)


def gathered_products(p, fault="captured"):
    group = p.groups[0]
    size = group.size
    x = fp8(p, "x", [4, 6], "varying")
    sides = [fp8(p, name, [6, 8], "varying") for name in ("b", "c")]
    rows = p.input("row_scale", [4, 1], {"0": "varying"}, std=0.1, mean=1.0)
    columns = [
        p.input(name, [1, 8], {"0": "varying"}, std=0.1, mean=1.0)
        for name in ("b_scale", "c_scale")
    ]
    if fault == "captured":
        whole, scale = p.all_gather(x, 0, group), p.all_gather(rows, 0, group)
        products = [p.matmul(whole, b, scales=(scale, s)) for b, s in zip(sides, columns)]
        return p.returns(*products)
    if fault == "scale of the own rows for all":
        whole, scale = p.all_gather(x, 0, group), p.concat([rows] * size, 0)
        return p.returns(*(p.matmul(whole, b, scales=(scale, s)) for b, s in zip(sides, columns)))
    if fault == "scale dropped":
        one = p.constant(1.0, shape=[4, 1])
        rows = one
    if fault == "scales of the sides swapped":
        columns = columns[::-1]
    outputs = p.all_gather_matmul(x, sides, 0, group, (rows, columns))
    if fault == "products swapped":
        outputs = outputs[::-1]
    if fault == "product of the shard's rows reversed":
        outputs = [p.concat(p.chunks(o, size, 0)[::-1], 0) for o in outputs]
    return p.returns(*outputs)


GATHERED_FAULTS = {
    "scale of the own rows for all": "the row scale is not gathered",
    "scale dropped": "rows have scale 1",
    "scales of the sides swapped": "each product has the other's scale",
    "products swapped": "two results of one shape",
    "product of the shard's rows reversed": "rows in another order",
}


def scattered_product(p, fault="captured"):
    group = p.groups[0]
    size = group.size
    a = p.input("a", [4 * size, 6], {"0": "varying"})
    b = p.input("b", [6, 4 * size], {"0": "varying"}, std=WEIGHT_STD)
    bias = p.input("bias", [4 * size], {"0": "replicated"}, std=BIAS_STD)
    rows = p.input("row_scale", [4 * size, 1], {"0": "varying"}, std=0.1, mean=1.0)
    columns = p.input("column_scale", [1, 4 * size], {"0": "varying"}, std=0.1, mean=1.0)
    scales = (rows, columns)
    if fault == "captured":
        local = p.reduce_scatter("sum", p.matmul(a, b, scales=scales), 0, group)
        return p.returns(p.add(local, bias))
    kind = "avg" if fault == "fused average for sum" else "sum"
    if fault == "column scale dropped":
        scales = (rows, p.constant(1.0, shape=[1, 4 * size]))
    axis = 1 if fault == "columns scattered, reshaped" else 0
    inside = bias if fault == "bias inside the fused operator" else None
    local = p.matmul_reduce_scatter(kind, a, b, axis, group, inside, scales)
    if fault == "columns scattered, reshaped":
        local = p.reshape(local, [4, 4 * size])
    return p.returns(local if inside else p.add(local, bias))


SCATTERED_FAULTS = {
    "fused average for sum": "avg in place of sum",
    "column scale dropped": "columns have scale 1",
    "columns scattered, reshaped": "scatter_axis 1 in place of 0",
    "bias inside the fused operator": "the bias is summed over ranks",
}


def fused_norm(p, fault="captured"):
    x = p.input("x", [6, 8], {"0": "varying"})
    residual = p.input("residual", [6, 8], {"0": "replicated"})
    w = p.input("w", [8], {"0": "replicated"}, std=0.1, mean=1.0)
    if fault == "captured":
        total = p.add(x, residual)
        squares = p.reduce("avg", p.mul(total, total), [1])
        root = p.map("rsqrt", p.add(squares, p.constant(1e-5)))
        return p.returns(p.mul(p.mul(total, root), w), total)
    epsilon = 1e-6 if fault == "epsilon of the fused norm" else 1e-5
    if fault == "residual normed instead of added":
        return p.returns(p.rms_norm(residual, w, epsilon), p.add(x, residual))
    normed, total = p.add_rms_norm(x, residual, w, epsilon)
    if fault == "sum replaced by its operand":
        total = p.map("neg", p.map("neg", x))
    if fault == "mean over rows":
        squares = p.reduce("avg", p.mul(total, total), [0])
        root = p.map("rsqrt", p.add(squares, p.constant(1e-5)))
        normed = p.mul(p.mul(total, root), w)
    if fault == "sum of squares for their mean":
        squares = p.reduce("sum", p.mul(total, total), [1])
        root = p.map("rsqrt", p.add(squares, p.constant(1e-5)))
        normed = p.mul(p.mul(total, root), w)
    return p.returns(normed, total)


NORM_FAULTS = {
    "epsilon of the fused norm": "1e-6 in place of 1e-5",
    "residual normed instead of added": "the norm misses one operand",
    "sum replaced by its operand": "the second result misses the residual",
    "mean over rows": "the norm is over the wrong dim",
    "sum of squares for their mean": "sum in place of avg",
}


# --------------------------------------------------------------- attention


def rotate(p, x, cosine, sine, fault):
    """Rotary embedding of [batch, heads, length, width]."""
    half = x.shape[-1] // 2
    low, high = p.slice(x, 3, 0, half), p.slice(x, 3, half, half)
    if fault == "rotary halves swapped":
        turned = p.concat([high, p.map("neg", low)], 3)
    elif fault == "rotary sign dropped":
        turned = p.concat([high, low], 3)
    elif fault == "rotary of neighbours for halves":
        even, odd = p.slice(x, 3, 0, half, 2), p.slice(x, 3, 1, half, 2)
        turned = p.concat([p.map("neg", odd), even], 3)
    else:
        turned = p.concat([p.map("neg", high), low], 3)
    if fault == "cosine and sine swapped":
        cosine, sine = sine, cosine
    return p.add(p.mul(x, cosine), p.mul(turned, sine))


def attention_block(p, fault="captured"):
    """Grouped-query attention; rewritten: heads repeated, batches one by one."""
    batch, heads, shared, length, width = 2, 4, 2, 6, 8
    group = p.groups[0]
    q, k, v = (
        p.input(name, [batch, length, count * width], {"0": "varying"})
        for name, count in (("q", heads), ("k", shared), ("v", shared))
    )
    w = p.input("w", [10, heads * width], {"0": "varying"}, std=WEIGHT_STD)
    cosine = p.input("cosine", [length, width], {"0": "replicated"})
    sine = p.input("sine", [length, width], {"0": "replicated"})

    def split(x, count):
        if fault == "heads and positions not transposed":
            return p.reshape(x, [batch, count, length, width])
        if fault == "width and heads in another order":
            pieces = p.reshape(x, [batch, length, width, count])
            return p.permute(pieces, [0, 3, 1, 2])
        return p.permute(p.reshape(x, [batch, length, count, width]), [0, 2, 1, 3])

    query = rotate(p, split(q, heads), cosine, sine, fault)
    key = rotate(p, split(k, shared), cosine, sine, fault)
    if fault == "keys not rotated":
        key = split(k, shared)
    value = split(v, shared)
    if fault == "captured":
        mixed = p.attention(query, key, value, grouped=True)
    else:
        mixed = attend_one_by_one(p, query, key, value, fault)
    merged = p.permute(mixed, [0, 2, 1, 3])
    if fault == "heads merged without transposition":
        merged = mixed
    rows = p.reshape(merged, [batch, length, heads * width])
    return p.returns(p.all_reduce("sum", p.linear(rows, w), group))


def attend_one_by_one(p, query, key, value, fault):
    batch, shared, length, width = key.shape
    repeats = query.shape[1] // shared
    scale = {"scale dropped": 1.0, "scale without a root": 1 / width}.get(fault)
    if fault == "keys and values swapped":
        key, value = value, key

    def repeat(x):
        if fault == "heads dealt out, not grouped":
            return p.concat([x] * repeats, 1)
        single = p.reshape(x, [batch, shared, 1, length, width])
        wide = p.broadcast(single, [batch, shared, repeats, length, width])
        return p.reshape(wide, [batch, shared * repeats, length, width])

    key, value = repeat(key), repeat(value)
    parts = [[p.slice(t, 0, index, 1) for t in (query, key, value)] for index in range(batch)]
    if fault == "values of another batch":
        parts[0][2], parts[1][2] = parts[1][2], parts[0][2]
    causal = fault != "causal mask dropped"
    outputs = [p.attention(*part, causal=causal, scale=scale) for part in parts]
    if fault == "batches in another order":
        outputs = outputs[::-1]
    return p.concat(outputs, 0)


ATTENTION_FAULTS = {
    "rotary halves swapped": "the other half is negated",
    "rotary sign dropped": "no half is negated",
    "rotary of neighbours for halves": "pairs of neighbours are turned",
    "cosine and sine swapped": "the tables are swapped",
    "keys not rotated": "queries are rotated only",
    "heads and positions not transposed": "reshape in place of transposition",
    "width and heads in another order": "heads are interleaved",
    "heads merged without transposition": "reshape in place of transposition, after",
    "scale dropped": "scale 1",
    "scale without a root": "1 / width in place of 1 / sqrt(width)",
    "keys and values swapped": "two operands of one shape",
    "heads dealt out, not grouped": "query head i uses key head i mod 2, not i / 2",
    "values of another batch": "batch 0 attends to values of batch 1",
    "causal mask dropped": "later positions are seen",
    "batches in another order": "concat with its operands swapped",
}


def masked_softmax(p, fault="captured"):
    """Attention scores of a sequence shard: positions are global ones."""
    group = p.groups[0]
    rows, length = 3, 3 * group.size
    scores = p.input("scores", [length, length], {"0": "replicated"})
    low = p.constant(-1e9)

    def mask(x, first, axis=1):
        columns = p.iota(0, length)
        keep = p.map("less_equal", columns, p.reshape(first, [x.shape[0], 1]))
        if fault == "mask inverted":
            return p.softmax(p.map("select", keep, low, x), axis)
        return p.softmax(p.map("select", keep, x, low), axis)

    if fault == "captured":
        return p.returns(mask(scores, p.iota(0, length)))
    local = p.rank_slice(scores, 0, group)
    positions = p.rank_slice(p.iota(0, length), 0, group)
    if fault == "positions of the shard start at 0":
        positions = p.iota(0, rows)
    if fault == "positions off by one":
        positions = p.rank_slice(p.iota(1, length), 0, group)
    if fault == "softmax along the rows":
        return p.returns(p.all_gather(mask(local, positions, 0), 0, group))
    return p.returns(p.all_gather(mask(local, positions), 0, group))


SOFTMAX_FAULTS = {
    "mask inverted": "select with its branches swapped",
    "positions of the shard start at 0": "local positions for global ones",
    "positions off by one": "position i sees i + 1",
    "softmax along the rows": "the wrong dim is normalized",
}


def embedding(p, fault="captured"):
    """Rows of a table, looked up before or after the ids are cut."""
    group = p.groups[0]
    ids = p.input("ids", [6 * group.size], {"0": "replicated"}, dtype=torch.int64)
    table = p.input("table", [8, 5], {"0": "replicated"})
    if fault == "captured":
        return p.returns(p.take(table, ids))
    local = p.rank_slice(ids, 0, group)
    if fault == "ids of the first rank":
        local = p.slice(ids, 0, 0, 6)
    if fault == "ids shifted by one":
        one = p.constant(1, torch.int64)
        seven = p.constant(7, torch.int64)
        local = p.map("sub", seven, p.map("sub", seven, p.map("maximum", local, one)))
    rows = p.take(table, local)
    if fault == "rows of the ranks swapped":
        return p.returns(p.concat(p.chunks(p.all_gather(rows, 0, group), 2, 0)[::-1], 0))
    return p.returns(p.all_gather(rows, 0, group))


EMBEDDING_FAULTS = {
    "ids of the first rank": "slice in place of rank_slice",
    "ids shifted by one": "id 0 is read as id 1",
    "rows of the ranks swapped": "halves in another order",
}


# -------------------------------------------------------- opaque operators


def opaque_calls(p, fault="captured"):
    """Operators that nobody knows stay as they are around a rewrite."""
    group = p.groups[0]
    x = p.input("x", [4, 6], {"0": "varying"})
    y = p.input("y", [4, 6], {"0": "varying"})
    arguments = "[%0, %1, 3]" if fault != "other arguments" else "[%0, %1, 4]"
    operands = [y, x] if fault == "operands of the opaque operator swapped" else [x, y]

    def mix():
        return p.call("torch.ops.library.mix.default", operands, arguments)

    def count():
        return p.call("torch.ops.library.count.default", [x], "[%0]")

    if fault == "opaque operators in another order":
        counted, mixed = count(), mix()
    elif fault == "opaque operator twice":
        mixed, counted = mix(), count()
        count()
    elif fault == "opaque operator missing":
        mixed, counted = mix(), x
    else:
        mixed, counted = mix(), count()
    if fault == "captured":
        reduced = p.all_reduce("sum", mixed, group)
    else:
        reduced = p.all_gather(p.reduce_scatter("sum", mixed, 0, group), 0, group)
    return p.returns(reduced, counted)


OPAQUE_FAULTS = {
    "other arguments": "a number among its arguments",
    "operands of the opaque operator swapped": "two operands of one type",
    "opaque operators in another order": "they may have effects",
    "opaque operator twice": "it may have effects",
    "opaque operator missing": "its operand is returned",
}


def clamp(p, fault="captured"):
    """A lower bound, under a sum over ranks."""
    group = p.groups[0]
    x = p.input("x", [4, 6], {"0": "varying"})
    zero = p.constant(0.0)
    if fault == "captured":
        return p.returns(p.all_reduce("sum", p.map("maximum", x, zero), group))
    bounded = x if fault == "lower bound dropped" else p.map("maximum", x, zero)
    if fault == "lower bound after the sum":
        scattered = p.map("maximum", p.reduce_scatter("sum", x, 0, group), zero)
    else:
        scattered = p.reduce_scatter("sum", bounded, 0, group)
    return p.returns(p.all_gather(scattered, 0, group))


CLAMP_FAULTS = {
    "lower bound dropped": "negative numbers pass",
    "lower bound after the sum": "the bound moved across the reduction",
}


def same(name, build, faults, groups=None, has_floats=True, is_described=True):
    return Rewrite(
        name,
        groups or line(2),
        build,
        lambda p, fault: build(p, fault or "twin"),
        faults,
        has_floats=has_floats,
        is_described=is_described,
    )


PRODUCT_REWRITES = [
    same("linear of a concatenation", linear_of_concat, LINEAR_FAULTS),
    same("linear of stacked rows", linear_of_rows, ROWS_FAULTS),
    *(
        same(
            f"tensor-parallel linear of a concatenation, {width} ranks",
            parallel_linear_of_concat,
            PARALLEL_LINEAR_FAULTS,
            line(width),
        )
        for width in (2, 4)
    ),
    *(
        same(f"{name}, {width} ranks", build, faults, line(width))
        for name, build, faults in (
            ("all_gather_matmul", gathered_products, GATHERED_FAULTS),
            ("matmul_reduce_scatter", scattered_product, SCATTERED_FAULTS),
        )
        for width in (2, 4)
    ),
    same("add_rms_norm of its parts", fused_norm, NORM_FAULTS),
    same("attention batch by batch", attention_block, ATTENTION_FAULTS),
    same("masked softmax of a shard", masked_softmax, SOFTMAX_FAULTS, [Group("0", [1, 0])]),
    same("embedding of a shard", embedding, EMBEDDING_FAULTS),
    same(
        "around opaque operators",
        opaque_calls,
        OPAQUE_FAULTS,
        has_floats=False,
        is_described=False,
    ),
    same("a lower bound under a sum", clamp, CLAMP_FAULTS),
]
