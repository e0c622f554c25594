# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Exceptions of Commute."""


class CommuteError(Exception):
    """Commute cannot perform a request. The message states the reason."""
