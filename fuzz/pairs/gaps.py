# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Why a prover may call two programs different that compute the same.

`commute verify` takes functions of reals for unknown ones, orders of floats for
any total order, and numbers of great size for unknowns. Programs that are equal
only by a property of exp, of the order of numbers, or because a number is so large,
are different to it; docs/equivalence.md says so. Which property it is, is computed:
the function is replaced by another one, in both programs, and where they differ
then, they are equal by nothing else.
"""

import torch

from pairs.judge import judge
from pairs.programs import aten
from pairs.samples import LARGE


def _unknown(key):
    """A function of floats with no laws but those of functions."""

    def function(x, *rest, **options):
        x = x.double() if not x.is_floating_point() else x
        return torch.sin(1.3 * x + key) + 0.37 * torch.cos(2.1 * x - key)

    return function


def _as_tensor(y, x):
    return y if isinstance(y, torch.Tensor) else torch.tensor(y, dtype=x.dtype)


class Order:
    """Comparisons, minima and maxima in an order that is not the usual one."""

    def __init__(self, phase):
        self.phase = phase

    def height(self, x):
        return torch.sin(12.9898 * x.double() + self.phase) * 43758.5453 % 1.0

    def is_below(self, x, y):
        y = _as_tensor(y, x)
        if not x.is_floating_point() and not y.is_floating_point():
            return x < y
        return self.height(x) < self.height(y)

    def is_above(self, x, y):
        return self.is_below(_as_tensor(y, x), x)

    def larger(self, x, y):
        y = _as_tensor(y, x)
        return torch.where(self.is_below(x, y), y, x)

    def smaller(self, x, y):
        y = _as_tensor(y, x)
        return torch.where(self.is_below(x, y), x, y)

    def clamp(self, x, low=None, high=None):
        x = x if low is None else self.larger(x, low)
        return x if high is None else self.smaller(x, high)

    def extremum(self, is_max):
        def function(x, dims=(), keepdim=False):
            if not x.is_floating_point():
                return (torch.amax if is_max else torch.amin)(x, dims, keepdim)
            dims = [d % x.dim() for d in dims] or list(range(x.dim()))
            for dim in dims:
                height = self.height(x)
                place = (height.argmax if is_max else height.argmin)(dim, keepdim=True)
                x = x.gather(dim, place)
            return x if keepdim else x.reshape([s for d, s in enumerate(x.shape) if d not in dims])

        return function

    def kernels(self):
        return {
            aten.lt.Tensor: self.is_below,
            aten.lt.Scalar: self.is_below,
            aten.ge.Tensor: lambda x, y: ~self.is_below(x, y),
            aten.ge.Scalar: lambda x, y: ~self.is_below(x, y),
            aten.gt.Tensor: self.is_above,
            aten.gt.Scalar: self.is_above,
            aten.le.Tensor: lambda x, y: ~self.is_above(x, y),
            aten.le.Scalar: lambda x, y: ~self.is_above(x, y),
            aten.maximum.default: self.larger,
            aten.minimum.default: self.smaller,
            aten.clamp.default: self.clamp,
            aten.clamp.Tensor: self.clamp,
            aten.relu.default: lambda x: self.larger(x, 0),
            aten.amax.default: self.extremum(True),
            aten.amin.default: self.extremum(False),
        }


def _coarse(operator):
    """A comparison of floats that are equal as often as small integers are."""

    def function(x, y):
        y = _as_tensor(y, x)
        if x.is_floating_point() or y.is_floating_point():
            x, y = x.double().floor(), y.double().floor()
        return operator(x, y)

    return function


MEETING = {
    getattr(getattr(aten, name), overload): _coarse(getattr(torch, name))
    for name in ("lt", "le", "gt", "ge", "eq", "ne")
    for overload in ("Tensor", "Scalar")
}


def _softmax(weight, is_log=False):
    def function(x, dim, *rest):
        weights = weight(x)
        result = weights / weights.sum(dim, keepdim=True)
        return result.log() if is_log else result

    return function


def _positive(x):
    return 1.5 + torch.sin(1.3 * x + 0.2)


def _attention(
    query, key, value, mask=None, dropout=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None and mask.dtype != torch.bool:
        scores = scores + mask
    weights = _positive(scores)
    if is_causal:
        weights = weights.tril()
    if mask is not None and mask.dtype == torch.bool:
        weights = weights * mask
    return weights / weights.sum(-1, keepdim=True) @ value


UNKNOWN = {
    getattr(aten, name).default: _unknown(key)
    for key, name in enumerate(["exp", "sin", "cos", "tanh", "erf", "gelu", "log"], 1)
}
ROUNDINGS = {
    getattr(aten, name).default: _unknown(key)
    for key, name in enumerate(["floor", "ceil", "round", "sign", "abs", "isnan"], 30)
}

_sigmoid = _unknown(51)


def _root(x):
    return 1.5 + torch.sin(1.3 * x.double() + 0.7)


def _normalized(x, dims, epsilon, centered):
    dims = list(range(x.dim() - len(dims), x.dim()))
    if centered:
        x = x - x.mean(dims, keepdim=True)
    root = 1 / _root(x.square().mean(dims, keepdim=True) + (epsilon or 0))
    return x * root, root


def _rms_norm(x, dims, weight=None, epsilon=None):
    result = _normalized(x, dims, epsilon, False)[0]
    return result if weight is None else result * weight


def _layer_norm(x, dims, weight=None, bias=None, epsilon=1e-5):
    result = _normalized(x, dims, epsilon, True)[0]
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


# Property -> stand-ins by operator. What the checker takes for made of others (norms
# of roots, silu of sigmoid) is made of the stand-ins of these.
PROPERTIES = {
    **{
        f"the function {target.__name__.split('.')[0]}": {target: kernel}
        for target, kernel in {**UNKNOWN, **ROUNDINGS}.items()
    },
    "the function sigmoid": {
        aten.sigmoid.default: _sigmoid,
        aten.silu.default: lambda x: x * _sigmoid(x),
    },
    "the square root": {
        aten.sqrt.default: _root,
        aten.rsqrt.default: lambda x: 1 / _root(x),
        aten.rms_norm.default: _rms_norm,
        aten._fused_rms_norm.default: lambda x, dims, weight, epsilon: (
            _rms_norm(x, dims, weight, epsilon),
            _normalized(x, dims, epsilon, False)[1],
        ),
        aten.layer_norm.default: _layer_norm,
        aten.native_layer_norm.default: lambda x, dims, weight, bias, epsilon: (
            _layer_norm(x, dims, weight, bias, epsilon),
            x.mean(-1, keepdim=True),
            _normalized(x, dims, epsilon, True)[1],
        ),
    },
    "the exponential in a softmax": {
        aten.softmax.int: _softmax(_positive),
        aten._softmax.default: _softmax(_positive),
        aten.log_softmax.int: _softmax(_positive, True),
        aten._log_softmax.default: _softmax(_positive, True),
        aten.scaled_dot_product_attention.default: _attention,
    },
    "powers": {
        aten.pow.Tensor_Scalar: lambda x, y: _unknown(60 + float(y))(x) if y != int(y) else x**y,
        aten.pow.Tensor_Tensor: lambda x, y: _unknown(61)(x + 0.7 * torch.sin(y)),
        aten.pow.Scalar: lambda x, y: _unknown(62)(y + x),
    },
}
ORDERS = [Order(phase).kernels() for phase in (1, 2, 3, 4)]


def _moderate(argument):
    """Another number, as small as those around, for one of great size."""
    if isinstance(argument, float) and abs(argument) > LARGE:
        return (argument % 1.9371) + (3.1 if argument > 0 else -3.1)
    if isinstance(argument, list):
        return [_moderate(element) for element in argument]
    return argument


def _with_moderate_numbers(target):
    def kernel(*args, **kwargs):
        return target(*map(_moderate, args), **{name: _moderate(a) for name, a in kwargs.items()})

    return kernel


def _live_targets(*programs):
    return {node.target for program in programs for node in program.live_nodes() if node.target}


def explain(first, second):
    """The property that makes them equal, or None."""
    targets = _live_targets(first, second)
    large = {target: _with_moderate_numbers(target) for target in targets}
    candidates = [("a number beyond a million", large), *PROPERTIES.items()]
    candidates.append(("floats that do not meet", MEETING))
    candidates += [("the order of numbers", kernels) for kernels in ORDERS]
    for name, kernels in candidates:
        if targets & set(kernels) and not judge(first, second, kernels=kernels).is_equal:
            return f"equal only by {name}"
    # Several at once: each may hide what the others would show.
    together = {**large, **ORDERS[0]}
    for kernels in PROPERTIES.values():
        together.update(kernels)
    if not judge(first, second, kernels=together).is_equal:
        return "equal only by several properties of functions and numbers"
    return None
