# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of operators that make tensors, of a number or of positions."""

import torch

from random_operators.registry import aten_operators, is_dense
from random_programs import BOOLEAN, FLOATS, NUMBERS, aten


@aten_operators("full.default")
def full(p, target):
    p.call(target, p.sizes(), p.choice([3, 1.5, -2]), dtype=p.choice(NUMBERS), exact=True)


@aten_operators("zeros.default ones.default")
def filled(p, target):
    p.call(target, p.sizes(), dtype=p.choice(NUMBERS + BOOLEAN), exact=True)


@aten_operators("zeros_like.default ones_like.default")
def filled_like(p, target):
    p.call(target, p.operand(NUMBERS), exact=True)


@aten_operators("full_like.default")
def full_like(p, target):
    p.call(target, p.operand(NUMBERS), 3, exact=True)


@aten_operators("fill.Scalar fill.Tensor")
def fill(p, target):
    x = p.operand(NUMBERS)
    p.call(target, x, 3 if "Scalar" in str(target) else p.operand([x.dtype], ()), exact=True)


@aten_operators("new_zeros.default new_ones.default")
def new_filled(p, target):
    p.call(target, p.operand(NUMBERS), p.sizes(), exact=True)


@aten_operators("new_full.default")
def new_full(p, target):
    p.call(target, p.operand(NUMBERS), p.sizes(), 2, exact=True)


@aten_operators("scalar_tensor.default")
def scalar_tensor(p, target):
    p.call(target, p.choice([2, 0.5]), dtype=p.choice(FLOATS), exact=True)


def overwritten(p, target, *arguments, **keywords):
    """Uninitialized memory is not read before something is written into it."""
    memory = p.call(target, *arguments, exact=True, **keywords)
    memory.private = True
    source = p.operand([memory.dtype], memory.shape, fits=is_dense)
    p.call(aten.copy.default, memory, source, exact=True)


@aten_operators("empty_like.default")
def empty_like(p, target):
    overwritten(p, target, p.operand(NUMBERS))


@aten_operators("new_empty.default")
def new_empty(p, target):
    overwritten(p, target, p.operand(NUMBERS), p.sizes())


@aten_operators("empty.memory_format")
def empty(p, target):
    overwritten(p, target, p.sizes(), dtype=p.choice(NUMBERS))


@aten_operators("empty_strided.default new_empty_strided.default empty_permuted.default")
def empty_strided(p, target):
    rows, columns = p.choice([2, 3]), p.choice([2, 5])
    layout = p.choice([[columns, 1], [1, rows], [2 * columns, 2]])
    if "permuted" in str(target):
        layout = p.choice([[0, 1], [1, 0]])
    like = [p.operand(NUMBERS)] if "new" in str(target) else []
    keywords = {} if like else {"dtype": p.choice(NUMBERS)}
    overwritten(p, target, *like, [rows, columns], layout, **keywords)


@aten_operators("arange.default")
def arange(p, target):
    p.call(target, p.random.randint(1, 6), dtype=p.choice(FLOATS + [torch.int64]), exact=True)


@aten_operators("arange.start")
def arange_from(p, target):
    p.call(
        target, -2, p.random.randint(1, 4), dtype=p.choice([torch.int64, torch.float32]), exact=True
    )


@aten_operators("arange.start_step")
def arange_by_step(p, target):
    p.call(target, 1, p.random.randint(3, 12), p.choice([2, 3]), exact=True)


@aten_operators("triu.default tril.default")
def triangle(p, target):
    p.call(target, p.operand(NUMBERS, least=2), p.choice([-1, 0, 1]), exact=True)
