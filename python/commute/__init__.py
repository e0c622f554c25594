# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute for Python.

`commute.verify` checks the programs of ranks against that of one device. `commute.torch`
contains the integration with PyTorch.
"""

from typing import Any

from commute.errors import CommuteError
from commute.verification import Verification, verify

__all__ = ["CommuteError", "Verification", "verify"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        # The module has it from CMake's project; loading it takes milliseconds.
        from commute._commute import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
