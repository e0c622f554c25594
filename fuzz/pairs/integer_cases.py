# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Runs `commute verify` over folders of pairs that are known to differ.

    fuzz/pairs/integer_cases.py /work/shared/cases/integers /work/shared/cases/references

A folder holds pairs NAME.A.pt2 and NAME.B.pt2, or folders of a program of one device
(reference.pt2), those of ranks (rank.pt2 of all, or rank0.pt2, rank1.pt2, ...) and
relations.json, or what verify_pairs.py leaves of its failures. Prints the verdict of each. Exit code 1 if one of them is
"equivalent" or "refines", for all integers; 2 if one of them could not be verified.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("COMMUTE_BUILD", "build/release")
ACCEPTED = ("equivalent", "refines")


def find_cases(folder):
    """Name -> arguments of `commute verify`."""
    cases = {}
    for first in sorted(folder.glob("*.A.pt2")):
        name = first.name.removesuffix(".A.pt2")
        cases[name] = [first, first.with_name(f"{name}.B.pt2")]
    for first in sorted(folder.glob("**/A.pt2")):
        name = str(first.parent.relative_to(folder))
        cases[name] = [first, first.with_name("B.pt2")]
    for reference in sorted(folder.glob("**/reference.pt2")):
        place = reference.parent
        ranks = sorted(
            place.glob("rank*.pt2"),
            key=lambda path: int("0" + "".join(re.findall(r"\d", path.stem))),
        )
        name = str(place.relative_to(folder)) if place != folder else place.name
        cases[name] = [f"--reference={reference}", *ranks]
        if (place / "relations.json").exists():
            cases[name].append(f"--relations={place / 'relations.json'}")
    return cases


def verify(program, arguments, seconds):
    """The verdict; and the grade, or what `commute` says."""
    command = [str(program), "verify", "--json", f"--proof-time={seconds}s", *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(process.stdout)
    except ValueError:
        return "error", process.stderr.strip() or f"exit code {process.returncode}"
    if "verdict" not in report:
        return "error", process.stderr.strip() or process.stdout.strip()
    said = "; ".join(d["message"] for d in report.get("differences", []) if "message" in d)
    return report["verdict"], report.get("grade") or report.get("not_proven") or said


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--commute", type=Path, default=BUILD / "bin" / "commute")
    parser.add_argument("--proof-time", type=int, default=60, help="seconds for each proof")
    parser.add_argument("--results", type=Path, help="a JSON file for all verdicts")
    options = parser.parse_args(arguments)
    counts, results = collections.Counter(), {}
    for folder in options.folders:
        cases = find_cases(folder)
        if not cases:
            parser.error(f"no pairs in {folder}")
        for name, given in cases.items():
            verdict, said = verify(options.commute, given, options.proof_time)
            shown = f"{verdict} ({said})" if verdict in ACCEPTED and said == "drawn" else verdict
            counts[shown] += 1
            results[f"{folder.name}/{name}"] = {"verdict": shown, "said": said}
            print(f"{shown:16} {folder.name}/{name}{f': {said}' if said else ''}", flush=True)
    wrong = sum(counts[name] for name in ACCEPTED)
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    print(f"{wrong} of {sum(counts.values())} called equivalent, but they differ")
    if options.results:
        document = {"generator": "cases", "build": str(options.commute), "pairs": results}
        options.results.write_text(json.dumps(document, indent=1))
    return 1 if wrong else 2 if counts["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
