# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.optimize`: passes over a program, and the proof of the result."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from commute.estimation import Estimate, estimate
from commute.native import native_errors
from commute.programs import PassOptions, PathName, Program, as_program
from commute.remarks import Remark


@dataclasses.dataclass(frozen=True)
class Optimization:
    """The result of `optimize`."""

    program: Program
    """The optimized program; the original if the verdict is "unchanged", or "not proven"
    without `allow_unproven`."""
    original: Program
    verdict: str
    """"equivalent": rewritten and proven; "unchanged": no pass found anything to rewrite;
    "not verified": rewritten with verify=False; "not proven"."""
    reason: str
    """Why the result is not proven; empty if it is."""
    remarks: tuple[Remark, ...]
    """What passes rewrote and refused."""
    proof: Mapping[str, Any] | None
    """The output of `commute verify --json`; None if nothing was to be proven."""
    target: str

    @property
    def is_changed(self) -> bool:
        """Whether `program` differs from `original`."""
        return self.program is not self.original

    @functools.cached_property
    def price_before(self) -> Estimate:
        """The predicted step of the original. Raises CommuteError if a symbolic size has no
        value; `commute.estimate` takes one."""
        return estimate(self.original, target=self.target)

    @functools.cached_property
    def price_after(self) -> Estimate:
        """The predicted step of the program."""
        return estimate(self.program, target=self.target)

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return "\n".join([*map(str, self.remarks), f"{self.verdict}{reason}"])


def optimize(
    program: Any,
    *,
    passes: str | Sequence[str] = (),
    policy: str = "profitable",
    target: PathName = "h100x8",
    exact_rounding: bool = False,
    verify: bool = True,
    allow_unproven: bool = False,
    proof_time: float = 60.0,
    proof_memory: int | None = None,
) -> Optimization:
    """Optimizes a program, as `commute opt` does. The given program is not changed.

    program         a program of `load`, or what `load` takes
    passes          names of passes in order, with options in braces: ["split-linear",
                    "micro-pipeline{policy=always}"]; by default all
    policy          "profitable": rewrites that pay on the target; "always": all legal ones
    target          the machine to price for: a name of `commute targets`, or a file
    exact_rounding  split and join matrix products only where no sum changes its order
    verify          prove the result equivalent; without a proof, the result is the original
    allow_unproven  also return a result whose proof exceeds its budget
    proof_time, proof_memory  that budget, in seconds of processor time and bytes; by default, of
                    memory 4 GiB, or half of what is free if that is less

    Raises CommuteError for wrong options, and for groups that must be stated for the proof.
    """
    original = as_program(program)
    options = PassOptions(passes, policy, target, exact_rounding)
    with native_errors():
        changed, verdict, reason, remarks, proof = original._optimize(
            options,
            verify=verify,
            allow_unproven=allow_unproven,
            max_seconds=proof_time,
            max_bytes=-1 if proof_memory is None else proof_memory,
        )
    return Optimization(changed, original, verdict, reason, tuple(remarks), proof, options.target)
