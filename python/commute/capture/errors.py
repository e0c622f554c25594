# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The exceptions of capture, which state where in a model a trace failed."""

import re
import sysconfig
import traceback
from collections.abc import Collection
from pathlib import Path
from types import TracebackType

import torch
from torch import nn

from commute.errors import CommuteError

_OF_PYTORCH = str(Path(torch.__file__).parent)
_OF_COMMUTE = str(Path(__file__).parents[1])
_PARALLEL = "/transformers/distributed/"
_OF_PYTHON = sysconfig.get_path("stdlib")
_INSTALLED = re.compile(r"/(?:site|dist)-packages/([^/]+)")


class CaptureError(CommuteError):
    """A model cannot be captured. The message names the module and the reason."""


def packages_of(model: nn.Module) -> set[str]:
    """Returns the names of the packages, or of the modules without a package, that define the
    classes of a model's modules."""
    names = {
        str(kind.__module__).partition(".")[0]
        for module in model.modules()
        for kind in type(module).__mro__
    }
    forward = model.__dict__.get("forward")
    names.add(str(getattr(forward, "__module__", None) or "").partition(".")[0])
    return names - {"torch", "builtins", "commute", "abc", "typing", "collections", ""}


def is_of_model(path: str, packages: Collection[str] | None = None) -> bool:
    """Returns true if a source file may belong to a model: it is neither generated code nor
    part of Python or of a library between the model and the operators.

    packages: those of the model, if they are known. Files of other installed packages then do
        not belong to it.
    """
    if path.startswith(("<", _OF_PYTORCH, _OF_COMMUTE)) or _PARALLEL in path:
        return False
    installed = _INSTALLED.search(path)
    if installed is None:
        return not path.startswith(f"{_OF_PYTHON}/")
    return packages is None or installed[1].removesuffix(".py") in packages


def _place(model: nn.Module, trace: TracebackType | None) -> tuple[str, str]:
    """Returns the innermost module of the model, and the last line outside of libraries."""
    names = {id(module): name for name, module in model.named_modules()}
    packages = packages_of(model) or None
    module, line = "", ""
    for frame, number in traceback.walk_tb(trace):
        owner = frame.f_locals.get("self", frame.f_locals.get("module"))
        if isinstance(owner, nn.Module) and names.get(id(owner)):
            module = f"{names[id(owner)]} ({type(owner).__name__})"
        if is_of_model(frame.f_code.co_filename, packages):
            line = f"{frame.f_code.co_filename}:{number}"
    return module, line


# Explanations of PyTorch's exceptions, by a substring of the type's name or of the message.
_MEANINGS = (
    ("DataDependent", "a size or a branch depends on the values of a tensor"),
    ("data-dependent", "a size or a branch depends on the values of a tensor"),
    ("Unsupported", "PyTorch cannot trace an operation"),
    ("no sharding strategy", "DTensor has no sharding rule for an operator"),
    ("mixed torch.Tensor and DTensor", "an operator mixes a DTensor with a plain tensor"),
)


def _statement(trace: TracebackType | None) -> str:
    """Returns the statement that raised an exception without a message, such as an assertion."""
    frames = traceback.extract_tb(trace)
    if not frames or not frames[-1].line:
        return "no reason is given"
    return f"{frames[-1].line} ({frames[-1].filename}:{frames[-1].lineno})"


def explain(
    model: nn.Module, error: BaseException, what: str, subject: str | None = None
) -> CaptureError:
    """Restates an error of a trace in terms of the model, whose class is its name unless a
    `subject` is given."""
    module, line = _place(model, error.__traceback__)
    text = str(error).strip()
    first = next((part.strip() for part in text.splitlines() if part.strip()), "")
    if not first:
        first = _statement(error.__traceback__)
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    meaning = next((said for key, said in _MEANINGS if key in names or key in text), "")
    reason = f"{meaning}: {first}" if meaning else f"{type(error).__name__}: {first}"
    verb = "built" if subject else "captured"
    where = f"{subject or module or type(model).__name__} cannot be {verb}"
    at = f" ({line})" if line else ""
    return CaptureError(f"{what}: {where}{at}: {reason}")
