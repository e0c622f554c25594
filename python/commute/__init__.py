# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute for Python.

    program = commute.load("model.pt2")        # archives, ExportedPrograms, live graphs
    result = commute.optimize(program, target="h100x8")
    result.program.save("better.pt2")

    commute.verify(first, second)              # do two forms compute the same?
    commute.verify("reference.pt2", "ranks")   # do ranks compute what one device computes?
    commute.estimate(program), commute.explain(program), commute.run(program)

`commute.torch` contains the integration with `torch.compile`. Importing `commute` loads
neither PyTorch nor the C++ libraries.
"""

# The wheel with the command line alone loads this in older versions of Python.
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commute.errors import CommuteError
    from commute.estimation import Estimate, estimate
    from commute.execution import Run, run
    from commute.explanation import Explanation, explain
    from commute.optimization import Optimization, optimize
    from commute.programs import Program, load
    from commute.remarks import Remark
    from commute.tensors import Tensor
    from commute.verification import Verification, verify

_LAZY = {
    "CommuteError": "commute.errors",
    "Estimate": "commute.estimation",
    "Explanation": "commute.explanation",
    "Optimization": "commute.optimization",
    "Program": "commute.programs",
    "Remark": "commute.remarks",
    "Run": "commute.execution",
    "Tensor": "commute.tensors",
    "Verification": "commute.verification",
    "estimate": "commute.estimation",
    "explain": "commute.explanation",
    "load": "commute.programs",
    "optimize": "commute.optimization",
    "run": "commute.execution",
    "verify": "commute.verification",
    # CMake's project states it.
    "__version__": "commute._commute",
}

__all__ = [
    "CommuteError",
    "Estimate",
    "Explanation",
    "Optimization",
    "Program",
    "Remark",
    "Run",
    "Tensor",
    "Verification",
    "estimate",
    "explain",
    "load",
    "optimize",
    "run",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
