# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Do two graphs give the same numbers?"""

import torch
from torch.fx import Interpreter
from torch.utils import _pytree as pytree

from commute.torch.graph_program import get_value

# Of numbers in float64 that a pass computes in another order.
TOLERANCE = 1e-8

_RANDOM = ("rand", "dropout", "bernoulli", "normal", "seed", "multinomial", "uniform")


def _input(value, generator):
    if not isinstance(value, torch.Tensor):
        return int(value) if isinstance(value, torch.SymInt) else value
    sizes = [int(size) for size in value.shape]
    strides = [int(stride) for stride in value.stride()]
    result = torch.empty_strided(sizes, strides, dtype=value.dtype)
    if value.dtype.is_floating_point:
        # Positive: variances and counts are inputs, too.
        return result.copy_(torch.rand(sizes, generator=generator, dtype=torch.float64) + 0.1)
    if value.dtype is torch.bool:
        return result.copy_(torch.rand(sizes, generator=generator) < 0.5)
    return result.copy_(torch.randint(0, 4, sizes, generator=generator))


def _is_random(module):
    return any(
        any(word in str(node.target) for word in _RANDOM)
        for node in module.graph.nodes
        if node.op == "call_function"
    )


def _run(module, inputs):
    inputs = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
    with torch.no_grad():
        result = Interpreter(module).run(*inputs)
    # What is written into inputs counts as well.
    return pytree.tree_leaves([result, inputs])


def agree(before, after):
    """True or False; None where the graphs cannot be run, or draw random numbers."""
    if _is_random(before) or _is_random(after):
        return None
    placeholders = before.graph.find_nodes(op="placeholder")
    for seed in range(2):
        generator = torch.Generator().manual_seed(seed)
        try:
            inputs = [_input(get_value(node), generator) for node in placeholders]
            results = [_run(module, inputs) for module in (before, after)]
        except Exception:
            return None
        if len(results[0]) != len(results[1]):
            return False
        for a, b in zip(*results):
            if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
                continue
            if a.shape != b.shape or a.dtype != b.dtype:
                return False
            if a.dtype.is_floating_point and (a.isnan() != b.isnan()).any():
                return False
            if a.dtype.is_floating_point and not a.isfinite().all():
                return None
            tolerance = TOLERANCE if a.dtype is torch.float64 else 1e-3
            if a.numel() and not torch.allclose(
                a.double(), b.double(), rtol=tolerance, atol=tolerance
            ):
                return False
    return True
