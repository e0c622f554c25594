# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What capture raises, and where in a model a trace ended."""

import traceback
from pathlib import Path
from types import TracebackType

import torch
from torch import nn

from commute.errors import CommuteError

_OF_PYTORCH = str(Path(torch.__file__).parent)
_OF_COMMUTE = str(Path(__file__).parents[1])
_PARALLEL = "/transformers/distributed/"


class CaptureError(CommuteError):
    """A model cannot be captured; the message names the module and says why."""


def is_of_model(path: str) -> bool:
    """Whether a source file may be a model's: no library that stands between its lines and
    the operators, and no generated code."""
    return not path.startswith(("<", _OF_PYTORCH, _OF_COMMUTE)) and _PARALLEL not in path


def _place(model: nn.Module, trace: TracebackType | None) -> tuple[str, str]:
    """The innermost module of the model, and the last line that is no one's library."""
    names = {id(module): name for name, module in model.named_modules()}
    module, line = "", ""
    for frame, number in traceback.walk_tb(trace):
        owner = frame.f_locals.get("self", frame.f_locals.get("module"))
        if isinstance(owner, nn.Module) and names.get(id(owner)):
            module = f"{names[id(owner)]} ({type(owner).__name__})"
        if is_of_model(frame.f_code.co_filename):
            line = f"{frame.f_code.co_filename}:{number}"
    return module, line


# What an exception of PyTorch means, by a part of its type's name or of its text.
_MEANINGS = (
    ("DataDependent", "a size or a branch depends on the values of a tensor"),
    ("data-dependent", "a size or a branch depends on the values of a tensor"),
    ("Unsupported", "PyTorch cannot trace an operation"),
    ("no sharding strategy", "DTensor has no sharding rule for an operator"),
    ("mixed torch.Tensor and DTensor", "an operator takes a DTensor beside a plain tensor"),
)


def explain(model: nn.Module, error: BaseException, what: str) -> CaptureError:
    """An error of a trace, in terms of the model."""
    module, line = _place(model, error.__traceback__)
    text = str(error).strip()
    first = next((part.strip() for part in text.splitlines() if part.strip()), "")
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    meaning = next((said for key, said in _MEANINGS if key in names or key in text), "")
    reason = f"{meaning}: {first}" if meaning else f"{type(error).__name__}: {first}"
    where = f"{module or type(model).__name__} cannot be captured"
    at = f" ({line})" if line else ""
    return CaptureError(f"{what}: {where}{at}: {reason}")
