# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Predictions beside published measurements.

    benchmarks/published/compare.py --tool build/release/bin/commute [--rows]

Prints the ratio of predicted to measured time, for the half of the data that the
targets' parameters were fitted on and for the half that they are judged by, and
whether the decisions of micro-pipeline are right.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from published_steps import StepComparison, compare_steps
from published_times import Comparison, Decision, run, spread

REPOSITORY = Path(__file__).resolve().parents[2]
HALVES = ("fit", "judge")


def print_operators(entries: Sequence[Comparison | Decision], rows: bool) -> None:
    tables: dict[int, list[Comparison | Decision]] = {}
    for entry in entries:
        tables.setdefault(id(entry.table), []).append(entry)
    print("| source | what | half | points | predicted / measured | within 25 % | decisions |")
    print("|---|---|---|---|---|---|---|")
    for group in tables.values():
        table = group[0].table
        what = " ".join(str(table[key]) for key in ("kind", "element") if key in table) + (
            f" on {table['target']}"
        )
        for half in HALVES:
            times = [e for e in group if isinstance(e, Comparison) and e.half == half]
            decisions = [e for e in group if isinstance(e, Decision) and e.half == half]
            if not times and not decisions:
                continue
            ratios = sorted(entry.ratio for entry in times)
            text = (
                f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
                if ratios
                else ""
            )
            right = sum(entry.is_right for entry in decisions)
            print(
                f"| {table['source']} | {what} | {half} | {len(times)} | {text} |"
                f" {sum(entry.is_near for entry in times) if times else ''} |"
                f" {f'{right} of {len(decisions)}' if decisions else ''} |"
            )
        if rows:
            for entry in group:
                if isinstance(entry, Comparison):
                    print(
                        f"    {entry.half:<6}{entry.what:<38}{entry.measured:>10.1f} us measured"
                        f"{entry.predicted:>10.1f} us predicted {entry.ratio:>6.2f}"
                    )
                elif not entry.is_right:
                    print(
                        f"    {entry.half:<6}{entry.what:<38} wrong:"
                        f" {'fused' if entry.is_fused else 'not fused'}"
                    )


def print_totals(entries: Sequence[Comparison | Decision]) -> None:
    for half in HALVES:
        times = [e for e in entries if isinstance(e, Comparison) and e.half == half]
        decisions = [e for e in entries if isinstance(e, Decision) and e.half == half]
        near, right = sum(e.is_near for e in times), sum(e.is_right for e in decisions)
        print(
            f"{half}: {near} of {len(times)} within 25 % ({near / len(times):.0%}), spread"
            f" {spread(times):.0%}; {right} of {len(decisions)} decisions right"
        )


def print_steps(entries: Sequence[StepComparison]) -> None:
    print("| model | half | measured | gain | predicted | gain | off by |")
    print("|---|---|---|---|---|---|---|")
    for entry in entries:
        measured, predicted = (
            f"{a:.2f} to {b:.2f} s" for a, b in (entry.measured, entry.predicted)
        )
        off = entry.predicted_gain - entry.measured_gain
        print(
            f"| {entry.model} {entry.precision} | {entry.half} | {measured} |"
            f" {entry.measured_gain:.2f} | {predicted} | {entry.predicted_gain:.2f} | {off:+.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", default=str(REPOSITORY / "build/release/bin/commute"))
    parser.add_argument("--no-steps", action="store_true", help="leave out whole steps")
    parser.add_argument("--rows", action="store_true", help="print every measurement")
    options = parser.parse_args()
    entries = run(options.tool)
    print_operators(entries, options.rows)
    print()
    print_totals(entries)
    if not options.no_steps:
        print()
        print_steps(compare_steps(options.tool))


if __name__ == "__main__":
    main()
