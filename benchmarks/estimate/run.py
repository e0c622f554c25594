# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute estimate` for the target `local` against `commute run`.

Calibrates this machine for 2 and for 4 ranks, each into a file of its own, and
then estimates and runs, on as many ranks, the fixtures and larger models. The
number to look at is estimate / run. Where run refuses a program, its message is
shown instead. Run times are the shortest of several, of the slowest rank.

    benchmarks/estimate/run.py --build build/release
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

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


def compare(tool, target, name, path):
    """Prints one row; the ratio, or None where there is none."""
    estimate = call(tool, "estimate", path, f"--target={target}", "--json")
    if estimate.returncode:
        sys.exit(estimate.stderr)
    expected = json.loads(estimate.stdout)
    # About a second for each program, and never fewer than 3 runs.
    repeat = max(3, min(300, int(0.5 / expected["step_seconds"])))
    run = call(tool, "run", path, "--weights=seeded", f"--repeat={repeat}", "--json")
    if run.returncode:
        message = run.stderr.strip().splitlines()[-1].split(": ", 2)[-1]
        print(f"{name:50}  not run: {message[:90]}", flush=True)
        return None
    actual = json.loads(run.stdout)["seconds"]
    ratio = expected["step_seconds"] / actual
    guesses = " (has opaque ops)" if any(op["is_guess"] for op in expected["ops"]) else ""
    print(
        f"{name:50}  {expected['step_seconds'] * 1e3:12.3f}  {actual * 1e3:9.3f}"
        f"  {ratio:14.2f}{guesses}",
        flush=True,
    )
    return ratio


def summarize(what, ratios):
    errors = sorted(abs(math.log(ratio)) for ratio in ratios)
    if errors:
        median = math.exp(errors[len(errors) // 2])
        print(f"{what}: off by a factor of {median:.2f} (median), {math.exp(errors[-1]):.2f} (most)")


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
            print(f"{'program':50}  estimate [ms]   run [ms]  estimate / run")
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
            summarize(f"fixtures, {ranks} ranks", [ratio for ratio in small if ratio])
            summarize(f"larger models, {ranks} ranks", [ratio for ratio in large if ratio])
            print()


if __name__ == "__main__":
    main()
