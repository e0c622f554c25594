# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Published times of operators beside those that `commute estimate` predicts."""

import dataclasses
import json
import math
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import published_programs as programs

FOLDER = Path(__file__).resolve().parent
PAIRS = {
    "all_gather_matmul": programs.all_gather_matmul,
    "matmul_reduce_scatter": programs.matmul_reduce_scatter,
}
# A ratio is near if it is within 25 %.
NEAR = 0.25


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One published time, and the predicted one, in microseconds."""

    table: Mapping[str, Any]
    half: str
    what: str
    measured: float
    predicted: float

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured

    @property
    def is_near(self) -> bool:
        return abs(self.ratio - 1) <= NEAR


@dataclasses.dataclass(frozen=True)
class Decision:
    """Whether an operator is to be fused, as measured and as the pass decides."""

    table: Mapping[str, Any]
    half: str
    what: str
    pays: bool
    is_fused: bool

    @property
    def is_right(self) -> bool:
        return self.pays == self.is_fused


class Tool:
    """The command line tool, and programs that it is asked about."""

    def __init__(self, tool: str, folder: str, targets: str | None = None) -> None:
        self.tool, self.folder, self.targets = tool, Path(folder), targets
        self.known = {
            target["name"] for target in json.loads(self.call("targets", "--json"))["targets"]
        }

    def call(self, *arguments: str) -> str:
        done = subprocess.run([self.tool, *arguments], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def target(self, name: str) -> str | None:
        """A built-in target, or a file beside the data; none if there is neither."""
        path = FOLDER / "targets" / f"{name}.json"
        if path.exists():
            return str(path)
        return name if name in self.known else None

    def write(self, text: str) -> str:
        path = self.folder / "program.mlir"
        path.write_text(text)
        return str(path)

    def seconds(self, text: str, target: str) -> float:
        output = self.call("estimate", self.write(text), f"--target={target}", "--json")
        return float(json.loads(output)["step_seconds"])

    def fuses(self, text: str, target: str) -> bool:
        result = self.folder / "result.mlir"
        self.call(
            "opt", self.write(text), "-o", str(result), "--no-verify", "--force",
            "--passes=micro-pipeline", f"--target={target}",
        )  # fmt: skip
        return any(f"tp.{kind} " in result.read_text() for kind in PAIRS)


def load_tables() -> list[dict[str, Any]]:
    return list(json.loads((FOLDER / "operators.json").read_text())["tables"])


def half_of(table: Mapping[str, Any], index: int) -> str:
    """Parameters are fitted on one half of the rows, and judged on the other."""
    if table["halves"] == "alternating":
        return "judge" if index % 2 else "fit"
    return str(table["halves"])


def compare(tool: Tool, tables: Sequence[Mapping[str, Any]]) -> Iterator[Comparison | Decision]:
    for table in tables:
        target = tool.target(table["target"])
        # Algorithms other than NCCL's choice are data for those who call them.
        if target is None or table.get("algorithm", "nccl") != "nccl":
            continue
        for index, row in enumerate(table["rows"]):
            half = half_of(table, index)
            values = dict(zip(table["columns"], row, strict=True))
            yield from compare_row(tool, table, half, values, target)


def compare_row(
    tool: Tool, table: Mapping[str, Any], half: str, values: Mapping[str, Any], target: str
) -> Iterator[Comparison | Decision]:
    kind, ranks = table["kind"], table["ranks"]
    element = table.get("element", "bf16")
    if kind not in PAIRS:
        if kind == "matmul":
            what = f"{values['m']} x {values['n']} x {values['k']} {element}"
            text = programs.matmul(values["m"], values["n"], values["k"], element)
        else:
            what = f"{values['bytes'] / 2**20:g} MiB, {ranks} ranks"
            text = programs.collective(kind, values["bytes"], ranks)
        predicted = tool.seconds(text, target) * 1e6
        yield Comparison(table, half, what, values["us"], predicted)
        return
    shape = values["m"], values["n"], values["k"]
    what = " x ".join(str(size) for size in shape)
    unfused, fused = (PAIRS[kind](*shape, ranks, element, form) for form in (False, True))
    if not table.get("decisions_only"):
        for name, text in (("unfused", unfused), ("fused", fused)):
            predicted = tool.seconds(text, target) * 1e6
            yield Comparison(table, half, f"{what} {name}", values[f"{name}_us"], predicted)
    pays = values["fused_us"] < values["unfused_us"]
    yield Decision(table, half, what, pays, tool.fuses(unfused, target))


def spread(comparisons: Sequence[Comparison]) -> float:
    """The standard deviation of the logarithm of predicted over measured, from one."""
    logarithms = [math.log(entry.ratio) for entry in comparisons]
    return math.sqrt(sum(value**2 for value in logarithms) / len(logarithms))


def run(tool_path: str) -> list[Comparison | Decision]:
    with tempfile.TemporaryDirectory() as folder:
        return list(compare(Tool(tool_path, folder), load_tables()))
