# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The module `commute._commute`, which contains the C++ libraries.

It is loaded when it is first needed: `import commute` takes no time.
"""

import contextlib
import importlib
from collections.abc import Iterator
from types import ModuleType

from commute.errors import CommuteError


def native() -> ModuleType:
    """Returns the module, which has the names of `_commute.pyi`. The error says how to build
    it."""
    try:
        return importlib.import_module("commute._commute")
    except ImportError as error:
        raise CommuteError(
            "the module commute._commute is missing: it is built where CMake finds nanobind,"
            " and installed by pip install . or cmake --install"
        ) from error


@contextlib.contextmanager
def native_errors() -> Iterator[None]:
    """Raises errors of the module as CommuteError."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        raise CommuteError(str(error)) from None
