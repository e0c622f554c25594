# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of matrix products, convolutions and attention."""

import torch
import transformers.integrations.moe  # noqa: F401 (defines torch.ops.transformers)

from random_operators.registry import aten_operators, is_dense, operators
from random_programs import FLOATS, aten

# Dtypes in which PyTorch's CPU kernels have matrix products.
PRODUCTS = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64]


@aten_operators("mm.default bmm.default matmul.default")
def matmul(p, target):
    if target is aten.matmul.default and p.chance(0.3):
        x = p.operand(PRODUCTS, least=1, most=3)
        return p.call(target, x, p.operand([x.dtype], [x.shape[-1]]))
    rank = {"aten.mm.default": 2, "aten.bmm.default": 3}.get(str(target), p.choice([2, 3, 4]))
    x = p.operand(PRODUCTS, least=rank, most=rank)
    p.call(target, x, p.operand([x.dtype], [*x.shape[:-2], x.shape[-1], p.choice([1, 3, 8])]))


@aten_operators("dot.default vdot.default outer.default ger.default")
def two_vectors(p, target):
    x = p.operand(PRODUCTS, least=1, most=1)
    p.call(target, x, p.operand([x.dtype], x.shape))


@aten_operators("mv.default addmv.default")
def matrix_and_vector(p, target):
    x = p.operand(PRODUCTS[:2], least=2, most=2)
    vector = p.operand([x.dtype], x.shape[1:])
    if target is aten.mv.default:
        return p.call(target, x, vector)
    factors = {} if p.chance(0.7) else {"beta": p.choice([0, 2.5]), "alpha": p.choice([1, 0.5])}
    p.call(target, p.operand([x.dtype], x.shape[:1]), x, vector, **factors)


@aten_operators("tensordot.default")
def tensordot(p, target):
    x = p.operand(PRODUCTS[:2], (2, 3, 4))
    other, dims = p.choice([((4, 3), ([1, 2], [1, 0])), ((5, 4), ([-1], [1])), ((2,), ([], []))])
    p.call(target, x, p.operand([x.dtype], other), *dims)


@aten_operators("linear.default")
def linear(p, target):
    x = p.operand(PRODUCTS[:4], least=2)
    weight = p.operand([x.dtype], [p.choice([2, 5]), x.shape[-1]])
    p.call(target, x, weight, p.choice([None, p.operand([x.dtype], weight.shape[:1])]))


@aten_operators("addmm.default baddbmm.default")
def add_product(p, target):
    rank = 3 if "baddbmm" in str(target) else 2
    x = p.operand(PRODUCTS[:4], least=rank, most=rank)
    y = p.operand([x.dtype], [*x.shape[:-2], x.shape[-1], 4])
    shapes = [[4], [1, 4], [*x.shape[:-1], 4]]
    factors = {} if p.chance(0.7) else {"beta": p.choice([0, 2.5]), "alpha": p.choice([1, 0.5])}
    p.call(target, p.operand([x.dtype], p.choice(shapes)), x, y, **factors)


@aten_operators("_scaled_mm.default _scaled_mm_v2.default")
def scaled_product(p, target):
    rows, inner, columns = p.choice([16, 32]), p.choice([16, 48]), p.choice([16, 32])
    x = p.call(
        aten.to.dtype, p.input(torch.float32, (rows, inner)), torch.float8_e4m3fn, exact=True
    )
    y = p.call(
        aten.to.dtype, p.input(torch.float32, (columns, inner)), torch.float8_e4m3fn, exact=True
    )
    scales = [p.operand([torch.float32], (), domain="positive") for _ in range(2)]
    transposed = p.call(aten.t.default, y, exact=True)
    dtype = p.choice([torch.bfloat16, torch.float32])
    if "_v2" not in str(target):
        p.call(target, x, transposed, *scales, None, None, dtype)
        return
    # Each operand with one scale for the whole tensor.
    recipes = [([scale], [0], [0]) for scale in scales]
    p.call(target, x, transposed, *recipes[0], *recipes[1], None, dtype)


def query_key_value(p):
    dtype, groups = p.choice(FLOATS), p.choice([1, 2])
    batch, heads, width = p.choice([1, 2]), 2, p.choice([4, 8])
    queries, keys = p.choice([3, 5]), p.choice([3, 6])
    query = p.operand([dtype], (batch, heads * groups, queries, width))
    key = p.operand([dtype], (batch, heads, keys, width))
    return query, key, p.operand([dtype], key.shape), groups > 1


@aten_operators("scaled_dot_product_attention.default")
def attention(p, target):
    query, key, value, is_grouped = query_key_value(p)
    sizes = (query.shape[-2], key.shape[-2])
    options = {"enable_gqa": True} if is_grouped else {}
    if p.chance(0.3):
        options["scale"] = 0.25
    mask, is_causal = None, False
    kind = p.choice(["none", "added", "truth", "causal"])
    if kind == "added":
        mask = p.operand([query.dtype], sizes)
    if kind == "truth":
        # A row that may look at nothing has no result.
        every = torch.ones(sizes, dtype=torch.bool).tril(1)
        mask = p.input(torch.bool, sizes, tensors=[every] * p.world_size)
    if kind == "causal":
        is_causal = True
    p.call(target, query, key, value, mask, 0.0, is_causal, **options)


@aten_operators("_scaled_dot_product_attention_math.default")
def attention_without_kernel(p, target):
    dtype = p.choice([torch.float32, torch.float64])
    query = p.operand([dtype], (2, 4, 3, 8))
    key, value = (p.operand([dtype], (2, 2, 5, 8)) for _ in range(2))
    mask = p.choice([None, p.operand([dtype], (3, 5))])
    p.call(
        target,
        query,
        key,
        value,
        mask,
        0.0,
        mask is None and p.chance(0.5),
        enable_gqa=True,
        keeps=1,
    )


