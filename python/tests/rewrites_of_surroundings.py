# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Rewrites in which it counts what surrounds the numbers of a program.

As rewrites_of_numbers.py: the state of random generators, names and targets of inputs
and outputs, sizes that are symbols, and groups of ranks.
"""

from pairs.programs import Size, aten
from pairs.theme import add, cat, mul, take
from rewrites_of_numbers import FLOAT, INT, ROWS, rewrite

MESH = {"tp": [[0, 1], [2, 3]], "dp": [[0, 2], [1, 3]]}


# ----------------------------------------------------------- random operators


@rewrite(
    "random operators", [(FLOAT, (5, 8))],
    {"one call twice": "its numbers are added to themselves", "the first again": "twice the first"},
)  # fmt: skip
def two_calls(b, variant, x):
    first, second = b.call(aten.rand_like.default, x), b.call(aten.rand_like.default, x)
    if variant == "captured":
        return add(b, first, second)
    if variant == "one call twice":
        return add(b, second, second)
    if variant == "the first again":
        return b.call(aten.mul.Scalar, first, 2.0)
    return add(b, second, first)


@rewrite(
    "random operators", [(FLOAT, (5, 8))],
    {"calls swapped": "each has the other's numbers", "one call more": "the generator is further on"},
)  # fmt: skip
def order_of_calls(b, variant, x):
    if variant == "one call more":
        b.call(aten.rand_like.default, x)
    first, second = b.call(aten.rand_like.default, x), b.call(aten.rand_like.default, x)
    if variant == "calls swapped":
        first, second = second, first
    if variant == "captured":
        return b.call(aten.sub.Tensor, first, mul(b, second, x))
    return add(b, b.call(aten.neg.default, mul(b, x, second)), first)


@rewrite(
    "random operators", [(FLOAT, (5, 8), "replicated")],
    {"own numbers for their sum": "ranks draw different numbers", "scaled": "as if all ranks drew the same"},
)  # fmt: skip
def numbers_of_ranks(b, variant, x):
    drawn = b.call(aten.rand_like.default, x)
    if variant == "captured":
        return b.collective("all_reduce", mul(b, drawn, x), "sum", "0")
    if variant == "own numbers for their sum":
        return mul(b, drawn, x)
    if variant == "scaled":
        return b.call(aten.mul.Scalar, mul(b, drawn, x), 2.0)
    return mul(b, b.collective("all_reduce", drawn, "sum", "0"), x)


# ---------------------------------------------------------------- signatures


def sign_names(program, variant):
    program.parameters = {"x0": "layer.other" if variant == "another parameter" else "layer.weight"}
    program.buffers = {"x1": "layer.bias"}
    if variant == "a buffer for a parameter":
        program.parameters, program.buffers = {}, {"x0": "layer.weight", "x1": "layer.bias"}
    if variant == "names swapped":
        program.parameters, program.buffers = {"x0": "layer.bias"}, {"x1": "layer.weight"}


@rewrite(
    "signatures", [(FLOAT, (3, 4))] * 2,
    {"another parameter": "another name", "a buffer for a parameter": "another kind",
     "names swapped": "each has the other's"},
    sign=sign_names,
)  # fmt: skip
def names_of_parameters(b, variant, x, y):
    return add(b, y, x) if variant == "twin" else add(b, x, y)


def sign_mutation(program, variant):
    program.buffers = {"x0": "first", "x1": "second"}
    program.mutations = (
        {} if variant == "none written" else {0: "second" if variant == "other buffer" else "first"}
    )


@rewrite(
    "signatures", [(FLOAT, (3, 4))] * 2,
    {"other buffer": "the new value is the other's", "none written": "an output in place of a write"},
    sign=sign_mutation,
)  # fmt: skip
def written_buffer(b, variant, x, y):
    return [add(b, y, x) if variant == "twin" else add(b, x, y), mul(b, x, y)]


def sign_constants(program, variant):
    program.constants = {
        "another constant": [3, 8],
        "constant lost": [3],
        "float for integer": [3, 7.0],
    }.get(variant, [3, 7])


@rewrite(
    "signatures", [(FLOAT, (3, 4))],
    {"another constant": "8 in place of 7", "constant lost": "one output less", "float for integer": "7.0"},
    sign=sign_constants,
)  # fmt: skip
def constant_outputs(b, variant, x):
    return add(b, x, x) if variant == "twin" else b.call(aten.mul.Scalar, x, 2.0)


# ------------------------------------------------------------ symbolic sizes


@rewrite(
    "symbolic sizes", [(FLOAT, (ROWS, 5))],
    {"divided by the traced size": "6 rows were traced", "by one more": "one row too many"},
)  # fmt: skip
def mean_of_rows(b, variant, x):
    if variant == "captured":
        return b.call(aten.mean.dim, x, [0])
    total = b.call(aten.sum.dim_IntList, x, [0])
    if variant == "divided by the traced size":
        return b.call(aten.div.Scalar, total, 6)
    ones = b.call(
        aten.full.default, [Size(1, 1) if variant == "by one more" else ROWS], 1.0, dtype=FLOAT
    )
    return b.call(aten.div.Tensor, total, b.call(aten.sum.dim_IntList, ones, [0]))


@rewrite(
    "symbolic sizes", [(FLOAT, (ROWS, 5))],
    {"mask at the traced size": "position 5 was the last", "first row": "the other end"},
)  # fmt: skip
def last_row(b, variant, x):
    position = b.call(aten.arange.start_step, 0, ROWS, 1, dtype=INT)
    last = b.call(aten.amax.default, position, [0])
    if variant == "captured":
        # select(x, 0, -1) starts at a symbolic index, and is opaque.
        row = b.call(aten.index_select.default, x, 0, b.call(aten.unsqueeze.default, last, 0))
        return b.call(aten.squeeze.dim, row, 0)
    if variant == "mask at the traced size":
        last = b.call(aten.full.default, [], 5, dtype=INT)
    if variant == "first row":
        last = b.call(aten.full.default, [], 0, dtype=INT)
    mask = b.call(aten.unsqueeze.default, b.call(aten.eq.Tensor, position, last), 1)
    return b.call(aten.sum.dim_IntList, mul(b, x, b.call(aten.to.dtype, mask, FLOAT)), [0])


@rewrite(
    "symbolic sizes", [(FLOAT, (ROWS, 3))],
    {"traced rows only": "six rows of any number", "all but one": "one row too few"},
)  # fmt: skip
def sum_of_all(b, variant, x):
    if variant == "captured":
        return b.call(aten.sum.dim_IntList, x, [0])
    end = {"traced rows only": 6, "all but one": Size(1, -1)}.get(variant, ROWS)
    first = b.call(aten.sum.dim_IntList, take(b, x, 0, 0, 2), [0])
    return add(b, first, b.call(aten.sum.dim_IntList, take(b, x, 0, 2, end), [0]))


# -------------------------------------------------------------------- groups


def both_groups(b, x):
    """So that each program has both groups."""
    return [b.collective("all_reduce", x, "sum", name) for name in MESH]


@rewrite(
    "groups", [(FLOAT, (4, 6))],
    {"the other axis": "dp for tp", "both axes": "over all ranks", "one axis twice": "tp for dp, after tp"},
    groups=MESH,
)  # fmt: skip
def sum_over_an_axis(b, variant, x):
    anchors = both_groups(b, x)
    name = "dp" if variant == "the other axis" else "tp"
    product = mul(b, x, x)
    if variant == "captured":
        return [b.collective("all_reduce", product, "sum", name), *anchors]
    shard = b.collective("reduce_scatter_tensor", product, "sum", 2, name)
    total = b.collective("all_gather_into_tensor", shard, 2, name)
    if variant == "both axes":
        total = b.collective("all_reduce", total, "sum", "dp")
    if variant == "one axis twice":
        total = b.collective("all_reduce", total, "sum", "tp")
    return [total, *anchors]


@rewrite(
    "groups", [(FLOAT, (2, 6))],
    {"axes in another order": "blocks are nested the other way", "one axis twice": "the other one is missing"},
    groups=MESH,
)  # fmt: skip
def gather_over_both_axes(b, variant, x):
    anchors = both_groups(b, x)
    order = {"axes in another order": ("dp", "tp"), "one axis twice": ("tp", "tp")}.get(
        variant, ("tp", "dp")
    )
    if variant != "captured":
        x = b.dense(b.call(aten.t.default, b.dense(b.call(aten.t.default, x))))
    for name in order:
        x = b.collective("all_gather_into_tensor", x, 2, name)
    return [x, *anchors]


ORDERS = {"0": [[0, 1, 2, 3]], "other": [[2, 0, 3, 1]]}


@rewrite(
    "groups", [(FLOAT, (2, 3))],
    {"order of ranks": "the group's order is ignored", "blocks reversed": "neither order"},
    groups=ORDERS,
)  # fmt: skip
def members_in_another_order(b, variant, x):
    whole = b.collective("all_gather_into_tensor", x, 4, "other")
    plain = b.collective("all_gather_into_tensor", x, 4, "0")
    if variant == "captured":
        return [whole, plain]
    blocks = b.call(aten.chunk.default, plain, 4, 0)
    order = {"order of ranks": (0, 1, 2, 3), "blocks reversed": (3, 2, 1, 0)}.get(
        variant, (2, 0, 3, 1)
    )
    same = b.call(aten.chunk.default, whole, 4, 0)
    back = cat(b, [same[place] for place in (1, 3, 0, 2)], 0)
    return [cat(b, [blocks[rank] for rank in order], 0), back]
