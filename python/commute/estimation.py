# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.estimate`: the predicted time and memory of one step."""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from commute.native import native_errors
from commute.programs import PathName, as_program


@dataclasses.dataclass(frozen=True)
class Estimate:
    """One step of one rank on a target."""

    target: str
    step_seconds: float
    compute_seconds: float
    communication_seconds: float
    exposed_communication_seconds: float
    """The time in which compute waits for communication."""
    peak_activation_bytes: float
    ops: tuple[Mapping[str, Any], ...]
    """By kind of op: "op", "count", "seconds", "flops", "bound" and others."""
    report: Mapping[str, Any]
    """The output of `commute estimate --json`."""

    def __str__(self) -> str:
        return (
            f"one step on {self.target}: {self.step_seconds * 1e3:.3f} ms, exposed"
            f" communication {self.exposed_communication_seconds * 1e3:.3f} ms, activations"
            f" {self.peak_activation_bytes / 2**20:.0f} MiB"
        )


def estimate(
    program: Any,
    *,
    target: PathName = "h100x8",
    sizes: Mapping[str, int] | None = None,
) -> Estimate:
    """Predicts one step of a program, as `commute estimate` does.

    program  a program of `load`, or what `load` takes
    target   the machine: a name of `commute targets`, or a file
    sizes    values of symbolic sizes: {"s0": 4096}; by default those at capture

    Raises CommuteError, also if the value of a symbolic size is unknown.
    """
    handle = as_program(program)._native()
    with native_errors():
        text = handle.estimate(target=os.fspath(target), sizes=dict(sizes or {}))
    report = json.loads(text)
    names = {field.name for field in dataclasses.fields(Estimate)} - {"ops", "report"}
    return Estimate(
        ops=tuple(report["ops"]), report=report, **{name: report[name] for name in names}
    )
