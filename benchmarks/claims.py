# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Measured values, kept as JSON in benchmarks/results.

A benchmark records what it measured, and docs/measurements.md and the numbers of the README
are made of these files by build_tools/measurements.py:

    claim = Claim("verify")
    claim.record("80 layers", "0.54 s", bar="5 s")
    claim.save()

A claim is a file with a title, a paragraph about what is measured, and the command. Values
that are not measured again keep their machine, commit and date.
"""

import datetime
import json
import re
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).resolve().parent / "results"


def machine():
    """The processor and the number of cores that this process may use."""
    import os

    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    name = re.sub(r"\(R\)|\(TM\)| CPU| Processor|@.*", "", found[1]).strip() if found else "unknown"
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def commit():
    """The commit that is checked out; with a + if files were changed since."""

    def git(*arguments):
        command = ["git", "-C", str(REPOSITORY), *arguments]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "lib", "include", "tools")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


class Claim:
    def __init__(self, name):
        self.path = RESULTS / f"{name}.json"
        self.content = json.loads(self.path.read_text(encoding="utf-8"))

    def record(self, what, value, bar="", **numbers):
        """Notes a value, as text. `numbers` are those that the sentence of the README has."""
        row = {"what": what, "value": value, "bar": bar, "machine": machine(),
               "commit": commit(), "date": datetime.date.today().isoformat()}  # fmt: skip
        rows = self.content["rows"]
        for index, old in enumerate(rows):
            if old["what"] == what:
                rows[index] = row
                break
        else:
            rows.append(row)
        self.content.setdefault("numbers", {}).update(numbers)

    def save(self):
        text = json.dumps(self.content, indent=1, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")
