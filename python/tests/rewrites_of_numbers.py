# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Rewrites in which numbers count: cuts, positions, thresholds, counts, indices.

As rewrites_of_blocks.py: what was captured, a correct twin that says the same in
other operators, and faults to plant into it. Sizes are real ones, since a fault is
often a number that is off by one among hundreds. Programs are those of
fuzz/pairs, in PyTorch's operators: they go through the reader of archives.
"""

import sys
from dataclasses import dataclass, field

import torch

from commute_tool import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "fuzz"))

from pairs.programs import Builder, InputSpec, Pool, Program, Size, aten
from pairs.samples import Sampler
from pairs.theme import add, cat, iota, mul, shaped, take

FLOAT, INT, BOOL = torch.float32, torch.int64, torch.bool
LINE = {"0": [[0, 1]]}
FOUR = {"0": [[0, 1, 2, 3]]}
ROWS = Size(1)


@dataclass
class Rewrite:
    """`build(b, variant, *inputs)` returns outputs; a variant is "captured", "twin"
    or the name of a fault."""

    cause: str
    build: object
    inputs: list
    faults: dict
    groups: dict = field(default_factory=lambda: LINE)
    # Changes a program's signature: (program, variant).
    sign: object = None

    @property
    def name(self):
        return f"{self.cause}: {self.build.__name__.replace('_', ' ')}"

    def programs(self, *variants):
        """The programs of some variants, over the same inputs."""
        symbols = (
            (6, 16, 10, 24, 32) if any(ROWS in shape for _, shape, *_ in self.inputs) else (0,)
        )
        pool = Pool(self.groups, Sampler(7), symbols)
        inputs = [pool.input(self.spec(i, *given)) for i, given in enumerate(self.inputs)]
        programs = []
        for variant in variants:
            builder = Builder(pool)
            outputs = self.build(builder, variant, *inputs)
            outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            program = Program(pool, builder.items, [builder.dense(value) for value in outputs])
            program.items = builder.items
            if self.sign is not None:
                self.sign(program, variant)
            programs.append(program)
        pool.draw.learn(programs)
        return programs

    def spec(self, index, dtype, shape, placement="varying", bounds=(None, None)):
        placements = tuple((name, placement) for name in self.groups)
        return InputSpec(f"x{index}", dtype, shape, placements, *bounds)


REWRITES = []


def rewrite(cause, inputs, faults, **options):
    def register(build):
        REWRITES.append(Rewrite(cause, build, inputs, faults, **options))
        return build

    return register


# ---------------------------------------------------------------------- cuts


@rewrite(
    "cuts", [(FLOAT, (3, 128))],
    {"half off by one": "63 in place of 64", "halves overlap": "the second starts at 65",
     "last element twice": "an index off by one at the end"},
)  # fmt: skip
def rotated_half(b, variant, x):
    if variant == "captured":
        low, high = take(b, x, 1, 0, 64), take(b, x, 1, 64, 128)
        return cat(b, [b.call(aten.neg.default, high), low], 1)
    cut = 63 if variant == "half off by one" else 64
    low, high = b.call(aten.split_with_sizes.default, x, [cut, 128 - cut], 1)
    if variant == "halves overlap":
        low = take(b, x, 1, 1, 65)
    if variant == "last element twice":
        high = cat(
            b, [take(b, high, 1, 0, 62), take(b, x, 1, 127, 128), take(b, x, 1, 127, 128)], 1
        )
    return cat(b, [b.call(aten.neg.default, high), low], 1)


@rewrite(
    "cuts", [(FLOAT, (512,))],
    {"rolled one more": "501 in place of 500", "rolled back": "12 in place of 500"},
)  # fmt: skip
def rolled(b, variant, x):
    shift = {"rolled one more": 501, "rolled back": 12}.get(variant, 500)
    if variant == "captured":
        return cat(b, [take(b, x, 0, shift, 512), take(b, x, 0, 0, shift)], 0)
    return take(b, cat(b, [x, x], 0), 0, shift, shift + 512)


@rewrite(
    "cuts", [(FLOAT, (2, 96))],
    {"block off by one": "the second block starts a row late", "first row from the second block": "row 0 is row 2"},
    groups=FOUR,
)  # fmt: skip
def gathered_blocks(b, variant, x):
    whole = b.collective("all_gather_into_tensor", x, 4, "0", exact=True)
    if variant == "captured":
        return cat(b, b.call(aten.chunk.default, whole, 4, 0), 1)
    starts = [0, 2, 4, 6]
    if variant == "block off by one":
        starts[1] = 3
    blocks = [take(b, whole, 0, start, start + 2) for start in starts]
    if variant == "first row from the second block":
        blocks[0] = cat(b, [take(b, whole, 0, 2, 3), take(b, whole, 0, 1, 2)], 0)
    return cat(b, blocks, 1)


@rewrite(
    "cuts", [(FLOAT, (4, 333)), (FLOAT, (5, 333))],
    {"weight cut elsewhere": "199 of the weight with 200 of x, shifted",
     "parts of other sizes": "one column in no part"},
)  # fmt: skip
def split_contraction(b, variant, x, w):
    if variant == "captured":
        return b.call(aten.linear.default, x, w)
    start = 199 if variant == "weight cut elsewhere" else 200
    end = 332 if variant != "twin" else 333
    first = b.call(aten.linear.default, take(b, x, 1, 0, 200), take(b, w, 1, 0, 200))
    width = min(333 - 200, end - start)
    rest = b.call(
        aten.linear.default, take(b, x, 1, 200, 200 + width), take(b, w, 1, start, start + width)
    )
    return add(b, first, rest)


# ----------------------------------------------------------------- positions


@rewrite(
    "positions", [(FLOAT, (40, 300))],
    {"diagonal off by one": "18 in place of 17", "other side": "-17 in place of 17",
     "rows for columns": "the mask is transposed"},
)  # fmt: skip
def masked_triangle(b, variant, x):
    if variant == "captured":
        return b.call(aten.tril.default, x, 17)
    diagonal = {"diagonal off by one": 18, "other side": -17}.get(variant, 17)
    row, column = shaped(b, iota(b, 40), [40, 1]), iota(b, 300)
    limit = b.call(aten.add.Scalar, row, diagonal)
    compare = aten.ge.Tensor if variant == "rows for columns" else aten.le.Tensor
    return b.call(aten.where.ScalarOther, b.call(compare, column, limit), x, 0.0)


@rewrite(
    "positions", [(FLOAT, (2, 400))],
    {"threshold off by one": "position 300 counts", "threshold far off": "200 in place of 300",
     "from the other end": "the last 300"},
)  # fmt: skip
def first_positions(b, variant, x):
    if variant == "captured":
        padding = b.call(aten.zeros.default, [2, 100], dtype=FLOAT)
        return cat(b, [take(b, x, 1, 0, 300), padding], 1)
    position = iota(b, 400)
    if variant == "from the other end":
        position = b.call(aten.rsub.Scalar, position, 399)
    count = {"threshold off by one": 301, "threshold far off": 200}.get(variant, 300)
    return b.call(aten.masked_fill.Scalar, x, b.call(aten.ge.Scalar, position, count), 0.0)


@rewrite(
    "positions", [(BOOL, (3, 200))],
    {"starts at one": "the count before and with the position", "counts the others": "not the mask"},
)  # fmt: skip
def counted_before(b, variant, mask):
    counted = b.call(aten.cumsum.default, b.call(aten.to.dtype, mask, INT), 1, exact=True)
    if variant == "captured":
        return counted
    others = b.call(aten.to.dtype, b.call(aten.logical_not.default, mask), INT)
    others = b.call(aten.cumsum.default, others, 1, exact=True)
    if variant == "counts the others":
        return others
    passed = iota(b, 200) if variant == "starts at one" else iota(b, 201, 1)
    return b.call(aten.sub.Tensor, passed, others)


@rewrite(
    "positions", [(FLOAT, (2, 96))],
    {"contiguous for strided": "a block in place of every third", "another first": "from 1 in place of 2"},
)  # fmt: skip
def every_third(b, variant, x):
    if variant == "captured":
        return take(b, x, 1, 2, 96, 3)
    if variant == "contiguous for strided":
        return take(b, x, 1, 64, 96)
    column = 1 if variant == "another first" else 2
    return b.call(aten.select.int, b.call(aten.unflatten.int, x, 1, [32, 3]), 2, column)


@rewrite(
    "positions", [(FLOAT, (100, 100))],
    {"blocks of another width": "8 in place of 7", "blocks begin elsewhere": "position 1 begins the first"},
)  # fmt: skip
def block_mask(b, variant, x):
    width = 8 if variant == "blocks of another width" else 7
    row, column = shaped(b, iota(b, 100), [100, 1]), iota(b, 100)
    if variant == "captured":
        blocks = [b.call(aten.floor_divide.default, n, width) for n in (row, column)]
    else:
        if variant == "blocks begin elsewhere":
            row, column = (b.call(aten.add.Scalar, n, 1) for n in (row, column))
        blocks = [
            b.call(aten.sub.Tensor, n, b.call(aten.remainder.Scalar, n, width))
            for n in (row, column)
        ]
    return b.call(aten.where.ScalarOther, b.call(aten.eq.Tensor, *blocks), x, 0.0)


@rewrite(
    "positions", [(FLOAT, (300, 2))],
    {"an index off by one": "251 in place of 250", "indices in another order": "the last two swapped"},
)  # fmt: skip
def taken_rows(b, variant, x):
    if variant == "captured":
        return cat(b, [take(b, x, 0, n, n + 1) for n in (3, 250, 299)], 0)
    rows = {"an index off by one": (3, 251, 299), "indices in another order": (3, 299, 250)}
    numbers = [
        b.call(aten.full.default, [1], n, dtype=INT) for n in rows.get(variant, (3, 250, 299))
    ]
    return b.call(aten.index_select.default, x, 0, cat(b, numbers, 0))


@rewrite(
    "positions", [(FLOAT, (16,))],
    {"of another count": "1/17 in place of 1/16", "not divided": "each has all"},
)  # fmt: skip
def softmax_of_constants(b, variant, x):
    if variant == "captured":
        return mul(
            b, x, b.call(aten.softmax.int, b.call(aten.full.default, [16], 3.0, dtype=FLOAT), 0)
        )
    count = {"of another count": 17.0, "not divided": 1.0}.get(variant, 16.0)
    return b.call(aten.div.Scalar, x, count)


# ------------------------------------------------------------------- choices


@rewrite(
    "choices", [(FLOAT, (4, 33))] * 4,
    {"always the first": "no choice", "always the second": "the other one", "other way round": "branches swapped"},
)  # fmt: skip
def chosen_by_comparison(b, variant, x, y, first, second):
    if variant == "captured":
        return b.call(aten.where.self, b.call(aten.lt.Tensor, x, y), first, second)
    if variant.startswith("always"):
        return b.call(aten.clone.default, first if variant == "always the first" else second)
    compare = aten.lt.Tensor if variant == "other way round" else aten.ge.Tensor
    return b.call(aten.where.self, b.call(compare, x, y), second, first)


@rewrite(
    "choices", [(FLOAT, (4, 33))] * 2,
    {"one operand": "the larger is taken for granted", "the smaller": "minimum", "their mean": "half the sum"},
)  # fmt: skip
def larger_of_two(b, variant, x, y):
    if variant == "captured":
        return b.call(aten.maximum.default, x, y)
    if variant == "one operand":
        return b.call(aten.clone.default, x)
    if variant == "the smaller":
        return b.call(aten.minimum.default, y, x)
    if variant == "their mean":
        return b.call(aten.mul.Scalar, add(b, x, y), 0.5)
    return b.call(aten.maximum.default, y, x)


@rewrite(
    "choices", [(FLOAT, (200,))],
    {"no lower bound": "negative numbers pass", "zero everywhere": "nothing passes", "leaky": "a hundredth passes"},
)  # fmt: skip
def rectified(b, variant, x):
    if variant == "captured":
        return b.call(aten.relu.default, x)
    if variant == "no lower bound":
        return b.call(aten.clone.default, x)
    if variant == "zero everywhere":
        return b.call(aten.zeros_like.default, x)
    if variant == "leaky":
        return b.call(aten.maximum.default, x, b.call(aten.mul.Scalar, x, 0.01))
    return b.call(aten.where.ScalarOther, b.call(aten.gt.Scalar, x, 0.0), x, 0.0)


@rewrite(
    "choices", [(FLOAT, (6, 50))],
    {"no upper bound": "only the lower one", "the lower bound alone": "a constant", "bounds swapped": "5, then -1"},
)  # fmt: skip
def bounded(b, variant, x):
    if variant == "captured":
        return b.call(aten.clamp.default, x, -1.0, 5.0)
    if variant == "the lower bound alone":
        return b.call(aten.full_like.default, x, -1.0)
    low, high = (5.0, -1.0) if variant == "bounds swapped" else (-1.0, 5.0)
    above = b.call(aten.clamp.default, x, low)
    return above if variant == "no upper bound" else b.call(aten.clamp.default, above, None, high)


# ------------------------------------------------------------------ integers


@rewrite(
    "integers", [(INT, (60,), "replicated"), (FLOAT, (16000, 2)), (INT, ())],
    {"first id of another rank": "12000 more", "one id too many": "the last one is of the next rank",
     "id not moved": "the global id looks up"},
)  # fmt: skip
def vocabulary_parallel(b, variant, ids, table, first):
    if variant == "first id of another rank":
        first = b.call(aten.add.Scalar, first, 12000)
    local = b.call(aten.sub.Tensor, ids, first)
    rows = 16001 if variant == "one id too many" else 16000
    if variant == "captured":
        inside = b.call(
            aten.logical_and.default,
            b.call(aten.ge.Scalar, local, 0),
            b.call(aten.lt.Scalar, local, rows),
        )
    else:
        last = b.call(aten.add.Scalar, first, rows)
        outside = b.call(
            aten.logical_or.default,
            b.call(aten.lt.Tensor, ids, first),
            b.call(aten.ge.Tensor, ids, last),
        )
        inside = b.call(aten.logical_not.default, outside)
    if variant == "id not moved":
        local = b.call(aten.remainder.Scalar, ids, 16000)
    if variant == "one id too many":
        local = b.call(aten.clamp.default, local, 0, 15999)
    found = b.call(aten.embedding.default, table, b.call(aten.where.ScalarOther, inside, local, 0))
    mask = b.call(aten.to.dtype, b.call(aten.unsqueeze.default, inside, 1), FLOAT)
    return b.collective("all_reduce", mul(b, found, mask), "sum", "0")


@rewrite(
    "integers", [(INT, (3, 70))],
    {"threshold off by one": "40 counts", "at most": "le in place of lt", "another sign": "-40"},
)  # fmt: skip
def below_threshold(b, variant, ids):
    if variant == "captured":
        return b.call(aten.lt.Scalar, ids, 40)
    if variant == "at most":
        return b.call(aten.le.Scalar, ids, 40)
    limit = {"threshold off by one": 41, "another sign": -40}.get(variant, 40)
    return b.call(aten.logical_not.default, b.call(aten.ge.Scalar, ids, limit))


@rewrite(
    "integers", [(INT, (90,))],
    {"not wrapped": "no byte", "of another width": "seven bits", "signed": "int8 in place of uint8"},
)  # fmt: skip
def byte_of(b, variant, ids):
    narrow = torch.int8 if variant == "signed" else torch.uint8
    if variant in ("captured", "signed"):
        return b.call(aten.to.dtype, b.call(aten.to.dtype, ids, narrow), INT)
    if variant == "not wrapped":
        return b.call(aten.clone.default, ids)
    return b.call(aten.bitwise_and.Scalar, ids, 127 if variant == "of another width" else 255)


@rewrite(
    "integers", [(INT, (90,))],
    {"sign kept": "the number itself", "negative": "the other sign"},
)  # fmt: skip
def absolute(b, variant, ids):
    if variant == "captured":
        return b.call(aten.abs.default, ids)
    negative = b.call(aten.neg.default, ids)
    if variant in ("sign kept", "negative"):
        return b.call(aten.clone.default, ids) if variant == "sign kept" else negative
    return b.call(aten.maximum.default, ids, negative)


@rewrite(
    "integers", [(torch.int8, (300,)), (FLOAT, (300,))],
    {"not shifted": "-128 shifted is zero", "shifted once": "64 shifted once is not zero"},
)  # fmt: skip
def shifted_byte(b, variant, ids, x):
    if variant == "twin":
        chosen = b.call(aten.ne.Scalar, b.call(aten.bitwise_and.Scalar, ids, 63), 0)
    elif variant == "not shifted":
        chosen = b.call(aten.ne.Scalar, ids, 0)
    else:
        distance = 1 if variant == "shifted once" else 2
        chosen = b.call(aten.ne.Scalar, b.call(aten.__lshift__.Scalar, ids, distance), 0)
    return b.call(aten.where.ScalarOther, chosen, x, 0.0)


# ----------------------------------------------------------------- constants


@rewrite(
    "constants", [(FLOAT, (4, 5))],
    {"factor lost": "2^61 is not one", "another power": "2^60", "a little less": "2^61 - 2^30"},
)  # fmt: skip
def power_of_two(b, variant, x):
    factor = {"factor lost": 1.0, "another power": 2.0**60, "a little less": 2.0**61 - 2.0**30}
    if variant == "captured":
        return b.call(aten.mul.Scalar, x, 2.0**61)
    number = b.call(aten.full.default, [], factor.get(variant, 2.0**61), dtype=FLOAT)
    return mul(b, number, x)


@rewrite(
    "constants", [(INT, (4, 5))],
    {"zero": "the modulus of a field is not zero", "negative": "nor is it -1 of another"},
)  # fmt: skip
def modulus(b, variant, x):
    small = b.call(aten.clamp.default, x, 0, 1)
    if variant == "captured":
        return b.call(aten.mul.Scalar, small, 2**61 - 1)
    if variant == "zero":
        return b.call(aten.zeros_like.default, x)
    shifted = b.call(aten.mul.Scalar, small, 2**61)
    return b.call(
        aten.sub.Tensor,
        b.call(aten.neg.default, shifted) if variant == "negative" else shifted,
        small,
    )


@rewrite(
    "constants", [(FLOAT, (4, 6)), (BOOL, (4, 6))],
    {"another number": "-1e30", "another sign": "+3.4e38", "a small number": "-1"},
)  # fmt: skip
def lowest_number(b, variant, x, mask):
    lowest = {"another number": -1e30, "another sign": 3.4e38, "a small number": -1.0}.get(
        variant, -3.4e38
    )
    if variant == "captured":
        return b.call(aten.masked_fill.Scalar, x, mask, lowest)
    return b.call(aten.where.ScalarOther, b.call(aten.logical_not.default, mask), x, lowest)


@rewrite(
    "constants", [(FLOAT, (4, 40)), (BOOL, (4, 12))],
    {"another part": "columns 17 to 28", "another number": "1.5", "the others": "where the mask is not set"},
)  # fmt: skip
def number_in_a_part(b, variant, x, mask):
    start = 17 if variant == "another part" else 16
    part = take(b, x, 1, start, start + 12)
    number = b.call(aten.full.default, [], 1.5 if variant == "another number" else 2.0, dtype=FLOAT)
    if variant == "captured":
        return b.call(aten.where.self, mask, number, part)
    if variant == "the others":
        mask = b.call(aten.logical_not.default, mask)
    return b.call(aten.index_put.default, part, [mask], number)
