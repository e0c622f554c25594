#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Plants faults into correct parallel programs, and asks `commute verify` for each.

    COMMUTE_BUILD=build/release .venv/bin/python zoo/campaign.py --faults 300

Each fault is judged by PyTorch in float64 first: one that changes nothing is dropped. The
table shows how many were found, and how often the op that is named is within one op of
the fault (a collective and its wait are one op).
"""

import argparse
import collections
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / os.environ.get("COMMUTE_BUILD", "build/release")
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "python" / "tests"), str(BUILD / "python")]

from zoo.common import faults, judge, verdicts
from zoo.common.cases import DIFFERENT, Captured
from zoo.pairs import load_pairs


def is_fault(faulty):
    """Whether PyTorch sees a difference, or ranks that do not fit together."""
    try:
        return faulty.difference() > DIFFERENT
    except judge.JudgeError:
        return True


def planted(count, seed, largest):
    """Distinct faults in turn over the pairs, each with the captured pair."""
    generator = random.Random(seed)
    captured = [
        case.capture() for case in load_pairs().values() if case.world_size <= largest
    ]  # fmt: skip
    seen, found = set(), 0
    while found < count:
        for pair in captured:
            fault = faults.plant(pair, generator)
            key = (pair.case.name, str(fault))
            if fault is None or key in seen:
                continue
            seen.add(key)
            faulty = Captured(pair.case, pair.reference, fault.modules)
            try:
                if not is_fault(faulty):
                    continue
            except Exception:
                # A kernel refuses the numbers: that would not be silent.
                continue
            yield pair, fault, faulty
            found += 1
            if found == count:
                return


def is_named(fault, verdict):
    """Whether the named op is within one op of the fault, in any rank's program."""
    return any(
        verdict.node in faults.near(module, sites)
        for module, sites in zip(fault.modules, fault.sites)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=4, help="ranks of the pairs")
    parser.add_argument("--log", type=Path, help="a line of JSON for each fault")
    arguments = parser.parse_args()
    kinds = collections.defaultdict(collections.Counter)
    log = arguments.log.open("w") if arguments.log else None
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="commute-campaign-") as folder:
        for pair, fault, faulty in planted(arguments.faults, arguments.seed, arguments.largest):
            verdict = verdicts.verify(faulty, folder)
            outcome = {0: "missed", 1: "found", 4: "not proven"}.get(verdict.exit_code, "error")
            kinds[fault.kind][outcome] += 1
            named = outcome == "found" and is_named(fault, verdict)
            kinds[fault.kind]["named"] += named
            if log:
                entry = {"pair": pair.case.name, "fault": str(fault), "outcome": outcome,
                         "named": named, "difference": verdict.difference}  # fmt: skip
                log.write(json.dumps(entry) + "\n")
                log.flush()
            if outcome != "found":
                print(f"{outcome}: {pair.case.name}: {fault}\n{verdict.text[:400]}")
            for path in Path(folder).iterdir():
                path.unlink()
    print_table(kinds, time.monotonic() - start)


def print_table(kinds, seconds):
    total = sum(kinds.values(), collections.Counter())
    print("| fault | planted | found | named within one op |\n|---|---|---|---|")
    for kind, counts in [*sorted(kinds.items()), ("all", total)]:
        planted_count = sum(counts.values()) - counts["named"]
        print(f"| {kind.replace('_', ' ')} | {planted_count} | {counts['found']} | {counts['named']} |")
    print(f"\n{seconds:.0f} s")


if __name__ == "__main__":
    main()
