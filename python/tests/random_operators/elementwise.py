# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of elementwise operators, conversions and choices between elements."""

import torch

from random_operators.registry import aten_operators, is_float, operators
from random_programs import BOOLEAN, FLOATS, INTEGERS, NUMBERS, aten


@aten_operators("neg.default abs.default relu.default")
def rounded_never(p, target):
    p.call(target, p.operand(NUMBERS), exact=True)


@aten_operators("sign.default isnan.default round.default floor.default ceil.default trunc.default")
def jumping(p, target):
    dtypes = FLOATS if "isnan" not in str(target) else NUMBERS
    p.call(target, p.operand(dtypes, exact=True), exact=True)


@aten_operators("isinf.default isfinite.default nan_to_num.default")
def of_infinite_numbers(p, target):
    x = p.operand(FLOATS, exact=True)
    infinite = p.call(
        aten.masked_fill.Scalar,
        x,
        condition(p, x),
        p.choice([float("inf"), float("nan")]),
        exact=True,
    )
    infinite.private = True
    numbers = (
        p.choice([[], [0.5, 2.0], [None, None, -3.0]]) if target is aten.nan_to_num.default else []
    )
    p.call(target, infinite, *numbers, exact=True)


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


@aten_operators("fmod.Tensor")
def fmod(p, target):
    x = p.operand(NUMBERS, exact=True)
    p.call(target, x, p.partner(x, domain="nonzero", exact=True, dtypes=[x.dtype]))


@aten_operators("fmod.Scalar")
def fmod_by_number(p, target):
    x = p.operand(NUMBERS, exact=True)
    p.call(target, x, p.choice([2, 3] if x.dtype == torch.uint8 else [2, -3]))


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


@aten_operators(
    f"{' '.join(f'{name}.Tensor' for name in BITWISE.split())} __and__.Tensor __or__.Tensor __xor__.Tensor"
)
def bitwise(p, target):
    x = p.operand(INTEGERS + BOOLEAN)
    p.call(target, x, p.partner(x, dtypes=[x.dtype]), exact=True)


@aten_operators(
    f"{' '.join(f'{name}.Scalar' for name in BITWISE.split())} __and__.Scalar __or__.Scalar __xor__.Scalar"
)
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


@aten_operators("clamp_min.default clamp_max.default")
def clamp_on_one_side(p, target):
    p.call(target, p.operand(NUMBERS), p.choice([0, 1]), exact=True)


@aten_operators("clamp_min.Tensor clamp_max.Tensor")
def clamp_on_one_side_by_tensor(p, target):
    x = p.operand(NUMBERS)
    p.call(target, x, p.partner(x, dtypes=[x.dtype]), exact=True)


@aten_operators("clamp.Tensor")
def clamp_by_tensors(p, target):
    x = p.operand(NUMBERS)
    low = p.partner(x, dtypes=[x.dtype])
    p.call(target, x, *p.choice([(low, None), (None, low), (low, low)]), exact=True)


@aten_operators("to.dtype")
def convert(p, target):
    # Of floats, what a conversion to integers gives jumps.
    x = p.operand(NUMBERS + BOOLEAN, exact=True)
    p.call(
        target,
        x,
        p.choice(NUMBERS + BOOLEAN if "uint8" not in str(x.dtype) else NUMBERS),
        exact=True,
    )


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
