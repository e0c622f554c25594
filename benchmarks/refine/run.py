# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How long `commute verify --reference` takes on deep models and many ranks.

Checks decoders of Llama's shapes on a mesh of data and tensor parallelism against the same
decoder on one device, on one core. Prints processor time and memory against the bars, and
the growth with layers and with ranks.
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

# Name, shape, layers, tp, dp, seconds, bytes.
BARS = (
    ("Llama-70B, TP8", LLAMA_70B, 80, 8, 1, 5.0, 2**30),
    ("Llama-405B, TP8 x DP2", LLAMA_405B, 126, 8, 2, 15.0, 4 * 2**30),
)
LAYERS = (10, 20, 40, 80)
RANKS = ((2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 8))

# In a small process: a child starts with the memory of the one it is forked of.
MEASURE = """
import resource, subprocess, sys
process = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
print(process.stdout.decode())
"""


def measure(tool, folder, shape, layers, tp, dp):
    """Seconds of processor time and peak bytes of one proof, on one core."""
    arguments = write(folder, shape, layers, batch=2 * dp, tp=tp, dp=dp)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dist", help="build folder")
    parser.add_argument("--quick", action="store_true", help="the bars alone")
    arguments = parser.parse_args()
    tool = REPOSITORY / arguments.build / "bin" / "commute"
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        print("model                    ranks  layers      s     bar     MiB     bar")
        for name, shape, layers, tp, dp, most_seconds, most_bytes in BARS:
            seconds, memory = measure(tool, folder, shape, layers, tp, dp)
            print(
                f"{name:24} {tp * dp:5} {layers:7} {seconds:6.2f} {most_seconds:7.2f}"
                f" {memory >> 20:7} {most_bytes >> 20:7}"
            )
            missed += seconds > most_seconds or memory > most_bytes
        if not arguments.quick:
            for layers in LAYERS:
                seconds, memory = measure(tool, folder, LLAMA_70B, layers, 8, 1)
                print(
                    f"{'Llama-70B, TP8':24} {8:5} {layers:7} {seconds:6.2f} {'':7} {memory >> 20:7}"
                )
            for tp, dp in RANKS:
                seconds, memory = measure(tool, folder, LLAMA_8B, 32, tp, dp)
                name = f"Llama-8B, TP{tp} x DP{dp}"
                print(f"{name:24} {tp * dp:5} {32:7} {seconds:6.2f} {'':7} {memory >> 20:7}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
