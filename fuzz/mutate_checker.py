#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Removes one condition, case or law of the checker at a time: which tests notice?

A mutant is a source of lib/Equivalence with one of these changes:

    if      an early `return` or `continue` is never taken
    case    a `case` of a switch that returns is that of the default
    and     one side of a conjunction is dropped

It is built, and the tests of the checker run: the unit tests, then those of test/Equivalence, then
pairs of random programs. A mutant that no test notices is a survivor: it needs a test, or the code
is dead. The result of each mutant is a line of build/mutants.jsonl; a later run goes on where this
one ended. Sources are restored even if the run is killed: by the next one.

    fuzz/mutate_checker.py --seconds=3600 --files='PositionNumbers|Thresholds'
    fuzz/mutate_checker.py --report
"""

import argparse
import collections
import dataclasses
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "lib" / "Equivalence"
RESULTS = ROOT / "build" / "mutants.jsonl"
BACKUP = ROOT / "build" / "mutated-source.json"


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    kind: str
    start: int
    end: int
    replacement: str
    before: str

    @property
    def key(self) -> str:
        """The same as long as the code is, wherever it stands."""
        text = f"{self.file}\n{self.kind}\n{self.before}\n{self.replacement}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        first = " ".join(self.before.split())
        return f"{self.file}:{self.line} {self.kind}: {first[:100]}"


def closing(text: str, start: int) -> int:
    """The index of the parenthesis that closes the one at `start`; -1 if there is none."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return -1


def conjuncts(condition: str) -> list[tuple[int, int]]:
    """The sides of a conjunction, as ranges, if it is one on its outermost level."""
    depth, begin, sides = 0, 0, []
    index = 0
    while index < len(condition):
        letter = condition[index]
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if depth == 0 and condition.startswith("||", index):
            return []
        if depth == 0 and condition.startswith("&&", index):
            sides.append((begin, index))
            begin = index = index + 2
            continue
        index += 1
    return [*sides, (begin, len(condition))] if sides else []


def find_mutants(path: Path) -> list[Mutant]:
    text = path.read_text(encoding="utf-8")
    found: list[Mutant] = []

    def add(kind: str, start: int, end: int, replacement: str) -> None:
        line = text.count("\n", 0, start) + 1
        found.append(Mutant(path.name, line, kind, start, end, replacement, text[start:end]))

    for match in re.finditer(r"^ *(?:\} else )?if (\()", text, re.MULTILINE):
        opening = match.start(1)
        close = closing(text, opening)
        condition = text[opening + 1 : close]
        if close < 0 or condition.startswith("constexpr"):
            continue
        # A declaration in the condition is still needed.
        declares = re.match(r"(?:const )?(?:auto|[\w:<>,* ]+?) [*&]?\w+ = ", condition)
        body = text[close + 1 :].lstrip()
        if not declares and re.match(r"(?:return\b[^;]*;|continue;|\{\s*return\b)", body):
            add("if", opening, close + 1, f"(false && ({condition}))")
        if not declares and ";" not in condition:
            for begin, end in conjuncts(condition):
                at = opening + 1
                add("and", at + begin, at + end, " true ")
    for match in re.finditer(r"^ *case [^;{}]*?:\s+return [^;]*;\n", text, re.MULTILINE):
        # The last one before the end needs no default, which the compiler checks.
        if re.search(r"^ *default:", text[match.end() :], re.MULTILINE):
            add("case", match.start(), match.end(), "")
    return found


def restore() -> None:
    """Restores the source that a killed run has left mutated."""
    if BACKUP.exists():
        saved = json.loads(BACKUP.read_text(encoding="utf-8"))
        Path(saved["path"]).write_text(saved["text"], encoding="utf-8")
        BACKUP.unlink()


def run(command: list[str], seconds: float) -> tuple[bool, str]:
    """Whether a command succeeds, and the end of what it prints."""
    try:
        process = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"took longer than {seconds:g} s"
    return process.returncode == 0, (process.stdout + process.stderr)[-2000:]


