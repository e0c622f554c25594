# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What a pass of a trace leaves behind in the program that it traces.

torch.export runs a forward more than once. A model that keeps computed tensors, in an
`lru_cache`, in an attribute or in a table of scratch memory, would find in the second pass
the tensors of the first, which have no values.
"""

import functools
import gc
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch
from torch import nn

from commute.capture.errors import is_of_model, packages_of
from commute.torch.compatibility import is_traced_tensor

_Cache = functools._lru_cache_wrapper
_MISSING = object()

# How many containers and objects lie between a model and what it keeps.
_DEPTH = 4


def _caches_of(packages: set[str]) -> list[Any]:
    """Returns the caches of functions that belong neither to Python nor to other packages."""
    found = []
    for value in gc.get_objects():
        if type(value) is _Cache:
            code = getattr(getattr(value, "__wrapped__", None), "__code__", None)
            if code is not None and is_of_model(code.co_filename, packages):
                found.append(value)
    return found


class Leftovers:
    """Forgets the traced tensors that a model and its packages keep.

    A tensor that was there before the trace stays; one that a pass has put into an attribute,
    a global name or a container of either is removed, and what it replaced is put back.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model, self._packages = model, packages_of(model)
        self._caches = _caches_of(self._packages)
        self._before: dict[int, tuple[Any, Any]] = {}
        for holder in self._holders():
            # Not by their own methods: those of lazy mappings import what they name.
            copied = dict.copy(holder) if isinstance(holder, dict) else list.copy(holder)
            # Keep the holder: its id must not be used again.
            self._before[id(holder)] = holder, copied

    def _modules(self) -> Iterator[ModuleType]:
        for name, module in list(sys.modules.items()):
            if isinstance(module, ModuleType) and name.partition(".")[0] in self._packages:
                yield module

    def _holders(self) -> Iterator[dict[Any, Any] | list[Any]]:
        """Yields the dicts and lists in which the model and its packages keep values."""
        seen: set[int] = set()
        pending: list[tuple[Any, int]] = [(module.__dict__, 0) for module in self._modules()]
        pending += [(module.__dict__, 0) for module in self._model.modules()]
        while pending:
            value, depth = pending.pop()
            if id(value) in seen or depth > _DEPTH:
                continue
            seen.add(id(value))
            if isinstance(value, (dict, list)):
                yield value
                parts = list(dict.values(value) if isinstance(value, dict) else value)
                if len(parts) > 10000:
                    continue
            elif isinstance(value, tuple):
                parts = list(value)
            elif self._is_of_packages(value):
                parts = [vars(value)]
            else:
                continue
            pending += [(part, depth + 1) for part in parts if self._may_keep(part)]

    def _is_of_packages(self, value: Any) -> bool:
        kind = type(value) if not isinstance(value, type) else value
        return (
            str(getattr(kind, "__module__", "")).partition(".")[0] in self._packages
            and hasattr(value, "__dict__")
            and not isinstance(value, type)
        )

    def _may_keep(self, value: Any) -> bool:
        if isinstance(value, (dict, list, tuple)):
            return bool(value)
        return not isinstance(value, (torch.Tensor, type, ModuleType)) and self._is_of_packages(
            value
        )

    def forget(self) -> None:
        """Removes what a pass has left behind."""
        for cache in self._caches:
            cache.cache_clear()
        slots = {
            id(holder)
            for module in self._model.modules()
            for holder in (module._parameters, module._buffers)
        }
        for holder in list(self._holders()):
            if id(holder) not in slots:
                self._forget_in(holder)

    def _forget_in(self, holder: dict[Any, Any] | list[Any]) -> None:
        nothing: dict[Any, Any] | list[Any] = {} if isinstance(holder, dict) else []
        before = self._before.get(id(holder), (holder, nothing))[1]
        if isinstance(holder, dict):
            for key, value in list(dict.items(holder)):
                old = before.get(key, _MISSING)
                if value is old or not _is_left(value):
                    continue
                if old is _MISSING:
                    del holder[key]
                else:
                    holder[key] = old
        elif any(_is_left(value) and not any(value is old for old in before) for value in holder):
            holder[:] = before


def _is_left(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(_is_left(part) for part in value)
    return isinstance(value, torch.Tensor) and is_traced_tensor(value)
