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
| `get_rng_state`, `set_rng_state`, `manual_seed` | those of a generator that nothing draws from: on the CPU, all numbers come from the CPU's generator |
| `init_process_group` | does nothing: the group of the rank exists |
| `backend` of `new_group` | that of the rank's group |
| `torch.compile` | functions that a model compiles are run as they are |
"""

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch.overrides import TorchFunctionMode

from commute.torch.compatibility import disable_current_modes

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


class _KnownStates(TorchFunctionMode):
    """Computes at once what is computed of the states of generators alone.

    A tracker of states compares them. In a trace, the result would be a branch on values.
    """

    _MARK = "_commute_state"

    @classmethod
    def mark(cls, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            setattr(value, cls._MARK, True)
        return value

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if args and hasattr(args[0], self._MARK):
            tensors = [value for value in (*args, *kwargs.values()) if torch.is_tensor(value)]
            if all(hasattr(value, self._MARK) for value in tensors):
                with disable_current_modes():
                    return self.mark(func(*args, **kwargs))
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


def _call_of(result: Callable[[], Any]) -> Callable[..., Any]:
    """Returns a function that ignores its arguments. Dynamo tells the functions of torch.cuda
    apart by identity, so each has one of its own."""

    def call(*_: Any, **__: Any) -> Any:
        return result()

    return call


def _nothing() -> Callable[..., Any]:
    return _call_of(lambda: None)


# In the place of the GPU's. A tracker of states finds in it what it has put there.
_generator = torch.Generator()


def _generator_state(*_: Any, **__: Any) -> torch.Tensor:
    return _KnownStates.mark(_generator.get_state())


def _set_generator_state(state: torch.Tensor, *_: Any, **__: Any) -> None:
    _generator.set_state(state)


def _set_seed(seed: int) -> None:
    _generator.manual_seed(int(seed))


def _set_all_seeds(seed: int) -> None:
    _set_seed(seed)


_OF_CUDA: dict[str, Any] = {
    "Event": type("Event", (_Stream,), {}),
    "Stream": type("Stream", (_Stream,), {}),
    "current_device": _call_of(lambda: _CPU),
    "current_stream": _call_of(_Stream),
    "default_stream": _call_of(_Stream),
    "empty_cache": _nothing(),
    "get_rng_state": _generator_state,
    "manual_seed": _set_seed,
    "manual_seed_all": _set_all_seeds,
    "set_device": _nothing(),
    "set_rng_state": _set_generator_state,
    "set_stream": _nothing(),
    "stream": _call_of(_Stream),
    "synchronize": _nothing(),
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
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        state = torch.random.get_rng_state
        for module in (torch, torch.random):
            known = functools.wraps(state)(lambda: _KnownStates.mark(state()))
            stack.enter_context(mock.patch.object(module, "get_rng_state", known))
        stack.enter_context(_KnownStates())
        if not torch.cuda.is_available():
            _patched_meshes(stack)
            for name, value in _OF_CUDA.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, value))
                # get_rng_state and others have a second home.
                if hasattr(torch.cuda.random, name):
                    stack.enter_context(mock.patch.object(torch.cuda.random, name, value))
            nvtx: Any = importlib.import_module("torch.cuda.nvtx")
            for name in ("range_push", "range_pop", "mark"):
                stack.enter_context(mock.patch.object(nvtx, name, _nothing()))
            stack.enter_context(mock.patch.object(torch.Tensor, "record_stream", _nothing()))
            stack.enter_context(_OnCpu())
        yield
