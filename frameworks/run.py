#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Verifies models of frameworks on two ranks, and planted faults in them; see
docs/verify-frameworks.md. Prints a table, and exits with 1 if a verdict is not as expected.

    frameworks/run.py [NAME...]
"""

import importlib
import inspect
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
warnings.filterwarnings("ignore")

import commute.torch  # noqa: E402 (the filter comes first)

# By framework, its factories: the expected verdict, and options of `check`; of planted faults,
# a part of the path of the file that the finding must name.
LOSS = {"backward": True}
CASES = {
    "megatron": {
        "gpt": ("refines", LOSS),
        "swiglu": ("refines", LOSS),
        "sequence_parallel": ("refines", LOSS),
        "forgotten_reduction": ("does not refine", {}, "/megatron/"),
        "wrong_shard": ("does not refine", {}, "/megatron/"),
        "wrong_scale": ("does not refine", {}, "/megatron/"),
    },
    "fairscale": {
        "llama": ("refines", {}),
        "vocabulary": ("refines", {}),
        "forgotten_gather": ("does not refine", {}, "/fairscale"),
        "forgotten_reduction": ("does not refine", {}, "/fairscale"),
        "wrong_scale": ("does not refine", {}, "/fairscale"),
    },
    "peft": {
        "column": ("refines", {}),
        "row": ("does not refine", {}, "/peft/"),
    },
    "torchtitan": {
        "qwen3": ("refines", {}),
    },
}


def _lines(factory):
    """The lines that a user writes: the body of a factory, without its docstring."""
    lines = inspect.getsource(factory).split("\n")[1:]
    return sum(bool(line.strip()) and not line.strip().startswith('"""') for line in lines)


def _run(framework, name, expected, options, place=""):
    module = importlib.import_module(f"frameworks.{framework}_models")
    factory = getattr(module, name)
    start = time.perf_counter()
    captured, finding = "yes", ""
    try:
        result = commute.torch.check(factory, world=2, **options)
        verdict = result.verdict
        if result.differences:
            finding = result.differences[0].get("file", "")
            finding += f":{result.differences[0].get('line', '')}"
    except commute.torch.CommuteError as error:
        captured, verdict, finding = "no", "", str(error)
    seconds = time.perf_counter() - start
    is_right = verdict == expected and place in finding
    print(
        f"| {framework} {name} | {captured} | {verdict} | {seconds:.1f} s | {_lines(factory)} |"
        f" {finding[-200:]} |{'' if is_right else f' expected: {expected} {place}'}",
        flush=True,
    )
    return is_right


def main(wanted):
    print("| model | captured | verdict | time | lines | finding |\n|---|---|---|---|---|---|")
    failed = 0
    for framework, cases in CASES.items():
        for name, case in cases.items():
            if not wanted or framework in wanted or f"{framework}.{name}" in wanted:
                failed += not _run(framework, name, *case)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
