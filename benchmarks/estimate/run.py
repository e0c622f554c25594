# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute estimate` for the target `local` against `commute run`.

Calibrates this machine for 2 and for 4 ranks, each into a file of its own, and
then estimates and runs, on as many ranks, the fixtures and larger models. The
number to look at is estimate / run. Where run refuses a program, its message is
shown instead. Run times are the shortest of several, of the slowest rank; they
hold only as far as the machine is idle. The processor time of a rank, beside
which stands its ratio to what the estimate has on both lanes, holds more widely.

    benchmarks/estimate/run.py --build build/release
"""

import argparse
import json
import math
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from claims import Claim  # noqa: E402

CLAIM = Claim("estimate")

# Models of the exporter at sizes at which a step takes milliseconds.
LARGER = {
    "llama, hidden 512, 128 tokens": "--model llama --hidden 512 --heads 8 --kv-heads 4"
    " --ffn 1408 --batch 1 --sequence 128",
    "llama, hidden 1024, 512 tokens": "--model llama --hidden 1024 --heads 16 --kv-heads 8"
    " --ffn 2816 --batch 1 --sequence 512",
    "llama, hidden 1024, 512 tokens, bf16": "--model llama --hidden 1024 --heads 16 --kv-heads 8"
    " --ffn 2816 --batch 1 --sequence 512 --dtype bfloat16",
    "llama, hidden 2048, 1024 tokens": "--model llama --hidden 2048 --heads 16 --kv-heads 8"
    " --ffn 5632 --batch 1 --sequence 1024",
    "sequence-parallel llama, hidden 1024, 512 tokens": "--model llama_sequence_parallel"
    " --hidden 1024 --heads 16 --kv-heads 8 --ffn 2816 --batch 1 --sequence 512",
    "gpt2, hidden 768, 512 tokens": "--model gpt2 --hidden 768 --heads 12 --kv-heads 12"
    " --ffn 3072 --batch 1 --sequence 512",
    "bert, hidden 768, 512 tokens": "--model bert --hidden 768 --heads 12 --kv-heads 12"
    " --ffn 3072 --batch 1 --sequence 512",
}


def call(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def export(arguments, ranks, path):
    done = call(
        sys.executable, REPOSITORY / "examples" / "export.py", *arguments.split(),
        "--tp", ranks, "--no-weights", "-o", path,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)


def run_program(tool, path, repeat):
    """The finished process, and its seconds of processor time."""

    def get_processor_seconds():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = get_processor_seconds()
    run = call(tool, "run", path, "--weights=seeded", f"--repeat={repeat}", "--json")
    return run, get_processor_seconds() - before


def compare(tool, target, name, path):
    """Prints one row; the ratios to wall and to processor time, or None."""
    estimate = call(tool, "estimate", path, f"--target={target}", "--json")
    if estimate.returncode:
        sys.exit(estimate.stderr)
    expected = json.loads(estimate.stdout)
    # About a second for each program, and never fewer than 5 runs.
    repeat = max(5, min(1000, int(0.5 / expected["step_seconds"])))
    run, processor = run_program(tool, path, repeat)
    if run.returncode:
        message = run.stderr.strip().splitlines()[-1].split(": ", 2)[-1]
        print(f"{name:50}  not run: {message[:90]}", flush=True)
        return None
    # What reading the program and making its inputs takes is in both.
    _, setup = run_program(tool, path, 1)
    outcome = json.loads(run.stdout)
    processor = max(processor - setup, 0) / (repeat - 1) / outcome["ranks"]
    ratio = expected["step_seconds"] / outcome["seconds"]
    lanes = expected["compute_seconds"] + expected["communication_seconds"]
    guesses = " (has opaque ops)" if any(op["is_guess"] for op in expected["ops"]) else ""
    print(
        f"{name:50}  {expected['step_seconds'] * 1e3:12.3f}  {outcome['seconds'] * 1e3:9.3f}"
        f"  {ratio:14.2f}  {processor * 1e3:14.3f}  {lanes / processor:5.2f}{guesses}",
        flush=True,
    )
    return ratio, lanes / processor


def summarize(what, ratios):
    for name, values in zip(
        ("run", "processor"), zip(*filter(None, ratios), strict=True), strict=True
    ):
        errors = sorted(abs(math.log(value)) for value in values)
        median, most = math.exp(errors[len(errors) // 2]), math.exp(errors[-1])
        # Four ranks take turns on two cores, which says nothing about the estimate.
        if what.startswith("larger") and (name == "processor" or "2 ranks" in what):
            ranks = what.split(", ")[1]
            by = "larger models" if name == "run" else "by processor time"
            CLAIM.record(f"{ranks}, {by}: median, most" if name == "run" else
                         f"{ranks} {by}: median, most", f"{median:.2f}, {most:.2f}")  # fmt: skip
        print(f"{what}, by {name}: off by a factor of {median:.2f} (median), {most:.2f} (most)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    tool = parser.parse_args().build / "bin" / "commute"
    fixtures = sorted((REPOSITORY / "test" / "fixtures").glob("*.pt2"))
    with tempfile.TemporaryDirectory() as folder:
        for ranks in (2, 4):
            target = Path(folder) / f"local{ranks}.json"
            start = time.perf_counter()
            done = call(tool, "calibrate", "-o", target, "--ranks", ranks)
            if done.returncode:
                sys.exit(done.stderr)
            print(f"{ranks} ranks, calibrated in {time.perf_counter() - start:.1f} s")
            print(
                f"{'program':50}  estimate [ms]   run [ms]  estimate / run  processor [ms]  ratio"
            )
            small = [
                compare(tool, target, path.name, path)
                for path in fixtures
                if re.search(rf"_tp{ranks}\b|_tp{ranks}_", path.name)
            ]
            large = []
            for name, arguments in LARGER.items():
                path = Path(folder) / "larger.pt2"
                export(arguments, ranks, path)
                large.append(compare(tool, target, name, path))
            summarize(f"fixtures, {ranks} ranks", small)
            summarize(f"larger models, {ranks} ranks", large)
            print()
    CLAIM.save()


if __name__ == "__main__":
    main()
