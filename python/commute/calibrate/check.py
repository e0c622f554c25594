# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A target's predictions beside new measurements."""

import dataclasses
import os
import tempfile

from commute.calibrate.machine import Machine
from commute.calibrate.measurements import Measurement, measure_others
from commute.estimation import estimate


@dataclasses.dataclass(frozen=True)
class Check:
    """A measured time and the predicted one, in seconds."""

    what: str
    sizes: str
    measured: float
    predicted: float

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured


def check_target(machine: Machine, target: str) -> list[Check]:
    """Measures what no target of `calibrate` is fitted to, and predicts it. All ranks call it;
    the result is the first one's, and empty on the others."""
    measurements = list(measure_others(machine))
    if machine.rank != 0:
        return []
    return [compare(measurement, target) for measurement in measurements]


def compare(measurement: Measurement, target: str) -> Check:
    facts = measurement.facts
    sizes = " ".join(f"{key}={value}" for key, value in facts.items() if key != "what")
    return Check(facts["what"], sizes, measurement.seconds, predict(measurement, target))


def predict(measurement: Measurement, target: str) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".mlir", delete=False) as file:
        file.write(program_of(measurement))
    try:
        return estimate(file.name, target=target).step_seconds
    finally:
        os.unlink(file.name)


def program_of(measurement: Measurement) -> str:
    """The program that was measured, as tp text."""
    facts = measurement.facts
    if facts["what"] == "product":
        element = facts["element"]
        a = f"tensor<{facts['m']}x{facts['k']}x{element}>"
        b = f"tensor<{facts['k']}x{facts['n']}x{element}>"
        c = f"tensor<{facts['m']}x{facts['n']}x{element}>"
        return _function(f"%a: {a}, %b: {b}", f"tp.matmul %a, %b : ({a}, {b}) -> {c}", c)
    if facts["what"] == "memory":
        t = f"tensor<{facts['bytes'] // 12}xf32>"
        return _function(f"%a: {t}, %b: {t}", f"tp.map add(%a, %b) : ({t}, {t}) -> {t}", t)
    ranks, dim = facts["ranks"], facts["dim"]
    columns = 8 * ranks
    rows = facts["bytes"] // 4 // columns
    whole = [rows, columns]
    part = [rows // ranks, columns] if dim == 0 else [rows, columns // ranks]
    x, y = (f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (whole, part))
    group = f'group <"0", {list(range(ranks))}>'
    if facts["what"] == "all_reduce":
        return _function(f"%a: {x}", f"tp.all_reduce sum %a {group} : {x} -> {x}", x)
    if facts["what"] == "all_gather":
        text = f"tp.all_gather %a gather_axis {dim} {group} : {y} -> {x}"
        return _function(f"%a: {y}", text, x)
    text = f"tp.reduce_scatter sum %a scatter_axis {dim} {group} : {x} -> {y}"
    return _function(f"%a: {x}", text, y)


def _function(arguments: str, op: str, result: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{\n%r = {op}\nreturn %r : {result}\n}}\n"
