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
for path in (BUILD / "python", REPOSITORY / "python" / "tests", REPOSITORY):
    sys.path.insert(0, str(path))

from zoo.common import faults, judge, verdicts  # noqa: E402
from zoo.common.cases import DIFFERENT, EQUAL, Captured  # noqa: E402
from zoo.pairs import load_pairs  # noqa: E402


def is_fault(faulty):
    """Whether PyTorch sees a difference, or ranks that do not fit together."""
    try:
        return faulty.difference() > DIFFERENT
    except judge.JudgeError:
        return True


def proven_pairs(largest, folder):
    """The captured pairs that Commute proves. In the others it would find any fault."""
    captured = [case.capture() for case in load_pairs().values() if case.world_size <= largest]
    return [
        pair
        for number, pair in enumerate(captured)
        if verdicts.verify(pair, folder / str(number)).exit_code == 0
    ]


def planted(captured, count, seed):
    """Distinct faults in turn over the pairs, each with the captured pair."""
    generator = random.Random(seed)
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
        verdict.nodes & faults.near(module, sites)
        for module, sites in zip(fault.modules, fault.sites)
    )


def check_pairs():
    """All correct pairs, also those that the tests leave out."""
    pairs = load_pairs().values()
    refuted = 0
    with tempfile.TemporaryDirectory(prefix="commute-campaign-") as folder:
        for number, case in enumerate(pairs):
            program = case.capture()
            assert program.difference() < EQUAL, case.name
            verdict = verdicts.verify(program, Path(folder) / str(number))
            if verdict.exit_code != 0:
                refuted += 1
                print(f"{case.name}: exit code {verdict.exit_code}: {verdict.explanation}")
    print(f"{len(pairs) - refuted} of {len(pairs)} correct pairs refine their reference")
    return 1 if refuted else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=4, help="ranks of the pairs")
    parser.add_argument("--log", type=Path, help="a line of JSON for each fault")
    parser.add_argument("--pairs", action="store_true", help="check the correct pairs instead")
    arguments = parser.parse_args()
    if arguments.pairs:
        return check_pairs()
    kinds = collections.defaultdict(collections.Counter)
    log = arguments.log.open("w") if arguments.log else None
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="commute-campaign-") as temporary:
        pairs = proven_pairs(arguments.largest, Path(temporary))
        print(f"faults in {len(pairs)} correct pairs")
        folder = Path(temporary) / "faulty"
        for pair, fault, faulty in planted(pairs, arguments.faults, arguments.seed):
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
            for path in folder.iterdir():
                path.unlink()
    print_table(kinds, time.monotonic() - start)
    return 0 if all(set(counts) <= {"found", "named"} for counts in kinds.values()) else 1


def print_table(kinds, seconds):
    total = sum(kinds.values(), collections.Counter())
    print("| fault | planted | found | named within one op |\n|---|---|---|---|")
    for kind, counts in [*sorted(kinds.items()), ("all", total)]:
        planted_count = sum(counts.values()) - counts["named"]
        print(
            f"| {kind.replace('_', ' ')} | {planted_count} | {counts['found']} | {counts['named']} |"
        )
    print(f"\n{seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
