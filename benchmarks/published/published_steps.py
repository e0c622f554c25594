# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Published gains of whole steps beside those that `commute estimate` predicts."""

import dataclasses
import json
import tempfile
from typing import Any

from llama_steps import MODELS, Step
from published_times import FOLDER, Tool


@dataclasses.dataclass(frozen=True)
class StepComparison:
    """A step without and with fused operators: seconds, measured and predicted."""

    model: str
    precision: str
    half: str
    measured: tuple[float, float]
    predicted: tuple[float, float]

    @property
    def measured_gain(self) -> float:
        return self.measured[0] / self.measured[1]

    @property
    def predicted_gain(self) -> float:
        return self.predicted[0] / self.predicted[1]

    @property
    def is_near(self) -> bool:
        return abs(self.predicted_gain - self.measured_gain) <= 0.05


def load_steps() -> list[dict[str, Any]]:
    return list(json.loads((FOLDER / "steps.json").read_text())["steps"])


def predict(tool: Tool, entry: dict[str, Any], precision: str, fused: bool) -> float:
    step = Step(
        entry["model"], entry["tokens"], entry["sequence"], entry["ranks"], precision,
        entry["checkpointing"], fused,
    )  # fmt: skip
    target = tool.target(entry["target"])
    assert target is not None
    layer = tool.seconds(step.layer(trains=True), target)
    return MODELS[entry["model"]].layers * layer + tool.seconds(step.head(trains=True), target)


def compare_steps(tool_path: str) -> list[StepComparison]:
    result = []
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(tool_path, folder)
        for entry in load_steps():
            if tool.target(entry["target"]) is None:
                continue
            for precision, *rates in entry["rows"]:
                measured = tuple(entry["tokens"] / entry["ranks"] / rate for rate in rates)
                predicted = tuple(predict(tool, entry, precision, fused) for fused in (False, True))
                result.append(
                    StepComparison(entry["model"], precision, entry["half"], measured, predicted)
                )
    return result
