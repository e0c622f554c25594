# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The module `commute._commute`, which contains the C++ libraries.

It is loaded when it is first needed: `import commute` takes no time.
"""

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from commute.errors import CommuteError


def native() -> ModuleType:
    """Returns the module, which has the names of `_commute.pyi`. The error says how to get
    it."""
    try:
        return importlib.import_module("commute._commute")
    except ImportError as error:
        package = Path(__file__).parent
        reason = (
            f"the compiled module commute._commute is missing in {package}: `make demo` builds it"
            " for .venv, `pip install .` installs it; on PYTHONPATH, build/release/python has it"
            " and the folder python has not"
        )
        # A library that it needs may be missing instead.
        if not isinstance(error, ModuleNotFoundError):
            reason = f"the compiled module commute._commute cannot be loaded: {error}"
        raise CommuteError(reason) from None


@contextlib.contextmanager
def native_errors() -> Iterator[None]:
    """Raises errors of the module as CommuteError."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise CommuteError(str(error)) from None
