# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Which pairs got another verdict: of two result files, or of two builds.

    fuzz/verify_pairs.py --generator planted --pairs 2000 --results before.json
    fuzz/pairs/verdict_changes.py before.json after.json
    fuzz/pairs/verdict_changes.py --builds build/before build/release --generator planted \\
        --pairs 2000

With `--builds` of one build and `--prover-seeds` of two, verdicts that rest on what is drawn.
Exit code 1 if a verdict became wrong.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
WRONG = ("false equivalent", "false different", "error", "crash")


def run(build, seed, options, path):
    """The results of a build; what the campaign itself prints is not needed."""
    command = [
        sys.executable, str(REPOSITORY / "fuzz" / "verify_pairs.py"), "--results", str(path),
        f"--generator={options.generator}", f"--pairs={options.pairs}",
        f"--first-seed={options.first_seed}", "--folder", str(path.with_suffix("")),
        f"--prover-seed={seed}",
    ]  # fmt: skip
    environment = {**os.environ, "COMMUTE_BUILD": str(Path(build).resolve())}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
    return json.loads(path.read_text())


def outcome_of(entry):
    """What came of a pair; of a case whose truth is known beforehand, its verdict."""
    return entry.get("outcome", entry["verdict"])


def find_changes(before, after):
    """(name, kind, outcome before, outcome after), of pairs that are in both."""
    return [
        (name, entry.get("kind", ""), outcome_of(entry), outcome_of(after["pairs"][name]))
        for name, entry in before["pairs"].items()
        if name in after["pairs"]
        and (outcome_of(entry), entry["verdict"])
        != (outcome_of(after["pairs"][name]), after["pairs"][name]["verdict"])
    ]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="*", help="two result files")
    parser.add_argument("--builds", nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--prover-seeds", nargs=2, type=int, default=(1, 1))
    parser.add_argument("--generator", default="planted")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if bool(options.builds) == bool(options.results) or len(options.results) not in (0, 2):
        parser.error("either two result files or --builds is needed")
    if options.builds:
        with tempfile.TemporaryDirectory() as folder:
            before, after = (
                run(build, seed, options, Path(folder) / f"{name}.json")
                for name, build, seed in zip(
                    ("before", "after"), options.builds, options.prover_seeds
                )
            )
    else:
        before, after = (json.loads(path.read_text()) for path in options.results)
    if before["generator"] != after["generator"]:
        parser.error(f"results of {before['generator']} and of {after['generator']} pairs")
    changes = find_changes(before, after)
    for name, kind, old, new in changes:
        print(f"{name}{f' ({kind})' if kind else ''}: {old} -> {new}")
    both = len(before["pairs"].keys() & after["pairs"].keys())
    print(f"{len(changes)} of {both} verdicts changed")
    for (old, new), count in collections.Counter(c[2:] for c in changes).most_common():
        print(f"  {count:7} {old} -> {new}")
    return 1 if any(new in WRONG and old not in WRONG for _, _, old, new in changes) else 0


if __name__ == "__main__":
    sys.exit(main())
