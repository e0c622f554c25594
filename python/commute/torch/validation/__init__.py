# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Comparison of live graphs: does a graph compute what another one does?"""

from commute.torch.validation.pairs import validate

__all__ = ["validate"]
