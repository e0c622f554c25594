# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""One pair after the other: made of a seed, judged, verified, compared."""

import dataclasses
import json
import random
import shutil
import time

import torch

from pairs import export_schema
from pairs.gaps import explain
from pairs.generator import generate
from pairs.judge import judge
from pairs.mutations import Mutator
from pairs.rewrites import respell, rewrite
from pairs.samples import MANY_SAMPLES, SAMPLES

# Of the prover: the budget of a proof, and the seed of what it draws.
SETTINGS = {"max_seconds": 20.0, "max_bytes": 1 << 30, "seed": 1}


@dataclasses.dataclass
class Pair:
    seed: int
    first: object
    second: object
    # What was done to the first program, in words.
    changes: list
    is_mutated: bool


def make_pair(seed):
    """The pair of a seed; None where it cannot be written."""
    chosen = random.Random(f"pair {seed}")
    first = generate(seed)
    second, changes = first, []
    kind = chosen.random()
    if kind >= 0.03:
        # Else the program against itself.
        if chosen.random() < 0.7:
            second, done = respell(second, chosen)
            changes += done
        if chosen.random() < 0.6:
            second, done = rewrite(second, chosen)
            changes += done
    is_mutated = False
    if kind > 0.4:
        planted = Mutator(second, chosen).mutate()
        if planted is not None:
            second, text = planted
            changes.append(text)
            is_mutated = True
    first.pool.draw.learn([first, second])
    return Pair(seed, first, second, changes, is_mutated)


@dataclasses.dataclass
class Outcome:
    """What came of a pair: `kind` is one of KINDS."""

    seed: int
    kind: str
    reason: str = ""
    changes: tuple = ()
    # What the prover says, in full and by name.
    verdict: str = ""
    verdict_name: str = ""
    # Of pairs whose difference is known (verdicts.py): what was planted, and what PyTorch says.
    pair_kind: str = ""
    tags: tuple = ()
    is_equal: bool | None = None


AGREED_EQUAL, AGREED_DIFFERENT = "both equal", "both different"
FALSE_EQUIVALENT, FALSE_DIFFERENT = "false equivalent", "false different"
GAP, UNDECIDED, NOT_PROVEN, ERROR = "gap", "judge undecided", "not proven", "error"
SKIPPED, CRASH = "skipped", "crash"
# The prover says that it drew integers, and found the programs equal for these.
DRAWN_EQUAL, DRAWN_DIFFERENT = "drawn, and equal", "drawn, but different"
FAILURES = (FALSE_EQUIVALENT, FALSE_DIFFERENT, ERROR, CRASH)
# What leaves a reproducer.
SHOWN = (*FAILURES, GAP, UNDECIDED)


def verify(native, texts):
    """The prover's verdict: its name, and what it says."""
    (first, first_context), (second, second_context) = texts
    try:
        report = json.loads(
            native.verify(
                first,
                second,
                first_context=first_context,
                second_context=second_context,
                **SETTINGS,
            )
        )
    except (ValueError, RuntimeError) as error:
        return "error", str(error)
    except MemoryError:
        return "error", "out of memory, beyond the budget of the proof"
    messages = [difference["message"] for difference in report["differences"]]
    return report["verdict"], "; ".join(messages) or report.get("not_proven", "")


def check(native, seed, times=None):
    """Judges and verifies the pair of a seed; the pair and what came of it."""
    clock = time.process_time
    start = clock()
    pair = make_pair(seed)
    try:
        texts = [export_schema.to_text(program) for program in (pair.first, pair.second)]
    except (export_schema.NotExpressible, RuntimeError, IndexError, ValueError, TypeError) as error:
        return pair, None, Outcome(seed, SKIPPED, f"{type(error).__name__}: {str(error)[:60]}")
    made = clock()
    verdict, said = verify(native, texts)
    verified = clock()
    found = judge(pair.first, pair.second)
    outcome = compare(pair, verdict, said, found)
    if times is not None:
        for name, seconds in (
            ("making", made - start),
            ("proving", verified - made),
            ("judging", clock() - verified),
        ):
            times[name] = times.get(name, 0) + seconds
    return pair, texts, outcome


