#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Makes docs/measurements.md, and the numbers of the README, of benchmarks/results/*.json.

build_tools/measurements.py            # writes both
build_tools/measurements.py --check    # exits with 1 if they are not up to date
"""

import json
import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results"
PAGE = REPOSITORY / "docs" / "measurements.md"
README = REPOSITORY / "README.md"
BEGIN, END = "<!-- begin: build_tools/measurements.py -->\n", "<!-- end -->"

HEAD = """# Measurements

<!-- Made by build_tools/measurements.py of benchmarks/results/*.json. Do not edit. -->

`make bench` runs the benchmarks in a build without assertions, and writes what they measure to
`benchmarks/results`, of which this page is made. A bar is what was asked for; values that miss it
say so. Seconds are processor time unless said otherwise. Earlier values, and how they were
reached, are in the history of this file.
"""


def claims():
    found = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")]
    return sorted(found, key=lambda claim: claim["order"])


def section(claim):
    about = f"{claim['about']} Command: `{claim['command']}`."
    lines = [f"## {claim['title']}", "", about, ""]
    lines += ["| what | value | bar | machine, commit, date |", "|---|---|---|---|"]
    for row in claim["rows"]:
        origin = ", ".join(filter(None, (row["machine"], row["commit"], row["date"])))
        lines.append(f"| {row['what']} | {row['value']} | {row['bar']} | {origin} |")
    return "\n".join(lines) + "\n"


def page():
    return "\n".join([HEAD, *map(section, claims())])


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def readme():
    bullets = [
        f"- {claim['readme'].format(**claim['numbers'])}\n"
        f"  ([source](docs/measurements.md#{anchor(claim['title'])})).\n"
        for claim in claims()
        if "readme" in claim
    ]
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END, 1)
    return before + BEGIN + "".join(bullets) + END + after


def main():
    wanted = {PAGE: page(), README: readme()}
    if sys.argv[1:] == ["--check"]:
        stale = [path.name for path, text in wanted.items() if path.read_text() != text]
        if stale:
            print(f"run build_tools/measurements.py: {', '.join(stale)} is not up to date")
        return 1 if stale else 0
    if sys.argv[1:]:
        print("usage: measurements.py [--check]", file=sys.stderr)
        return 2
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
