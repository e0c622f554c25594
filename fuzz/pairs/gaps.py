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
from pairs.samples import KINDS

SAMPLES = range(len(KINDS))
LARGE = 1e6


def _unknown(key):
    """A function of floats with no laws but those of functions."""

    def function(x, *rest, **options):
        x = x.double() if not x.is_floating_point() else x
        return torch.sin(1.3 * x + key) + 0.37 * torch.cos(2.1 * x - key)

    return function


def _height(x):
    """Where a number stands in an order that is not the usual one."""
    return torch.sin(12.9898 * x.double() + 1) * 43758.5453 % 1.0


def _as_tensor(y, x):
    return y if isinstance(y, torch.Tensor) else torch.tensor(y, dtype=x.dtype)


def _is_below(x, y):
    y = _as_tensor(y, x)
    if not x.is_floating_point() and not y.is_floating_point():
        return x < y
    return _height(x) < _height(y)


def _larger(x, y):
    y = _as_tensor(y, x)
    return torch.where(_is_below(x, y), y, x)


def _smaller(x, y):
    y = _as_tensor(y, x)
    return torch.where(_is_below(x, y), x, y)


def _clamp(x, low=None, high=None):
    x = x if low is None else _larger(x, low)
    return x if high is None else _smaller(x, high)


def _extremum(is_max):
    def function(x, dims=(), keepdim=False):
        if not x.is_floating_point():
            return (torch.amax if is_max else torch.amin)(x, dims, keepdim)
        dims = [d % x.dim() for d in dims] or list(range(x.dim()))
        for dim in dims:
            height = _height(x)
            place = (height.argmax if is_max else height.argmin)(dim, keepdim=True)
            x = x.gather(dim, place)
        return x if keepdim else x.reshape([s for d, s in enumerate(x.shape) if d not in dims])

    return function


def _softmax(weight, is_log=False):
    def function(x, dim, *rest):
        weights = weight(x)
        result = weights / weights.sum(dim, keepdim=True)
        return result.log() if is_log else result

    return function


def _positive(x):
    return 1.5 + torch.sin(1.3 * x + 0.2)


def _attention(query, key, value, mask=None, dropout=0.0, is_causal=False, scale=None, enable_gqa=False):
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
    for key, name in enumerate("exp sin cos tanh erf sigmoid silu gelu log sqrt rsqrt reciprocal".split(), 1)
}
ROUNDINGS = {
    getattr(aten, name).default: _unknown(key)
    for key, name in enumerate("floor ceil round sign abs isnan".split(), 30)
}

# Property -> stand-ins by operator.
PROPERTIES = {
    **{f"the function {target.__name__.split('.')[0]}": {target: kernel} for target, kernel in UNKNOWN.items()},
    **{f"the function {target.__name__.split('.')[0]}": {target: kernel} for target, kernel in ROUNDINGS.items()},
    "the exponential in a softmax": {
        aten.softmax.int: _softmax(_positive),
        aten._softmax.default: _softmax(_positive),
        aten.log_softmax.int: _softmax(_positive, True),
        aten._log_softmax.default: _softmax(_positive, True),
        aten.scaled_dot_product_attention.default: _attention,
    },
    "powers": {
        aten.pow.Tensor_Scalar: lambda x, y: _unknown(60 + float(y))(x) if y not in (1, 2, 3) else x**y,
        aten.pow.Tensor_Tensor: lambda x, y: _unknown(61)(x + 0.7 * torch.sin(y)),
        aten.pow.Scalar: lambda x, y: _unknown(62)(y + x),
    },
    "the order of numbers": {
        aten.lt.Tensor: _is_below,
        aten.lt.Scalar: _is_below,
        aten.ge.Tensor: lambda x, y: ~_is_below(x, y),
        aten.ge.Scalar: lambda x, y: ~_is_below(x, y),
        aten.gt.Tensor: lambda x, y: _is_below(y, x),
        aten.gt.Scalar: lambda x, y: _is_below(_as_tensor(y, x), x),
        aten.le.Tensor: lambda x, y: ~_is_below(y, x),
        aten.le.Scalar: lambda x, y: ~_is_below(_as_tensor(y, x), x),
        aten.maximum.default: _larger,
        aten.minimum.default: _smaller,
        aten.clamp.default: _clamp,
        aten.clamp.Tensor: _clamp,
        aten.relu.default: lambda x: _larger(x, 0),
        aten.amax.default: _extremum(True),
        aten.amin.default: _extremum(False),
    },
}


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
    candidates = {"a number beyond a million": large, **PROPERTIES}
    for name, kernels in candidates.items():
        if name not in ("a number beyond a million",) and not targets & set(kernels):
            continue
        found = judge(first, second, SAMPLES, kernels)
        if not found.is_equal:
            return f"equal only by {name}"
    # Two at once: each hides what the other would show.
    both = {**large}
    for kernels in PROPERTIES.values():
        both.update(kernels)
    if not judge(first, second, SAMPLES, both).is_equal:
        return "equal only by several properties of functions and numbers"
    return None
