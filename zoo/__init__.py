# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Public defects of parallel programs, and correct parallel programs, for `commute verify`."""
