# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute's passes and equivalence checker, run in this process."""

from collections.abc import Sequence

__version__: str

def optimize(
    program: str,
    *,
    passes: str = "",
    policy: str = "profitable",
    target: str = "h100x8",
    verify: bool = True,
    context: str = "",
    vocabulary: str = "",
    has_other_groups: bool = False,
) -> tuple[str | None, str]: ...
def implied_group(target: str) -> str: ...
def verify(
    first: str,
    second: str,
    *,
    first_context: str = "",
    second_context: str = "",
    precision: str = "algebraic",
    seed: int = 1,
    real_sizes: bool = False,
    whole: bool = False,
    max_seconds: float = 60.0,
    max_bytes: int = 4294967296,
) -> str: ...
def refine(
    reference: str,
    ranks: Sequence[str],
    *,
    relations: str = "",
    relations_name: str = "relations",
    groups: Sequence[str] = [],
    seed: int = 1,
    real_sizes: bool = False,
    show_relations: bool = False,
    max_seconds: float = 60.0,
    max_bytes: int = 4294967296,
) -> tuple[str, str]: ...
