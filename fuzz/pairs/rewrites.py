# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Equal programs: single calls spelled otherwise, and themes in other spellings.

Each rewrite takes a call and says the same in other operators, by an identity of
the reals or of indices; `respell` and `rewrite` apply them to a program.
"""

from pairs.programs import FUNCTIONS, RANDOM, aten, c10d, replay
from pairs.theme import cat, iota, shaped, swapped, take

# By target: functions (builder, random, args, kwargs) -> results, or None.
REWRITES = {}


def rewrites(*targets):
    def register(function):
        for target in targets:
            REWRITES.setdefault(target, []).append(function)
        return function

    return register


def _cut(random, x):
    """A dim and a place to cut it at."""
    dims = [dim for dim, size in enumerate(x.shape) if size >= 2]
    if not dims:
        return None
    dim = random.choice(dims)
    return dim, random.randint(1, x.shape[dim] - 1)


def _halves(b, x, dim, cut):
    return take(b, x, dim, 0, cut), take(b, x, dim, cut, x.shape[dim])


UNARY = [*FUNCTIONS, aten.floor.default, aten.ceil.default, aten.sign.default]


@rewrites(*UNARY)
def elementwise_by_halves(b, random, target, args, kwargs):
    place = _cut(random, args[0])
    if place is None or kwargs:
        return None
    dim, cut = place
    return cat(b, [b.call(target, half) for half in _halves(b, args[0], dim, cut)], dim)


@rewrites(*UNARY)
def elementwise_transposed(b, random, target, args, kwargs):
    x = args[0]
    if x.rank < 2 or kwargs:
        return None
    first, second = random.sample(range(x.rank), 2)
    return swapped(b, b.call(target, swapped(b, x, first, second)), first, second)


@rewrites(*UNARY)
def elementwise_flat(b, random, target, args, kwargs):
    x = args[0]
    if kwargs:
        return None
    return shaped(b, b.call(target, shaped(b, x, [-1])), x.shape)


def _are_tensors(args):
    return all(hasattr(argument, "node") for argument in args[:2])


def _same_shape(args):
    return _are_tensors(args) and args[0].shape == args[1].shape and args[0].dtype == args[1].dtype


COMMUTATIVE = [
    aten.add.Tensor, aten.mul.Tensor, aten.maximum.default, aten.minimum.default, aten.eq.Tensor,
    aten.ne.Tensor, aten.logical_and.default, aten.logical_or.default, aten.bitwise_and.Tensor,
]  # fmt: skip


@rewrites(*COMMUTATIVE)
def operands_swapped(b, random, target, args, kwargs):
    if not _are_tensors(args) or kwargs:
        return None
    return b.call(target, args[1], args[0])


@rewrites(*COMMUTATIVE, aten.sub.Tensor, aten.lt.Tensor, aten.ge.Tensor)
def binary_by_halves(b, random, target, args, kwargs):
    if not _same_shape(args) or kwargs:
        return None
    place = _cut(random, args[0])
    if place is None:
        return None
    dim, cut = place
    first, second = (_halves(b, x, dim, cut) for x in args)
    return cat(b, [b.call(target, x, y) for x, y in zip(first, second)], dim)


@rewrites(aten.sub.Tensor)
def subtraction_by_negation(b, random, target, args, kwargs):
    if not _same_shape(args) or kwargs:
        return None
    return b.call(aten.add.Tensor, b.call(aten.neg.default, args[1]), args[0])


MIRRORED = {
    aten.lt.Tensor: (aten.gt.Tensor, aten.ge.Tensor),
    aten.le.Tensor: (aten.ge.Tensor, aten.gt.Tensor),
    aten.gt.Tensor: (aten.lt.Tensor, aten.le.Tensor),
    aten.ge.Tensor: (aten.le.Tensor, aten.lt.Tensor),
}
NEGATED = {
    aten.lt.Scalar: aten.ge.Scalar,
    aten.le.Scalar: aten.gt.Scalar,
    aten.gt.Scalar: aten.le.Scalar,
    aten.ge.Scalar: aten.lt.Scalar,
    aten.eq.Scalar: aten.ne.Scalar,
    aten.ne.Scalar: aten.eq.Scalar,
}


@rewrites(*MIRRORED)
def comparison_mirrored(b, random, target, args, kwargs):
    return b.call(MIRRORED[target][0], args[1], args[0])


@rewrites(*MIRRORED)
def comparison_negated(b, random, target, args, kwargs):
    return b.call(aten.logical_not.default, b.call(MIRRORED[target][1], *args))


@rewrites(*NEGATED)
def comparison_with_number_negated(b, random, target, args, kwargs):
    return b.call(aten.logical_not.default, b.call(NEGATED[target], *args))


@rewrites(aten.where.self)
def choice_negated(b, random, target, args, kwargs):
    condition, x, y = args
    return b.call(target, b.call(aten.logical_not.default, condition), y, x)


@rewrites(aten.sum.dim_IntList)
def sum_by_halves(b, random, target, args, kwargs):
    x = args[0]
    place = _cut(random, x)
    if place is None or kwargs or not x.is_float:
        return None
    dim, cut = place
    if dim not in [d % x.rank for d in args[1]]:
        return None
    first, second = _halves(b, x, dim, cut)
    return b.call(
        aten.add.Tensor, b.call(target, second, *args[1:]), b.call(target, first, *args[1:])
    )


@rewrites(aten.sum.dim_IntList, aten.mean.dim, aten.amax.default)
def reduction_transposed(b, random, target, args, kwargs):
    x = args[0]
    if kwargs or x.rank < 2 or len(args[1]) != 1 or len(args) > 2:
        return None
    dim = args[1][0] % x.rank
    return b.call(target, swapped(b, x, dim, x.rank - 1), [-1]) if x.rank == 2 else None


@rewrites(aten.mm.default, aten.matmul.default)
def product_by_contraction(b, random, target, args, kwargs):
    x, y = args
    if x.rank < 2 or y.rank < 2 or x.shape[-1] < 2 or not x.is_float:
        return None
    cut = random.randint(1, x.shape[-1] - 1)
    first = b.call(target, take(b, x, -1, 0, cut), take(b, y, -2, 0, cut))
    rest = b.call(target, take(b, x, -1, cut, x.shape[-1]), take(b, y, -2, cut, x.shape[-1]))
    return b.call(aten.add.Tensor, first, rest)


@rewrites(aten.mm.default)
def product_by_rows(b, random, target, args, kwargs):
    x, y = args
    if x.shape[0] < 2:
        return None
    cut = random.randint(1, x.shape[0] - 1)
    return cat(b, [b.call(target, part, y) for part in _halves(b, x, 0, cut)], 0)


@rewrites(aten.mm.default)
def product_transposed(b, random, target, args, kwargs):
    x, y = (b.call(aten.t.default, value, exact=True) for value in args)
    return b.call(aten.t.default, b.call(target, y, x), exact=True)


@rewrites(aten.slice.Tensor)
def slice_as_choice(b, random, target, args, kwargs):
    x, dim, start, end, *step = args
    if not all(type(n) is int for n in (start, end)) or kwargs:
        return None
    numbers = range(x.shape[dim])[slice(start, end, *step)]
    if not numbers:
        return None
    order = iota(b, numbers[-1] + 1, numbers[0], numbers.step)
    return b.call(aten.index_select.default, x, dim, order, exact=True)


@rewrites(aten.slice.Tensor)
def slice_of_slice(b, random, target, args, kwargs):
    x, dim, start, end, *step = args
    if not all(type(n) is int for n in (start, end)) or step not in ([], [1]) or kwargs:
        return None
    low, high, _ = slice(start, end).indices(x.shape[dim])
    if high <= low:
        return None
    first, last = random.randint(0, low), random.randint(high, x.shape[dim])
    return take(b, take(b, x, dim, first, last), dim, low - first, high - first)


@rewrites(aten.arange.start_step)
def positions_of_more(b, random, target, args, kwargs):
    start, end, step = args
    if not all(type(n) is int for n in args) or step != 1 or end <= start:
        return None
    before, after = random.randint(0, 5), random.randint(0, 5)
    numbers = b.call(target, start - before, end + after, 1, exact=True, **kwargs)
    return take(b, numbers, 0, before, before + end - start)


@rewrites(aten.arange.start_step)
def positions_moved(b, random, target, args, kwargs):
    start, end, step = args
    if not all(type(n) is int for n in args) or end <= start:
        return None
    shift = random.randint(1, 40)
    numbers = b.call(target, start + shift, end + shift, step, exact=True, **kwargs)
    return b.call(aten.sub.Scalar, numbers, shift, exact=True)


@rewrites(aten.cat.default)
def concatenation_nested(b, random, target, args, kwargs):
    values, dim = args[0], args[1] if len(args) > 1 else 0
    if len(values) < 3 or kwargs:
        return None
    cut = random.randint(1, len(values) - 1)
    return cat(b, [cat(b, values[:cut], dim), cat(b, values[cut:], dim)], dim)


@rewrites(aten.softmax.int)
def softmax_transposed(b, random, target, args, kwargs):
    x, dim, *rest = args
    if x.rank != 2 or kwargs:
        return None
    return swapped(b, b.call(target, swapped(b, x, 0, 1), 1 - dim % 2, *rest), 0, 1)


@rewrites(aten.softmax.int)
def softmax_by_rows(b, random, target, args, kwargs):
    x, dim, *rest = args
    other = [d for d in range(x.rank) if d != dim % max(1, x.rank) and x.shape[d] >= 2]
    if not other or kwargs:
        return None
    along = random.choice(other)
    cut = random.randint(1, x.shape[along] - 1)
    return cat(b, [b.call(target, half, dim, *rest) for half in _halves(b, x, along, cut)], along)


@rewrites(c10d.all_gather_into_tensor.default)
def gather_in_parts(b, random, target, args, kwargs):
    """By columns, one after the other."""
    x, size, group = args
    if x.rank < 2 or x.shape[1] < 2:
        return None
    cut = random.randint(1, x.shape[1] - 1)
    parts = [b.collective("all_gather_into_tensor", b.dense(half), size, group, exact=True)
             for half in _halves(b, x, 1, cut)]  # fmt: skip
    return b.dense(cat(b, parts, 1))


@rewrites(c10d.all_reduce.default)
def reduce_in_parts(b, random, target, args, kwargs):
    x, reduction, group = args
    if not x.rank or x.shape[0] < 2:
        return None
    cut = random.randint(1, x.shape[0] - 1)
    parts = [
        b.collective("all_reduce", b.dense(half), reduction, group)
        for half in _halves(b, x, 0, cut)
    ]
    return cat(b, parts, 0)


@rewrites(c10d.all_reduce.default)
def reduce_gathered(b, random, target, args, kwargs):
    """Through a gather and a reduction of its blocks."""
    x, reduction, group = args
    size = len(b.pool.groups[group][0])
    functions = {"sum": aten.sum.dim_IntList, "max": aten.amax.default, "min": aten.amin.default,
                 "avg": aten.mean.dim}  # fmt: skip
    if not x.rank or not x.is_float:
        return None
    whole = b.collective("all_gather_into_tensor", x, size, group, exact=True)
    return b.call(functions[reduction], shaped(b, whole, [size, *x.shape]), [0])


def rewrite(program, random, most=3):
    """The program with some calls spelled otherwise; names of what was done."""
    done = []
    chance = random.choice([0.1, 0.3, 0.6])

    def on_node(builder, node, args, kwargs):
        known = REWRITES.get(node.target, ())
        if not known or len(done) >= most or random.random() > chance:
            return None
        function = random.choice(known)
        results = function(builder, random, node.target, args, kwargs)
        if results is None:
            return None
        old = node.values[0]
        if results.shape != old.shape or results.dtype != old.dtype:
            return None
        done.append(function.__name__)
        return builder.dense(results) if _is_dense(old) else results

    return replay(program, on_node), done


def _is_dense(value):
    return all(tensor.is_contiguous() for tensor in value.tensors)


def respell(program, random):
    """The program with its themes in other spellings."""
    done = []

    def on_macro(builder, macro, operands):
        if macro.theme.spellings < 2 or random.random() < 0.3:
            return None
        others = [s for s in range(macro.theme.spellings) if s != macro.spelling]
        spelling = random.choice(others)
        results = builder.macro(macro.theme, macro.parameters, operands, spelling)
        done.append(f"{macro.theme.name} {macro.spelling} -> {spelling}")
        return [
            builder.dense(new) if _is_dense(old) else new
            for old, new in zip(macro.results, results)
        ]

    return replay(program, on_macro=on_macro), done


def has_state(program):
    return any(node.target in RANDOM for node in program.nodes())
