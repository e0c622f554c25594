# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of operators that move elements: views, permutations, slices, concatenations."""

import torch

from random_operators.registry import anything, aten_operators, is_dense, some_dims
from random_programs import BOOLEAN, FLOATS, NUMBERS, aten


def regrouped(p, shape):
    """The same number of elements under other sizes."""
    total = 1
    for size in shape:
        total *= size
    sizes = []
    while total > 1 and len(sizes) < 3:
        sizes.append(p.choice(d for d in range(1, total + 1) if total % d == 0))
        total //= sizes[-1]
    return p.random.sample([*sizes, total], len(sizes) + 1)


@aten_operators("view.default _unsafe_view.default reshape.default")
def view(p, target):
    x = anything(p, fits=None if "reshape" in str(target) else is_dense)
    sizes = regrouped(p, x.shape)
    if p.chance(0.3):
        sizes[p.random.randrange(len(sizes))] = -1
    p.call(target, x, sizes, exact=True)


@aten_operators("view_as.default reshape_as.default")
def view_as(p, target):
    x = anything(p, fits=is_dense)
    p.call(target, x, p.operand([x.dtype], regrouped(p, x.shape)), exact=True)


@aten_operators("copy.default")
def copy(p, target):
    x = p.operand(FLOATS)
    shape = x.shape[p.random.randint(0, x.rank) :] if p.chance(0.3) else x.shape
    p.call(target, x, p.operand(FLOATS, shape), exact=True)


@aten_operators("expand_as.default")
def expand_as(p, target):
    x = anything(p)
    shape = [p.choice([2, 3]) if size == 1 else size for size in x.shape]
    p.call(target, x, p.operand([x.dtype], [*p.sizes(0, 1)[:1], *shape]), exact=True)


@aten_operators("repeat.default")
def repeat(p, target):
    x = anything(p)
    front = p.sizes(0, 1)[:1]
    counts = [p.choice([1, 2, 3]) for _ in range(len(front) + x.rank)]
    p.call(target, x, counts, exact=True)


@aten_operators("repeat_interleave.self_int")
def repeat_interleave(p, target):
    x = anything(p, least=1)
    p.call(target, x, p.choice([1, 2, 3]), p.choice([p.dim(x), p.dim(x), None]), exact=True)


@aten_operators("roll.default")
def roll(p, target):
    x = anything(p, least=1)
    dim = p.dim(x)
    p.call(target, x, [p.choice([0, 1, -1, 7, x.shape[dim]])], [dim], exact=True)


@aten_operators("slice_scatter.default")
def slice_scatter(p, target):
    x = anything(p, least=1, fits=is_dense)
    dim = p.random.randrange(x.rank)
    start = p.random.randrange(x.shape[dim] + 1) if x.shape[dim] else 0
    end = p.random.randrange(start, x.shape[dim] + 1)
    shape = list(x.shape)
    shape[dim] = end - start
    p.call(target, x, p.operand([x.dtype], shape), dim, start, end, exact=True)


@aten_operators("select_scatter.default")
def select_scatter(p, target):
    x = anything(p, least=1, fits=is_dense)
    dim = p.random.randrange(x.rank)
    if not x.shape[dim]:
        return
    index = p.random.randrange(-x.shape[dim], x.shape[dim])
    shape = [*x.shape[:dim], *x.shape[dim + 1 :]]
    p.call(target, x, p.operand([x.dtype], shape), dim, index, exact=True)


@aten_operators("one_hot.default")
def one_hot(p, target):
    count = p.choice([3, 8])
    drawn = p.indices(count, p.sizes(0, 2))
    if drawn.dtype == torch.int64:
        p.call(target, drawn, count, exact=True)


@aten_operators("lift_fresh_copy.default")
def lift_fresh_copy(p, target):
    p.call(target, anything(p), exact=True)


@aten_operators("detach_.default")
def detach_a_copy(p, target):
    p.call(target, p.call(aten.lift_fresh_copy.default, anything(p), exact=True), exact=True)


@aten_operators("unsqueeze.default")
def unsqueeze(p, target):
    x = anything(p)
    p.call(target, x, p.random.randint(-x.rank - 1, x.rank), exact=True)


@aten_operators("squeeze.default")
def squeeze(p, target):
    p.call(target, anything(p), exact=True)


@aten_operators("squeeze.dim")
def squeeze_dim(p, target):
    x = anything(p, least=1)
    p.call(target, x, p.dim(x), exact=True)


@aten_operators("squeeze.dims")
def squeeze_dims(p, target):
    x = anything(p, least=1)
    p.call(target, x, some_dims(p, x), exact=True)


