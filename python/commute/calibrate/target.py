# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A target file from measurements."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from commute.calibrate.check import Check, check_target
from commute.calibrate.machine import Machine
from commute.calibrate.measurements import ELEMENTS, KINDS, Measurement, measure_all

Facts = Mapping[str, Any]


def local_target_path() -> Path:
    """The file of the target `local`."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "commute" / "local.json"


def calibrate(machine: Machine, output: Path) -> list[Check]:
    """Measures the machine and writes its target. All ranks call it, and the first one writes.

    Returns how the model compares with measurements that it was not fitted to, on the first
    rank; an empty list on the others.
    """
    measurements = list(measure_all(machine))
    is_first = machine.rank == 0
    if is_first:
        write(output, make_target(machine, measurements))
    checks = check_target(machine, str(output))
    if is_first:
        target = make_target(machine, measurements)
        target["uncertainty"] = uncertainty_of(machine, checks)
        write(output, target)
    return checks


def write(path: Path, target: Facts) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(target, indent=2) + "\n")


def make_target(machine: Machine, measurements: Sequence[Measurement]) -> dict[str, Any]:
    def find(what: str, **facts: Any) -> list[Measurement]:
        wanted = {"what": what, **facts}
        return [m for m in measurements if wanted.items() <= m.facts.items()]

    def quantity(value: float, how: str) -> dict[str, Any]:
        return {"value": value, "source": f"{machine.source}: {how}"}

    launch = find("launch")[0].seconds
    memory = find("memory")[0]
    vector = find("vector")[0]
    rates, points = product_rates(measurements, launch)
    bandwidth = memory.facts["bytes"] / max(memory.seconds - launch, 1e-9)
    vector_rate = vector.facts["flops"] / max(vector.seconds - launch, 1e-9)
    return {
        "version": 1,
        "name": "local",
        "description": f"{machine.ranks} ranks on {machine.description}",
        "programs": "eager",
        "devices": quantity(machine.ranks, "ranks of torchrun"),
        "memory_bytes": quantity(memory_bytes(machine), "the device's memory"),
        "memory_bytes_per_second": quantity(bandwidth, "sums of two f32 tensors"),
        "memory_efficiency": quantity(1, "the bandwidth is already what kernels reach"),
        "kernel_overhead_seconds": quantity(launch, "one op of a chain on 8 elements"),
        "transfer_overhead_seconds": quantity(launch, "assumed equal to that of a kernel"),
        "vector_flops_per_second": quantity(vector_rate, "silu, in the operations counted for it"),
        "matmul_flops_per_second": {
            element: quantity(rate, "the largest rate of square products")
            for element, rate in rates.items()
        },
        "matmul_efficiency": {
            "points": points,
            "source": f"{machine.source}: square products, mean over element types",
        },
        "collectives": {
            kind: [
                collective_line(machine, size, find(kind, ranks=size, dim=0))
                for size in machine.group_sizes
            ]
            for kind in KINDS
        },
        "measurements": [measurement.as_json() for measurement in measurements],
    }


def memory_bytes(machine: Machine) -> int:
    if machine.on_gpu:
        import torch

        return torch.cuda.get_device_properties(machine.device).total_memory
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // machine.ranks


def product_rates(
    measurements: Sequence[Measurement], launch: float
) -> tuple[dict[str, float], list[list[float]]]:
    """The best rate of each element type, and the fraction of it by the time that a product
    would take at that rate."""
    times: dict[str, list[tuple[float, float]]] = {element: [] for element in ELEMENTS}
    for measurement in measurements:
        facts = measurement.facts
        if facts["what"] == "product":
            flops = 2.0 * facts["m"] * facts["n"] * facts["k"]
            seconds = max(measurement.seconds - launch, 1e-9)
            times[facts["element"]].append((flops, seconds))
    rates, curves = {}, []
    for element, of_element in times.items():
        rates[element] = max(flops / seconds for flops, seconds in of_element)
        curves.append([(flops / rates[element], seconds) for flops, seconds in of_element])
    points: list[list[float]] = []
    before = 0.0
    for same_size in zip(*curves, strict=True):
        at_peak, seconds = (
            math.exp(sum(math.log(value) for value in values) / len(values))
            for values in zip(*same_size, strict=True)
        )
        # A larger product never takes less time, and none is faster than the best.
        seconds = max(seconds, before, at_peak)
        before = seconds
        if not points or at_peak > points[-1][0]:
            points.append([at_peak, at_peak / seconds])
    return rates, points


def collective_line(
    machine: Machine, size: int, measurements: Sequence[Measurement]
) -> dict[str, Any]:
    points: list[list[float]] = []
    for measurement in sorted(measurements, key=lambda m: m.facts["bytes"]):
        bytes_, seconds = measurement.facts["bytes"], measurement.seconds
        if points and bytes_ <= points[-1][0]:
            continue
        # Noise can make the larger of two look faster.
        points.append([bytes_, max(seconds, points[-1][1] if points else 0)])
    first, last = points[0], points[-1]
    gained = last[1] - points[-2][1] if len(points) > 1 else 0
    rate = (last[0] - points[-2][0]) / gained if gained > 0 else last[0] / last[1]
    return {
        "group_size": size,
        "latency_seconds": first[1],
        "bytes_per_second": max(rate, 1.0),
        "points": points,
        "source": f"{machine.source}: groups of {size}; slope above the points that of the last two",
    }


def uncertainty_of(machine: Machine, checks: Sequence[Check]) -> dict[str, Any]:
    def spread(*kinds: str) -> float:
        logarithms = [math.log(c.predicted / c.measured) for c in checks if c.what in kinds]
        if not logarithms:
            return 0.0
        return min(math.sqrt(sum(x * x for x in logarithms) / len(logarithms)), 10.0)

    collectives = spread(*KINDS)
    products = spread("product")
    return {
        "products": products,
        "memory": spread("memory"),
        "collectives": collectives,
        # No fused op was measured: as if both parts were off independently.
        "fused_ops": math.hypot(products, collectives),
        "source": f"{machine.source}: standard deviation of log(predicted / measured) for sizes"
        " that the numbers above were not fitted to",
    }
