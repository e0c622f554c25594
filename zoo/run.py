#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Runs the zoo: PyTorch's judgement and that of `commute verify`, one line for each defect.

Usage:

    .venv/bin/python zoo/run.py                 all defects
    .venv/bin/python zoo/run.py vllm            those whose names contain a word
    .venv/bin/python zoo/run.py --keep out vllm_49122    and leave the archives in a folder
    .venv/bin/python zoo/run.py --readme        write the table of README.md
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / os.environ.get("COMMUTE_BUILD", "build/release")
for path in (BUILD / "python", REPOSITORY / "python" / "tests", REPOSITORY):
    sys.path.insert(0, str(path))

from zoo.common import judge, verdicts  # noqa: E402
from zoo.common.cases import DIFFERENT, EQUAL, ZOO, load_defects  # noqa: E402

BEGIN, END = "<!-- begin: zoo/run.py --readme -->\n", "<!-- end -->\n"


def judgement(program):
    """What PyTorch says: "equal", "differs", or why the ranks do not run together."""
    try:
        difference = program.difference()
    except judge.JudgeError as error:
        return str(error)
    return "equal" if difference < EQUAL else "differs" if difference > DIFFERENT else "unclear"


def report(defect, folder):
    """Prints what both judges say; returns whether it is as it should be, and the verdict on
    the faulty program."""
    is_right = True
    for form in ("mended", "faulty"):
        program = defect.case(form).capture()
        by_torch = judgement(program)
        verdict = verdicts.verify(program, folder / f"{defect.name}_{form}")
        lines = defect.marked_lines()
        if form == "mended":
            is_right &= by_torch == "equal" and verdict.exit_code == 0
        else:
            line = verdict.line_of(f"zoo/{defect.name}/program.py")
            is_right &= by_torch != "equal" and verdict.exit_code == 1 and line in lines
            is_right &= any(word in verdict.explanation for word in defect.says)
        print(f"{defect.name} {form}: PyTorch: {by_torch}; commute verify: {verdict.exit_code}")
        if verdict.difference:
            print(f"  {verdict.difference.get('at')}: {verdict.difference['message']}")
            print(f"  the fault is at {' or '.join(map(str, lines))}")
    return is_right, verdict


def readme_row(defect, verdict, is_right):
    project, number = defect.module.ISSUE
    # The first paragraph of the docstring, which tells what went wrong.
    what = defect.module.__doc__.strip().split("\n\n")[0].rstrip(".").replace("\n", " ")
    says = verdict.difference.get("message", "").replace("|", "\\|")
    line = verdict.difference.get("line")
    if not is_right:
        says = f"**different, but not for this reason:** {says}"
    return (
        f"| {project} | {number} | [`{defect.name}`]({defect.name}/program.py) | {what} |"
        f" line {line}: {says} |"
    )


def write_readme(rows):
    path = ZOO / "README.md"
    text = path.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    head = "| project | number | program | what went wrong | what Commute says |\n|---|---|---|---|---|\n"
    path.write_text(text[:begin] + head + "\n".join(rows) + "\n" + text[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names; all defects by default")
    parser.add_argument("--keep", type=Path, help="leave the archives in this folder")
    parser.add_argument("--readme", action="store_true", help="write the table of README.md")
    arguments = parser.parse_args()
    defects = [
        defect
        for defect in load_defects()
        if not arguments.names or any(name in defect.name for name in arguments.names)
    ]
    rows, wrong = [], []
    with tempfile.TemporaryDirectory(prefix="commute-zoo-") as temporary:
        for defect in defects:
            is_right, verdict = report(defect, arguments.keep or Path(temporary))
            rows.append(readme_row(defect, verdict, is_right))
            if not is_right:
                wrong.append(defect.name)
    if arguments.readme:
        write_readme(rows)
    print(f"{len(defects) - len(wrong)} of {len(defects)} as they should be", *wrong, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
