# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute for Python. `commute.torch` contains the integration with PyTorch."""
