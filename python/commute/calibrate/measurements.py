# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What is measured: kernels of one device, and collectives of all sizes of groups."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed._functional_collectives as functional

from commute.calibrate.machine import Machine

KINDS = ("all_reduce", "all_gather", "reduce_scatter")
ELEMENTS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
# The operations that Commute counts for one silu.
SILU_FLOPS = 8


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One time. The facts say of what: its kind, and its sizes."""

    facts: dict[str, Any]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return {**self.facts, "seconds": self.seconds}


def launch(machine: Machine) -> Measurement:
    x = torch.zeros(8, device=machine.device)
    result = torch.empty_like(x)
    count = 100

    def run() -> None:
        for _ in range(count):
            torch.neg(x, out=result)

    return Measurement({"what": "launch"}, machine.time(run) / count)


def memory(machine: Machine, elements: int) -> Measurement:
    """A sum of two tensors, which reads two and writes one."""
    a, b, c = (torch.ones(elements, device=machine.device) for _ in range(3))
    seconds = machine.time(lambda: torch.add(a, b, out=c))
    return Measurement({"what": "memory", "bytes": 3 * 4 * elements}, seconds)


def vector(machine: Machine, elements: int) -> Measurement:
    x = torch.ones(elements, device=machine.device)
    seconds = machine.time(lambda: torch.nn.functional.silu(x))
    return Measurement({"what": "vector", "flops": SILU_FLOPS * elements}, seconds)


def product(machine: Machine, m: int, n: int, k: int, element: str) -> Measurement:
    dtype = ELEMENTS[element]
    a = torch.randn(m, k, device=machine.device).to(dtype)
    b = torch.randn(k, n, device=machine.device).to(dtype)
    c = torch.empty(m, n, dtype=dtype, device=machine.device)
    seconds = machine.time(lambda: torch.mm(a, b, out=c))
    return Measurement({"what": "product", "m": m, "n": n, "k": k, "element": element}, seconds)


def collective(machine: Machine, kind: str, size: int, bytes_: int, dim: int = 0) -> Measurement:
    """A collective over a tensor of `bytes_` in all, in groups of `size`. Along dim 1, the
    reordering copy that PyTorch makes is part of it."""
    group = machine.group_of(size)
    # The dims are equal for all kinds: blocks along either.
    columns = 8 * size
    rows = max(bytes_ // 4 // columns // size, 1) * size
    shape = [rows, columns]
    if kind == "all_gather":
        shape[dim] //= size
    # Sums of zeros stay finite.
    x = torch.zeros(shape, device=machine.device)

    def run() -> None:
        # What torch.compile records, with PyTorch's own copy for dims other than the first.
        if kind == "all_reduce":
            result = functional.all_reduce(x, "sum", group)
        elif kind == "all_gather":
            result = functional.all_gather_tensor(x, dim, group)
        else:
            result = functional.reduce_scatter_tensor(x, "sum", dim, group)
        functional.wait_tensor(result)

    seconds = machine.time(run)
    facts = {"what": kind, "ranks": size, "bytes": 4 * rows * columns, "dim": dim}
    return Measurement(facts, seconds)


def product_sizes(machine: Machine) -> list[int]:
    if machine.is_quick:
        return [16, 32]
    return [128 << i for i in range(7)] if machine.on_gpu else [16 << i for i in range(7)]


def collective_sizes(machine: Machine) -> list[int]:
    if machine.is_quick:
        return [1 << 10, 1 << 12]
    return [1 << i for i in range(10, 29 if machine.on_gpu else 25, 2)]


def measure_all(machine: Machine) -> Iterator[Measurement]:
    yield launch(machine)
    yield memory(machine, 1 << 10 if machine.is_quick else 1 << (26 if machine.on_gpu else 22))
    yield vector(machine, 64 if machine.is_quick else 1 << 15)
    for element in ELEMENTS:
        for size in product_sizes(machine):
            yield product(machine, size, size, size, element)
    for size in machine.group_sizes:
        for kind in KINDS:
            for bytes_ in collective_sizes(machine):
                yield collective(machine, kind, size, bytes_)


def measure_others(machine: Machine) -> Iterator[Measurement]:
    """What a model that was fitted to the measurements of `measure_all` is judged by: other
    shapes and sizes."""
    base = 16 if machine.is_quick else 1024 if machine.on_gpu else 128
    for m, n, k in ((base, 4 * base, base), (4 * base, base, 2 * base), (2 * base, base, 4 * base)):
        yield product(machine, m, n, k, "f32")
        yield product(machine, m, n, k, "bf16")
    for elements in (1 << 12, 3 << 10) if machine.is_quick else (1 << 21, 3 << 20):
        yield memory(machine, elements)
    sizes = collective_sizes(machine)
    for size in machine.group_sizes:
        for kind in KINDS:
            for bytes_ in sizes[len(sizes) // 2 :]:
                yield collective(machine, kind, size, bytes_ * 3 // 4)
                if kind != "all_reduce":
                    yield collective(machine, kind, size, bytes_ * 3 // 4, dim=1)
