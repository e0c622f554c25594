# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The exceptions of capture, which state where in a model a trace failed."""

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
    """A model cannot be captured. The message names the module and the reason."""


def is_of_model(path: str) -> bool:
    """Returns true if a source file may belong to a model: it is neither generated code nor
    part of a library between the model and the operators."""
    return not path.startswith(("<", _OF_PYTORCH, _OF_COMMUTE)) and _PARALLEL not in path


def _place(model: nn.Module, trace: TracebackType | None) -> tuple[str, str]:
    """Returns the innermost module of the model, and the last line outside of libraries."""
    names = {id(module): name for name, module in model.named_modules()}
    module, line = "", ""
    for frame, number in traceback.walk_tb(trace):
        owner = frame.f_locals.get("self", frame.f_locals.get("module"))
        if isinstance(owner, nn.Module) and names.get(id(owner)):
            module = f"{names[id(owner)]} ({type(owner).__name__})"
        if is_of_model(frame.f_code.co_filename):
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


def explain(model: nn.Module, error: BaseException, what: str) -> CaptureError:
    """Restates an error of a trace in terms of the model."""
    module, line = _place(model, error.__traceback__)
    text = str(error).strip()
    first = next((part.strip() for part in text.splitlines() if part.strip()), "")
    names = " ".join(kind.__name__ for kind in type(error).__mro__)
    meaning = next((said for key, said in _MEANINGS if key in names or key in text), "")
    reason = f"{meaning}: {first}" if meaning else f"{type(error).__name__}: {first}"
    where = f"{module or type(model).__name__} cannot be captured"
    at = f" ({line})" if line else ""
    return CaptureError(f"{what}: {where}{at}: {reason}")
