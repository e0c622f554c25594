# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What is known of the runs of graph passes."""

import dataclasses
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.fx import GraphModule

from commute.errors import CommuteError
from commute.torch.validation.judging import Judgement


class PassesDiffer(CommuteError):
    """A pass changed what a graph computes."""


@dataclasses.dataclass(frozen=True)
class PassRun:
    """One run of a pass that changed its graph."""

    name: str
    """Such as "micro_pipeline_tp_pass"; of changes between the passes of a phase, the phase."""
    graph: int
    """The number of the graph, in the order in which they were seen."""
    nodes_before: int
    nodes_after: int
    judgement: Judgement
    seconds: float
    before: GraphModule | None = None
    after: GraphModule | None = None

    @property
    def verdict(self) -> str:
        return self.judgement.verdict

    def __str__(self) -> str:
        found = self.judgement
        text = (
            f"{self.name} [graph {self.graph}] {self.nodes_before} -> {self.nodes_after} nodes,"
            f" {self.seconds * 1e3:.0f} ms: "
        )
        # A difference has to be seen in a long list.
        text += found.verdict.upper() if found.verdict == "different" else found.verdict
        if found.reason:
            text += f": {found.reason}"
        text += f": {found.where}" if found.where else ""
        return "; ".join([text, *found.notes])

    def as_dict(self) -> dict[str, Any]:
        return {
            "pass": self.name,
            "graph": self.graph,
            "nodes_before": self.nodes_before,
            "nodes_after": self.nodes_after,
            "verdict": self.judgement.verdict,
            "reason": self.judgement.reason,
            "operator": self.judgement.operator,
            "where": self.judgement.where,
            "notes": [*self.judgement.notes],
            "seconds": self.seconds,
        }


class PassReport:
    """The runs of passes that `validate_passes` has seen."""

    def __init__(self) -> None:
        self.runs: list[PassRun] = []
        """Those that changed a graph."""
        self.num_unchanged = 0
        """How many runs changed nothing."""
        self.seconds = 0.0
        """The time that validation took, of runs that changed nothing as well."""
        self.problems: list[str] = []
        """What went wrong in the validation itself."""

    def __bool__(self) -> bool:
        """Whether every change is proven."""
        return all(run.verdict == "equivalent" for run in self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def verdicts(self) -> Mapping[str, int]:
        """The number of runs by verdict."""
        return Counter(run.verdict for run in self.runs)

    @property
    def differences(self) -> list[PassRun]:
        return [run for run in self.runs if run.verdict == "different"]

    @property
    def unknown_operators(self) -> Mapping[str, int]:
        """The operators without a meaning that kept runs from being proven."""
        return Counter(run.judgement.operator for run in self.runs if run.judgement.operator)

    def __str__(self) -> str:
        counts = self.verdicts
        parts = [
            f"{counts[verdict]} {verdict}"
            for verdict in ("equivalent", "other layout", "different", "not proven")
            if counts.get(verdict)
        ]
        last = (
            f"{len(self.runs)} runs of passes changed a graph"
            f" ({self.num_unchanged} did not): {', '.join(parts) or 'none'};"
            f" {self.seconds:.2f} s"
        )
        if self.unknown_operators:
            listed = ", ".join(
                f"{name} ({count})" if count > 1 else name
                for name, count in sorted(self.unknown_operators.items())
            )
            last += f"; without a meaning: {listed}"
        return "\n".join([*map(str, self.runs), *self.problems, last])

    def as_dict(self) -> dict[str, Any]:
        return {
            "runs": [run.as_dict() for run in self.runs],
            "unchanged": self.num_unchanged,
            "seconds": self.seconds,
            "verdicts": dict(self.verdicts),
            "unknown_operators": dict(self.unknown_operators),
            "problems": self.problems,
        }

    def save(self, folder: str | os.PathLike[str], *, pytest: bool = False) -> list[Path]:
        """Writes report.json, and both graphs of each run that is kept, for
        `commute verify FOLDER/NAME/before.mlir FOLDER/NAME/after.mlir`.

        pytest  also write test_passes.py, which fails while one of them is not proven
        Returns the folders of the runs.
        """
        root = Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        saved: list[Path] = []
        entries = []
        for index, run in enumerate(self.runs):
            entry = run.as_dict()
            entries.append(entry)
            if run.before is None or run.after is None:
                continue
            name = f"{index:03}-{re.sub(r'[^A-Za-z0-9_]+', '_', run.name)}"
            try:
                save_graphs(run.before, run.after, root / name)
            except CommuteError as error:
                entry["not_saved"] = str(error)
                continue
            entry["folder"] = name
            saved.append(root / name)
        report = {**self.as_dict(), "runs": entries}
        (root / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        if pytest:
            (root / "test_passes.py").write_text(_PYTEST, encoding="utf-8")
        return saved


def save_graphs(before: GraphModule, after: GraphModule, folder: Path) -> None:
    """Writes two graphs as they are compared. Raises CommuteError if they cannot be."""
    from commute.torch.live_program import LiveProgram
    from commute.torch.validation.comparable_graphs import ComparablePair

    try:
        pair = ComparablePair(before, after, retraces=True)
    except CommuteError:
        pair = ComparablePair(before, after, retraces=False)
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in (("before", pair.first), ("after", pair.second)):
        program = LiveProgram(module, {"version": 1}, "", is_functional=True)
        program.save(folder / f"{name}.mlir")


_PYTEST = '''"""The graphs before and after each pass compute the same."""

from pathlib import Path

import commute
import pytest

FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/before.mlir"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_pass(folder):
    before, after = (commute.load(folder / f"{name}.mlir") for name in ("before", "after"))
    result = commute.verify(before, after)
    assert result, result
'''
