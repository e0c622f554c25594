# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Rewrites whose numbers are computed before they count.

As rewrites_of_numbers.py. The element at which a fault shows is none of the numbers
in the program: an id that is multiplied before it is compared, a position that became
a float, a row that is looked up from behind. Or few of all integers show it: a count
of many, two at once, one among many limits, one id in a program of many layers.
"""

from pairs.programs import aten
from pairs.theme import cat, iota, mul, shaped, take
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
    return number_if(
        b, x, b.call(aten.lt.Scalar, away, 18.5 if variant == "a wider window" else 17.5)
    )


@rewrite(
    "computed positions", [(FLOAT, (3, 500))],
    {"counted from one more": "prefix 19", "of other summands": "a third in place of a half"},
)  # fmt: skip
def prefix_of_floats(b, variant, x):
    if variant == "twin":
        return number_if(b, x, b.call(aten.lt.Scalar, iota(b, 500), 18))
    part = 1 / 3 if variant == "of other summands" else 0.5
    sums = b.call(aten.cumsum.default, b.call(aten.full.default, [500], part, dtype=FLOAT), 0)
    return number_if(
        b, x, b.call(aten.lt.Scalar, sums, 9.75 if variant == "counted from one more" else 9.25)
    )


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
    order = (
        iota(b, 100) if variant == "not reversed" else b.call(aten.rsub.Scalar, iota(b, 100), 99)
    )
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
        places = b.call(
            aten.add.Tensor, row, mul(b, column, b.call(aten.full.default, [], 10, dtype=INT))
        )
    else:
        places = b.call(aten.add.Tensor, b.call(aten.mul.Scalar, row, 12), column)
    return b.call(aten.index.Tensor, rows, [places])


@rewrite(
    "counted integers", [(INT, (96,)), (FLOAT, (96, 3))],
    {"one place more": "21 places", "counted from the other side": "before, not with, itself"},
)  # fmt: skip
def places_of_experts(b, variant, ids, x):
    """The first 20 tokens of each expert are kept."""
    expert = b.call(aten.remainder.Scalar, ids, 4)
    chosen = b.call(aten.eq.Tensor, shaped(b, expert, [96, 1]), iota(b, 4))
    chosen = b.call(aten.to.dtype, chosen, INT)
    place = b.call(aten.cumsum.default, chosen, 0)
    if variant == "captured":
        kept = b.call(aten.le.Scalar, place, 20)
    elif variant == "one place more":
        kept = b.call(aten.le.Scalar, place, 21)
    elif variant == "counted from the other side":
        kept = b.call(aten.le.Scalar, b.call(aten.sub.Tensor, place, chosen), 20)
    else:
        kept = b.call(aten.lt.Scalar, place, 21)
    kept = b.call(aten.mul.Tensor, b.call(aten.to.dtype, kept, INT), chosen)
    kept = b.call(aten.to.dtype, b.call(aten.sum.dim_IntList, kept, [1], True), FLOAT)
    return mul(b, x, kept)


@rewrite(
    "counted integers", [(INT, (40,)), (FLOAT, (40,))],
    {"one more of them": "seven ids", "of another id": "6 in place of 5"},
)  # fmt: skip
def often_enough(b, variant, ids, x):
    wanted = 6 if variant == "of another id" else 5
    equal = b.call(
        aten.to.dtype, b.call(aten.eq.Scalar, b.call(aten.remainder.Scalar, ids, 8), wanted), INT
    )
    count = b.call(aten.sum.dim_IntList, equal, [0], True)
    if variant == "twin":
        return number_if(b, x, b.call(aten.gt.Scalar, count, 5))
    limit = 7 if variant == "one more of them" else 6
    return number_if(b, x, b.call(aten.ge.Scalar, count, limit))


@rewrite(
    "counted integers",
    [(INT, (4,), "varying", (15, 19)), (INT, (4,), "varying", (39, 43)), (FLOAT, (4,))],
    {"another second id": "41 in place of 40", "another first id": "16 in place of 17"},
)  # fmt: skip
def two_ids_at_once(b, variant, first, second, x):
    a = b.call(aten.eq.Scalar, first, 16 if variant == "another first id" else 17)
    c = b.call(aten.eq.Scalar, second, 41 if variant == "another second id" else 40)
    if variant == "twin":
        return number_if(b, x, b.call(aten.logical_and.default, c, a))
    return number_if(b, x, b.call(aten.logical_and.default, a, c))


@rewrite(
    "counted integers", [(INT, (1,), "varying", (2643, 2648)), (FLOAT, (5,))],
    {"one limit more": "5 * 23 * 23 + 1", "one limit less": "5 * 23 * 23 - 1"},
)  # fmt: skip
def many_limits(b, variant, number, x):
    limits = [5 * index * index for index in range(30)]
    if variant == "one limit more":
        limits[23] += 1
    if variant == "one limit less":
        limits[23] -= 1
    for index, limit in enumerate(limits):
        if variant == "twin":
            above = b.call(aten.gt.Scalar, number, limit - 1)
        else:
            above = b.call(aten.ge.Scalar, number, limit)
        scaled = b.call(aten.mul.Scalar, x, 1.5 + index / 8)
        x = b.call(aten.where.self, above, scaled, x)
    return x


@rewrite(
    "counted integers", [(INT, (64,)), (FLOAT, (64, 8)), (FLOAT, (8, 8))],
    {"one id more": "13 as well", "another layer": "after the layer behind it"},
)  # fmt: skip
def an_id_in_a_deep_program(b, variant, ids, x, weight):
    for layer in range(40):
        x = b.call(
            aten.add.Tensor, x, b.call(aten.silu.default, b.call(aten.mm.default, x, weight))
        )
        if layer == (21 if variant == "another layer" else 20):
            if variant == "twin":
                chosen = b.call(aten.lt.Scalar, ids, 13)
            else:
                chosen = b.call(aten.le.Scalar, ids, 13 if variant == "one id more" else 12)
            doubled = b.call(aten.mul.Scalar, x, 2.0)
            x = b.call(aten.where.self, shaped(b, chosen, [64, 1]), doubled, x)
    return x


@rewrite(
    "numbers made of integers", [(INT, (2, 64), "varying", (0, 12))],
    {"row 63 twice": "for row 0", "row 40 twice": "for row 41", "row 0 twice": "for row 7"},
)  # fmt: skip
def a_class_of_one_hot(b, variant, ids):
    classes = shaped(b, ids, [2, 64, 1])
    if variant == "captured":
        other = b.call(aten.ne.Tensor, iota(b, 3), classes)
        chosen = b.call(aten.where.Scalar, other, 0.0, 1.0)
    else:
        own = b.call(aten.eq.Scalar, b.call(aten.sub.Tensor, iota(b, 3), classes), 0)
        chosen = b.call(aten.to.dtype, own, FLOAT)
    faults = {"row 63 twice": (63, 0), "row 40 twice": (40, 41), "row 0 twice": (0, 7)}
    if variant in faults:
        source, target = faults[variant]
        ranges = ((0, target), (source, source + 1), (target + 1, 64))
        chosen = cat(b, [take(b, chosen, 1, start, end) for start, end in ranges if start < end], 1)
    return b.call(aten.select.int, chosen, 2, 2)


@rewrite(
    "numbers made of integers", [(INT, (2, 48), "varying", (0, 12)), (FLOAT, (48, 4))],
    {"another column": "column 31 for 30", "not masked": "column 5 is left as it is"},
)  # fmt: skip
def columns_of_a_mask(b, variant, ids, x):
    chosen = b.call(aten.to.dtype, b.call(aten.eq.Scalar, ids, 7), FLOAT)
    if variant != "captured":
        other = b.call(aten.to.dtype, b.call(aten.ne.Scalar, ids, 7), FLOAT)
        chosen = b.call(aten.rsub.Scalar, other, 1.0)
    if variant == "another column":
        parts = ((0, 30), (31, 32), (31, 48))
        chosen = cat(b, [take(b, chosen, 1, start, end) for start, end in parts], 1)
    if variant == "not masked":
        ones = b.call(aten.full.default, [2, 1], 1.0, dtype=FLOAT)
        chosen = cat(b, [take(b, chosen, 1, 0, 5), ones, take(b, chosen, 1, 6, 48)], 1)
    return b.call(aten.mm.default, chosen, x)


@rewrite(
    "numbers made of integers", [(INT, (60,), "varying", (0, 12)), (FLOAT, (60,))],
    {"one place later": "the mask is rolled", "one step off": "as if 8 were 9"},
)  # fmt: skip
def steps_of_ids(b, variant, ids, x):
    if variant == "captured":
        steps = b.call(aten.clamp.default, b.call(aten.floor_divide.default, ids, 4), 0, 2)
        steps = b.call(aten.to.dtype, steps, FLOAT)
    else:
        limit = 9 if variant == "one step off" else 8
        above = [
            b.call(aten.to.dtype, b.call(aten.ge.Scalar, ids, number), FLOAT)
            for number in (4, limit)
        ]
        steps = b.call(aten.add.Tensor, *above)
    if variant == "one place later":
        steps = b.call(aten.roll.default, steps, [1], [0])
    return b.call(aten.mul.Tensor, steps, x)


# --------------------------------------------------------- deciding elements


def left_out(b, variant, x, size):
    """All elements, or all but the one that the variant names."""
    start = 1 if variant == "first left out" else 0
    end = size - 1 if variant == "last left out" else size
    return take(b, x, 0, start, end) if variant.endswith("left out") else x


@rewrite(
    "deciding elements", [(INT, (24,)), (FLOAT, (24,))],
    {"first left out": "the largest of the others", "last left out": "the largest of the others"},
)  # fmt: skip
def largest_id(b, variant, ids, x):
    if variant == "twin":
        halves = [b.call(aten.amax.default, take(b, ids, 0, n, n + 12), [0], True) for n in (12, 0)]
        largest = b.call(aten.maximum.default, *halves)
    else:
        largest = b.call(aten.amax.default, left_out(b, variant, ids, 24), [0], True)
    return mul(b, x, b.call(aten.to.dtype, largest, FLOAT))


@rewrite(
    "deciding elements", [(INT, (24,), "varying", (0, 40)), (FLOAT, (24,))],
    {"first left out": "id 5 at the other places", "last left out": "id 5 at the other places"},
)  # fmt: skip
def any_id(b, variant, ids, x):
    chosen = b.call(aten.eq.Scalar, left_out(b, variant, ids, 24), 5)
    if variant != "twin":
        return number_if(b, x, b.call(aten.any.dim, chosen, 0, True))
    count = b.call(aten.sum.dim_IntList, b.call(aten.to.dtype, chosen, INT), [0], True)
    return number_if(b, x, b.call(aten.gt.Scalar, count, 0))


@rewrite(
    "deciding elements", [(INT, (16,), "varying", (0, 8)), (FLOAT, (16,))],
    {"first left out": "two of the others", "last left out": "two of the others"},
)  # fmt: skip
def enough_ids(b, variant, ids, x):
    chosen = b.call(aten.lt.Scalar, left_out(b, variant, ids, 16), 2)
    count = b.call(aten.sum.dim_IntList, b.call(aten.to.dtype, chosen, INT), [0], True)
    if variant == "twin":
        return number_if(b, x, b.call(aten.ge.Scalar, count, 3))
    return number_if(b, x, b.call(aten.gt.Scalar, count, 2))
