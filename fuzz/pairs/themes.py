# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""All themes but the symbolic ones, in the order that the seeds of pairs depend on."""

# Each registers its themes.
from pairs import (  # noqa: F401  # isort: skip
    mask_themes,
    cut_themes,
    choice_themes,
    row_themes,
    collective_themes,
    computed_themes,
)
from pairs.theme import THEMES

__all__ = ["THEMES"]
