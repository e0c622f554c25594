# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models of frameworks, verified on several ranks by `make check-frameworks`."""
