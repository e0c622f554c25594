# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of operators that look up, write or order elements by index."""

import torch

from random_operators.registry import as_long, aten_operators
from random_programs import BOOLEAN, FLOATS, NUMBERS


@aten_operators("embedding.default")
def embedding(p, target):
    table = p.operand(FLOATS, least=2, most=2)
    p.call(target, table, p.indices(table.shape[0], p.sizes(1, 3)), exact=True)


@aten_operators("index_select.default")
def index_select(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=1)
    dim = p.dim(x)
    p.call(target, x, dim, p.indices(x.shape[dim], (p.choice([1, 4]),)), exact=True)


@aten_operators("index.Tensor")
def index(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=1)
    dim = p.random.randrange(x.rank)
    if dim + 1 < x.rank and p.chance(0.3):
        # Of several dims: the index tensors are broadcast against each other.
        chosen = [
            p.indices(x.shape[dim], (3, 1), negative=True),
            p.indices(x.shape[dim + 1], (2,), negative=True),
        ]
        p.call(target, x, [None] * dim + chosen, exact=True)
        return
    chosen = p.indices(x.shape[dim], p.sizes(1, 2), negative=True)
    p.call(target, x, [None] * dim + [chosen], exact=True)


@aten_operators("gather.default")
def gather(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=1)
    dim = p.dim(x)
    shape = [p.random.randint(1, size) if p.chance(0.3) else size for size in x.shape]
    shape[dim] = p.choice([1, 3])
    index = p.indices(x.shape[dim], shape)
    p.call(target, x, dim, as_long(p, index), exact=True)


def few(value):
    """So few that PyTorch's kernels take updates of one element in order."""
    return 0 < value.tensors[0].numel() < 1000


def updated(p):
    """A tensor, a dim, and sizes of what is written into it along that dim."""
    x = p.operand(NUMBERS, least=1, fits=few)
    dim = p.dim(x)
    shape = list(x.shape)
    shape[dim] = p.choice([1, 2])
    return x, dim, shape


@aten_operators("scatter.src scatter.value scatter_add.default")
def scatter(p, target):
    x, dim, shape = updated(p)
    index = as_long(p, p.indices(x.shape[dim], shape))
    if "value" in str(target):
        p.call(target, x, dim, index, 2, exact=True)
        return
    source = p.operand([x.dtype], [size + p.choice([0, 1]) for size in shape])
    p.call(target, x, dim, index, source, exact="add" not in str(target))


@aten_operators("scatter.reduce scatter.value_reduce scatter_reduce.two")
def scatter_with_reduction(p, target):
    x = p.operand([torch.float32, torch.float64, torch.int64, torch.int8], least=1, fits=few)
    dim = p.dim(x)
    shape = list(x.shape)
    shape[dim] = p.choice([1, 2])
    index = as_long(p, p.indices(x.shape[dim], shape))
    if "value" in str(target):
        p.call(target, x, dim, index, 2, reduce="add")
        return
    source = p.operand([x.dtype], [size + p.choice([0, 1]) for size in shape])
    if "two" in str(target):
        p.call(target, x, dim, index, source, p.choice(["sum", "mean"]), include_self=p.chance(0.5))
        return
    p.call(target, x, dim, index, source, reduce="add")


@aten_operators("index_copy.default index_add.default")
def index_rows(p, target):
    x, dim, shape = updated(p)
    index = as_long(p, p.indices(x.shape[dim], [shape[dim]]))
    source = p.operand([x.dtype], shape)
    factor = {"alpha": 2} if "add" in str(target) and p.chance(0.3) else {}
    p.call(target, x, dim, index, source, exact="add" not in str(target), **factor)


@aten_operators("index_fill.int_Scalar index_fill.int_Tensor")
def index_fill(p, target):
    x, dim, shape = updated(p)
    index = as_long(p, p.indices(x.shape[dim], [shape[dim]], negative=True))
    number = 2 if "Scalar" in str(target) else p.operand([x.dtype], ())
    p.call(target, x, dim, index, number, exact=True)


@aten_operators("masked_scatter.default")
def masked_scatter(p, target):
    x = p.operand(NUMBERS)
    mask = p.partner(x, dtypes=BOOLEAN)
    p.call(target, x, mask, p.operand([x.dtype], x.shape), exact=True)


@aten_operators("index_put.default _unsafe_index_put.default")
def index_put(p, target):
    x = p.operand(NUMBERS, least=1, fits=few)
    if p.chance(0.2):
        mask = p.operand(BOOLEAN, x.shape[: p.random.randint(1, x.rank)])
        p.call(target, x, [mask], p.operand([x.dtype], ()), exact=True)
        return
    first = p.random.randrange(x.rank)
    count = p.random.randint(1, x.rank - first)
    shape = p.choice([(1,), (3,), (2, 2)])
    chosen = [
        as_long(p, p.indices(x.shape[dim], shape, negative=True))
        for dim in range(first, first + count)
    ]
    sizes = [*x.shape[:first], *shape, *x.shape[first + count :]]
    values = p.operand([x.dtype], sizes[p.random.randint(0, len(sizes)) :])
    accumulates = p.chance(0.5)
    p.call(target, x, [None] * first + chosen, values, accumulates, exact=not accumulates)


@aten_operators("embedding_dense_backward.default")
def embedding_backward(p, target):
    gradient = p.operand(FLOATS, least=2, most=3)
    rows = p.choice([2, 5])
    index = as_long(p, p.indices(rows, gradient.shape[:-1]))
    p.call(target, gradient, index, rows, p.choice([-1, 1]), False)


def differ_along(dim):
    """No two elements of a row are equal, so that there is one order of them."""

    def fits(value):
        if value.rank == 0 or not few(value):
            return False
        rows = [tensor.double().sort(dim).values for tensor in value.tensors]
        return all((row.diff(dim=dim) > 0).all() for row in rows)

    return fits


@aten_operators("sort.default sort.stable argsort.default argsort.stable")
def sort(p, target):
    stable = "stable" in str(target)
    x = p.operand(NUMBERS, least=1, exact=True, fits=None if stable else differ_along(-1))
    keywords = {"stable": True} if stable else {}
    if stable or differ_along(-1)(x):
        p.call(target, x, dim=-1, descending=p.chance(0.5), exact=True, **keywords)


@aten_operators("topk.default")
def topk(p, target):
    x = p.operand(NUMBERS, least=1, exact=True, fits=differ_along(-1))
    if differ_along(-1)(x):
        count = p.random.randint(1, x.shape[-1])
        p.call(target, x, count, -1, p.chance(0.5), exact=True)


@aten_operators("argmax.default argmin.default")
def argmax(p, target):
    x = p.operand(NUMBERS, least=1, exact=True, fits=differ_along(0))
    if differ_along(0)(x):
        p.call(target, x, 0, p.chance(0.5), exact=True)


@aten_operators("max.dim min.dim")
def max_of_rows(p, target):
    x = p.operand(NUMBERS, least=1, exact=True, fits=differ_along(0))
    if differ_along(0)(x):
        p.call(target, x, 0, p.chance(0.5), exact=True)
