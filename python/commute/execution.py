# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.run`: a program on all of its ranks, as threads of this process."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from commute.errors import CommuteError
from commute.native import native_errors
from commute.programs import as_program
from commute.tensors import Tensor, from_safetensors, to_safetensors


@dataclasses.dataclass(frozen=True)
class Run:
    """The result of `run`."""

    outputs: tuple[tuple[Tensor | None, ...], ...]
    """By rank, then by output; None for an output that is not a tensor."""
    seconds: float
    """The time of the slowest rank."""
    assumptions: tuple[str, ...]
    """About random inputs without stated placements."""


def _tensors_of(inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    tensors = {}
    for name, value in inputs.items():
        if isinstance(value, (list, tuple)):
            for rank, own in enumerate(value):
                tensors[f"rank{rank}.{name}"] = Tensor.of(own)
        else:
            tensors[name] = Tensor.of(value)
    return tensors


def run(
    program: Any,
    inputs: Mapping[str, Any] | None = None,
    *,
    weights: str = "archive",
    seed: int = 0,
    timeout: int = 300,
    threads: int = 0,
) -> Run:
    """Runs a program on all ranks of its groups with Commute's kernels, as `commute run`
    does.

    program  a program of `load`, or what `load` takes
    inputs   by name of the input or parameter, a tensor for all ranks or a list with that
             of each rank: of PyTorch, of NumPy, or a commute.Tensor. Other inputs are random
    weights  "archive": those of the archive; "seeded": random ones
    seed     of random inputs
    timeout  seconds that a rank waits for the others
    threads  for the kernels of each rank; by default an equal share of the cores

    Raises CommuteError.
    """
    if weights not in ("archive", "seeded"):
        raise CommuteError(f"weights={weights!r}: expected 'archive' or 'seeded'")
    handle = as_program(program)._native()
    with native_errors():
        outputs, seconds, assumptions = handle.run(
            inputs=to_safetensors(_tensors_of(inputs)) if inputs else b"",
            seeds_weights=weights == "seeded",
            seed=seed,
            timeout=timeout,
            threads=threads,
        )
    return Run(
        tuple(
            tuple(None if output is None else from_safetensors(*output) for output in own)
            for own in outputs
        ),
        seconds,
        tuple(assumptions),
    )
