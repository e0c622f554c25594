# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Rewrites whose numbers are computed before they count.

As rewrites_of_numbers.py. The element at which a fault shows is none of the numbers
in the program: an id that is multiplied before it is compared, a position that became
a float, a row that is looked up from behind.
"""

from pairs.programs import aten
from pairs.themes import cat, iota, mul, shaped, take
from rewrites_of_numbers import FLOAT, INT, rewrite


def number_if(b, x, mask):
    return b.call(aten.where.ScalarOther, mask, x, 0.0)


@rewrite(
    "computed integers", [(INT, (300,)), (FLOAT, (300,))],
    {"one id more": "18 passes too", "of another factor": "3 in place of 2"},
)  # fmt: skip
def multiple_below(b, variant, ids, x):
    if variant == "captured":
        return number_if(b, x, b.call(aten.lt.Scalar, b.call(aten.mul.Scalar, ids, 2), 36))
    factor, limit = {"one id more": (2, 38), "of another factor": (3, 36)}.get(variant, (4, 72))
    return number_if(b, x, b.call(aten.lt.Scalar, b.call(aten.mul.Scalar, ids, factor), limit))


@rewrite(
    "computed integers", [(INT, (300,)), (FLOAT, (300,))],
    {"the next page": "page 90 passes too", "of other pages": "5 in a page"},
)  # fmt: skip
def pages_below(b, variant, ids, x):
    if variant == "twin":
        return number_if(b, x, b.call(aten.lt.Scalar, ids, 360))
    size = 5 if variant == "of other pages" else 4
    page = b.call(aten.floor_divide.default, ids, size)
    return number_if(b, x, b.call(aten.lt.Scalar, page, 91 if variant == "the next page" else 90))


@rewrite(
    "computed integers", [(INT, (200,)), (FLOAT, (200,))],
    {"a square more": "61 squared passes", "only positive": "numbers below zero do not"},
)  # fmt: skip
def squares_below(b, variant, ids, x):
    if variant == "captured":
        limit = b.call(aten.lt.Scalar, b.call(aten.mul.Tensor, ids, ids), 3601)
        return number_if(b, x, limit)
    away = ids if variant == "only positive" else b.call(aten.abs.default, ids)
    inside = b.call(aten.le.Scalar, away, 61 if variant == "a square more" else 60)
    if variant == "only positive":
        inside = b.call(aten.logical_and.default, inside, b.call(aten.ge.Scalar, ids, 0))
    return number_if(b, x, inside)


@rewrite(
    "computed integers", [(INT, (200,)), (FLOAT, (200,))],
    {"one id more": "171 passes too", "of another unit": "a ninth in place of a tenth"},
)  # fmt: skip
def ids_as_floats(b, variant, ids, x):
    if variant == "twin":
        return number_if(b, x, b.call(aten.le.Scalar, ids, 170))
    real = b.call(aten.to.dtype, ids, FLOAT)
    limit = 171.5 if variant == "one id more" else 170.5
    unit = 1 / 9 if variant == "of another unit" else 0.5
    return number_if(b, x, b.call(aten.lt.Scalar, b.call(aten.mul.Scalar, real, unit), limit / 2))


@rewrite(
    "computed positions", [(FLOAT, (3, 500))],
    {"one position more": "position 18", "of another step": "a quarter in place of a half"},
)  # fmt: skip
def positions_as_floats(b, variant, x):
    positions = iota(b, 500)
    if variant == "twin":
        return number_if(b, x, b.call(aten.lt.Scalar, positions, 18))
    limit = 9.25 if variant == "one position more" else 8.75
    step = 0.25 if variant == "of another step" else 0.5
    scaled = b.call(aten.mul.Scalar, b.call(aten.to.dtype, positions, FLOAT), step)
    return number_if(b, x, b.call(aten.lt.Scalar, scaled, limit))


@rewrite(
    "computed positions", [(FLOAT, (2, 120, 120))],
    {"a wider window": "18 in place of 17", "looks ahead": "distances of both signs"},
)  # fmt: skip
def window_of_floats(b, variant, x):
    row, column = shaped(b, iota(b, 120), [120, 1]), iota(b, 120)
    if variant != "twin":
        row, column = (b.call(aten.to.dtype, value, FLOAT) for value in (row, column))
    away = b.call(aten.sub.Tensor, row, column)
    if variant == "looks ahead":
        away = b.call(aten.abs.default, away)
    if variant == "twin":
        return number_if(b, x, b.call(aten.le.Scalar, away, 17))
    return number_if(b, x, b.call(aten.lt.Scalar, away, 18.5 if variant == "a wider window" else 17.5))


@rewrite(
    "computed positions", [(FLOAT, (3, 500))],
    {"counted from one more": "prefix 19", "of other summands": "a third in place of a half"},
)  # fmt: skip
def prefix_of_floats(b, variant, x):
    if variant == "twin":
        return number_if(b, x, b.call(aten.lt.Scalar, iota(b, 500), 18))
    part = 1 / 3 if variant == "of other summands" else 0.5
    sums = b.call(aten.cumsum.default, b.call(aten.full.default, [500], part, dtype=FLOAT), 0)
    return number_if(b, x, b.call(aten.lt.Scalar, sums, 9.75 if variant == "counted from one more" else 9.25))


def without(b, x, row):
    """The rows with zeros in one."""
    size = x.shape[0]
    zeros = b.call(aten.zeros_like.default, take(b, x, 0, row, row + 1))
    return cat(b, [take(b, x, 0, 0, row), zeros, take(b, x, 0, row + 1, size)], 0)


@rewrite(
    "looked up positions", [(FLOAT, (100, 3))],
    {"another row missing": "31 in place of 30", "not reversed": "the same order"},
)  # fmt: skip
def rows_from_behind(b, variant, x):
    rows = without(b, x, 31 if variant == "another row missing" else 30)
    if variant == "captured":
        return b.call(aten.flip.default, rows, [0])
    order = iota(b, 100) if variant == "not reversed" else b.call(aten.rsub.Scalar, iota(b, 100), 99)
    return b.call(aten.index_select.default, rows, 0, order)


@rewrite(
    "looked up positions", [(FLOAT, (120, 3))],
    {"another row missing": "62 in place of 60", "the odd ones": "from 1 in place of 0"},
)  # fmt: skip
def every_second_row(b, variant, x):
    rows = without(b, x, 62 if variant == "another row missing" else 60)
    if variant == "captured":
        return take(b, rows, 0, 0, 120, 2)
    order = b.call(aten.mul.Scalar, iota(b, 60), 2)
    if variant == "the odd ones":
        order = b.call(aten.add.Scalar, order, 1)
    return b.call(aten.index_select.default, rows, 0, order)


@rewrite(
    "looked up positions", [(FLOAT, (120, 3))],
    {"another row missing": "31 in place of 30", "cut elsewhere": "81 in place of 80"},
)  # fmt: skip
def halves_in_another_order(b, variant, x):
    rows = without(b, x, 31 if variant == "another row missing" else 30)
    cut = 81 if variant == "cut elsewhere" else 80
    if variant == "captured":
        return cat(b, [take(b, rows, 0, cut, 120), take(b, rows, 0, 0, cut)], 0)
    order = cat(b, [iota(b, 120, cut), iota(b, cut)], 0)
    return b.call(aten.index_select.default, rows, 0, order)


@rewrite(
    "looked up positions", [(FLOAT, (120, 3))],
    {"another row missing": "31 in place of 30", "by columns": "the grid transposed"},
)  # fmt: skip
def rows_of_a_grid(b, variant, x):
    rows = without(b, x, 31 if variant == "another row missing" else 30)
    if variant == "captured":
        return b.call(aten.reshape.default, rows, [10, 12, 3])
    row, column = shaped(b, iota(b, 10), [10, 1]), iota(b, 12)
    if variant == "by columns":
        places = b.call(aten.add.Tensor, row, mul(b, column, b.call(aten.full.default, [], 10, dtype=INT)))
    else:
        places = b.call(aten.add.Tensor, b.call(aten.mul.Scalar, row, 12), column)
    return b.call(aten.index.Tensor, rows, [places])
