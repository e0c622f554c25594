# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Errors of Commute that do not end the compilation of a user's model."""

import logging
from collections.abc import Callable
from typing import TypeVar

_log = logging.getLogger("commute")
_Result = TypeVar("_Result")

# What was logged: a model has many graphs, and the cause is often the same.
_logged: set[tuple[str, type[Exception], str]] = set()


def contained(
    name: str, action: Callable[[], _Result], otherwise: _Result, *, fatal: bool
) -> _Result:
    """The result of a pass, or `otherwise` where it raises.

    The pass must leave its graph as it was when it raises. The error is logged as a
    warning, once for each cause, unless `fatal`: then it is raised.
    """
    try:
        return action()
    except Exception as error:
        if fatal:
            raise
        warn_of(name, error)
        return otherwise


def warn_of(name: str, error: Exception) -> None:
    """Logs why a graph is left alone, once for each cause."""
    cause = (name, type(error), str(error))
    if cause not in _logged:
        _logged.add(cause)
        _log.warning(
            "%s: the graph is left as it was: %s: %s",
            name,
            type(error).__name__,
            error,
            exc_info=_log.isEnabledFor(logging.DEBUG),
        )