def compare(pair, verdict, said, found):
    def outcome(kind, reason):
        return Outcome(pair.seed, kind, reason, tuple(pair.changes), f"{verdict}: {said}", verdict)

    if verdict == "error":
        return outcome(ERROR, said)
    if verdict not in ("equivalent", "different"):
        return outcome(NOT_PROVEN, said)
    if verdict == "equivalent":
        if found.is_equal:
            return outcome(AGREED_EQUAL, "")
        if judge(pair.first, pair.second, suspects_ties=True).is_equal:
            return outcome(UNDECIDED, f"a tie that rounding breaks: {found.reason}")
        if judge(pair.first, pair.second, range(MANY_SAMPLES), second_is_finite=True).is_equal:
            return outcome(
                UNDECIDED, f"a division by zero in the second program alone: {found.reason}"
            )
        return outcome(FALSE_EQUIVALENT, found.reason)
    if not found.is_equal:
        return outcome(AGREED_DIFFERENT, "")
    found = judge(pair.first, pair.second, range(SAMPLES, MANY_SAMPLES))
    if not found.is_equal:
        return outcome(AGREED_DIFFERENT, "")
    gap = explain(pair.first, pair.second)
    if gap:
        return outcome(GAP, gap)
    if pair.is_mutated:
        # Not equal by construction: that no sample shows the change proves little.
        return outcome(UNDECIDED, f"no sample shows what was changed; the prover says: {said}")
    if found.is_noisy:
        return outcome(UNDECIDED, f"rounding hides what may differ; the prover says: {said}")
    return outcome(FALSE_DIFFERENT, said)


def describe(program):
    """The program in text, as a reader of a report wants it."""

    def name_of(argument):
        if hasattr(argument, "node"):
            return argument.name
        if isinstance(argument, (list, tuple)):
            return f"[{', '.join(map(name_of, argument))}]"
        return repr(argument)

    lines = [f"groups {program.pool.groups}"]
    for node in program.pool.inputs.values():
        spec = node.spec
        lines.append(
            f"  {spec.name} = input {spec.dtype} {list(spec.shape)} {dict(spec.placements)}"
        )
        if spec.low is not None:
            lines[-1] += f" in [{spec.low}, {spec.high})"
    for node in program.live_nodes():
        if node.target is None:
            continue
        shown = [name_of(argument) for argument in node.args]
        shown += [f"{key}={name_of(argument)}" for key, argument in node.kwargs.items()]
        results = ", ".join(value.name for value in node.values)
        shape = list(node.values[0].shape)
        lines.append(
            f"  {results} = {node.target}({', '.join(shown)})  # {node.values[0].dtype} {shape}"
        )
    outputs = [value.name for value in program.outputs] + program.constants
    lines.append(f"  return {outputs}")
    for name in ("parameters", "buffers", "mutations"):
        if getattr(program, name):
            lines.append(f"  {name} {getattr(program, name)}")
    return "\n".join(lines)


def write_reproducer(folder, pair, texts, outcome, generator="random"):
    """Both archives, both programs in text, and how to make them again."""
    place = folder / f"{outcome.kind.replace(' ', '-')}-{outcome.seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name, text in zip(getattr(pair, "names", "AB"), texts or ()):
        export_schema.save(place / f"{name}.pt2", text)
    if getattr(pair, "is_refinement", False):
        (place / "relations.json").write_text(pair.relations())
    separator = "; " if generator == "random" else "\n"
    (place / "report.txt").write_text(
        f"seed {outcome.seed}: {outcome.kind}\n"
        f"judge: {outcome.reason}\nprover: {outcome.verdict}\n"
        f"from A to B: {separator.join(outcome.changes) or 'nothing'}\n"
        + "".join(
            f"\n{name}: {describe(p)}\n" for name, p in (("A", pair.first), ("B", pair.second))
        )
    )
    script = place / "rerun.sh"
    script.write_text(
        "#!/bin/sh\n# Makes the pair again, judges and verifies it.\n"
        'cd "$(dirname "$0")/../../.." &&\n'
        f".venv/bin/python fuzz/verify_pairs.py --first-seed {outcome.seed} --pairs 1 --show"
        f"{'' if generator == 'random' else f' --generator {generator}'}\n"
    )
    script.chmod(0o755)
    return place


def prepare():
    """Settings of PyTorch that make a process quick and its programs plain."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    # What factories make, and quotients of integers.
    torch.set_default_dtype(torch.float64)
