# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How long `commute verify --reference` takes on deep models and many ranks.

Checks decoders of Llama's shapes on a mesh of data and tensor parallelism against the same
decoder on one device, on one core; and forward and backward of a model of transformers, with
its loss, as `commute.capture` writes them. Prints processor time and memory against the bars,
and the growth with layers and with ranks.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from parallel_llama import LLAMA_8B, LLAMA_70B, LLAMA_405B, write

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from claims import Claim  # noqa: E402

# Name, shape, layers, tp, dp, seconds, bytes.
BARS = (
    ("Llama-70B, TP8", LLAMA_70B, 80, 8, 1, 5.0, 2**30),
    ("Llama-405B, TP8 x DP2", LLAMA_405B, 126, 8, 2, 15.0, 4 * 2**30),
)
# Layers and ranks of forward and backward of Llama-8B, and seconds.
TRAINING_BAR = (32, 2, 15.0)
LAYERS = (10, 20, 40, 80)
LAYERS_OF_TRAINING = (1, 4, 8)
CONFIGURATION = REPOSITORY / "examples" / "llama_8b.json"
TOKENS = 4096
RANKS = ((2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 8))

# In a small process: a child starts with the memory of the one it is forked of.
MEASURE = """
import resource, subprocess, sys
process = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
print(process.stdout.decode())
"""


def measure(tool, arguments):
    """Seconds of processor time and peak bytes of one proof, on one core."""
    command = [sys.executable, "-S", "-c", MEASURE, str(tool), *arguments, "--json"]
    process = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    )
    first, _, report = process.stdout.partition("\n")
    code, seconds, memory = first.split()
    assert code == "0", report
    assert json.loads(report)["verdict"] == "refines"
    return float(seconds), int(memory)


def measure_forward(tool, folder, shape, layers, tp, dp):
    return measure(tool, write(folder, shape, layers, batch=2 * dp, tp=tp, dp=dp))


def measure_training(tool, folder, layers, tp):
    programs = Path(folder, f"training-{layers}-{tp}")
    capture = ["-m", "commute.capture", "--tp", tp, "--seq", TOKENS, "--layers", layers]
    capture += ["--backward", "-o", programs, f"transformers:{CONFIGURATION}"]
    packages = os.pathsep.join(map(str, (tool.parents[1] / "python", REPOSITORY)))
    subprocess.run(
        list(map(str, [sys.executable, *capture])),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": packages},
        check=True,
    )
    return measure(
        tool,
        [
            "verify",
            f"--reference={programs / 'reference.pt2'}",
            *(str(programs / f"rank{rank}.pt2") for rank in range(tp)),
            f"--relations={programs / 'relations.json'}",
            "--proof-time=10min",
        ],
    )


def print_row(claim, name, ranks, layers, measured, most_seconds=None, most_bytes=None):
    """Returns whether a bar is missed. What has a bar is recorded."""
    seconds, memory = measured
    if most_seconds is not None:
        bar = f"{most_seconds:.0f} s" + (f", {most_bytes >> 20} MiB" if most_bytes else "")
        claim.record(f"{name}, {layers} layers", f"{seconds:.2f} s, {memory >> 20} MiB", bar)
    seconds_bar = "" if most_seconds is None else f"{most_seconds:.2f}"
    memory_bar = "" if most_bytes is None else most_bytes >> 20
    print(
        f"{name:24} {ranks:5} {layers:7} {seconds:6.2f} {seconds_bar:>7}"
        f" {memory >> 20:7} {memory_bar:>7}".rstrip()
    )
    return seconds > (most_seconds or seconds) or memory > (most_bytes or memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dist", help="build folder")
    parser.add_argument("--quick", action="store_true", help="the bars alone")
    arguments = parser.parse_args()
    tool = REPOSITORY / arguments.build / "bin" / "commute"
    missed = 0
    claim = Claim("refine")
    with tempfile.TemporaryDirectory() as folder:

        def run_forward(name, shape, layers, tp, dp, *bars):
            measured = measure_forward(tool, folder, shape, layers, tp, dp)
            return print_row(claim, name, tp * dp, layers, measured, *bars)

        def run_training(layers, tp, *bars):
            measured = measure_training(tool, folder, layers, tp)
            return print_row(claim, f"Llama-8B, backward, TP{tp}", tp, layers, measured, *bars)

        print("model                    ranks  layers      s     bar     MiB     bar")
        for bar in BARS:
            missed += run_forward(*bar)
        missed += run_training(*TRAINING_BAR)
        if not arguments.quick:
            for tp in (2, 8):
                for layers in LAYERS_OF_TRAINING:
                    run_training(layers, tp)
            for layers in LAYERS:
                run_forward("Llama-70B, TP8", LLAMA_70B, layers, 8, 1)
            for tp, dp in RANKS:
                run_forward(f"Llama-8B, TP{tp} x DP{dp}", LLAMA_8B, 32, tp, dp)
    claim.save()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