@aten_operators("_scaled_dot_product_flash_attention_for_cpu.default")
def attention_kernel(p, target):
    query, key, value, is_grouped = query_key_value(p)
    if is_grouped:
        key = value = p.operand([query.dtype], (*query.shape[:2], *key.shape[2:]))
    p.call(target, query, key, value, 0.0, p.chance(0.5), keeps=p.choice([1, 2]))


@aten_operators("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def attention_backward(p, target):
    dtype, shape = p.choice([torch.float32, torch.float64]), (p.choice([1, 2]), 2, 5, 4)
    query = p.operand([dtype], shape)
    key, value = (p.operand([dtype], (*shape[:2], 3, 4)) for _ in range(2))
    options = {"scale": 0.25} if p.chance(0.3) else {}
    is_causal = p.chance(0.5)
    forward = aten._scaled_dot_product_flash_attention_for_cpu.default
    output, logarithms = p.call(forward, query, key, value, 0.0, is_causal, **options)
    gradient = p.operand([dtype], shape)
    p.call(target, gradient, query, key, value, output, logarithms, 0.0, is_causal, **options)


def grouped_rows(p, dtypes, rows):
    """Sorted rows of a mixture of experts, the experts' matrices and the ends of groups."""
    x = p.operand(dtypes, (rows, 8))
    weight = p.operand([x.dtype], (3, 8, 4))
    counts = torch.tensor(p.choice([[2, 0, rows - 2], [0, 1, rows - 1], [rows - 2, 1, 1]]))
    ends = p.input(torch.int32, (3,), tensors=[counts.cumsum(0).int()] * p.world_size)
    return x, weight, ends


@operators(torch.ops.transformers, "grouped_mm_fallback.default")
def grouped_product(p, target):
    p.call(target, *grouped_rows(p, PRODUCTS[:4], p.choice([4, 7])))


@operators(torch.ops.transformers, "grouped_mm_fallback_backward.default")
def grouped_product_backward(p, target):
    x, weight, ends = grouped_rows(p, [torch.float32, torch.float64], 6)
    p.call(target, x, weight, ends, p.operand([x.dtype], (6, 4)))


@aten_operators("_grouped_mm.default")
def grouped_product_of_aten(p, target):
    # PyTorch wants rows of 16 bytes.
    x = p.operand([torch.bfloat16], (16, 8), fits=is_dense)
    counts = torch.tensor(p.choice([[0, 16], [5, 11], [8, 8]]))
    ends = p.input(torch.int32, (2,), tensors=[counts.cumsum(0).int()] * p.world_size)
    kind = p.choice(["rows", "contraction", "columns"])
    if kind == "rows":
        p.call(target, x, p.operand([x.dtype], (2, 8, 16), fits=is_dense), ends)
    elif kind == "contraction":
        transposed = p.call(aten.t.default, x, exact=True)
        p.call(target, transposed, p.operand([x.dtype], (16, 24), fits=is_dense), ends)
    else:
        transposed = p.call(aten.t.default, x, exact=True)
        p.call(target, p.operand([x.dtype], (2, 16, 8), fits=is_dense), transposed, ends)


@aten_operators("conv1d.default convolution.default")
def convolution(p, target):
    groups, taps = p.choice([1, 2, 4]), p.choice([1, 3, 4])
    x = p.operand([torch.float32, torch.float64], (2, 4, 9))
    weight = p.operand([x.dtype], (p.choice([4, 8]), 4 // groups, taps))
    bias = p.choice([None, p.operand([x.dtype], weight.shape[:1])])
    stride, padding = p.choice([1, 2]), p.choice([0, 3])
    dilation = p.choice([1, 2])
    if "convolution" in str(target):
        return p.call(target, x, weight, bias, [stride], [padding], [dilation], False, [0], groups)
    p.call(target, x, weight, bias, [stride], [padding], [dilation], groups)


@aten_operators("conv2d.default conv3d.default")
def convolution_of_images(p, target):
    if target is aten.conv2d.default and p.chance(0.3):
        return patches(p, target)
    dims, groups = (2, p.choice([1, 2])) if target is aten.conv2d.default else (3, 1)
    x = p.operand([torch.float32, torch.float64], (2, 4, 7, 6, 5)[: 2 + dims])
    kernel = (3, 2, 1)[:dims]
    weight = p.operand([x.dtype], (p.choice([2, 6]), 4 // groups, *kernel))
    bias = p.choice([None, p.operand([x.dtype], weight.shape[:1])])
    numbers = [[p.choice(choices) for _ in range(dims)] for choices in ([1, 2], [0, 1, 2], [1, 2])]
    p.call(target, x, weight, bias, *numbers, groups)


def patches(p, target):
    rows, columns = p.choice([1, 2, 4]), p.choice([2, 3])
    x = p.operand([torch.float32, torch.float64], (2, 3, p.choice([8, 9]), 6))
    weight = p.operand([x.dtype], (5, 3, rows, columns))
    bias = p.choice([None, p.operand([x.dtype], (5,))])
    p.call(target, x, weight, bias, [rows, columns])


@aten_operators("einsum.default")
def einsum(p, target):
    sizes = dict(zip("bijk", (2, 3, 4, 5), strict=True))
    equation = p.choice(
        ["bik,bkj->bij", "ij,j->i", "bij,bij->b", "ik,jk->ji", "i,j->ij", "bij->jb", "ibk,j->kj"]
    )
    dtype = p.choice([torch.float32, torch.float64])
    terms = equation.split("->")[0].split(",")
    p.call(target, equation, [p.operand([dtype], [sizes[c] for c in term]) for term in terms])
