# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Pairs of random programs that judge `commute verify`: see ../verify_pairs.py."""
