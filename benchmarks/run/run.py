# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute run` against PyTorch: a matmul-bound block, same machine and threads.

A gated MLP of 1024 tokens, hidden size 2048, 5504 wide: rms_norm, three
matrix products, silu, residual. Bar: at least as fast as PyTorch's CPU kernels.
Times are the shortest of several repetitions, taken in turns.

    benchmarks/run/run.py --build build/release
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from claims import Claim

TOKENS, HIDDEN, WIDE = 1024, 2048, 5504
REPETITIONS = 5
ROUNDS = 3

MODULE = """
func.func @main(%x: tensor<{T}x{H}x{E}>, %norm: tensor<{H}x{E}>, %gate: tensor<{W}x{H}x{E}>,
                %up: tensor<{W}x{H}x{E}>, %down: tensor<{H}x{W}x{E}>) -> tensor<{T}x{H}x{E}> {{
  %0 = tp.rms_norm %x weight %norm epsilon 1.0e-05 dims 1
    : (tensor<{T}x{H}x{E}>, tensor<{H}x{E}>) -> tensor<{T}x{H}x{E}>
  %1 = tp.matmul %0, %gate transpose_rhs
    : (tensor<{T}x{H}x{E}>, tensor<{W}x{H}x{E}>) -> tensor<{T}x{W}x{E}>
  %2 = tp.map silu(%1) : (tensor<{T}x{W}x{E}>) -> tensor<{T}x{W}x{E}>
  %3 = tp.matmul %0, %up transpose_rhs
    : (tensor<{T}x{H}x{E}>, tensor<{W}x{H}x{E}>) -> tensor<{T}x{W}x{E}>
  %4 = tp.map mul(%2, %3) : (tensor<{T}x{W}x{E}>, tensor<{T}x{W}x{E}>) -> tensor<{T}x{W}x{E}>
  %5 = tp.matmul %4, %down transpose_rhs
    : (tensor<{T}x{W}x{E}>, tensor<{H}x{W}x{E}>) -> tensor<{T}x{H}x{E}>
  %6 = tp.map add(%x, %5) : (tensor<{T}x{H}x{E}>, tensor<{T}x{H}x{E}>) -> tensor<{T}x{H}x{E}>
  return %6 : tensor<{T}x{H}x{E}>
}}
"""

ELEMENTS = {"f32": torch.float32, "bf16": torch.bfloat16}


def run_ours(tool, module, threads):
    command = [tool, "run", module, "--json", f"--threads={threads}", f"--repeat={REPETITIONS}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["seconds"]


# In a process of its own, so that neither's threads are in the other's way.
PYTORCH = """
import sys, time, torch
from torch.nn import functional as F
tokens, hidden, wide, repetitions, threads = map(int, sys.argv[1:6])
dtype = getattr(torch, sys.argv[6])
torch.set_num_threads(threads)
draw = lambda *sizes: (torch.randn(sizes) * 0.02).to(dtype)
x, norm = draw(tokens, hidden), draw(hidden)
gate, up, down = draw(wide, hidden), draw(wide, hidden), draw(hidden, wide)
best = float("inf")
with torch.no_grad():
    for _ in range(repetitions):
        start = time.perf_counter()
        y = F.rms_norm(x, (hidden,), norm, 1e-5)
        y = x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)
        best = min(best, time.perf_counter() - start)
print(best)
"""


def run_pytorch(python, dtype, threads):
    numbers = [TOKENS, HIDDEN, WIDE, REPETITIONS, threads]
    command = [python, "-c", PYTORCH, *map(str, numbers), str(dtype).removeprefix("torch.")]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    tool = parser.parse_args().build / "bin" / "commute"
    flops = 6 * TOKENS * HIDDEN * WIDE
    claim = Claim("run")
    print("element  threads  commute [ms]  PyTorch [ms]  PyTorch / commute  commute [Gflop/s]")
    for element, dtype in ELEMENTS.items():
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as module:
            module.write(MODULE.format(T=TOKENS, H=HIDDEN, W=WIDE, E=element))
            module.flush()
            ratios, times = [], []
            numbers = (1, torch.get_num_threads())
            for threads in numbers:
                ours, theirs = [], []
                for _ in range(ROUNDS):
                    ours.append(run_ours(tool, module.name, threads))
                    theirs.append(run_pytorch(sys.executable, dtype, threads))
                a, b = min(ours), min(theirs)
                ratios.append(b / a)
                times.append(a)
                print(
                    f"{element:7}  {threads:7}  {a * 1e3:12.1f}  {b * 1e3:12.1f}"
                    f"  {b / a:17.2f}  {flops / a * 1e-9:17.0f}",
                    flush=True,
                )
            claim.record(
                f"{element}, {' and '.join(map(str, numbers))} threads",
                f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} times as fast"
                f" ({', '.join(f'{1e3 * seconds:.0f}' for seconds in times)} ms)",
                "1" if min(ratios) >= 1 else "1: missed",
            )
    claim.save()


if __name__ == "__main__":
    main()
