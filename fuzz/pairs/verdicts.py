# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Pairs that PyTorch has judged, and the prover's verdicts of them."""

import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from pairs import campaign, export_schema

# Of a pair that a law of such functions may make equal, which the prover does not know.
FLOAT_FUNCTIONS = "functions of floats"


class Skipped(Exception):
    """No pair came of a seed."""


@dataclass
class Pair:
    seed: int
    first: object
    second: object
    # What the programs are, in words.
    changes: list
    # What PyTorch's kernels say, and where they differ.
    is_equal: bool
    difference: str
    # What was planted.
    kind: str
    tags: list = field(default_factory=list)
    # The first program is that of one device, the second that of a rank.
    is_refinement: bool = False
    # Integers' ranges that are stated, which relations alone can do.
    ranges: dict = field(default_factory=dict)
    # Of other ranks, each its own program; and the inputs of which ranks have blocks.
    others: list = field(default_factory=list)
    shards: dict = field(default_factory=dict)

    @property
    def programs(self):
        return [self.first, self.second, *self.others]

    @property
    def names(self):
        """Of the programs' archives."""
        if not self.is_refinement:
            return ["A", "B"]
        return ["reference", *(f"rank{i}" for i in range(1 + len(self.others)))]

    def relations(self):
        """How the rank's inputs and outputs are made of the reference's, as JSON."""
        inputs = {name: name for name in self.first.pool.inputs}
        inputs |= {name: f"shard({name}, {dim})" for name, dim in self.shards.items()}
        document = {
            "version": 1,
            "ranges": self.ranges,
            "inputs": inputs,
            "outputs": {"0": "replicated"},
        }
        if self.others:
            document["mesh"] = self.second.pool.groups
        return json.dumps(document)


@dataclass
class Answer:
    """What the prover says of a pair."""

    verdict: str
    reason: str = ""
    # "drawn": equal for the integers that were drawn, no more.
    grade: str = ""


def read_report(report):
    messages = [difference["message"] for difference in report["differences"]]
    reason = "; ".join(messages) or report.get("not_proven", "")
    return Answer(report["verdict"], reason, report.get("grade", ""))


def ask(native, pair, texts):
    """The prover's verdict of a pair."""
    (first, first_context), (second, second_context), *_ = texts
    settings = campaign.SETTINGS
    try:
        if pair.is_refinement:
            return _ask_refinement(native, pair, texts, settings)
        report = native.verify(
            first, second, first_context=first_context, second_context=second_context, **settings
        )
    except (ValueError, RuntimeError) as error:
        return Answer("error", str(error))
    except MemoryError:
        return Answer("error", "out of memory, beyond the budget of the proof")
    return read_report(json.loads(report))


def _ask_refinement(native, pair, texts, settings):
    """Archives and relations: only these state ranges."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.pt2" for name in pair.names]
        for path, text in zip(paths, texts):
            export_schema.save(path, text)
        report, _ = native.refine(
            str(paths[0]), [*map(str, paths[1:])], relations=pair.relations(), **settings
        )
    return read_report(json.loads(report))


def get_difference(bench, programs, samples):
    """Where the programs differ, in words; None where they do not.

    Integers and truth values differ where they are not the same, floats where rounding is
    no reason.
    """
    for sample in samples:
        try:
            expected = bench.outputs(programs[0], sample)
        except RuntimeError:
            continue  # Such as a division by zero: not what the first program is for.
        try:
            found = bench.outputs(programs[1], sample)
        except RuntimeError as error:
            return f"sample {sample}: the second program fails: {str(error)[:100]}"
        for index, (a, b) in enumerate(zip(expected, found, strict=True)):
            seen = compare_tensors(a, b)
            if seen:
                return f"sample {sample}, output {index}: {seen}"
    return None


def compare_tensors(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {list(a.shape)} and {b.dtype} {list(b.shape)}"
    if a.is_floating_point():
        if not (a.isfinite().all() and b.isfinite().all()):
            raise Skipped("a number is not finite")
        scale = max(1.0, float(a.abs().max()), float(b.abs().max())) if a.numel() else 1.0
        distance = (a - b).abs()
        differs = distance > 1e-6 * scale
        if not differs.any():
            if (distance > 1e-9 * scale).any():
                raise Skipped("rounding hides what may differ")
            return None
    else:
        differs = a != b
        if not differs.any():
            return None
    where = tuple(differs.nonzero()[0].tolist())
    return f"at {list(where)} {a[where].item()} and {b[where].item()}"


def compare(pair, answer):
    """What came of a pair, given the verdict."""
    kind, reason = campaign.NOT_PROVEN, pair.difference or answer.reason
    if answer.verdict == "error":
        kind, reason = campaign.ERROR, answer.reason
    elif answer.verdict in ("equivalent", "refines"):
        if answer.grade == "drawn":
            kind = campaign.DRAWN_EQUAL if pair.is_equal else campaign.DRAWN_DIFFERENT
        else:
            kind = campaign.AGREED_EQUAL if pair.is_equal else campaign.FALSE_EQUIVALENT
    elif answer.verdict != "not proven":
        kind = campaign.FALSE_DIFFERENT if pair.is_equal else campaign.AGREED_DIFFERENT
        if kind == campaign.FALSE_DIFFERENT and FLOAT_FUNCTIONS in pair.tags:
            kind, reason = campaign.GAP, "equal only by functions of floats"
    said = f"{answer.verdict}: {answer.reason}"
    return campaign.Outcome(
        pair.seed, kind, reason, tuple(pair.changes), said,
        answer.verdict, pair.kind, tuple(pair.tags), pair.is_equal,
    )  # fmt: skip


def check(native, source, seed, times):
    """Makes the pair of a seed and verifies it; `source` is a module with make_pair."""
    clock = time.process_time
    start = clock()
    try:
        pair = source.make_pair(seed)
        texts = [export_schema.to_text(program) for program in pair.programs]
    except Skipped as reason:
        return None, None, campaign.Outcome(seed, campaign.SKIPPED, str(reason))
    made = clock()
    answer = ask(native, pair, texts)
    times["making and judging"] = made - start
    times["proving"] = clock() - made
    return pair, texts, compare(pair, answer)
