# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute for Python.

`commute.verify` checks the programs of ranks against that of one device. `commute.torch`
contains the integration with PyTorch.
"""

from commute.errors import CommuteError
from commute.verification import Verification, verify

__all__ = ["CommuteError", "Verification", "verify"]
