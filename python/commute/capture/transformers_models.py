# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models of `transformers`: from a configuration without weights, with their own plans."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from commute.capture.errors import CaptureError, explain
from commute.capture.ranks import axis_names


def _import() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise CaptureError(f"this model needs the package transformers ({error})") from None
    return transformers


def read_configuration(path: str | Path) -> Any:
    """A configuration of transformers, from its config.json."""
    transformers = _import()
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CaptureError(f"{path}: {error}") from None
    kind = values.get("model_type") if isinstance(values, dict) else None
    if kind not in transformers.models.auto.configuration_auto.CONFIG_MAPPING:
        raise CaptureError(
            f"{path}: model_type is {kind!r}, which transformers {transformers.__version__}"
            " does not know"
        )
    try:
        return transformers.AutoConfig.for_model(**values)
    except Exception as error:
        raise CaptureError(f"{path}: {str(error).splitlines()[0]}") from None


def materialize_buffers(model: nn.Module) -> None:
    """Computes the buffers of a model that was made on the meta device.

    They follow from the configuration (frequencies, positions), and transformers computes
    them where it initializes the weights of a module.
    """
    for module in model.modules():
        found = {k: b for k, b in module._buffers.items() if b is not None and b.is_meta}
        if not found:
            continue
        for name, buffer in found.items():
            module._buffers[name] = torch.zeros(buffer.shape, dtype=buffer.dtype)
        with torch.no_grad():
            model._init_weights(module)  # type: ignore[operator]


def from_configuration(config: Any, head: str | None = None, dtype: Any = None) -> nn.Module:
    """A model without weights: parameters on the meta device, buffers as they are."""
    transformers = _import()
    architecture = head or next(iter(getattr(config, "architectures", None) or ()), None)
    kind = getattr(transformers, architecture, None) if architecture else None
    kind = kind or transformers.AutoModelForCausalLM
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype or getattr(config, "dtype", None) or before)
    try:
        with torch.device("meta"):
            make = getattr(kind, "_from_config", None) or kind.from_config
            model = make(config)
    except Exception as error:
        raise CaptureError(
            f"{getattr(kind, '__name__', kind)} cannot be made of this configuration:"
            f" {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from error
    finally:
        torch.set_default_dtype(before)
    materialize_buffers(model)
    return model.eval()


def apply_plan(model: nn.Module, mesh: DeviceMesh, plan: Any) -> nn.Module:
    """Shards a model by its own plans: tp_plan on the axis tp, ep_plan on the axis ep."""
    if not hasattr(model, "_resolve_parallel_plans"):
        raise CaptureError(
            f"{type(model).__name__} has no plan of its own; pass plan={{module name: style}} or"
            " a model that is parallel already"
        )
    from transformers.distributed.configuration_utils import DistributedConfig
    from transformers.distributed.expert_parallel import apply_expert_parallelism
    from transformers.distributed.tensor_parallel import apply_tensor_parallelism

    axes = axis_names(mesh)
    if mesh.ndim == 1 and axes[0] not in ("tp", "ep"):
        axes = ("tp",)
    sizes = dict(zip(axes, mesh.mesh.shape))
    if not set(sizes) & {"tp", "ep"}:
        raise CaptureError(f"the mesh has the axes {', '.join(axes)}, and none is tp or ep")
    tensor, experts = int(sizes.get("tp", 1)), int(sizes.get("ep", 1))
    if "ep" in sizes and "tp" in sizes:
        raise CaptureError("a mesh with both axes tp and ep is not supported; pass one of them")
    # Experts share the axis: the rest of the model is sharded over it too.
    config = DistributedConfig(
        tp_size=tensor if "tp" in sizes else experts,
        ep_size=experts,
        tp_plan=dict(plan) if isinstance(plan, Mapping) else None,
    )
    axis = mesh if mesh.ndim == 1 else mesh["tp" if "tp" in sizes else "ep"]
    try:
        tp_plan, ep_plan, _ = model._resolve_parallel_plans(config)
        model = apply_tensor_parallelism(model, axis, tp_plan)
        if ep_plan:
            model = apply_expert_parallelism(model, axis, axis, ep_plan)
    except CaptureError:
        raise
    except Exception as error:
        raise explain(model, error, f"the plan of {type(model).__name__} does not apply") from error
    if getattr(model.config.get_text_config(), "tie_word_embeddings", False):
        model.tie_weights()
    return model
