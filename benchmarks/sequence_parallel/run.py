# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What `sequence-parallel` takes, and what it gives, on Llama-70B's shape.

The pass: processor time for each op, from 10^4 to 10^6 ops, on one core, of a
program that is rewritten as a whole (4096 tokens), and of one of which every
all_reduce is refused (64 tokens). It must not grow with the size of the program.

The result: what `commute estimate` says of a step, its exposed communication and
its memory for activations, before and after, for prefill of 512 to 32768 tokens
on every built-in target. Where the pass leaves the program alone, under the
default policy, the numbers in brackets are those of --policy=always.

    benchmarks/sequence_parallel/run.py --build build/release
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from claims import Claim  # noqa: E402
from llama_70b import RANKS, write_deep  # noqa: E402

OPTIONS = dict(reduces_first=True, dtype=torch.bfloat16)

NUMBERS_OF_OPS = (10**4, 10**5, 10**6)
OPS_IN_A_LAYER = 38
# Memory that no cache holds is slower: not more than that may be lost.
GROWTH_BAR = 3.0

LAYERS = 80
# Alone: not priced for what micro-pipeline would make of it (benchmarks/passes).
PASSES = "--passes=sequence-parallel{pipelined=false}"
TOKENS = (512, 1024, 2048, 4096, 8192, 16384, 32768)


# In a small process: a child starts with the memory of the one it is forked of.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
"""


def use_one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def measure(*command):
    """Seconds of processor time and peak bytes of a command, on one core."""
    process = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, *map(str, command)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=use_one_core,
    )
    code, seconds, peak = process.stdout.split()
    if code != "0":
        sys.exit(f"exit code {code} of {command}")
    return float(seconds), int(peak)


def measure_pass(tool, path, repeat):
    """Of the pass alone: the least of several, less reading and writing."""
    pipeline = "--pass-pipeline=builtin.module({})"
    work, peak = min(
        measure(tool, path, pipeline.format("func.func(sequence-parallel)")) for _ in range(repeat)
    )
    rest, _ = min(measure(tool, path, pipeline.format("")) for _ in range(repeat))
    return work - rest, peak


def run_growth(tool, folder):
    print("| ops | tokens | seconds | us per op | peak MiB |\n|---|---|---|---|---|", flush=True)
    passes = True
    claim = Claim("sequence_parallel")
    for tokens in (4096, 64):
        by_size = []
        for ops in NUMBERS_OF_OPS:
            path = folder / "deep.mlir"
            count = write_deep(path, ops // OPS_IN_A_LAYER, tokens, **OPTIONS)
            seconds, peak = measure_pass(tool, path, repeat=3 if ops < 10**6 else 2)
            by_size.append(seconds / count)
            if tokens == 4096 and ops in (NUMBERS_OF_OPS[0], NUMBERS_OF_OPS[-1]):
                claim.record(
                    f"microseconds per op, {count} ops, {tokens} tokens",
                    f"{1e6 * by_size[-1]:.1f}",
                    "" if len(by_size) == 1 else f"{GROWTH_BAR} times as many at 100 times the ops",
                )
            print(
                f"| {count} | {tokens} | {seconds:.2f} | {1e6 * by_size[-1]:.1f} "
                f"| {peak / 2**20:.0f} |",
                flush=True,
            )
        growth = by_size[-1] / by_size[0]
        passes &= growth <= GROWTH_BAR
        print(
            f"{tokens} tokens: {growth:.2f} times the time for each op at 100 times the ops, of "
            f"at most {GROWTH_BAR}: {'pass' if growth <= GROWTH_BAR else 'FAIL'}",
            flush=True,
        )
    claim.save()
    return passes


def call(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def describe(before, after, key, scale):
    return f"{before[key] * scale:.1f} -> {after[key] * scale:.1f}"


def run_model(tool, folder):
    source, target_path = folder / "before.mlir", folder / "after.mlir"
    targets = [target["name"] for target in call(tool, "targets", "--json")["targets"]]
    print(
        "| target | tokens | rewritten | step [ms] | exposed communication [ms] "
        "| activations [MiB] |\n" + 6 * "|---" + "|"
    )
    for target in targets:
        for tokens in TOKENS:
            write_deep(source, LAYERS, tokens, **OPTIONS)
            before = call(tool, "estimate", source, f"--target={target}", "--json")

            def optimize(policy, target=target):
                call(
                    tool, "opt", source, "-o", target_path, "--json", f"--target={target}",
                    f"--policy={policy}", PASSES,
                )  # fmt: skip
                estimate = call(tool, "estimate", target_path, f"--target={target}", "--json")
                return "tp.all_reduce" not in target_path.read_text(), estimate

            is_rewritten, after = optimize("profitable")
            if not is_rewritten:
                _, after = optimize("always")
            numbers = [
                describe(before, after, "step_seconds", 1e3),
                describe(before, after, "exposed_communication_seconds", 1e3),
                describe(before, after, "peak_activation_bytes", 2**-20),
            ]
            if not is_rewritten:
                numbers = [f"({text})" for text in numbers]
            row = [target, str(tokens), "yes" if is_rewritten else "no", *numbers]
            print(f"| {' | '.join(row)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--only", choices=("pass", "result"), help="one of the two parts")
    arguments = parser.parse_args()
    tools = (arguments.build / "bin").resolve()
    passes = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.only != "result":
            print("sequence-parallel under the default policy, one core, processor time")
            passes = run_growth(tools / "commute-opt", folder)
            print()
        if arguments.only != "pass":
            print(f"Llama-70B's shape, {LAYERS} layers, bf16, {RANKS} ranks")
            run_model(tools / "commute", folder)
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
