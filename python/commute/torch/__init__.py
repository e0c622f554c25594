# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What Commute adds to PyTorch.

In short:

    import commute.torch

    commute.torch.enable()                          # passes in torch.compile, until disable()
    torch.compile(model, backend="commute")         # the same, for one model
    commute.torch.optimize_graph(module.graph)      # passes over a live graph
    commute.torch.capture(model, args, mesh={"tp": 8})   # archives of a parallel model
    commute.torch.check(model, parallel, args, {"tp": 8})  # does it compute the same?
    commute.torch.validate(before, after)           # do two graphs compute the same?
    with commute.torch.validate_passes() as report: # do the passes of torch.compile?
        torch.compile(model)(x)
    commute.torch.register_cpu_fused_ops()          # fused collectives on the CPU
    commute.torch.register_group_name("tp:0", group)     # what another system calls a group
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from commute.errors import CommuteError
from commute.torch.backend import register_backend
from commute.torch.cpu_symmetric_memory import register_cpu_fused_ops
from commute.torch.fusion_option import register_fusion_option
from commute.torch.live_graph import Remark, optimize_graph
from commute.torch.process_groups import register_group_name

if TYPE_CHECKING:
    from commute.capture import CaptureError, capture, fake_mesh
    from commute.torch.checks import check
    from commute.torch.drop_ins import (
        cat_linear_fused_pre_grad_pass,
        contiguous_collectives_pass,
        fuse_cat_linear_in_graph,
        make_collectives_contiguous,
        micro_pipeline_tp_pass,
        sequence_parallel_pass,
    )
    from commute.torch.graph_passes import (
        CatLinearFusedPreGradPass,
        ContiguousCollectivesPass,
        MicroPipelinePass,
        SequenceParallelPass,
    )
    from commute.torch.hooks import disable, enable
    from commute.torch.node_prices import runtime_estimation
    from commute.torch.validation import PassesDiffer, PassReport, validate, validate_passes

# By module. They import PyTorch's compiler, which takes as long as PyTorch itself, or
# torch.export.
_LAZY = {
    "commute.capture": ("CaptureError", "capture", "fake_mesh"),
    "commute.torch.checks": ("check",),
    "commute.torch.drop_ins": (
        "cat_linear_fused_pre_grad_pass",
        "contiguous_collectives_pass",
        "fuse_cat_linear_in_graph",
        "make_collectives_contiguous",
        "micro_pipeline_tp_pass",
        "sequence_parallel_pass",
    ),
    "commute.torch.graph_passes": (
        "CatLinearFusedPreGradPass",
        "ContiguousCollectivesPass",
        "MicroPipelinePass",
        "SequenceParallelPass",
    ),
    "commute.torch.hooks": ("disable", "enable"),
    "commute.torch.node_prices": ("runtime_estimation",),
    "commute.torch.validation": ("PassReport", "PassesDiffer", "validate", "validate_passes"),
}

__all__ = [
    "CaptureError",
    "CatLinearFusedPreGradPass",
    "CommuteError",
    "ContiguousCollectivesPass",
    "MicroPipelinePass",
    "PassReport",
    "PassesDiffer",
    "Remark",
    "SequenceParallelPass",
    "capture",
    "cat_linear_fused_pre_grad_pass",
    "check",
    "contiguous_collectives_pass",
    "disable",
    "enable",
    "fake_mesh",
    "fuse_cat_linear_in_graph",
    "make_collectives_contiguous",
    "micro_pipeline_tp_pass",
    "optimize_graph",
    "register_backend",
    "register_cpu_fused_ops",
    "register_group_name",
    "runtime_estimation",
    "sequence_parallel_pass",
    "validate",
    "validate_passes",
]


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Importing Dynamo for the backend's sake would take seconds.
if "torch._dynamo" in sys.modules:
    register_backend()
register_fusion_option()
