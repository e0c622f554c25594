# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A model as the program of one rank, with that rank's shards as parameters.

Inside the context of a `LocalModel`, every parameter of the model is a fake tensor with the
shape of the rank's shard, so that weights take no memory and a trace sees plain tensors.
The forward converts the shards to the DTensors that the model expects. On exit, the model
is restored.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Replicate

from commute.capture import data_parallelism
from commute.capture.placements import AxisPlacements, of_dtensor
from commute.torch.compatibility import (
    FakeTensorMode,
    compute_local_shape_and_global_offset,
    pytree,
)


def local_shape(value: DTensor) -> tuple[int, ...]:
    """Returns the shape of the shard of the rank that this process stands for."""
    shape, _ = compute_local_shape_and_global_offset(
        value.shape, value.device_mesh, value.placements
    )
    return tuple(int(size) for size in shape)


def _strides_like(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Returns dense strides for a shape, with its dims in the memory order that `strides`
    imply."""
    result = [0] * len(shape)
    step = 1
    for dim in sorted(range(len(shape)), key=lambda dim: (strides[dim], -dim)):
        result[dim] = step
        step *= max(int(shape[dim]), 1)
    return result


def fake_like(
    mode: FakeTensorMode, shape: Sequence[int], value: torch.Tensor, device: Any = None
) -> torch.Tensor:
    """Returns a fake tensor of the given shape that is otherwise like `value`."""
    device = device or value.device
    if str(device) == "meta":
        device = "cpu"
    with mode:
        return torch.empty_strided(
            tuple(shape), _strides_like(shape, value.stride()), dtype=value.dtype, device=device
        )


def materialized(value: DTensor, local: torch.Tensor) -> DTensor:
    """Returns a DTensor like `value` whose local shard is `local`."""
    return DTensor.from_local(
        local,
        value.device_mesh,
        value.placements,
        run_check=False,
        shape=value.shape,
        stride=value.stride(),
    )


class _Slot:
    """An attribute of a module that holds a parameter or buffer."""

    def __init__(self, holder: dict[str, Any], leaf: str, name: str, original: Any) -> None:
        self.holder, self.leaf, self.name, self.original = holder, leaf, name, original


@dataclasses.dataclass(frozen=True)
class ReturnedTensor:
    """What is known of a tensor that a model returns on a rank."""

    name: str
    """The key under which the model returns it; empty if it has none."""
    placements: AxisPlacements | None
    """Those of the DTensor that it was; None for a plain tensor."""
    shape: tuple[Any, ...] | None
    """Of the DTensor, or of the plain tensor; None if a size is unknown."""


@dataclasses.dataclass(frozen=True)
class BelievedInput:
    """A plain input that a parallel style takes for a shard without being told so."""

    module: str
    style: str
    placements: AxisPlacements


def _style_that_believes(frame: FrameType | None) -> str | None:
    """Returns the name of the parallel style that converts an input in this frame, if the style has no
    layouts of inputs: nobody has stated what callers pass."""
    if frame is None or not str(frame.f_globals.get("__name__", "")).startswith(
        ("torch.distributed.tensor.parallel.", "transformers.distributed.")
    ):
        return None
    style = frame.f_locals.get("self")
    if "input_layouts" in frame.f_locals or hasattr(style, "input_layouts"):
        return None
    return type(style).__name__ if style is not None else "SequenceParallel"


def _in_plain_containers(value: Any) -> Any:
    """Converts outputs to Python's own containers. PyTorch can load the containers of a
    library, such as its model outputs, only if that library is imported."""
    if isinstance(value, (torch.Tensor, str, int, float, bool, type(None))):
        return value
    if isinstance(value, Mapping):
        return {str(key): _in_plain_containers(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_in_plain_containers(part) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    leaves = pytree.tree_leaves(value)
    return value if len(leaves) == 1 and leaves[0] is value else leaves


class LocalModel:
    """A context in which a model has the parameters of one rank; see the module docstring.

    whole: use the model as on a single device: parameters are whole, and the hooks that
        parallelize the model are removed.
    """

    def __init__(self, model: nn.Module, *, whole: bool = False) -> None:
        self.model = model
        self.whole = whole
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.data_axes = data_parallelism.find(model).axis_names
        self.input_placements: dict[str, AxisPlacements] = {}
        self.believed_inputs: dict[str, BelievedInput] = {}
        self.returned_tensors: list[ReturnedTensor] = []
        self._slots: list[_Slot] = []
        self._sharding = data_parallelism.find(model)
        self._restore: list[Callable[[], None]] = []

    #
    # Parameters
    #

    def _places(self) -> Iterator[_Slot]:
        for path, module in self.model.named_modules():
            for holder in (module._parameters, module._buffers):
                for leaf, value in holder.items():
                    if value is not None:
                        yield _Slot(holder, leaf, f"{path}.{leaf}" if path else leaf, value)

    def _stand_in(self, value: torch.Tensor) -> Any:
        """Returns the value that a slot holds during the trace."""
        is_parameter = isinstance(value, nn.Parameter)
        if isinstance(value, DTensor):
            shape = tuple(value.shape) if self.whole else local_shape(value)
            fake = fake_like(self.mode, shape, value, value.device_mesh.device_type)
        elif is_parameter or value.device.type == "meta":
            fake = fake_like(self.mode, value.shape, value)
        else:
            return value
        return nn.Parameter(fake, requires_grad=False) if is_parameter else fake

    def __enter__(self) -> "LocalModel":
        stand_ins: dict[int, Any] = {}
        for slot in list(self._places()):
            self._slots.append(slot)
            if id(slot.original) not in stand_ins:
                stand_ins[id(slot.original)] = self._stand_in(slot.original)
            slot.holder[slot.leaf] = stand_ins[id(slot.original)]
        self._restore += data_parallelism.disable(self.model)
        if self.whole:
            self._restore += data_parallelism.disable_parallel_hooks(self.model)
        return self

    def __exit__(self, *_: object) -> None:
        for restore in reversed(self._restore):
            restore()
        for slot in self._slots:
            slot.holder[slot.leaf] = slot.original
        self._restore, self._slots = [], []

    def parameters(self) -> dict[str, torch.Tensor]:
        """Returns the original parameters and buffers, under all of their names."""
        return {slot.name: slot.original for slot in self._slots}

    #
    # Forward
    #

    def _distributed(self, value: Any, original: Any) -> Any:
        """Converts the traced tensor of a slot to the DTensor that the model expects."""
        if not isinstance(original, DTensor) or self.whole:
            return value
        return self._sharding.gathered(original, materialized(original, value))

    def run(
        self, forward: Callable[..., Any], arguments: Mapping[str, Any], prepare: Callable[..., Any]
    ) -> Any:
        """Runs a forward on this rank's shards, after applying `prepare` to the tensor of
        every slot."""
        traced = [(slot, slot.holder[slot.leaf]) for slot in self._slots]
        # Share one tensor among all slots of a tied parameter; the trace may have several.
        ready: dict[int, Any] = {}
        try:
            for slot, value in traced:
                tied = id(slot.original)
                if tied not in ready:
                    ready[tied] = self._distributed(prepare(slot.name, value), slot.original)
                slot.holder[slot.leaf] = ready[tied]
            with self._recorded_inputs(arguments):
                return forward(**arguments)
        finally:
            for slot, value in traced:
                slot.holder[slot.leaf] = value

    def returned(self, values: Any) -> Any:
        """Converts outputs to this rank's local tensors, and records what is known of them."""
        self.returned_tensors = []
        plain = _in_plain_containers(values)
        leaves, spec = pytree.tree_flatten_with_path(plain)
        result = []
        for path, leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                key = getattr(path[0], "key", None) if path else None
                placements = of_dtensor(leaf) if isinstance(leaf, DTensor) else None
                self.returned_tensors.append(
                    ReturnedTensor(key if isinstance(key, str) else "", placements, (*leaf.shape,))
                )
                if isinstance(leaf, DTensor):
                    leaf = leaf.to_local()
            result.append(leaf)
        return pytree.tree_unflatten(result, spec)

    #
    # Inputs
    #

    def _recorded_inputs(self, arguments: Mapping[str, Any]) -> Any:
        """Records the placements with which the model converts its inputs to DTensors."""
        names: dict[int, str] = {}
        for name, value in arguments.items():
            for path, leaf in pytree.tree_leaves_with_path(value):
                if isinstance(leaf, torch.Tensor):
                    names[id(leaf)] = name + pytree.keystr(path)
        make = DTensor.from_local

        def from_local(
            local: torch.Tensor, device_mesh: Any = None, placements: Any = None, **other: Any
        ) -> DTensor:
            made = make(local, device_mesh, placements, **other)
            path = names.get(id(local))
            if path is not None:
                own = of_dtensor(made)
                frame = sys._getframe(1)
                style = _style_that_believes(frame)
                if style and not all(isinstance(p, Replicate) for p in own.values()):
                    module = frame.f_locals.get("mod", frame.f_locals.get("module"))
                    named = (n for n, m in self.model.named_modules() if m is module)
                    name = next(named, "") or type(module).__name__
                    self.believed_inputs.setdefault(path, BelievedInput(name, style, own))
                else:
                    self.input_placements.setdefault(path, {}).update(own)
            return made

        return mock.patch.object(DTensor, "from_local", staticmethod(from_local))


def is_parallel(model: nn.Module) -> bool:
    return any(isinstance(value, DTensor) for value in model.parameters())
