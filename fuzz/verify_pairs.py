# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Judges `commute verify` with PyTorch's kernels, on pairs of random programs.

    fuzz/verify_pairs.py --pairs 100000
    fuzz/verify_pairs.py --seconds 600 --first-seed 1000000
    fuzz/verify_pairs.py --first-seed 1234 --pairs 1 --show
    fuzz/verify_pairs.py --generator planted --pairs 10000
    fuzz/verify_pairs.py --generator exhaustive --pairs 10000 --results after.json

Each pair is a random program on several ranks and the same program with some
calls spelled otherwise, or with one fault planted, or both. PyTorch computes both
on all ranks in float64 and says whether they are equal; then the prover must not
say otherwise. Failures are written to build/fuzz-verify, each with both archives
and a script that makes it again.

Two other generators know what is equal by other means than samples near the numbers
that programs hold. "planted" chooses the integers first and plants a difference that
shows there, "ranks" in the programs of ranks beside that of one device; "exhaustive"
makes programs so small that PyTorch evaluates them on all integers. `--results` writes
all verdicts, which fuzz/pairs/verdict_changes.py compares with those of another run.

Exit code 0: no verdict "equivalent" of programs that differ, no error, no crash,
and few enough verdicts "different" of programs that do not.
"""

import argparse
import collections
import importlib
import json
import multiprocessing
import os
import re
import resource
import sys
import time
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / os.environ.get("COMMUTE_BUILD", "build/release")
sys.path[:0] = [
    str(REPOSITORY / "fuzz"),
    str(REPOSITORY / "python" / "tests"),
    str(BUILD / "python"),
]

# A worker that says nothing for so many seconds of processor time hangs: twice the budget of a proof.
PAIR_SECONDS = 40
MEMORY = 12 << 30
# One in this many may be called different without being so.
FALSE_DIFFERENT_BAR = 1000


# Modules with make_pair.
SOURCES = {
    "random": "pairs.campaign",
    "planted": "pairs.planted",
    "exhaustive": "pairs.exhaustive",
    "ranks": "pairs.planted_ranks",
}
# A generator may show thousands of failures of one kind; so many leave a reproducer.
REPRODUCERS = 500


def get_check(generator):
    """The function that makes, judges and verifies the pair of a seed."""
    from commute import _commute
    from pairs import campaign, verdicts

    if generator == "random":
        return lambda seed, times: campaign.check(_commute, seed, times)
    source = importlib.import_module(SOURCES[generator])
    return lambda seed, times: verdicts.check(_commute, source, seed, times)


def work(queue, seeds, end, options):
    """Checks the pairs of some seeds; tells of each when it begins and ends."""
    from pairs import campaign

    folder, generator = options.folder, options.generator
    campaign.SETTINGS["seed"] = options.prover_seed
    check = get_check(generator)
    written = 0
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    campaign.prepare()
    for seed in seeds:
        if time.monotonic() > end:
            break
        queue.put(("begin", seed))
        times = {}
        try:
            pair, texts, outcome = check(seed, times)
        except Exception:
            # Of the campaign itself: nothing was judged.
            outcome = campaign.Outcome(seed, campaign.ERROR, traceback.format_exc())
            queue.put(("end", (outcome, times)))
            continue
        if outcome.kind in campaign.SHOWN and written < REPRODUCERS:
            written += 1
            campaign.write_reproducer(folder, pair, texts, outcome, generator)
        queue.put(("end", (outcome, times)))
    queue.put(("done", None))


class Worker:
    """A process; one that dies or hangs costs the pair it was at."""

    def __init__(self, seeds, end, options):
        # A range: there may be very many.
        self.seeds, self.end, self.options = seeds, end, options
        self.start()

    def start(self):
        context = multiprocessing.get_context("fork")
        self.queue = context.SimpleQueue()
        self.process = context.Process(
            target=work, args=(self.queue, self.seeds, self.end, self.options), daemon=True
        )
        self.process.start()
        self.current, self.is_done = None, False
        self.heard = self.get_seconds()

    def get_seconds(self):
        """Processor time so far: a machine that is busy with other things hangs nothing."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def restart_after(self, seed):
        self.process.kill()
        self.process.join()
        self.seeds = self.seeds[self.seeds.index(seed) + 1 :]
        self.start()


