# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Builds models of `transformers` from a configuration, without weights, and applies their
own plans."""

import inspect
import json
import sys
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
        raise CaptureError(f"this model requires the package transformers ({error})") from None
    return transformers


def find_configuration(name: str) -> Path:
    """Returns the config.json of a model: a file, a folder that has one, or the id of a model
    on the Hugging Face hub that is in the local cache. Nothing is downloaded."""
    path = Path(name).expanduser()
    if path.is_dir():
        if (path / "config.json").is_file():
            return path / "config.json"
        raise CaptureError(f"the folder {name} has no config.json")
    if path.exists() or path.suffix == ".json":
        return path
    _import()
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        cached = None
    if isinstance(cached, str):
        return Path(cached)
    raise CaptureError(
        f"{name} is no config.json, no folder with one, and no model in the local cache of the"
        f" Hugging Face hub ({constants.HF_HUB_CACHE}); `hf download {name} config.json` puts one"
        " there"
    )


def read_configuration(path: str | Path) -> Any:
    """Reads a configuration of transformers from its config.json."""
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


def register_caches() -> None:
    """Registers the caches of transformers as pytrees, which can be passed and returned."""
    if "transformers" in sys.modules:
        from transformers.integrations import executorch

        executorch.register_dynamic_cache_export_support()


class SeenTokens:
    """The number of tokens that the caches among some arguments have seen.

    A layer of a sliding-window cache stores this number outside of its tensors, so it is
    lost when the cache is flattened. Positions and masks depend on it.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._counts = {
            name: [getattr(layer, "cumulative_length", None) for layer in value.layers]
            for name, value in arguments.items()
            if "transformers" in sys.modules and isinstance(value, _import().DynamicCache)
        }

    def restore(self, arguments: dict[str, Any]) -> dict[str, Any]:
        for name, counts in self._counts.items():
            for layer, count in zip(arguments[name].layers, counts):
                if count is not None:
                    layer.cumulative_length = count
        return arguments


def materialize_buffers(model: nn.Module) -> None:
    """Computes the buffers of a model that was created on the meta device.

    Buffers such as frequencies and positions depend only on the configuration, and
    transformers computes them when it initializes the weights of a module.
    """
    initialize: Any = getattr(model, "_init_weights", lambda module: None)
    for module in model.modules():
        found = {k: b for k, b in module._buffers.items() if b is not None and b.is_meta}
        if not found:
            continue
        for name, buffer in found.items():
            module._buffers[name] = torch.zeros(buffer.shape, dtype=buffer.dtype)
        with torch.no_grad():
            initialize(module)


def set_layers(config: Any, layers: int) -> None:
    """Reduces a configuration to its first `layers` layers."""
    text = config.get_text_config()
    if not hasattr(text, "num_hidden_layers"):
        raise CaptureError(
            f"{type(config).__name__} has no num_hidden_layers, so layers cannot be dropped"
        )
    text.num_hidden_layers = min(layers, text.num_hidden_layers)
    kinds = getattr(text, "layer_types", None)
    if kinds:
        text.layer_types = kinds[: text.num_hidden_layers]


def without_cache(model: nn.Module) -> dict[str, Any]:
    """Returns the argument that keeps a model from returning its cache, if it takes one."""
    names = inspect.signature(model.forward).parameters
    return {"use_cache": False} if "use_cache" in names else {}


def from_configuration(config: Any, head: str | None = None, dtype: Any = None) -> nn.Module:
    """Builds a model without weights: parameters are on the meta device, buffers are not."""
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
            f"{getattr(kind, '__name__', kind)} cannot be built from this configuration:"
            f" {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from error
    finally:
        torch.set_default_dtype(before)
    materialize_buffers(model)
    return model.eval()


def _has_tied_parameters(model: nn.Module) -> bool:
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    return len(names) != len(list(model.named_parameters()))


def _untie(model: nn.Module) -> None:
    """Unties shared parameters, because a plan shards the parameters of each module."""
    seen: set[int] = set()
    for module in model.modules():
        for name, value in module._parameters.items():
            if value is None:
                continue
            if id(value) in seen:
                module._parameters[name] = nn.Parameter(
                    torch.empty_like(value), requires_grad=value.requires_grad
                )
            seen.add(id(value))


def rules() -> list[str]:
    """Returns the names of the rules that a plan of transformers may have."""
    _import()
    from transformers.distributed.tensor_parallel import ALL_PARALLEL_STYLES

    return sorted(ALL_PARALLEL_STYLES.keys())


def describe_missing_plan(model: nn.Module, ranks: int) -> str | None:
    """Returns a sentence about a model that comes without a tensor-parallel plan for its
    layers, so that ranks compute them alike; None if it has one, or is not of transformers."""
    if not hasattr(model, "_resolve_parallel_plans"):
        return None
    config: Any = model.config
    plans = [config, config.get_text_config()]
    if any(getattr(plan, "base_model_tp_plan", None) for plan in plans):
        return None
    text = f"transformers has no tensor-parallel plan for the layers of {type(model).__name__}"
    if any(getattr(plan, "base_model_ep_plan", None) for plan in plans):
        text += f"; it has an expert-parallel one: capture with --ep {ranks}, or"
    else:
        text += "; capture"
    return f"{text} with a plan of your own: --plan=FILE.json"


def apply_plan(model: nn.Module, mesh: DeviceMesh, plan: Any) -> nn.Module:
    """Shards a model by its own plans: tp_plan along the axis tp, ep_plan along the axis ep."""
    if not hasattr(model, "_resolve_parallel_plans"):
        raise CaptureError(
            f"{type(model).__name__} has no plan of its own; pass plan={{module name: style}} or"
            " a model that is already parallel"
        )
    from transformers.distributed.configuration_utils import DistributedConfig
    from transformers.distributed.expert_parallel import apply_expert_parallelism
    from transformers.distributed.tensor_parallel import apply_tensor_parallelism

    from commute.capture import transposed_linear

    axes = axis_names(mesh)
    if mesh.ndim == 1 and axes[0] not in ("tp", "ep"):
        axes = ("tp",)
    sizes = dict(zip(axes, mesh.mesh.shape))
    if not set(sizes) & {"tp", "ep"}:
        raise CaptureError(f"the mesh has the axes {', '.join(axes)}, but none is tp or ep")
    tensor, experts = int(sizes.get("tp", 1)), int(sizes.get("ep", 1))
    if "ep" in sizes and "tp" in sizes:
        raise CaptureError("a mesh with both axes tp and ep is not supported; pass one of them")
    # Experts share the axis with the rest of the model, which is sharded along it too.
    config = DistributedConfig(
        tp_size=tensor if "tp" in sizes else experts,
        ep_size=experts,
        tp_plan=dict(plan) if isinstance(plan, Mapping) else None,
    )
    axis = mesh if mesh.ndim == 1 else mesh["tp" if "tp" in sizes else "ep"]
    is_tied = _has_tied_parameters(model)
    _untie(model)
    try:
        resolve: Any = model._resolve_parallel_plans
        tp_plan, ep_plan, _ = resolve(config)
        tp_plan = transposed_linear.apply_rules(model, axis, tp_plan)
        model = apply_tensor_parallelism(model, axis, tp_plan)
        if ep_plan:
            model = apply_expert_parallelism(model, axis, axis, ep_plan)
    except CaptureError:
        raise
    except Exception as error:
        raise explain(model, error, f"the plan of {type(model).__name__} does not apply") from error
    if is_tied:
        model.tie_weights()  # type: ignore[operator]
    return model
