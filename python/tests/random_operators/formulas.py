# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of formulas that are made of simpler operators, and of gradients."""

import torch

from random_operators.registry import anything, aten_operators
from random_programs import BOOLEAN, FLOATS, NUMBERS, aten


@aten_operators(
    "log1p.default expm1.default softplus.default hardsigmoid.default hardswish.default"
)
def formula(p, target):
    domain = "positive" if "log1p" in str(target) else "any"
    p.call(target, p.operand(FLOATS, domain=domain))


@aten_operators("elu.default mish.default log_sigmoid.default")
def activation(p, target):
    numbers = p.choice([[], [2.0, 1.5, 0.5]]) if target is aten.elu.default else []
    p.call(target, p.operand(FLOATS), *numbers)


@aten_operators("log_sigmoid_forward.default")
def log_sigmoid_kernel(p, target):
    p.call(target, p.operand(FLOATS), keeps=1)


@aten_operators("glu.default")
def gated(p, target):
    x = p.operand(FLOATS, [*p.sizes(0, 2), 2 * p.random.randint(1, 3)])
    p.call(target, x, p.choice([-1, x.rank - 1]))


@aten_operators("leaky_relu.default")
def leaky_relu(p, target):
    p.call(target, p.operand(FLOATS), p.choice([0.01, 0.2]))


@aten_operators("addcmul.default addcdiv.default")
def add_scaled(p, target):
    x = p.operand(FLOATS)
    first = p.operand([x.dtype], x.shape)
    p.call(
        target,
        x,
        first,
        p.operand([x.dtype], x.shape, domain="positive"),
        value=p.choice([1, -0.5]),
    )


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


@aten_operators(
    "var.correction var.dim std.correction std.dim var.default std.default"
    " var_mean.correction var_mean.dim std_mean.correction std_mean.dim"
)
def variance(p, target):
    x = p.operand(FLOATS, least=1, fits=lambda value: value.shape[0] > 1)
    if x.shape[0] < 2:
        return
    if "default" in str(target):
        p.call(target, x, p.chance(0.5))
    elif "correction" in str(target):
        p.call(target, x, [0], correction=p.choice([0, 1]), keepdim=p.chance(0.5))
    else:
        p.call(target, x, [0], p.chance(0.5), p.chance(0.5))


@aten_operators("histc.default")
def histogram(p, target):
    x = p.operand([torch.float32, torch.float64], exact=True)
    # Bins as wide as one, and wider; the last takes its bounds from the elements.
    bins, low, high = p.choice([(4, -4, 3), (4, -4, 4), (8, -4, 3), (8, -4, 4), (1, 0, 0)])
    p.call(target, x, bins, low, high, exact=True)


@aten_operators("bucketize.Tensor searchsorted.Tensor")
def buckets(p, target):
    x = p.operand([torch.float32, torch.float64, torch.int64], least=1, exact=True)
    shape = [*x.shape[:-1], 4] if "searchsorted" in str(target) and p.chance(0.5) else [4]
    rows = torch.tensor([-2, 0, 0, 1]).expand(shape).to(x.dtype).contiguous()
    boundaries = p.input(x.dtype, tuple(shape), tensors=[rows] * p.world_size)
    operands = [x, boundaries] if "bucketize" in str(target) else [boundaries, x]
    p.call(target, *operands, right=p.chance(0.5), out_int32=p.chance(0.3), exact=True)


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
    if target is aten.pad.default and p.chance(0.5):
        x = p.operand(NUMBERS, (2, 3, 4))
        mode = p.choice(["reflect", "replicate", "circular"])
        p.call(target, x, [p.choice([0, 1, 3]), p.choice([0, 2])], mode, exact=True)
        return
    x = p.operand(NUMBERS, least=1)
    numbers = [p.choice([0, 1, 2]) for _ in range(2 * p.random.randint(1, x.rank))]
    if x.shape[-1] > 1 and p.chance(0.3):
        numbers[0] = -1
    extra = ["constant"] if target is aten.pad.default else []
    p.call(target, x, numbers, *extra, p.choice([0, 1]), exact=True)


PADS = "reflection_pad{0}d.default replication_pad{0}d.default"


@aten_operators(" ".join(PADS.format(rank) for rank in (1, 2, 3)))
def repeating_pad(p, target):
    rank = next(rank for rank in (1, 2, 3) if f"{rank}d" in str(target))
    x = p.operand([torch.float32, torch.float64], (2, 3, 4, 3, 5)[: rank + 1])
    p.call(target, x, [p.choice([0, 1, 2]) for _ in range(2 * rank)], exact=True)


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
