# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What Commute adds to PyTorch.

    import commute.torch

    commute.torch.register_cpu_fused_ops()          # fused collectives on the CPU
    commute.torch.optimize_graph(module.graph)      # passes over a live graph
    commute.torch.capture(model, args, mesh={"tp": 8})   # archives of a parallel model
    torch._inductor.config.pre_grad_custom_pass = commute.torch.CatLinearFusedPreGradPass()
"""

from typing import TYPE_CHECKING, Any

from commute.errors import CommuteError
from commute.torch.cpu_symmetric_memory import register_cpu_fused_ops
from commute.torch.live_graph import Remark, optimize_graph

if TYPE_CHECKING:
    from commute.capture import CaptureError, capture, fake_mesh
    from commute.torch.graph_passes import (
        CatLinearFusedPreGradPass,
        cat_linear_fused_pre_grad_pass,
    )

# They import the compiler, which takes as long as PyTorch itself.
_OF_THE_COMPILER = ("CatLinearFusedPreGradPass", "cat_linear_fused_pre_grad_pass")
# They import torch.export.
_OF_CAPTURE = ("CaptureError", "capture", "fake_mesh")

__all__ = [
    "CaptureError",
    "CatLinearFusedPreGradPass",
    "CommuteError",
    "Remark",
    "capture",
    "cat_linear_fused_pre_grad_pass",
    "fake_mesh",
    "optimize_graph",
    "register_cpu_fused_ops",
]


def __getattr__(name: str) -> Any:
    if name in _OF_THE_COMPILER:
        from commute.torch import graph_passes

        return getattr(graph_passes, name)
    if name in _OF_CAPTURE:
        import commute.capture

        return getattr(commute.capture, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