def judge(options: argparse.Namespace) -> tuple[str, str]:
    """What became of the mutant in the source, and who noticed."""
    build = str(options.build)
    built, text = run(
        ["ninja", f"-j{options.jobs}", "-C", build, "commute", "EquivalenceTests"], 1800
    )
    if not built:
        return "not built", text.strip().splitlines()[-1] if text.strip() else ""
    tests = [
        ("EquivalenceTests", [f"{build}/unittests/EquivalenceTests", "--gtest_brief=1"]),
        (
            "lit",
            [
                options.lit,
                "-s",
                f"-j{options.jobs}",
                "--max-failures=1",
                f"--filter={options.filter}",
                f"{build}/test/Equivalence",
            ],
        ),
    ]
    if options.pairs:
        pairs = [sys.executable, "fuzz/verify_pairs.py", f"--pairs={options.pairs}"]
        tests.append(("verify_pairs.py", pairs))
    for name, command in tests:
        passed, text = run(command, options.test_seconds)
        if not passed:
            failed = re.findall(r"(?:FAILED\s*\] |FAIL: |Commute :: )([\w./-]+)", text)
            return "noticed", f"{name}: {failed[0] if failed else ''}"
    return "survived", ""


def read_results() -> dict[str, dict]:
    if not RESULTS.exists():
        return {}
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def report(mutants: list[Mutant]) -> None:
    results = read_results()
    known = [(mutant, results[mutant.key]) for mutant in mutants if mutant.key in results]
    counts = collections.Counter(entry["outcome"] for _, entry in known)
    print(f"{len(mutants)} mutants, {len(known)} judged: {dict(counts)}")
    for mutant, entry in known:
        if entry["outcome"] == "survived":
            print(f"survived  {mutant}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--lit", default="/usr/lib/llvm-22/bin/lit")
    parser.add_argument("--seconds", type=float, default=3600, help="ends after so many")
    parser.add_argument("--test-seconds", type=float, default=1200, help="of one kind of tests")
    parser.add_argument("--files", default="", help="a pattern of names of sources")
    parser.add_argument("--kinds", default="if,case", help="of mutants: if, case, and")
    parser.add_argument("--filter", default=".", help="a pattern of lit tests")
    parser.add_argument("--pairs", type=int, default=0, help="of random programs, for each mutant")
    parser.add_argument("--seed", type=int, default=0, help="of the order of mutants")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the mutants and nothing else")
    parser.add_argument("--report", action="store_true", help="print the results and nothing else")
    options = parser.parse_args()
    restore()
    kinds = options.kinds.split(",")
    mutants = [
        mutant
        for path in sorted(SOURCES.glob("*.cpp"))
        if re.search(options.files, path.name)
        for mutant in find_mutants(path)
        if mutant.kind in kinds
    ]
    if options.list:
        print(*mutants, sep="\n")
        return 0
    if options.report:
        report(mutants)
        return 0
    end = time.monotonic() + options.seconds
    # Files in turn, so that a run of any length says something about each.
    random.Random(options.seed).shuffle(mutants)
    results = read_results()
    outcome, who = judge(options)
    if outcome != "survived":
        print(f"the checker as it is fails: {outcome}: {who}", file=sys.stderr)
        return 2
    RESULTS.parent.mkdir(exist_ok=True)
    for mutant in mutants:
        if mutant.key in results or time.monotonic() > end:
            continue
        path = SOURCES / mutant.file
        text = path.read_text(encoding="utf-8")
        BACKUP.write_text(json.dumps({"path": str(path), "text": text}), encoding="utf-8")
        try:
            changed = text[: mutant.start] + mutant.replacement + text[mutant.end :]
            path.write_text(changed, encoding="utf-8")
            outcome, who = judge(options)
        finally:
            restore()
        entry = {"key": mutant.key, "mutant": str(mutant), "outcome": outcome, "by": who}
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        print(f"{outcome:9}  {mutant}  {who}", flush=True)
    run(
        ["ninja", f"-j{options.jobs}", "-C", str(options.build), "commute", "EquivalenceTests"],
        1800,
    )
    report(mutants)
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
