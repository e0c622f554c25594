# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the measurements on a GPU share: the device, times, results that survive a time limit.

results = Results(path)
results["matmul"] = [...]       # written to the file at once

python benchmarks/gpu/measuring.py OUT.json      # what machine this is
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
IS_GPU = DEVICE == "cuda"


class Results:
    """A JSON object in a file. What was measured stays if the process is killed."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._entries = Path(path), {}

    def __setitem__(self, key: str, value: Any) -> None:
        self._entries[key] = value
        self.write()

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    @staticmethod
    def read(path: str | Path) -> dict[str, Any]:
        """What was written to a file, if anything."""
        path = Path(path)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._path.with_suffix(".partial")
        written.write_text(json.dumps(self._entries, indent=1) + "\n", encoding="utf-8")
        os.replace(written, self._path)


def is_error(row: Any) -> bool:
    return isinstance(row, dict) and "error" in row


def attempt(function: Callable[[], Any]) -> Any:
    """The result of a function, or the error as a string: one measurement that fails does
    not lose the others."""
    try:
        return function()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        print(text.splitlines()[0], file=sys.stderr, flush=True)
        return {"error": text[:2000]}
    finally:
        if IS_GPU:
            torch.cuda.synchronize()


def device_name() -> str:
    if IS_GPU:
        return torch.cuda.get_device_name()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def commute_target() -> str:
    """Commute's target with the device's prices."""
    return "h200x8" if "H200" in device_name() else "h100x8"


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    facts: dict[str, Any] = {
        "device": device_name(),
        "kind": DEVICE,
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }
    if IS_GPU:
        properties = torch.cuda.get_device_properties(0)
        facts |= {
            "cuda": torch.version.cuda,
            "multiprocessors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory,
            "l2_bytes": getattr(properties, "L2_cache_size", None),
            "capability": list(torch.cuda.get_device_capability()),
            "nvidia_smi": attempt(
                lambda: subprocess.run(
                    ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem,power.limit",
                     "--format=csv,noheader"],
                    capture_output=True, text=True, timeout=20,
                ).stdout.strip()
            ),
        }  # fmt: skip

    def commute() -> dict[str, str]:
        import commute
        from commute import _commute

        packed = Path(_commute.__file__).with_name("packed.txt")
        return {
            "version": commute.__version__,
            "packed": packed.read_text().strip() if packed.exists() else "a build tree",
        }

    facts["commute"] = attempt(commute)
    return facts


def synchronize() -> None:
    if IS_GPU:
        torch.cuda.synchronize()


def _event_seconds(function: Callable[[], object]) -> float:
    if not IS_GPU:
        begin = time.perf_counter()
        function()
        return time.perf_counter() - begin
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3


def median_seconds(calls: Sequence[Callable[[], object]], repeats: int = 9) -> dict[str, float]:
    """The median time of one call, in seconds, and how far the repetitions spread.

    The calls do the same on different data, so that the caches of the device do not hold
    the operands. On a GPU, "seconds" is the time of the calls replayed as a CUDA graph,
    without gaps for launches, and "queued_seconds" that of calls from Python.
    """
    for call in calls:
        call()
    synchronize()

    def all_calls() -> None:
        for call in calls:
            call()

    queued = statistics.median(_event_seconds(all_calls) for _ in range(repeats)) / len(calls)
    if not IS_GPU:
        return {"seconds": queued}
    run = all_calls
    times: dict[str, Any] = {"queued_seconds": queued}
    try:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            all_calls()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            all_calls()
        run = graph.replay
        run()
    except RuntimeError as error:
        times["not_captured"] = str(error)[:200]
        torch.cuda.synchronize()
    samples = sorted(_event_seconds(run) / len(calls) for _ in range(repeats))
    times["seconds"] = statistics.median(samples)
    times["spread"] = (samples[-1] - samples[0]) / times["seconds"]
    return times


def copies_for(num_bytes: int, *, most: int = 16) -> int:
    """The number of sets of operands of a size that together exceed the caches, and take a
    time that events can measure."""
    return max(2, min(most, (256 << 20) // max(num_bytes, 1))) if IS_GPU else 2


if __name__ == "__main__":
    results = Results(sys.argv[1])
    for key, value in machine().items():
        results[key] = value
    print(json.dumps(machine(), indent=1))
