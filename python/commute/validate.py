# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Runs a script, and validates the graph passes of everything that it compiles.

    python -m commute.validate script.py [arguments]

Prints a table by pass. Exit code 1: a pass changed what its graph computes; 2: the script
cannot be run; otherwise that of the script.
"""

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commute.torch.validation import PassReport

_VERDICTS = ("equivalent", "other layout", "different", "not proven")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m commute.validate",
        description="Run a script, and compare the graph before and after each pass of"
        " torch.compile.",
    )
    parser.add_argument("--save", metavar="DIR", type=Path, help="write graphs and a report")
    parser.add_argument(
        "--precision",
        choices=("algebraic", "strict"),
        default="algebraic",
        help="strict: a rounding that is lost, or moves across a sum, is a difference",
    )
    parser.add_argument(
        "--proof-time", metavar="S", type=float, default=60.0, help="seconds for each comparison"
    )
    parser.add_argument("--all", action="store_true", help="print every run of a pass")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def table(report: "PassReport") -> str:
    """The runs of a report by pass."""
    rows: dict[str, list[Any]] = {}
    for run in report.runs:
        row = rows.setdefault(run.name, [0, 0, 0, 0, 0.0])
        row[_VERDICTS.index(run.verdict)] += 1
        row[-1] += run.seconds
    width = max([*map(len, rows), len("pass")])
    lines = [
        f"{'pass':{width}} {'equivalent':>10} {'layout':>6} {'different':>9}"
        f" {'not proven':>10} {'seconds':>8}"
    ]
    lines += [
        f"{name:{width}} {row[0]:>10} {row[1]:>6} {row[2]:>9} {row[3]:>10} {row[4]:>8.2f}"
        for name, row in rows.items()
    ]
    return "\n".join(lines)


def _run(script: str, arguments: Sequence[str]) -> int:
    """Runs a script as Python does; returns its exit code."""
    saved = sys.argv, sys.path[0]
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    finally:
        sys.argv, sys.path[0] = saved
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if not Path(options.script).is_file():
        print(f"{options.script}: there is no such file", file=sys.stderr)
        return 2
    from commute.torch.validation import validate_passes

    with validate_passes(
        "report",
        precision=options.precision,
        proof_time=options.proof_time,
        keep="all" if options.save else "unproven",
    ) as report:
        code = _run(options.script, options.arguments)
    print(table(report))
    text = str(report).splitlines()
    print("\n".join(text) if options.all else text[-1])
    if not options.all:
        for run in report.runs:
            if run.verdict != "equivalent":
                print(run)
    if options.save:
        report.save(options.save)
    return 1 if report.differences else code


if __name__ == "__main__":
    sys.exit(main())
