# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Stand-ins for what a machine without a GPU lacks, while a factory builds the model of a rank
and while the model is traced.

Models that are written for GPUs ask for the current device, for streams and for the states
of the GPU's generator when they are built. None of it changes what they compute. On a
machine with a GPU, and outside of `standing_in`, nothing is replaced.

| name | stand-in |
|---|---|
| device "cuda" of tensors and meshes | "cpu" |
| `torch.cuda.current_device()` | `torch.device("cpu")`, so that `device=` may be set to it |
| `set_device`, `synchronize`, `empty_cache`, `nvtx` | do nothing |
| streams and events | objects that order nothing: a trace has one order |
| `get_rng_state`, `set_rng_state`, `manual_seed` | those of the CPU's generator |
| `init_process_group` | does nothing: the group of the rank exists |
| `backend` of `new_group` | that of the rank's group |
"""

import contextlib
import functools
import importlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode

_CPU = torch.device("cpu")


def _on_cpu(value: Any) -> Any:
    """Returns the CPU for a GPU, and any other value as it is."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return _CPU
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


class _OnCpu(TorchFunctionMode):
    """Makes tensors on the CPU that a model asks for on a GPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if func is torch.Tensor.cuda:
            return args[0]
        kwargs = kwargs or {}
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _on_cpu(kwargs["device"])}
        if func is torch.Tensor.to or func is torch.Tensor.new_tensor:
            args = (args[0], *map(_on_cpu, args[1:]))
        return func(*args, **kwargs)


class _Stream:
    """A stream or an event: work is traced in one order, so it orders nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.device, self.cuda_stream, self.stream_id = _CPU, 0, 0

    def __enter__(self) -> "_Stream":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:
        return 0.0

    def record_event(self, event: Any = None) -> Any:
        return event or _Stream()

    def record(self, *_: Any, **__: Any) -> None:
        pass

    wait = synchronize = wait_event = wait_stream = record


def _nothing(*_: Any, **__: Any) -> None:
    pass


def _stream(*_: Any, **__: Any) -> _Stream:
    return _Stream()


def _generator_state(*_: Any, **__: Any) -> torch.Tensor:
    return torch.get_rng_state()


def _set_generator_state(state: torch.Tensor, *_: Any, **__: Any) -> None:
    torch.set_rng_state(state)


def _set_seed(seed: int) -> None:
    torch.default_generator.manual_seed(int(seed))


def _call_now(callable: Any, **_: Any) -> None:
    """For work that waits for the GPU to be initialized: it is about the GPU alone."""


_OF_CUDA: dict[str, Any] = {
    "Event": _Stream,
    "Stream": _Stream,
    "current_device": lambda: _CPU,
    "current_stream": _stream,
    "default_stream": _stream,
    "empty_cache": _nothing,
    "get_rng_state": _generator_state,
    "manual_seed": _set_seed,
    "manual_seed_all": _set_seed,
    "set_device": _nothing,
    "set_rng_state": _set_generator_state,
    "set_stream": _nothing,
    "stream": _stream,
    "synchronize": _nothing,
}


def _patched_groups(stack: contextlib.ExitStack) -> None:
    """Makes the groups of a framework groups of the rank that this process stands for."""
    c10d = dist.distributed_c10d

    def initialize(*_: Any, **__: Any) -> None:
        pass

    for module in (dist, c10d):
        stack.enter_context(mock.patch.object(module, "init_process_group", initialize))
    made = c10d._new_group_with_tag

    @functools.wraps(made)
    def new_group(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("pg_options", None)
        kwargs["backend"] = None
        return made(*args[:2], **kwargs)

    stack.enter_context(mock.patch.object(c10d, "_new_group_with_tag", new_group))


def _patched_meshes(stack: contextlib.ExitStack) -> None:
    meshes: Any = importlib.import_module("torch.distributed.device_mesh")
    initialize = meshes.DeviceMesh.__init__

    @functools.wraps(initialize)
    def on_cpu(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        initialize(self, _on_cpu(device_type), *args, **kwargs)

    stack.enter_context(mock.patch.object(meshes.DeviceMesh, "__init__", on_cpu))


@contextlib.contextmanager
def standing_in() -> Iterator[None]:
    """A context in which a model that is written for GPUs can be built and traced without one.

    Groups are those of the default process group, which must exist.
    """
    with contextlib.ExitStack() as stack:
        _patched_groups(stack)
        if not torch.cuda.is_available():
            _patched_meshes(stack)
            for name, value in _OF_CUDA.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, value))
            nvtx: Any = importlib.import_module("torch.cuda.nvtx")
            for name in ("range_push", "range_pop", "mark"):
                stack.enter_context(mock.patch.object(nvtx, name, _nothing))
            stack.enter_context(mock.patch.object(torch.Tensor, "record_stream", _nothing))
            stack.enter_context(_OnCpu())
        yield
