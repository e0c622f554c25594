# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How a random program comes to call each operator: see random_programs.py.

    OPERATORS["aten.softmax.int"](program)

There is one function for each family; it chooses operands, numbers and dims.
"""

import torch
import transformers.integrations.moe  # noqa: F401 (defines torch.ops.transformers)

from random_programs import BOOLEAN, FLOATS, INTEGERS, NUMBERS, WORLD, aten, c10d

OPERATORS = {}
# Dtypes in which PyTorch's CPU kernels have matrix products.
PRODUCTS = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64]


def operators(namespace, names):
    def register(function):
        for name in names.split():
            packet, overload = name.split(".")
            target = getattr(getattr(namespace, packet), overload)
            OPERATORS[f"{namespace.name}.{name}"] = lambda p, target=target: function(p, target)
        return function

    return register


def aten_operators(names):
    return operators(aten, names)


# ----------------------------------------------------------------------------
# Elementwise
# ----------------------------------------------------------------------------


@aten_operators("neg.default abs.default relu.default")
def rounded_never(p, target):
    p.call(target, p.operand(NUMBERS), exact=True)


@aten_operators("sign.default isnan.default round.default floor.default ceil.default")
def jumping(p, target):
    dtypes = FLOATS if "isnan" not in str(target) else NUMBERS
    p.call(target, p.operand(dtypes, exact=True), exact=True)


@aten_operators("logical_not.default")
def logical_not(p, target):
    p.call(target, p.operand(NUMBERS + BOOLEAN, exact=True), exact=True)


@aten_operators("bitwise_not.default")
def bitwise_not(p, target):
    p.call(target, p.operand(INTEGERS + BOOLEAN), exact=True)


@aten_operators("exp.default sin.default cos.default tanh.default erf.default sigmoid.default")
def of_any_number(p, target):
    def fits(value):
        return value.tensors[0].numel() and value.tensors[0].double().abs().max() < 8

    p.call(target, p.operand(NUMBERS + BOOLEAN, fits=fits))


@aten_operators("silu.default")
def silu(p, target):
    p.call(target, p.operand(FLOATS))


@aten_operators("gelu.default")
def gelu(p, target):
    p.call(target, p.operand(FLOATS), approximate=p.choice(["none", "tanh"]))


@aten_operators("log.default rsqrt.default reciprocal.default sqrt.default")
def of_positive_numbers(p, target):
    p.call(target, p.operand(FLOATS + [torch.int64], domain="positive"))


@aten_operators("square.default")
def square(p, target):
    p.call(target, p.operand(NUMBERS), exact=True)


def is_float(value):
    return value.dtype.is_floating_point


def number(p, value, domain="any"):
    """A Python number that does not widen the result unless it has to."""
    if is_float(value) and p.chance(0.7):
        return p.choice([0.5, 1.5, 2.25] if domain != "any" else [-1.25, 0.5, 2.0, 3.0])
    return p.choice([1, 2, 3] if domain != "any" else [-2, 1, 3])


@aten_operators(
    "add.Tensor sub.Tensor rsub.Tensor mul.Tensor maximum.default minimum.default max.other min.other"
)
def two_tensors(p, target):
    x = p.operand(NUMBERS)
    y = p.partner(x)
    if target in (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor) and p.chance(0.2):
        return p.call(target, x, number(p, x), exact=True)
    if target in (aten.add.Tensor, aten.sub.Tensor) and p.chance(0.3):
        return p.call(target, x, y, alpha=p.choice([3, 2.5]) if is_float(x) and is_float(y) else 2)
    # A tensor without dims keeps its precision beside a narrower one.
    p.call(target, *p.random.sample([x, y], 2), exact=x.dtype == y.dtype)


@aten_operators("add.Scalar sub.Scalar rsub.Scalar mul.Scalar")
def tensor_and_number(p, target):
    x = p.operand(NUMBERS)
    p.call(target, x, number(p, x), exact=True)


@aten_operators("div.Tensor")
def divide(p, target):
    x = p.operand(NUMBERS)
    y = p.partner(x, domain="nonzero")
    p.call(target, x, y)


@aten_operators("div.Scalar")
def divide_by_number(p, target):
    x = p.operand(NUMBERS)
    p.call(target, x, number(p, x, "positive"))


@aten_operators("div.Tensor_mode floor_divide.default remainder.Tensor")
def divide_to_floor(p, target):
    x = p.operand(NUMBERS, exact=True)
    y = p.partner(x, domain="nonzero", exact=True, dtypes=[x.dtype])
    mode = {"rounding_mode": p.choice([None, "floor"])} if "mode" in str(target) else {}
    p.call(target, x, y, **mode)


@aten_operators("div.Scalar_mode remainder.Scalar floor_divide.Scalar")
def divide_to_floor_by_number(p, target):
    x = p.operand(NUMBERS, exact=True)
    mode = {"rounding_mode": p.choice([None, "floor"])} if "mode" in str(target) else {}
    p.call(target, x, p.choice([2, 3]), **mode)


@aten_operators("remainder.Scalar_Tensor")
def remainder_of_number(p, target):
    p.call(target, p.choice([7, 5]), p.operand(NUMBERS, domain="nonzero", exact=True))


@aten_operators("pow.Tensor_Tensor")
def power(p, target):
    x = p.operand(FLOATS, domain="positive")
    p.call(target, x, p.partner(x, dtypes=[x.dtype], domain="positive"))


@aten_operators("pow.Tensor_Scalar")
def power_of_number(p, target):
    if p.chance(0.3):
        return p.call(target, p.operand(INTEGERS), p.choice([2, 3]))
    p.call(target, p.operand(FLOATS, domain="positive"), p.choice([2, 3, 0.5, -1, 1.5]))


@aten_operators("pow.Scalar")
def power_to_tensor(p, target):
    p.call(target, p.choice([2, 1.5]), p.operand(FLOATS, domain="positive"))


COMPARISONS = "eq ne lt le gt ge"


@aten_operators(" ".join(f"{name}.Tensor" for name in COMPARISONS.split()))
def compare(p, target):
    x = p.operand(NUMBERS, exact=True)
    p.call(target, x, p.partner(x, exact=True, dtypes=[x.dtype]), exact=True)


@aten_operators(" ".join(f"{name}.Scalar" for name in COMPARISONS.split()))
def compare_with_number(p, target):
    p.call(target, p.operand(NUMBERS, exact=True), p.choice([0, 1, 0.5]), exact=True)


@aten_operators("logical_and.default logical_or.default")
def logical(p, target):
    x = p.operand(NUMBERS + BOOLEAN, exact=True)
    p.call(target, x, p.partner(x, exact=True), exact=True)


BITWISE = "bitwise_and bitwise_or bitwise_xor"


@aten_operators(f"{' '.join(f'{name}.Tensor' for name in BITWISE.split())} __and__.Tensor __or__.Tensor")
def bitwise(p, target):
    x = p.operand(INTEGERS + BOOLEAN)
    p.call(target, x, p.partner(x, dtypes=[x.dtype]), exact=True)


@aten_operators(" ".join(f"{name}.Scalar" for name in BITWISE.split()))
def bitwise_with_number(p, target):
    p.call(target, p.operand(INTEGERS), p.choice([1, 3, 5]), exact=True)


@aten_operators(
    "__lshift__.Scalar __rshift__.Scalar bitwise_left_shift.Tensor_Scalar"
    " bitwise_right_shift.Tensor_Scalar"
)
def shift(p, target):
    p.call(target, p.operand(INTEGERS), p.choice([0, 1, 3]), exact=True)


def condition(p, value):
    return p.partner(value, dtypes=BOOLEAN)


@aten_operators("where.self where.ScalarSelf where.ScalarOther where.Scalar")
def where(p, target):
    x = p.operand(NUMBERS)
    mask, name = condition(p, x), str(target)
    first = number(p, x) if name.endswith(("ScalarSelf", "Scalar")) else x
    second = number(p, x) if name.endswith(("ScalarOther", "Scalar")) else x
    if first is x and second is x:
        second = p.partner(x, dtypes=[x.dtype])
    p.call(target, mask, first, second, exact=True)


@aten_operators("masked_fill.Scalar")
def masked_fill(p, target):
    x = p.operand(FLOATS)
    p.call(target, x, condition(p, x), p.choice([-1.5, 0.0, 2]), exact=True)


@aten_operators("masked_fill.Tensor")
def masked_fill_with_tensor(p, target):
    x = p.operand(FLOATS)
    p.call(target, x, condition(p, x), p.operand([x.dtype], shape=()), exact=True)


@aten_operators("clamp.default")
def clamp(p, target):
    x = p.operand(NUMBERS)
    p.call(target, x, *p.choice([(0, 2), (-1, None), (None, 1)]), exact=True)


@aten_operators("clamp.Tensor")
def clamp_by_tensors(p, target):
    x = p.operand(NUMBERS)
    low = p.partner(x, dtypes=[x.dtype])
    p.call(target, x, *p.choice([(low, None), (None, low), (low, low)]), exact=True)


@aten_operators("to.dtype")
def convert(p, target):
    # Of floats, what a conversion to integers gives jumps.
    x = p.operand(NUMBERS + BOOLEAN, exact=True)
    p.call(target, x, p.choice(NUMBERS + BOOLEAN if "uint8" not in str(x.dtype) else NUMBERS), exact=True)


@aten_operators("_to_copy.default")
def convert_to_copy(p, target):
    p.call(target, p.operand(FLOATS), dtype=p.choice(FLOATS), exact=True)


@operators(torch.ops.prims, "convert_element_type.default")
def convert_element_type(p, target):
    p.call(target, p.operand(FLOATS), p.choice(FLOATS), exact=True)


@operators(torch.ops.prims, "iota.default")
def iota(p, target):
    p.call(
        target, p.random.randint(1, 6), start=p.choice([-2, 0, 3]), step=p.choice([1, 2]),
        dtype=torch.int64, device=torch.device("cpu"), requires_grad=False, exact=True,
    )  # fmt: skip


@aten_operators("to.dtype_layout")
def convert_with_layout(p, target):
    place = p.choice([{}, {"layout": torch.strided, "device": torch.device("cpu")}])
    p.call(target, p.operand(FLOATS), dtype=p.choice(FLOATS), **place, exact=True)


@aten_operators("to.device")
def convert_on_device(p, target):
    p.call(target, p.operand(FLOATS), torch.device("cpu"), p.choice(FLOATS), exact=True)


@aten_operators("type_as.default to.other")
def convert_like(p, target):
    p.call(target, p.operand(FLOATS), p.operand(FLOATS), exact=True)


@aten_operators("view.dtype")
def same_bits(p, target):
    x = p.operand(FLOATS, exact=True)
    sizes = {8: torch.int64, 4: torch.int32, 2: torch.int16}
    bits = p.call(target, x, sizes[x.dtype.itemsize], exact=True)
    # Numbers beyond those that other operators are called with.
    bits.private = True
    p.call(target, bits, x.dtype, exact=True)


@aten_operators("clone.default contiguous.default alias.default detach.default")
def identity(p, target):
    p.call(target, p.operand(NUMBERS + BOOLEAN), exact=True)


# ----------------------------------------------------------------------------
# Factories
# ----------------------------------------------------------------------------


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
    p.call(target, -2, p.random.randint(1, 4), dtype=p.choice([torch.int64, torch.float32]), exact=True)


@aten_operators("arange.start_step")
def arange_by_step(p, target):
    p.call(target, 1, p.random.randint(3, 12), p.choice([2, 3]), exact=True)


@aten_operators("triu.default tril.default")
def triangle(p, target):
    p.call(target, p.operand(NUMBERS, least=2), p.choice([-1, 0, 1]), exact=True)


# ----------------------------------------------------------------------------
# Reductions, rows
# ----------------------------------------------------------------------------


def some_dims(p, value):
    return p.random.sample(range(value.rank), p.random.randint(1, value.rank))


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
    x = p.operand(BOOLEAN, least=1)
    p.call(target, x, p.dim(x), p.chance(0.5), exact=True)


@aten_operators("any.dims all.dims")
def truth_along_dims(p, target):
    x = p.operand(BOOLEAN, least=1)
    p.call(target, x, some_dims(p, x), p.chance(0.5), exact=True)


@aten_operators("any.default all.default")
def truth(p, target):
    p.call(target, p.operand(BOOLEAN), exact=True)


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


# ----------------------------------------------------------------------------
# Products, attention, look-ups
# ----------------------------------------------------------------------------


@aten_operators("mm.default bmm.default matmul.default")
def matmul(p, target):
    rank = {"aten.mm.default": 2, "aten.bmm.default": 3}.get(str(target), p.choice([2, 3, 4]))
    x = p.operand(PRODUCTS, least=rank, most=rank)
    p.call(target, x, p.operand([x.dtype], [*x.shape[:-2], x.shape[-1], p.choice([1, 3, 8])]))


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
    x = p.call(aten.to.dtype, p.input(torch.float32, (rows, inner)), torch.float8_e4m3fn, exact=True)
    y = p.call(aten.to.dtype, p.input(torch.float32, (columns, inner)), torch.float8_e4m3fn, exact=True)
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


@aten_operators("conv2d.default")
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


def as_long(p, index):
    return p.call(aten.to.dtype, index, torch.int64, exact=True)


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


@aten_operators("index_copy.default index_add.default")
def index_rows(p, target):
    x, dim, shape = updated(p)
    index = as_long(p, p.indices(x.shape[dim], [shape[dim]]))
    source = p.operand([x.dtype], shape)
    p.call(target, x, dim, index, source, exact="add" not in str(target))


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


# ----------------------------------------------------------------------------
# Formulas, and gradients
# ----------------------------------------------------------------------------


@aten_operators("log1p.default expm1.default softplus.default hardsigmoid.default hardswish.default")
def formula(p, target):
    domain = "positive" if "log1p" in str(target) else "any"
    p.call(target, p.operand(FLOATS, domain=domain))


@aten_operators("leaky_relu.default")
def leaky_relu(p, target):
    p.call(target, p.operand(FLOATS), p.choice([0.01, 0.2]))


@aten_operators("addcmul.default addcdiv.default")
def add_scaled(p, target):
    x = p.operand(FLOATS)
    first = p.operand([x.dtype], x.shape)
    p.call(target, x, first, p.operand([x.dtype], x.shape, domain="positive"), value=p.choice([1, -0.5]))


@aten_operators("lerp.Scalar lerp.Tensor")
def lerp(p, target):
    x = p.operand(FLOATS)
    end = p.operand([x.dtype], x.shape)
    weight = 0.25 if "Scalar" in str(target) else p.operand([x.dtype], x.shape)
    p.call(target, x, end, weight)


@aten_operators("logsumexp.default")
def logsumexp(p, target):
    x = p.operand(FLOATS, least=1)
    p.call(target, x, [p.dim(x)], p.chance(0.5))


@aten_operators("var.correction var.dim std.correction std.dim")
def variance(p, target):
    x = p.operand(FLOATS, least=1, fits=lambda value: value.shape[0] > 1)
    if x.shape[0] < 2:
        return
    if "correction" in str(target):
        p.call(target, x, [0], correction=p.choice([0, 1]), keepdim=p.chance(0.5))
    else:
        p.call(target, x, [0], p.chance(0.5), p.chance(0.5))


@aten_operators("histc.default")
def histogram(p, target):
    x = p.operand([torch.float32, torch.float64], exact=True)
    # Bins as wide as one, and wider; the last takes its bounds from the elements.
    bins, low, high = p.choice([(4, -4, 3), (4, -4, 4), (8, -4, 3), (8, -4, 4), (1, 0, 0)])
    p.call(target, x, bins, low, high, exact=True)


@aten_operators("slice_backward.default")
def slice_backward(p, target):
    gradient = p.operand(FLOATS, least=1)
    dim, start, step = p.random.randrange(gradient.rank), p.choice([0, 2]), p.choice([1, 1, 3])
    count = gradient.shape[dim]
    sizes = list(gradient.shape)
    sizes[dim] = start + max(count - 1, 0) * step + min(count, 1) + p.choice([0, 1, 3])
    end = start + (count - 1) * step + 1 if count else start
    p.call(target, gradient, sizes, dim, start, end, step, exact=True)


@aten_operators("select_backward.default")
def select_backward(p, target):
    gradient = p.operand(FLOATS)
    dim = p.random.randint(0, gradient.rank)
    sizes = [*gradient.shape[:dim], 3, *gradient.shape[dim:]]
    p.call(target, gradient, sizes, dim, p.choice([0, 1, -1]), exact=True)


@aten_operators("repeat_interleave.Tensor repeat_interleave.self_Tensor")
def repeat_each(p, target):
    counts = p.choice([[1, 2, 3], [0, 4, 2]])
    dtype = p.choice([torch.int64, torch.int32])
    repeats = p.input(dtype, (3,), tensors=[torch.tensor(counts, dtype=dtype)] * p.world_size)
    if "self" not in str(target):
        return p.call(target, repeats, output_size=6, exact=True)
    x = p.operand(FLOATS, p.choice([(3,), (3, 2), (4, 3)]))
    dim = x.shape.index(3) if x.rank > 1 else p.choice([0, None])
    p.call(target, x, repeats, dim, output_size=6, exact=True)


@aten_operators("diff.default")
def difference(p, target):
    x = p.operand(FLOATS + [torch.int64] + BOOLEAN, least=1)
    dim = p.dim(x)
    ends = {name: x for name in ("prepend", "append") if p.chance(0.3)}
    p.call(target, x, 1, dim, **ends)


@aten_operators("constant_pad_nd.default pad.default")
def pad(p, target):
    x = p.operand(NUMBERS, least=1)
    numbers = [p.choice([0, 1, 2]) for _ in range(2 * p.random.randint(1, x.rank))]
    if x.shape[-1] > 1 and p.chance(0.3):
        numbers[0] = -1
    extra = ["constant"] if target is aten.pad.default else []
    p.call(target, x, numbers, *extra, p.choice([0, 1]), exact=True)


@aten_operators("flip.default")
def flip(p, target):
    x = anything(p, least=1)
    p.call(target, x, p.random.sample(range(x.rank), p.random.randint(1, x.rank)), exact=True)


@aten_operators("sigmoid_backward.default tanh_backward.default silu_backward.default")
def scalar_backward(p, target):
    x = p.operand(FLOATS)
    p.call(target, p.operand([x.dtype], x.shape), x)


@aten_operators("gelu_backward.default")
def gelu_backward(p, target):
    x = p.operand(FLOATS)
    gradient = p.operand([x.dtype], x.shape)
    p.call(target, gradient, x, approximate=p.choice(["none", "tanh"]))


@aten_operators("threshold_backward.default")
def threshold_backward(p, target):
    x = p.operand(FLOATS, exact=True)
    p.call(target, p.operand([x.dtype], x.shape), x, 0, exact=True)


@aten_operators("_softmax_backward_data.default _log_softmax_backward_data.default")
def softmax_backward(p, target):
    x = p.operand([torch.float32, torch.float64], least=1)
    p.call(target, p.operand([x.dtype], x.shape), x, p.dim(x), x.dtype)


def normalized(p):
    """A tensor and the sizes of its last dim, with statistics and a weight."""
    x = p.operand([torch.float32, torch.float64], least=2)
    shape = [x.shape[-1]]
    return x, shape, p.operand([x.dtype], shape)


@aten_operators("native_layer_norm_backward.default")
def layer_norm_backward(p, target):
    x, shape, weight = normalized(p)
    bias = p.operand([x.dtype], shape)
    _, mean, rstd = p.call(aten.native_layer_norm.default, x, shape, weight, bias, 1e-3)
    gradient = p.operand([x.dtype], x.shape)
    p.call(target, gradient, x, shape, mean, rstd, weight, bias, [True, True, True])


@aten_operators("nll_loss_forward.default nll_loss_backward.default")
def nll_loss(p, target):
    scores = p.operand([torch.float32, torch.float64], least=2, most=2)
    classes = as_long(p, p.indices(scores.shape[1], scores.shape[:1]))
    reduction, ignored = p.choice([1, 2]), p.choice([-100, 0])
    _, total = p.call(aten.nll_loss_forward.default, scores, classes, None, reduction, ignored)
    if "backward" in str(target):
        gradient = p.operand([scores.dtype], ())
        p.call(target, gradient, scores, classes, None, reduction, ignored, total)


# ----------------------------------------------------------------------------
# Reindexing
# ----------------------------------------------------------------------------


def anything(p, least=0, fits=None):
    return p.operand(NUMBERS + BOOLEAN, least=least, fits=fits)


def is_dense(value):
    return all(tensor.is_contiguous() for tensor in value.tensors)


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
    p.call(target, p.operand(FLOATS), 0.5, False, exact=True)


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
    p.call(target, p.random.sample([x, p.operand([x.dtype], shape), x], p.choice([1, 2, 3])), dim, exact=True)


@aten_operators("stack.default")
def stack(p, target):
    x = anything(p)
    dim = p.random.randint(-x.rank - 1, x.rank)
    p.call(target, [x, p.operand([x.dtype], x.shape), x], dim, exact=True)


# ----------------------------------------------------------------------------
# Collectives, for programs on several ranks
# ----------------------------------------------------------------------------

SENT = [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32]


def wait(p, started):
    """What was started is read by the wait alone."""
    for value in started if isinstance(started, list) else [started]:
        value.private = True
        p.call(c10d.wait_tensor.default, value, exact=True)


def reduction(p, value):
    by = ["sum", "max", "min"] + (["avg"] if value.dtype in SENT[:2] else [])
    return p.choice(by)


def sent(p, scattered=False, dtypes=SENT, **options):
    """A dense operand, cut along dim 0 where it is scattered."""

    def fits(value):
        return is_dense(value) and (
            not scattered or (value.rank and value.shape[0] % p.world_size == 0)
        )

    if scattered:
        shape = (p.world_size * p.choice([1, 2]), *p.sizes(0, 2))
        return p.operand(dtypes, shape, fits=fits, **options)
    return p.operand(dtypes, fits=fits, **options)


def several_sent(p, **options):
    """Operands of one type, which gloo asks for."""
    first = sent(p, **options)
    return [first, sent(p, dtypes=[first.dtype], **options)]


@operators(c10d, "all_reduce.default")
def all_reduce(p, target):
    x = sent(p)
    wait(p, p.call(target, x, reduction(p, x), WORLD))


@operators(c10d, "all_reduce_.default")
def all_reduce_in_place(p, target):
    x = p.call(aten.mul.Tensor, sent(p), 2, exact=True)
    x.private = True
    wait(p, p.call(target, x, reduction(p, x), WORLD))


@operators(c10d, "all_reduce_coalesced.default")
def all_reduce_coalesced(p, target):
    wait(p, p.call(target, several_sent(p), "sum", WORLD))


@operators(c10d, "all_gather_into_tensor.default")
def all_gather(p, target):
    wait(p, p.call(target, sent(p, least=1), p.world_size, WORLD, exact=True))


@operators(c10d, "all_gather_into_tensor_coalesced.default")
def all_gather_coalesced(p, target):
    wait(p, p.call(target, several_sent(p, least=1), p.world_size, WORLD, exact=True))


@operators(c10d, "reduce_scatter_tensor.default")
def reduce_scatter(p, target):
    x = sent(p, scattered=True)
    wait(p, p.call(target, x, reduction(p, x), p.world_size, WORLD))


@operators(c10d, "reduce_scatter_tensor_coalesced.default")
def reduce_scatter_coalesced(p, target):
    wait(p, p.call(target, several_sent(p, scattered=True), "sum", p.world_size, WORLD))


@operators(c10d, "all_to_all_single.default")
def all_to_all(p, target):
    x = sent(p, scattered=True)
    splits = [x.shape[0] // p.world_size] * p.world_size
    wait(p, p.call(target, x, splits, splits, WORLD, exact=True))


@operators(c10d, "broadcast.default")
def broadcast(p, target):
    wait(p, p.call(target, sent(p), p.random.randrange(p.world_size), WORLD, exact=True))


@operators(c10d, "broadcast_.default")
def broadcast_in_place(p, target):
    x = p.call(aten.mul.Tensor, sent(p), 2, exact=True)
    x.private = True
    wait(p, p.call(target, x, p.random.randrange(p.world_size), WORLD, exact=True))


# Called by all of the above.
OPERATORS["_c10d_functional.wait_tensor.default"] = OPERATORS["_c10d_functional.all_reduce.default"]