class Campaign:
    def __init__(self, options):
        from pairs import campaign

        self.module = campaign
        self.options = options
        self.folder = options.folder
        self.counts = collections.Counter()
        self.gaps = collections.Counter()
        self.skipped = collections.Counter()
        self.mutated = collections.Counter()
        self.times = collections.Counter()
        # Of pairs whose difference is known: outcomes by kind, and the tags of wrong verdicts.
        self.kinds = collections.defaultdict(collections.Counter)
        self.tags = collections.defaultdict(collections.Counter)
        self.equal = collections.Counter()
        # Why equal pairs are not proven; names and numbers are left out.
        self.unproven = collections.Counter()
        self.results = {}

    def run(self):
        options = self.options
        start = time.monotonic()
        end = start + (options.seconds or 10**9)
        last = options.first_seed + (options.pairs or 10**8)
        workers = [
            Worker(range(options.first_seed + i, last, options.jobs), end, options)
            for i in range(options.jobs)
        ]
        shown = start
        while not all(worker.is_done for worker in workers):
            if not any([self.hear(worker) for worker in workers]):
                time.sleep(0.01)
            if time.monotonic() - shown > 30:
                shown = time.monotonic()
                print(f"[fuzz] {self.line()}", flush=True)
        self.seconds = time.monotonic() - start
        return self.report()

    def hear(self, worker):
        if worker.is_done:
            return False
        if not worker.queue.empty():
            kind, content = worker.queue.get()
            worker.heard = worker.get_seconds()
            if kind == "begin":
                worker.current = content
            elif kind == "end":
                worker.current = None
                outcome, times = content
                self.count(outcome)
                self.times.update(times)
            else:
                worker.is_done = True
            return True
        is_alive = worker.process.is_alive()
        if is_alive and worker.get_seconds() - worker.heard < PAIR_SECONDS:
            return False
        if not is_alive and not worker.queue.empty():
            return True
        if worker.current is None:
            # Not at a pair: the worker itself is wrong.
            raise SystemExit("a worker ended before its time; see its message above")
        what = "hangs" if is_alive else f"ended with code {worker.process.exitcode}"
        outcome = self.module.Outcome(worker.current, self.module.CRASH, what)
        self.write_crash(outcome)
        self.count(outcome)
        worker.restart_after(worker.current)
        return True

    def write_crash(self, outcome):
        """The pair again, without asking the prover; in a process of its own."""

        def write():
            from pairs import campaign, export_schema

            campaign.prepare()
            generator = self.options.generator
            pair = importlib.import_module(SOURCES[generator]).make_pair(outcome.seed)
            programs = getattr(pair, "programs", (pair.first, pair.second))
            texts = [export_schema.to_text(program) for program in programs]
            outcome.changes = tuple(pair.changes)
            campaign.write_reproducer(self.folder, pair, texts, outcome, generator)

        process = multiprocessing.get_context("fork").Process(target=write)
        process.start()
        process.join(PAIR_SECONDS)
        process.kill()

    def count(self, outcome):
        self.counts[outcome.kind] += 1
        if outcome.kind == self.module.GAP:
            self.gaps[outcome.reason] += 1
        if outcome.kind == self.module.SKIPPED:
            self.skipped[outcome.reason] += 1
        self.results[str(outcome.seed)] = {
            "outcome": outcome.kind,
            "verdict": outcome.verdict_name or outcome.kind,
            "kind": outcome.pair_kind,
        }
        if outcome.pair_kind:
            self.kinds[outcome.pair_kind][outcome.kind] += 1
            self.equal[outcome.kind] += bool(outcome.is_equal)
            self.tags[outcome.kind].update(outcome.tags)
            if outcome.kind == self.module.NOT_PROVEN and outcome.is_equal:
                self.unproven[re.sub(r"\b(v\d+\w*|-?\d+)\b", "_", outcome.verdict)[12:]] += 1
        if outcome.kind in self.module.SHOWN or self.options.show:
            print(f"seed {outcome.seed}: {outcome.kind}: {outcome.reason}", flush=True)
            separator = "\n  " if outcome.pair_kind else "; "
            print(
                f"  {separator.join(outcome.changes)}\n  prover: {outcome.verdict[:300]}",
                flush=True,
            )

    def line(self):
        return ", ".join(f"{count} {kind}" for kind, count in self.counts.most_common())

    def report(self):
        m = self.module
        judged = sum(self.counts.values()) - self.counts[m.SKIPPED]
        print(
            f"[fuzz] {judged} pairs from seed {self.options.first_seed}, {judged / self.seconds:.1f} a second"
        )
        kinds = (m.AGREED_EQUAL, m.AGREED_DIFFERENT, m.FALSE_EQUIVALENT, m.FALSE_DIFFERENT, m.GAP,
                 m.UNDECIDED, m.NOT_PROVEN, m.DRAWN_EQUAL, m.DRAWN_DIFFERENT, m.ERROR, m.CRASH,
                 m.SKIPPED)  # fmt: skip
        for kind in kinds:
            print(f"  {self.counts[kind]:7} {kind}")
        for reason, count in [*self.gaps.most_common(), *self.skipped.most_common(5)]:
            print(f"  {count:7} {reason}")
        self.report_kinds()
        if self.options.results:
            self.write_results()
        total = sum(self.times.values()) or 1
        print(f"  {judged / total:.1f} pairs a second of processor time")
        print(
            "  "
            + ", ".join(f"{seconds / total:.0%} {name}" for name, seconds in self.times.items())
        )
        if judged > sum(self.counts[kind] for kind in (m.AGREED_EQUAL, m.AGREED_DIFFERENT)):
            print(f"  failures are in {self.folder}")
        is_bad = any(self.counts[kind] for kind in (m.FALSE_EQUIVALENT, m.ERROR, m.CRASH))
        return 1 if is_bad or self.counts[m.FALSE_DIFFERENT] * FALSE_DIFFERENT_BAR > judged else 0

    def report_kinds(self):
        """Of pairs whose difference is known: what became of each kind."""
        if not self.kinds:
            return
        m = self.module
        columns = [m.AGREED_EQUAL, m.AGREED_DIFFERENT, m.FALSE_EQUIVALENT, m.FALSE_DIFFERENT,
                   m.NOT_PROVEN, m.DRAWN_EQUAL, m.DRAWN_DIFFERENT]  # fmt: skip
        columns = [name for name in columns if self.counts[name]]
        print(f"  {'':20}" + "".join(f"{name:>20}" for name in columns))
        for kind, counts in sorted(self.kinds.items()):
            print(f"  {kind:20}" + "".join(f"{counts[name]:20}" for name in columns))
        print("  false equivalent, by tag:")
        for tag, count in self.tags[m.FALSE_EQUIVALENT].most_common():
            print(f"  {count:7} {tag}")
        equal, unproven = sum(self.equal.values()), self.equal[m.NOT_PROVEN]
        different = sum(sum(counts.values()) for counts in self.kinds.values()) - equal
        for name, pairs, count in (
            ("equal", equal, unproven),
            ("different", different, self.counts[m.NOT_PROVEN] - unproven),
        ):
            print(f"  not proven: {count} of {pairs} {name} pairs, {count / max(pairs, 1):.1%}")
        for reason, count in self.unproven.most_common(8):
            print(f"  {count:7} equal, not proven: {reason[:180]}")

    def write_results(self):
        document = {
            "generator": self.options.generator,
            "build": str(BUILD),
            "pairs": self.results,
        }
        self.options.results.write_text(json.dumps(document, indent=1))


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--generator", choices=SOURCES, default="random")
    parser.add_argument("--pairs", type=int, help="how many; else until --seconds are over")
    parser.add_argument("--seconds", type=float, help="when to stop")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "fuzz-verify")
    parser.add_argument("--results", type=Path, help="a JSON file for the verdicts of all pairs")
    parser.add_argument("--prover-seed", type=int, default=1, help="of `commute verify --seed`")
    parser.add_argument("--show", action="store_true", help="tell of every pair")
    options = parser.parse_args(arguments)
    if options.pairs is None and options.seconds is None:
        options.pairs = 100000
    return options


def main(arguments=None):
    return Campaign(parse(arguments)).run()


if __name__ == "__main__":
    sys.exit(main())