@aten_operators("flatten.using_ints")
def flatten(p, target):
    x = anything(p, least=1)
    start = p.random.randrange(x.rank)
    p.call(target, x, start, p.random.randrange(start, x.rank), exact=True)


@aten_operators("unflatten.int")
def unflatten(p, target):
    x = anything(p, least=1)
    dim = p.dim(x)
    p.call(target, x, dim, regrouped(p, x.shape[dim : dim + 1 or None]), exact=True)


@aten_operators("dropout.default")
def dropout(p, target):
    p.call(target, p.operand(FLOATS), *p.choice([(0.5, False), (0.0, True)]), exact=True)


@aten_operators("permute.default")
def permute(p, target):
    x = anything(p)
    p.call(target, x, p.random.sample(range(x.rank), x.rank), exact=True)


@aten_operators("transpose.int")
def transpose(p, target):
    x = anything(p, least=1)
    p.call(target, x, p.dim(x), p.dim(x), exact=True)


@aten_operators("numpy_T.default mT.default")
def transpose_all(p, target):
    p.call(target, p.operand(NUMBERS + BOOLEAN, least=2), exact=True)


@aten_operators("t.default")
def transpose_matrix(p, target):
    p.call(target, p.operand(NUMBERS + BOOLEAN, least=2, most=2), exact=True)


@aten_operators("slice.Tensor")
def slice_of(p, target):
    x = anything(p, least=1)
    dim, start = p.dim(x), p.choice([0, 1, -2, None])
    p.call(target, x, dim, start, p.choice([None, 3, -1, 100]), p.choice([1, 2]), exact=True)


@aten_operators("narrow.default")
def narrow(p, target):
    x = anything(p, least=1)
    dim = p.dim(x)
    start = p.random.randrange(x.shape[dim])
    p.call(target, x, dim, start, p.random.randint(1, x.shape[dim] - start), exact=True)


@aten_operators("select.int")
def select(p, target):
    x = anything(p, least=1)
    dim = p.dim(x)
    p.call(target, x, dim, p.random.randrange(-x.shape[dim], x.shape[dim]), exact=True)


@aten_operators("unbind.int")
def unbind(p, target):
    x = anything(p, least=1, fits=lambda value: 0 not in value.shape)
    p.call(target, x, p.dim(x), exact=True)


@aten_operators("split.Tensor chunk.default")
def split(p, target):
    x = anything(p, least=1)
    p.call(target, x, p.choice([1, 2, 3]), p.dim(x), exact=True)


@aten_operators("split.sizes split_with_sizes.default")
def split_to_sizes(p, target):
    x = anything(p, least=1)
    dim = p.dim(x)
    first = p.random.randint(0, x.shape[dim])
    p.call(target, x, [first, x.shape[dim] - first], dim, exact=True)


@aten_operators("expand.default")
def expand(p, target):
    x = anything(p)
    sizes = [p.choice([-1, size if size > 1 else 3]) for size in x.shape]
    p.call(target, x, [*p.sizes(0, 1), *sizes], exact=True)


@aten_operators("cat.default concat.default concatenate.default")
def concatenate(p, target):
    x = anything(p, least=1)
    dim = p.dim(x)
    shape = list(x.shape)
    shape[dim] = p.choice([1, 2, 3])
    p.call(
        target,
        p.random.sample([x, p.operand([x.dtype], shape), x], p.choice([1, 2, 3])),
        dim,
        exact=True,
    )


@aten_operators("stack.default")
def stack(p, target):
    x = anything(p)
    dim = p.random.randint(-x.rank - 1, x.rank)
    p.call(target, [x, p.operand([x.dtype], x.shape), x], dim, exact=True)


@aten_operators("broadcast_tensors.default")
def broadcast_tensors(p, target):
    x = anything(p, least=1)
    p.call(target, [x, p.partner(x), p.operand([x.dtype], ())], exact=True)


@aten_operators("meshgrid.default meshgrid.indexing")
def meshgrid(p, target):
    x = anything(p, least=1)
    values = [
        p.operand([x.dtype], (size,)) for size in p.random.sample([1, 2, 3], p.choice([2, 3]))
    ]
    indexing = {"indexing": p.choice(["ij", "xy"])} if "indexing" in str(target) else {}
    p.call(target, values, **indexing, exact=True)


@aten_operators("diagonal.default")
def diagonal(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=2)
    offset = p.random.randint(1 - x.shape[-2], x.shape[-1] - 1) if 0 not in x.shape[-2:] else 0
    p.call(target, x, offset, -2, -1, exact=True)


@aten_operators("diag_embed.default")
def diag_embed(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=1, most=3)
    dims = p.random.sample(range(x.rank + 1), 2)
    p.call(target, x, p.choice([0, 1, -2]), *dims, exact=True)
