# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Factories: functions that build the model of one rank.

    def build(rank, world):
        return model                    # or (model, args), or (model, args, forward)

A factory is called once in a process for each rank, where PyTorch reports this rank and this
number of ranks, and once for a single device: `build(0, 1)`.
"""

import dataclasses
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from torch import nn

from commute.capture.errors import CaptureError

Factory = Callable[[int, int], Any]


@dataclasses.dataclass(frozen=True)
class Built:
    """What a factory returns."""

    model: nn.Module
    arguments: Any
    forward: Callable[..., Any] | None
    """Called as forward(model, *arguments); None: the model is called."""


def find_factory(given: Any) -> Factory:
    """Returns a factory, which may be named as "package.module:function". Raises CaptureError if
    there is none."""
    if isinstance(given, str):
        module, _, name = given.partition(":")
        if not module or not name:
            raise CaptureError(f"{given!r} is no factory; expected 'package.module:function'")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            found: Any = importlib.import_module(module)
        except Exception as error:
            raise CaptureError(
                f"{given}: {module} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        for part in name.split("."):
            if not hasattr(found, part):
                raise CaptureError(f"{given}: {module} has no {name}")
            found = getattr(found, part)
        given = found
    if not callable(given) or isinstance(given, nn.Module):
        raise CaptureError(
            f"world= needs a factory, build(rank, world), not a {type(given).__name__}"
        )
    try:
        inspect.signature(given).bind(0, 1)
    except TypeError:
        name = getattr(given, "__qualname__", str(given))
        raise CaptureError(
            f"{name}{inspect.signature(given)} is no factory: it cannot be called with a rank and"
            " the number of ranks"
        ) from None
    except ValueError:
        pass  # A built-in function without a signature.
    return given


def call(factory: Factory, rank: int, world: int, arguments: Any) -> Built:
    """Builds the model of a rank. `arguments` hold for every rank where the factory returns
    none."""
    built = factory(rank, world)
    parts = built if isinstance(built, tuple) else (built,)
    if not 1 <= len(parts) <= 3 or not isinstance(parts[0], nn.Module):
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise CaptureError(
            f"build({rank}, {world}) returned ({kinds}); expected a module, (module, arguments) or"
            " (module, arguments, forward)"
        )
    model, own, forward = (*parts, None, None)[:3]
    own = arguments if own is None else own
    if own is None:
        raise CaptureError(
            f"build({rank}, {world}) returned no example arguments, and none are passed: return"
            " (module, arguments)"
        )
    if forward is not None and not callable(forward):
        raise CaptureError(
            f"build({rank}, {world}) returned a {type(forward).__name__} as its forward; expected"
            " a function of the module and the arguments"
        )
    return Built(model, own, forward)
