# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What Commute raises."""


class CommuteError(Exception):
    """Commute cannot do what was asked for; the message says why."""
