# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Joint, forward and backward graphs of random DTensor models through every pass.

    COMMUTE_BUILD=build/release python fuzz/joint_graphs.py --first-seed 0 --seconds 600

Each optimized graph has to be valid and to compute what the original does on all ranks,
by PyTorch's own kernels in float64. A line is printed for each failure, with the command
that repeats it. Exit code 1 where there was one. Models that PyTorch itself cannot compile,
or not in time, are counted.
"""

import argparse
import collections
import os
import pickle
import random
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / os.environ.get("COMMUTE_BUILD", "build/release")
sys.path[:0] = [str(BUILD / "python"), str(REPOSITORY / "python" / "tests")]

import torch  # noqa: E402

from joint_graphs import PASS_LISTS, POLICIES, Check, capture, random_configuration  # noqa: E402

# DTensor tries combinations of placements for minutes, for attention on two axes.
CAPTURE_SECONDS = 15


def in_child(work):
    """What `work` wrote to a file descriptor in a child process, which may crash, and the
    status with which the child ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        work(writer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    return answer, status


class Tally:
    """What came of the runs."""

    def __init__(self, runs_of_each):
        self.runs_of_each = runs_of_each
        self.num_models = 0
        self.refusals = collections.Counter()
        self.num_runs = 0
        self.num_graphs = 0
        self.failures = []
        self.applied = collections.Counter()

    def run_model(self, config, verify):
        """In a child process: DTensor keeps the process groups of earlier meshes."""

        def run(writer):
            own = Tally(self.runs_of_each)
            own._run_model_here(config, verify)
            with os.fdopen(writer, "wb") as answers:
                pickle.dump(own, answers)

        answer, _ = in_child(run)
        self.num_models += 1
        if not answer:
            self.failures.append("crash")
            print(f"FAILED outside of a run: {config}", flush=True)
            return
        own = pickle.loads(answer)
        self.refusals += own.refusals
        self.num_runs += own.num_runs
        self.num_graphs += own.num_graphs
        self.failures += own.failures
        self.applied += own.applied

    def _run_model_here(self, config, verify):
        signal.alarm(CAPTURE_SECONDS)
        try:
            graphs = capture(config)
        except Exception as error:
            # Also where the alarm was raised within Dynamo, which wraps it.
            self.refusals[f"{type(error).__name__}, {config.model} on {config.mesh}"] += 1
            return
        finally:
            signal.alarm(0)
        for captured in graphs:
            self._run_graph(captured, verify)

    def _run_graph(self, captured, verify):
        self.num_graphs += 1
        check = Check(captured)
        check.expected()
        todo = [(passes, policy) for passes in PASS_LISTS for policy in POLICIES]
        if self.runs_of_each is not None:
            seed = f"{captured.config.seed} {captured.kind}"
            todo = random.Random(seed).sample(todo, min(self.runs_of_each, len(todo)))
        while todo:
            todo = todo[self._run_in_child(check, todo, verify) :]

    def _run_in_child(self, check, todo, verify):
        """How many of the runs came to an end, the last by a crash maybe."""

        def run(writer):
            for passes, policy in todo:
                os.write(writer, b"start\n")
                try:
                    remarks = check.run(passes, policy, verify)
                except Exception as error:
                    text = "".join(traceback.format_exception_only(error))
                    os.write(writer, f"failure {text!r}\n".encode())
                    continue
                applied = {r.pass_name for r in remarks if r.verdict == "applied"}
                os.write(writer, f"applied {' '.join(sorted(applied))}\n".encode())
            os.write(writer, b"end\n")

        answer, status = in_child(run)
        lines = answer.decode().splitlines()
        started = -1
        for line in lines:
            word, _, rest = line.partition(" ")
            started += word == "start"
            if word == "failure":
                self._fail(check.captured, *todo[started], rest)
            elif word == "applied":
                self.applied.update(rest.split())
        self.num_runs += started + 1
        if lines[-1:] != ["end"]:
            self._fail(check.captured, *todo[started], f"crash, status {status}")
        return started + 1

    def describe(self, seconds):
        def counts(counter):
            return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))

        return (
            f"{self.num_models} models, {self.num_graphs} graphs, {self.num_runs} runs in"
            f" {seconds:.0f} s; applied: {counts(self.applied)}; not compiled by PyTorch:"
            f" {counts(self.refusals) or 'none'}; failures: {len(self.failures)}"
        )

    def _fail(self, captured, passes, policy, text):
        self.failures.append(text)
        print(
            f"FAILED {captured.kind} graph, passes={passes!r}, policy={policy}: {text[:1000]}\n"
            f"  {captured.config}\n"
            f"  repeat: fuzz/joint_graphs.py --first-seed {captured.config.seed} --models 1",
            flush=True,
        )


def _stop_capture(signum, frame):
    raise TimeoutError(f"longer than {CAPTURE_SECONDS} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=None, help="stop after so many models")
    parser.add_argument("--seconds", type=float, default=None, help="stop after so long")
    parser.add_argument("--verify", action="store_true", help="prove each result as well")
    parser.add_argument(
        "--runs-of-each", type=int, default=None,
        help="of each graph, run so many pass lists and policies, drawn at random, instead of all",
    )  # fmt: skip
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    # Children are forks: no pool of threads may be alive.
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _stop_capture)
    tally = Tally(options.runs_of_each)
    limit = options.models
    if limit is None and options.seconds is None:
        limit = 30
    begin = time.monotonic()
    while tally.num_models != limit and (
        options.seconds is None or time.monotonic() - begin < options.seconds
    ):
        config = random_configuration(options.first_seed + tally.num_models)
        tally.run_model(config, options.verify)
        if tally.num_models % 100 == 0:
            print(tally.describe(time.monotonic() - begin), flush=True)
    print(tally.describe(time.monotonic() - begin))
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()
