# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Passes of Inductor over many models, judged by Commute and by running both graphs.

    COMMUTE_BUILD=build/release python fuzz/validate_passes.py --modules 500 --models --faults 100

Every run of a pass that changes a graph is judged twice: by `commute.torch.validate_passes`,
and by both graphs in float64 on random inputs. Then faults are put into graphs that passes
have made, and judged in the same way. Prints a table, and every disagreement.

Exit code 0: no wrong "equivalent", and no "different" of graphs that give equal numbers.
"""

import argparse
import collections
import json
import os
import random
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("COMMUTE_BUILD", ROOT / "build/release")).resolve()
sys.path[:0] = [str(BUILD / "python"), str(ROOT / "python/tests"), str(ROOT / "fuzz")]

import torch  # noqa: E402

import commute.torch  # noqa: E402
from inductor_passes import run_compiled  # noqa: E402
from passes import faults, models, numbers  # noqa: E402


class Table:
    """Runs by verdict and by what the numbers say."""

    def __init__(self):
        self.counts = collections.Counter()
        self.operators = collections.Counter()
        self.disagreements = []
        self.seconds = 0.0
        self.checked = 0

    def add(self, what, verdict, numbers_agree, run):
        self.counts[verdict, numbers_agree] += 1
        wrong = verdict == "equivalent" and numbers_agree is False
        false = verdict == "different" and numbers_agree is True
        if wrong or false:
            self.disagreements.append(f"{'WRONG' if wrong else 'FALSE'}: {what}: {run}")
            print(self.disagreements[-1], flush=True)

    def __str__(self):
        lines = [f"{'verdict':14} {'equal numbers':>14} {'other numbers':>14} {'not run':>8}"]
        for verdict in ("equivalent", "other layout", "different", "not proven"):
            row = [self.counts[verdict, agree] for agree in (True, False, None)]
            lines.append(f"{verdict:14} {row[0]:>14} {row[1]:>14} {row[2]:>8}")
        if self.operators:
            lines.append(
                "not proven for the sake of: "
                + ", ".join(f"{name} ({count})" for name, count in self.operators.most_common(30))
            )
        return "\n".join(lines)


def judge_model(name, make, training, options, table, fault_table, wanted_faults, rng):
    """Compiles a model, and judges each run of a pass. Returns the number of faults."""
    torch.manual_seed(rng.randrange(1 << 30))
    model, arguments = make()
    model = model.train(training)
    start = time.perf_counter()
    try:
        with commute.torch.validate_passes("report", keep="all", proof_time=20) as report:
            run_compiled(model, *arguments, training=training, **options)
    except Exception as error:
        print(f"{name}: not compiled: {type(error).__name__}: {str(error)[:200]}", flush=True)
        return 0
    table.seconds += report.seconds
    table.compiled = getattr(table, "compiled", 0) + time.perf_counter() - start
    for problem in report.problems:
        print(f"{name}: {problem}", flush=True)
        table.counts["problem", None] += 1
    found = 0
    for run in report.runs:
        agree = numbers.agree(run.before, run.after)
        table.add(f"{name} {run.name}", run.verdict, agree, run)
        if run.verdict == "not proven":
            table.operators[run.judgement.operator or run.judgement.reason[:60]] += 1
        if found < wanted_faults and run.verdict == "equivalent" and agree:
            found += judge_fault(f"{name} {run.name}", run, fault_table, rng)
    return found


def judge_fault(what, run, table, rng):
    """Puts a fault into the graph that a pass has made, if there is one that shows."""
    from commute.torch.validation.judging import judge

    made = faults.make(run.after, rng)
    if made is None:
        return 0
    kind, node, wrong = made
    agree = numbers.agree(run.before, wrong)
    if agree is None:
        return 0
    judgement = judge(
        run.before,
        wrong,
        precision="algebraic",
        seed=1,
        real_sizes=False,
        max_seconds=20.0,
        max_bytes=4 << 30,
    )
    table.add(f"{what}: {kind} at {node}", judgement.verdict, agree, judgement)
    if agree is False:
        table.checked += 1
        # The node itself, or one that reads it, is where the graphs part.
        table.counts[f"fault {kind}", judgement.verdict] += 1
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", type=int, default=100, help="random modules")
    parser.add_argument("--models", action="store_true", help="small models of transformers")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rng = random.Random(options.seed)
    table, fault_table = Table(), Table()
    start = time.perf_counter()
    left = options.faults
    cases = [
        (f"module {index}", models.random_module(options.seed * 100003 + index), {})
        for index in range(options.modules)
    ]
    if options.models:
        cases = [*models.small_models(), *cases]
    done = 0
    for index, (name, make, settings) in enumerate(cases):
        if time.perf_counter() - start > options.limit:
            break
        training = bool(index % 2)
        left -= judge_model(
            name, make, training, {**models.options(index), **settings},
            table, fault_table, min(left, 2), rng,
        )  # fmt: skip
        done += 1
    print(f"{done} programs, {time.perf_counter() - start:.0f} s, validation {table.seconds:.0f} s")
    print("passes:", table, sep="\n")
    print("faults:", fault_table, sep="\n")
    if options.results:
        options.results.write_text(
            json.dumps(
                {
                    "programs": done,
                    "passes": {str(key): count for key, count in table.counts.items()},
                    "operators": dict(table.operators),
                    "faults": {str(key): count for key, count in fault_table.counts.items()},
                    "disagreements": [*table.disagreements, *fault_table.disagreements],
                },
                indent=1,
            )
        )
    return 1 if table.disagreements or fault_table.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
