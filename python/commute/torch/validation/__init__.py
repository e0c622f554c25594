# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Validation of graph passes: do graphs compute the same before and after them?"""

from commute.torch.validation.pairs import validate
from commute.torch.validation.pass_observer import validate_passes
from commute.torch.validation.pass_report import PassesDiffer, PassReport, PassRun

__all__ = ["PassReport", "PassRun", "PassesDiffer", "validate", "validate_passes"]
