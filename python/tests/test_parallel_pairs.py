# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Correct parallel programs refine their one-device form; faults planted into them do not.

zoo/campaign.py plants more faults, into wider programs.
"""

import random

import pytest

from zoo.campaign import is_fault, is_named
from zoo.common import faults, verdicts
from zoo.common.cases import EQUAL, Captured
from zoo.common.collectives import send
from zoo.pairs import data, load_pairs, pipeline

PAIRS = load_pairs()
# zoo/campaign.py --pairs checks all of them; wider ones take longer to trace.
NARROW = [name for name, case in PAIRS.items() if case.world_size == 2]
WIDE = [
    "3 layers on 2", "attention of 8 heads, 2 of keys, on 4", "causal attention around a ring on 4",
    "data x tensor parallel step on 2 x 2", "embedding by words on 8", "experts by exchange on 4",
    "exchanged heads and positions on 4", "mlp with backward on 8", "pipeline of 4, 3 micro-batches",
    "1F1B step of 4, 6 micro-batches", "accumulated sharded gradients on 4, 2 micro-batches",
    "pipeline x tensor parallel on 2 x 2", "products over two axes on 4", "sharded parameters on 4",
]  # fmt: skip


@pytest.fixture(scope="module")
def captured():
    """Captures each pair once."""
    known = {}

    def capture(name):
        if name not in known:
            known[name] = PAIRS[name].capture()
        return known[name]

    return capture


def test_number_of_pairs():
    assert len(PAIRS) >= 60
    assert {case.world_size for case in PAIRS.values()} >= {2, 4, 8}


@pytest.mark.parametrize("name", dict.fromkeys([*NARROW, *WIDE]))
def test_correct_program_refines_the_reference(name, captured, tmp_path):
    program = captured(name)
    assert program.difference() < EQUAL
    verdict = verdicts.verify(program, tmp_path)
    assert verdict.exit_code == 0, verdict.text


def plant(program, generator):
    """A fault that PyTorch sees, and the ranks' programs with it."""
    for _ in range(50):
        fault = faults.plant(program, generator)
        if fault is None:
            continue
        faulty = Captured(program.case, program.reference, fault.modules)
        try:
            if is_fault(faulty):
                return fault, faulty
        except (RuntimeError, IndexError):
            continue  # A kernel refuses the numbers: that would not be silent.
    raise AssertionError(f"no fault found for {program.case.name}")


def test_planted_faults_are_found(captured, tmp_path):
    generator = random.Random(0)
    named = planted = 0
    for name in NARROW:
        program = captured(name)
        fault, faulty = plant(program, generator)
        verdict = verdicts.verify(faulty, tmp_path / str(planted))
        assert verdict.exit_code == 1, f"{name}: {fault}: {verdict.text}"
        planted += 1
        named += is_named(fault, verdict)
    # zoo/campaign.py measures this on more of them; docs/measurements.md has the result.
    assert named >= 0.7 * planted, f"{named} of {planted} named"


def test_sends_that_block_lock_a_1f1b_schedule(monkeypatch, tmp_path):
    """Stages that wait for each send wait for each other: forwards go one way, and backwards
    the other."""
    monkeypatch.setattr(pipeline, "begin_send", send)
    monkeypatch.setattr(pipeline, "wait", lambda pending: None)
    verdict = verdicts.verify(PAIRS["1F1B step of 2, 4 micro-batches"].capture(), tmp_path)
    assert verdict.exit_code == 1, verdict.text
    assert verdict.report["verdict"] == "deadlock"
    assert "wait for each other" in verdict.explanation


def test_gradients_that_are_not_averaged_over_micro_batches(monkeypatch, tmp_path):
    def accumulate(step, batches):
        losses, *gradients = zip(*(step(*batch) for batch in batches))
        return [sum(losses) / len(batches), *map(sum, gradients)]

    case = PAIRS["accumulated gradients on 2"]
    reference = case.capture().reference
    monkeypatch.setattr(data, "accumulate", accumulate)
    faulty = Captured(case, reference, case.capture().modules)
    verdict = verdicts.verify(faulty, tmp_path)
    assert verdict.exit_code == 1, verdict.text
    assert "2 times the reference's" in verdict.explanation
