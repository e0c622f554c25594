# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Linears of concatenations: what splitting them gives in PyTorch, and what the price
model says that it gives.

For each M, N, K and number of parts, `linear(cat(parts), weight)` alone, and with the
gradients of parts and weight in one graph (the parts are scaled tensors, so that their
gradients go on into other ops), is exported and split by `commute opt --policy=always`.
Both forms, and what the default policy makes of it, are run by PyTorch in turn, op by
op. Beside each measured gain stands that of `commute estimate` for the machine: on a
CPU one that `commute calibrate` measures first, with PyTorch's kernels for those of
`commute run` (pytorch_target.py), on a GPU a built-in target (--target).

A gain that is smaller than its own scatter, or than 2 % of the time, has no sign that
could be predicted: such points are counted apart. All memory stays with the process
(malloc's own thresholds would have the system clear every large result anew, as no
allocator of a GPU does). On a CPU times are processor times of one thread.

    benchmarks/split_linear/run.py --build build/release
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

KEEP_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
if __name__ == "__main__" and not KEEP_MEMORY.items() <= os.environ.items():
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP_MEMORY})

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from pytorch_target import write_target  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from claims import Claim  # noqa: E402

BAR = 0.9
# A smaller part of the time is not measured reliably.
SMALLEST_GAIN = 0.02
GRIDS = {
    "cpu": {
        "M": (512, 2048, 8192),
        "N": (16, 64, 256, 1024),
        "K": (96, 384, 1536),
        "parts": (2, 3, 6),
    },
    "cuda": {
        "M": (4096, 32768, 262144),
        "N": (32, 64, 96, 128, 256, 1024),
        "K": (96, 192, 384, 768, 3072),
        "parts": (2, 3, 6),
    },
}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def forward(*inputs):
    *parts, weight = inputs
    return F.linear(torch.cat(parts, -1), weight)


def forward_and_backward(*inputs):
    *operands, tangent = inputs
    operands = [value.detach().requires_grad_() for value in operands]
    *parts, weight = operands
    result = forward(*(2 * part for part in parts), weight)
    return (result, *torch.autograd.grad(result, operands, tangent))


