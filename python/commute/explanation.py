# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.explain`: what passes rewrite, what they refuse and why."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from commute.native import native_errors
from commute.programs import PassOptions, PathName, as_program


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Every site that a pass considered. Sites with alike decisions are one row."""

    rows: tuple[Mapping[str, Any], ...]
    """Refusals by potential, then rewrites: "decision", "pass", "node", "source", "reason",
    "blocker", "remedy", "potential_seconds" and others."""
    remedies: tuple[Mapping[str, Any], ...]
    """Changes that would allow refused rewrites, by gain."""
    report: Mapping[str, Any]
    """The output of `commute explain --json`."""

    @property
    def refused(self) -> tuple[Mapping[str, Any], ...]:
        """The rows of rewrites that were refused."""
        return tuple(row for row in self.rows if row["decision"] == "refused")

    def __str__(self) -> str:
        lines = []
        for row in self.rows:
            source = f" ({row['source']})" if "source" in row else ""
            count = f", {row['count']} times" if row["count"] > 1 else ""
            remedy = f"; {row['remedy']}" if "remedy" in row else ""
            lines.append(
                f"{row['pass']}: {row['decision']} {row['node']}{source}{count}:"
                f" {row['reason']}{remedy}"
            )
        return "\n".join(lines)


def explain(
    program: Any,
    *,
    passes: str | Sequence[str] = (),
    policy: str = "profitable",
    target: PathName = "h100x8",
    exact_rounding: bool = False,
) -> Explanation:
    """Explains what passes do with a program, which is not changed, as `commute explain`
    does. Options are those of `optimize`. Raises CommuteError."""
    handle = as_program(program)._native()
    options = PassOptions(passes, policy, target, exact_rounding)
    with native_errors():
        text = handle.explain(**options.as_keywords())
    report = json.loads(text)
    return Explanation(tuple(report["sites"]), tuple(report["remedies"]), report)
