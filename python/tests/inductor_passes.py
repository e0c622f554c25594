# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""torch.compile down to Inductor's lowering: all graph passes, and no generated code."""

from typing import Any

import torch
import torch._dynamo
from torch._guards import detect_fake_mode


def run_compiled(model: Any, *arguments: Any, training: bool = False, **options: Any) -> Any:
    """Compiles a model with options of Inductor, and runs it with its backward graph."""
    from torch._inductor import compile_fx
    from torch._inductor import config as inductor
    from torch._inductor.virtualized import V

    def lower(graph_module, inputs, **_):
        with V.set_fake_mode(detect_fake_mode(inputs)):
            compile_fx._recursive_post_grad_passes(graph_module, is_inference=not training)

        def run(values):
            return graph_module(*values)

        run._boxed_call = True
        return run

    def backend(graph_module, inputs):
        return compile_fx.compile_fx(graph_module, inputs, inner_compile=lower)

    torch._dynamo.reset()
    with inductor.patch(force_disable_caches=True, **options):
        result = torch.compile(model, backend=backend)(*arguments)
        if training:
            sum_of(result).backward()
    return result


def sum_of(result: Any) -> torch.Tensor:
    """A number to differentiate."""
    from torch.utils import _pytree as pytree

    parts = [
        part.sum()
        for part in pytree.tree_leaves(result)
        if isinstance(part, torch.Tensor) and part.is_floating_point()
    ]
    return torch.stack(parts).sum()
