# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What fuzz/validate_passes.py is made of."""
