# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Correct parallel programs, of the styles in use, on 2 to 8 ranks."""

import importlib

MODULES = ("dense", "attention", "words", "sequence", "experts", "context", "data", "pipeline")


def load_pairs():
    """All cases, by name."""
    cases = {}
    for name in MODULES:
        for case in importlib.import_module(f"zoo.pairs.{name}").pairs():
            if case.name in cases:
                raise ValueError(f"two pairs are called {case.name}")
            cases[case.name] = case
    return cases
