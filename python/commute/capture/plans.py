# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Applies a plan to a model on a single device: PyTorch's parallel styles keyed by module,
or the plan that comes with a model of `transformers`."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ParallelStyle, parallelize_module

from commute.capture import transformers_models
from commute.capture.errors import CaptureError, explain
from commute.capture.ranks import axis_names


def copy_without_weights(model: nn.Module) -> nn.Module:
    """Copies a model onto the meta device, where parameters take no memory."""
    memo: dict[int, Any] = {}
    for value in model.parameters():
        meta = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        memo[id(value)] = nn.Parameter(meta, requires_grad=value.requires_grad)
    try:
        return copy.deepcopy(model, memo)
    except Exception as error:
        raise CaptureError(
            f"{type(model).__name__} cannot be copied to apply the plan ({error}); apply the plan"
            " yourself, and capture the parallel model without a plan"
        ) from error


def _check_modules(model: nn.Module, plan: Mapping[str, Any]) -> None:
    """Raises if no module matches a pattern; parallelize_module would only warn."""
    from fnmatch import fnmatch

    names = [name for name, _ in model.named_modules()]
    for pattern in plan:
        if pattern and not any(fnmatch(name, pattern) for name in names):
            near = ", ".join(name for name in names if name.endswith(pattern.split(".")[-1]))
            hint = f"; did you mean {near}?" if near else ""
            raise CaptureError(
                f"the plan names {pattern!r}, but {type(model).__name__} has no such module{hint}"
            )


def _tensor_axis(mesh: DeviceMesh) -> DeviceMesh:
    """Returns the axis of a mesh to which a tensor-parallel plan applies."""
    if mesh.ndim == 1:
        return mesh
    if "tp" in axis_names(mesh) and mesh.mesh_dim_names:
        return mesh["tp"]
    raise CaptureError(
        f"a plan applies to one axis of a mesh, but this mesh has {', '.join(axis_names(mesh))};"
        " name one of them tp, or pass mesh[AXIS]"
    )


def apply(model: nn.Module, mesh: DeviceMesh, plan: Any) -> nn.Module:
    """Returns a copy of the model with the plan applied; the model itself is unchanged."""
    if plan is None or plan == "auto" or _is_of_strings(plan):
        return transformers_models.apply_plan(copy_without_weights(model), mesh, plan)
    if isinstance(plan, ParallelStyle):
        plan = {"": plan}
    if not isinstance(plan, Mapping) or not all(
        isinstance(style, ParallelStyle) for style in plan.values()
    ):
        raise CaptureError(
            f"plan is a {type(plan).__name__}; expected a dict from module names to parallel"
            " styles of torch.distributed.tensor.parallel or, for a model of transformers, to"
            " its rules"
        )
    _check_modules(model, plan)
    parallel = copy_without_weights(model)
    styles: Any = plan[""] if set(plan) == {""} else dict(plan)
    try:
        return parallelize_module(parallel, _tensor_axis(mesh), styles, src_data_rank=None)
    except Exception as error:
        raise explain(parallel, error, "the plan cannot be applied") from error


def untouched(model: nn.Module, parallel: nn.Module) -> frozenset[str]:
    """Returns the names of the parameters and buffers that the plan leaves alone: the ranks of
    `parallel` are made from one model, so they are equal on all ranks."""

    def tensors(module: nn.Module) -> dict[str, torch.Tensor]:
        return {
            **dict(module.named_parameters(remove_duplicate=False)),
            **dict(module.named_buffers(remove_duplicate=False)),
        }

    before = tensors(model)
    return frozenset(
        name
        for name, value in tensors(parallel).items()
        if not isinstance(value, DTensor) and name in before and before[name].shape == value.shape
    )


def _is_of_strings(plan: Any) -> bool:
    return isinstance(plan, Mapping) and all(isinstance(style, str) for style in plan.values())


def has_own_plan(model: nn.Module) -> bool:
    """Returns true if a model comes with a plan that has not been applied yet."""
    return bool(getattr(model, "_tp_plan", None)) and hasattr(model, "_resolve_parallel_plans")
