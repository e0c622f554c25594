# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute's passes and equivalence checker, run in this process."""

from collections.abc import Mapping, Sequence

__version__: str

class LiveProgram:
    def __init__(
        self, nodes: object, facts: object, is_functional_graph: bool, has_source_lines: bool
    ) -> None: ...
    @property
    def inputs(self) -> object: ...
    @property
    def late_inputs(self) -> object: ...
    @property
    def outputs(self) -> object: ...
    @property
    def num_returned(self) -> int: ...
    def __len__(self) -> int: ...
    def group(self, arg: int, /) -> object: ...
    def scattered(self) -> object: ...
    def find_nodes(self, arg: str, /) -> object: ...
    def contains(self, arg: object, /) -> bool: ...
    def group_names(self) -> object: ...
    def symbols(self) -> object: ...
    def to_json(self, group_names: Mapping[str, str] = {}) -> str: ...

class Program:
    @staticmethod
    def read(
        paths: Sequence[str],
        *,
        groups: Sequence[str] = [],
        placements: Sequence[str] = [],
        assumptions: Sequence[str] = [],
        rank: int | None = None,
        vocabularies: Sequence[tuple[str, str]] = [],
    ) -> Program: ...
    @staticmethod
    def take(graph: LiveProgram, *, context: str = "", vocabulary: str = "") -> Program: ...
    def describe(self) -> str: ...
    def print(self) -> str: ...
    def optimize(
        self,
        *,
        passes: str = "",
        policy: str = "profitable",
        target: str = "h100x8",
        exact_rounding: bool = False,
        verify: bool = True,
        allow_unproven: bool = False,
        max_seconds: float = 60.0,
        max_bytes: int = -1,
    ) -> tuple[Program | None, str, str, str, str]: ...
    def explain(
        self,
        *,
        passes: str = "",
        policy: str = "profitable",
        target: str = "h100x8",
        exact_rounding: bool = False,
    ) -> str: ...
    def estimate(self, *, target: str = "h100x8", sizes: Mapping[str, int] = {}) -> str: ...
    def price_nodes(
        self, *, target: str = "h100x8", communication_scale: float = 1.0
    ) -> dict[str, float]: ...
    def verify(
        self,
        other: Program,
        *,
        precision: str = "algebraic",
        seed: int = 1,
        real_sizes: bool = False,
        whole: bool = False,
        max_seconds: float = 60.0,
        max_bytes: int = -1,
    ) -> tuple[str, str]: ...
    def run(
        self,
        *,
        inputs: bytes = ...,
        seeds_weights: bool = False,
        seed: int = 0,
        timeout: int = 300,
        threads: int = 0,
    ) -> tuple[list[list[tuple[str, list[int], bytes] | None]], float, list[str]]: ...
    def write(self, path: str) -> int: ...

def optimize(
    program: LiveProgram,
    *,
    passes: str = "",
    policy: str = "profitable",
    target: str = "h100x8",
    verify: bool = True,
    context: str = "",
    vocabulary: str = "",
    has_other_groups: bool = False,
    ranks_are_unknown: bool = False,
    assumes_norm_weights: bool = True,
    unstated_inputs: Sequence[str] = [],
    other_ranks: Sequence[tuple[int, str, str]] = [],
    rank: int = 0,
    group_names: Mapping[str, str] = {},
    exact_rounding: bool = False,
    postponed: Sequence[str] = [],
    allow_unproven: bool = False,
    max_seconds: float = 60.0,
    max_bytes: int = -1,
) -> tuple[object, object, str, str, tuple[float, float, list[str]] | None]: ...
def check_options(
    *, passes: str = "", policy: str = "profitable", target: str = "h100x8"
) -> None: ...
def complete_groups(
    groups: Sequence[Sequence[Sequence[int]]], rank: int | None = None
) -> list[list[list[int]]] | None: ...
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
    max_bytes: int = -1,
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
    max_bytes: int = -1,
) -> tuple[str, str]: ...
