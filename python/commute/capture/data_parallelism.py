# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Removes the hooks that parallelize a model, and expresses `fully_shard` as collectives.

The hooks of `fully_shard` manage memory and streams, which a graph cannot represent. A
captured program instead gathers each sharded parameter at the start of the forward, with
an all_gather that autograd differentiates to a reduce_scatter.
"""

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.distributed.tensor import DTensor, Replicate

_PARALLEL = ("torch.distributed.", "transformers.distributed.")


class ShardedParameters:
    """The parameters that fully_shard shards, and the mesh axes it shards them over."""

    def __init__(self, model: nn.Module) -> None:
        self._axes: dict[int, tuple[Any, Any]] = {}
        self.axis_names: set[str] = set()
        from commute.torch.compatibility import FSDPModule, get_sharded_parameters

        for module in model.modules():
            if isinstance(module, FSDPModule):
                for parameter, mesh, whole in get_sharded_parameters(module):
                    self.axis_names.update(mesh.mesh_dim_names or ())
                    self._axes[id(parameter)] = (mesh, whole)

    def gathered(self, original: DTensor, value: DTensor) -> Any:
        """Returns a parameter as the forward uses it: gathered along the axes of
        fully_shard."""
        if id(original) not in self._axes:
            return value
        mesh, spec = self._axes[id(original)]
        names = value.device_mesh.mesh_dim_names or ()
        own = set(mesh.mesh_dim_names or ())
        if spec is None:
            return value.redistribute(placements=[Replicate()] * value.device_mesh.ndim).to_local()
        placements = [
            Replicate() if name in own else placement
            for name, placement in zip(
                names, (*[None] * (len(names) - len(spec.placements)), *spec.placements)
            )
        ]
        local = value.redistribute(placements=placements).to_local()
        return DTensor.from_local(
            local, spec.mesh, spec.placements, run_check=False, shape=spec.shape, stride=spec.stride
        )


def find(model: nn.Module) -> ShardedParameters:
    return ShardedParameters(model)


def _remove_hooks(model: nn.Module, is_meant: Callable[[Any], bool]) -> list[Callable[[], None]]:
    """Removes the matching hooks; returns functions that restore them."""
    restore: list[Callable[[], None]] = []
    for module in model.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            taken = {key: hook for key, hook in hooks.items() if is_meant(hook)}
            if taken:
                before = dict(hooks)
                for key in taken:
                    del hooks[key]

                def put_back(hooks: Any = hooks, before: Any = before) -> None:
                    hooks.clear()
                    hooks.update(before)

                restore.append(put_back)
    return restore


def _module_of(function: Any) -> str:
    function = getattr(function, "func", function)
    return str(getattr(function, "__module__", ""))


def disable(model: nn.Module) -> list[Callable[[], None]]:
    """Removes the hooks of fully_shard; returns functions that restore them."""
    return _remove_hooks(model, lambda hook: _module_of(hook).startswith("torch.distributed.fsdp."))


def disable_parallel_hooks(model: nn.Module) -> list[Callable[[], None]]:
    """Removes every hook that converts tensors to DTensors or back; returns functions that
    restore them."""
    restore = _remove_hooks(model, lambda hook: _module_of(hook).startswith(_PARALLEL))
    for module in model.modules():
        forward = module.__dict__.get("forward")
        if forward is not None and _module_of(forward).startswith(_PARALLEL):
            del module.__dict__["forward"]

            def put_back(module: nn.Module = module, forward: Any = forward) -> None:
                module.__dict__["forward"] = forward

            restore.append(put_back)
    return restore
