# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The arguments of a model, as passed on a rank and on a single device."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Shard

from commute.capture.axes import Axes
from commute.capture.errors import CaptureError
from commute.capture.local_model import fake_like, local_shape, materialized
from commute.capture.placements import AxisPlacements
from commute.torch.compatibility import FakeTensorMode, pytree


def named_arguments(forward: Callable[..., Any], example: Any) -> dict[str, Any]:
    """Returns the example arguments, keyed by the parameter names of the forward."""
    signature = inspect.signature(forward)
    try:
        if isinstance(example, Mapping):
            bound = signature.bind(**example)
        else:
            given = tuple(example) if isinstance(example, (tuple, list)) else (example,)
            bound = signature.bind(*given)
    except TypeError as error:
        raise CaptureError(f"example_args do not match forward{signature}: {error}") from None
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            raise CaptureError(
                f"the forward takes *{name}, whose values have no names; wrap the model in one"
                " whose forward names them"
            )
        else:
            named[name] = value
    return named


def _without_memory(values: Any, mode: FakeTensorMode, device: str) -> Any:
    """Replaces tensors on the meta device with fake tensors on another device."""

    def stand_in(value: torch.Tensor) -> torch.Tensor:
        return fake_like(mode, value.shape, value, device) if value.is_meta else value

    return pytree.tree_map_only(torch.Tensor, stand_in, values)


class Arguments:
    """Named arguments. A tensor in an argument is identified by its path: x, cache['k'][0]."""

    def __init__(self, named: Mapping[str, Any], axes: Axes, device: str) -> None:
        """
        device: the type of the device that the model runs on.
        """
        self.named, self._axes, self._device = dict(named), axes, device

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, value in self.named.items():
            for path, leaf in pytree.tree_leaves_with_path(value):
                if isinstance(leaf, torch.Tensor):
                    yield name + pytree.keystr(path), leaf

    def path_of(self, graph_name: str) -> str | None:
        """Returns the path of the tensor that a graph input stands for. Graph names differ
        from paths in punctuation only."""

        def plain(text: str) -> str:
            return re.sub(r"[\W_]+", "_", text).strip("_")

        found = [path for path, _ in self.tensors() if plain(path) == plain(graph_name)]
        return found[0] if len(found) == 1 else None

    def of_rank(self, mode: FakeTensorMode) -> dict[str, Any]:
        """Returns the inputs of this rank's program: local shards of DTensors, and all other
        values unchanged."""
        device = self._device

        def shard(value: DTensor) -> torch.Tensor:
            return fake_like(mode, local_shape(value), value, device)

        return _without_memory(pytree.tree_map_only(DTensor, shard, self.named), mode, device)

    def for_model(self, of_rank: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments of the model: rebuilds the caller's DTensors from this rank's
        shards."""
        leaves, spec = pytree.tree_flatten(self.named)
        made = [
            materialized(leaf, part) if isinstance(leaf, DTensor) else part
            for leaf, part in zip(leaves, pytree.tree_leaves(dict(of_rank)), strict=True)
        ]
        return pytree.tree_unflatten(made, spec)

    def of_one_device(
        self, mode: FakeTensorMode, placements: Mapping[str, AxisPlacements]
    ) -> dict[str, Any]:
        """Returns the arguments on a single device: sharded values are passed whole."""
        device, sizes = self._device, self._axes.sizes

        def whole(path: str, value: Any) -> Any:
            if isinstance(value, DTensor):
                return fake_like(mode, value.shape, value, device)
            if not isinstance(value, torch.Tensor):
                return value
            value = _without_memory(value, mode, device)
            for axis, placement in placements.get(path, {}).items():
                if isinstance(placement, Shard):
                    value = torch.cat([value] * sizes[axis], placement.dim)
            return value

        def all_of(name: str, value: Any) -> Any:
            return pytree.tree_map_with_path(
                lambda path, leaf: whole(name + pytree.keystr(path), leaf), value
            )

        return {name: all_of(name, value) for name, value in self.named.items()}