def make_point(kind, m, n, k, parts, dtype, device):
    """The function of a point, and what it takes."""
    widths = [k // parts // 8 * 8] * (parts - 1)
    widths.append(k - sum(widths))
    inputs = [torch.randn(m, width, dtype=dtype, device=device) for width in widths]
    inputs.append(torch.randn(n, k, dtype=dtype, device=device))
    if kind == "forward":
        return forward, inputs
    inputs.append(torch.randn(m, n, dtype=dtype, device=device))
    return make_fx(forward_and_backward)(*inputs), inputs


class Tool:
    def __init__(self, build):
        self._path = build / "bin" / "commute"

    def run(self, *arguments):
        process = subprocess.run(
            [self._path, *map(str, arguments)], capture_output=True, text=True, timeout=300
        )
        if process.returncode:
            sys.exit(f"commute {arguments[0]}: {process.stderr}")
        return process.stdout

    def step_seconds(self, archive, target):
        return json.loads(self.run("estimate", archive, f"--target={target}", "--json"))[
            "step_seconds"
        ]


def make_forms(tool, target, function, inputs, folder):
    """The forms as they run: as it was, split, and what the default policy makes of
    it; and the seconds that the first two are estimated to take."""
    source, split, chosen = (folder / f"{name}.pt2" for name in ("in", "out", "chosen"))
    torch.export.save(torch.export.export(Module(function), tuple(inputs)), source)
    tool.run("opt", source, "-o", split, "--quiet", "--passes=split-linear", "--policy=always")
    tool.run("opt", source, "-o", chosen, "--quiet", "--no-verify", "--passes=split-linear",
             f"--target={target}")  # fmt: skip
    modules = [torch.export.load(path).graph_module for path in (source, split, chosen)]
    estimates = [tool.step_seconds(path, target) for path in (source, split)]
    return modules, estimates


def seconds_of(module, inputs, count, synchronize):
    # On a CPU one thread computes, whose processor time other work does not count in.
    clock = time.perf_counter if inputs[0].is_cuda else time.thread_time
    begin = clock()
    for _ in range(count):
        module(*inputs)
    synchronize()
    return (clock() - begin) / count


def measure(modules, inputs, repetitions, synchronize):
    """Seconds of each form in turn, by turn."""
    for module in modules:
        seconds_of(module, inputs, 2, synchronize)
    once = seconds_of(modules[0], inputs, 1, synchronize)
    count = max(1, math.ceil(0.004 / once))
    return [
        [seconds_of(module, inputs, count, synchronize) for module in modules]
        for _ in range(repetitions)
    ]


class Point:
    def __init__(self, sizes, turns, estimates):
        self.sizes = sizes
        self.before, self.after, self.chosen = (
            statistics.median(turn[form] for turn in turns) for form in range(3)
        )
        gains = sorted(before - after for before, after, _ in turns)
        self.gain = statistics.median(gains)
        quarter = len(gains) // 4
        self.scatter = (gains[-1 - quarter] - gains[quarter]) / 2
        self.predicted_before, self.predicted_after = estimates

    @property
    def predicted(self):
        return self.predicted_before - self.predicted_after

    @property
    def is_clear(self):
        return abs(self.gain) > max(self.scatter, SMALLEST_GAIN * self.before)

    @property
    def is_right(self):
        return (self.gain > 0) == (self.predicted > 0)


def report(title, points, lines):
    def say(line=""):
        print(line, flush=True)
        lines.append(line)

    clear = [point for point in points if point.is_clear]
    right = [point for point in clear if point.is_right]
    part = len(right) / len(clear) if clear else float("nan")
    say(f"### {title}")
    say()
    say(f"| M | N | K | parts | before [ms] | split [ms] | measured gain | modelled | {'sign':7} |")
    say("|---|---|---|---|---|---|---|---|---|")
    for point in points:
        verdict = "noise" if not point.is_clear else "right" if point.is_right else "WRONG"
        sizes = " | ".join(str(size) for size in point.sizes)
        say(
            f"| {sizes} | {1e3 * point.before:.3f} | {1e3 * point.after:.3f} |"
            f" {point.gain / point.before:+.1%} |"
            f" {point.predicted / point.predicted_before:+.1%} | {verdict} |"
        )
    say()
    say(
        f"Sign of the gain: right on {len(right)} of {len(clear)} points ({part:.1%}, bar"
        f" {BAR:.0%}: {'met' if part >= BAR else 'MISSED'}); {len(points) - len(clear)} of"
        f" {len(points)} points have no clear sign."
    )
    claim = Claim("split_linear")
    kind, dtype, _ = title.split(", ", 2)
    if dtype == "float32":
        value, bar = f"{len(right)} of {len(clear)}", f"{BAR:.0%}".replace("%", " %")
        claim.record(f"{kind}: signs predicted", value, bar if part >= BAR else f"{bar}: missed")
        claim.save()
    best = sum(min(point.before, point.after, point.chosen) for point in points)
    always = sum(point.after for point in points)
    never = sum(point.before for point in points)
    chosen = sum(point.chosen for point in points)
    say(
        f"Time of all points, of that with the fastest form everywhere: never split"
        f" {never / best:.3f}, always {always / best:.3f}, default policy"
        f" {chosen / best:.3f}."
    )
    say()
    report_break_even(points, say)
    return part


def report_break_even(points, say):
    """Where the gain changes its sign as K grows."""
    say("Smallest K of the grid from which on splitting pays, measured / modelled:")
    say()
    counts = sorted({point.sizes[3] for point in points})
    say("| M | N | " + " | ".join(f"{count} parts (P N)" for count in counts) + " |")
    say("|---|---|" + "---|" * len(counts))

    def first(row, is_gain):
        paying = None
        for point in reversed(row):
            if not is_gain(point):
                break
            paying = point.sizes[2]
        return "none" if paying is None else str(paying)

    for m, n in sorted({point.sizes[:2] for point in points}):
        cells = []
        for count in counts:
            row = sorted(
                (p for p in points if p.sizes[:2] == (m, n) and p.sizes[3] == count),
                key=lambda point: point.sizes[2],
            )
            measured = first(row, lambda point: point.gain > 0)
            modelled = first(row, lambda point: point.predicted > 0)
            cells.append(f"{measured} / {modelled} ({count * n})")
        say(f"| {m} | {n} | " + " | ".join(cells) + " |")
    say()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--target", help="a name or file; default: this machine, calibrated")
    parser.add_argument("--kinds", default="forward,forward and backward")
    parser.add_argument("--dtypes", help="default: float32 on a CPU, bfloat16 on a GPU")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=150, help="for each table")
    parser.add_argument("--most-flops", type=float, default=None, help="largest product")
    parser.add_argument("--output", type=Path, help="write the tables here as well")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")

    device = "cuda" if torch.cuda.is_available() else "cpu"
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    most_flops = options.most_flops or (1e13 if device == "cuda" else 1.5e9)
    torch.set_num_threads(1)
    dtypes = (options.dtypes or ("bfloat16" if device == "cuda" else "float32")).split(",")
    tool = Tool((REPOSITORY / options.build).resolve())
    lines, parts = [], []
    with tempfile.TemporaryDirectory(prefix="commute-benchmark-") as folder:
        folder = Path(folder)
        target = options.target
        if target is None:
            target = folder / "local.json"
            # Two ranks are the fewest; each has one thread on two cores, as PyTorch here.
            tool.run("calibrate", "-o", target, "--ranks=2")
            write_target(target, target)
        for dtype, kind in itertools.product(dtypes, options.kinds.split(",")):
            points = []
            begin = time.monotonic()
            for sizes in itertools.product(*GRIDS[device].values()):
                if 2.0 * math.prod(sizes[:3]) > most_flops:
                    continue
                if time.monotonic() - begin > options.seconds:
                    print("the rest of the grid is left out: no time", flush=True)
                    break
                function, inputs = make_point(kind, *sizes, DTYPES[dtype], device)
                modules, estimates = make_forms(tool, target, function, inputs, folder)
                with torch.no_grad():
                    turns = measure(modules, inputs, options.repetitions, synchronize)
                points.append(Point(sizes, turns, estimates))
            where = torch.cuda.get_device_name() if device == "cuda" else (
                f"CPU, {torch.get_num_threads()} threads"
            )  # fmt: skip
            parts.append(report(f"{kind}, {dtype}, {where}", points, lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")
    sys.exit(0 if all(part >= BAR for part in parts) else 1)


if __name__ == "__main__":
    main()
