# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of reductions, and of functions of whole rows: softmax, cumulative sums, norms."""

import torch

from random_operators.registry import aten_operators, is_float, some_dims
from random_programs import BOOLEAN, FLOATS, NUMBERS, aten


@aten_operators("sum.dim_IntList mean.dim")
def reduce_dims(p, target):
    x = p.operand(FLOATS if "mean" in str(target) else NUMBERS, least=1)
    p.call(target, x, some_dims(p, x), p.chance(0.5), exact=not is_float(x))


@aten_operators("sum.default mean.default prod.default")
def reduce_all(p, target):
    x = p.operand(FLOATS if "mean" in str(target) else NUMBERS)
    p.call(target, x, exact=not is_float(x))


@aten_operators("prod.dim_int")
def product(p, target):
    x = p.operand(NUMBERS, least=1)
    p.call(target, x, p.dim(x), p.chance(0.5), exact=not is_float(x))


@aten_operators("amax.default amin.default")
def extremum(p, target):
    x = p.operand(NUMBERS, least=1)
    p.call(target, x, some_dims(p, x), p.chance(0.5), exact=True)


@aten_operators("any.dim all.dim")
def truth_along_dim(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=1, exact=True)
    p.call(target, x, p.dim(x), p.chance(0.5), exact=True)


@aten_operators("any.dims all.dims")
def truth_along_dims(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=1, exact=True)
    p.call(target, x, some_dims(p, x), p.chance(0.5), exact=True)


@aten_operators("any.default all.default")
def truth(p, target):
    p.call(target, p.operand(NUMBERS + BOOLEAN, exact=True), exact=True)


@aten_operators("count_nonzero.default count_nonzero.dim_IntList")
def count(p, target):
    x = p.operand(NUMBERS + BOOLEAN, least=1, exact=True)
    dims = p.dim(x) if "default" in str(target) else some_dims(p, x)
    p.call(target, x, dims, exact=True)


@aten_operators("linalg_vector_norm.default norm.ScalarOpt_dim norm.Scalar")
def vector_norm(p, target):
    x = p.operand([torch.float32, torch.float64], least=1)
    order = p.choice([1, 2, float("inf"), -float("inf")])
    rest = [] if target is aten.norm.Scalar else [some_dims(p, x), p.chance(0.5)]
    p.call(target, x, order, *rest)


@aten_operators("softmax.int log_softmax.int")
def softmax(p, target):
    x = p.operand(FLOATS, least=1)
    wide = p.choice([None, None, torch.float32]) if x.dtype != torch.float64 else None
    p.call(target, x, p.dim(x), wide)


@aten_operators("_softmax.default _log_softmax.default")
def softmax_kernel(p, target):
    x = p.operand(FLOATS, least=1)
    p.call(target, x, p.dim(x), False)


@aten_operators("_safe_softmax.default")
def safe_softmax(p, target):
    x = p.operand(FLOATS, least=1)
    if p.chance(0.5):
        # Rows that are masked altogether are zero.
        mask = p.operand(BOOLEAN, [size if dim == 0 else 1 for dim, size in enumerate(x.shape)])
        x = p.call(aten.masked_fill.Scalar, x, mask, -float("inf"))
        x.private = True
    p.call(target, x, p.dim(x))


@aten_operators("cumsum.default")
def cumulative_sum(p, target):
    x = p.operand(NUMBERS, least=1)
    p.call(target, x, p.dim(x), exact=not is_float(x))


@aten_operators("rms_norm.default")
def rms_norm(p, target):
    x = p.operand(FLOATS, least=1)
    shape = x.shape[-p.random.randint(1, x.rank) :]
    weight = p.choice([None, p.operand([x.dtype], shape)])
    p.call(target, x, shape, weight, p.choice([None, 1e-5]))


@aten_operators("_fused_rms_norm.default")
def rms_norm_kernel(p, target):
    x = p.operand(FLOATS, least=1)
    shape = x.shape[-1:]
    p.call(target, x, shape, p.operand([x.dtype], shape), 1e-5, keeps=1)


@aten_operators("layer_norm.default")
def layer_norm(p, target):
    x = p.operand(FLOATS, least=1)
    shape = x.shape[-p.random.randint(1, x.rank) :]
    weight = p.choice([None, p.operand([x.dtype], shape)])
    bias = p.choice([None, p.operand([x.dtype], shape)])
    # Rows of one element have no variance: what is left is rounding.
    p.call(target, x, shape, weight, bias, 1e-2)


@aten_operators("native_layer_norm.default")
def layer_norm_kernel(p, target):
    x = p.operand(FLOATS, least=1)
    shape = x.shape[-1:]
    p.call(target, x, shape, p.operand([x.dtype], shape), None, 1e-2, keeps=1)


@aten_operators("group_norm.default")
def group_norm(p, target):
    x = p.operand(FLOATS, (2, 4, 3))
    weight = p.choice([None, p.operand([x.dtype], (4,))])
    p.call(target, x, p.choice([1, 2]), weight, p.choice([None, weight]), 1e-2)


@aten_operators("native_group_norm.default")
def group_norm_kernel(p, target):
    x = p.operand([torch.float32, torch.float64], (2, 4, 3))
    weight = p.choice([None, p.operand([x.dtype], (4,))])
    p.call(target, x, weight, None, 2, 4, 3, p.choice([1, 2]), 1e-2)
