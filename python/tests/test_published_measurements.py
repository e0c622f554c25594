# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Predictions beside the published measurements of benchmarks/published.

Predictions are the same on every machine: nothing is measured here.
"""

import json
import statistics
import sys
from pathlib import Path

import pytest

from commute_tool import TOOL, succeed

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "published"
sys.path.insert(0, str(FOLDER))

from published_steps import compare_steps  # noqa: E402
from published_times import Comparison, Decision, half_of, load_tables, run, spread  # noqa: E402


@pytest.fixture(scope="module")
def entries():
    return run(TOOL)


def of_half(entries, kind, half):
    return [entry for entry in entries if isinstance(entry, kind) and entry.half == half]


@pytest.mark.parametrize("half", ["fit", "judge"])
def test_operators_take_what_was_measured(entries, half):
    times = of_half(entries, Comparison, half)
    assert len(times) >= 30
    assert statistics.mean(entry.is_near for entry in times) >= 0.8


def test_decisions_are_those_that_paid(entries):
    decisions = [entry for entry in entries if isinstance(entry, Decision)]
    assert len(decisions) >= 18
    wrong = [entry for entry in decisions if not entry.is_right]
    assert len(wrong) <= 0.05 * len(decisions), wrong
    assert {entry.pays for entry in decisions} == {True, False}


def test_the_stated_uncertainty_is_that_of_the_measurements(entries):
    stated = json.loads(succeed("targets", "h100x8", "--json"))["uncertainty"]
    on_target = [
        entry
        for entry in entries
        if isinstance(entry, Comparison) and entry.table["target"] == "h100x8"
    ]
    fused = [entry for entry in on_target if "fused" in entry.what]
    for key, group in (
        ("products", [entry for entry in on_target if entry.table["kind"] == "matmul"]),
        ("collectives", [e for e in on_target if e.table["kind"].startswith("all_reduce")]),
        ("fused_ops", fused),
    ):
        assert group
        # The judging half must not be off much more than what is stated.
        assert spread(of_half(group, Comparison, "judge")) <= 1.5 * stated[key], key


def test_gains_of_whole_steps():
    entries = compare_steps(TOOL)
    assert {entry.half for entry in entries} == {"fit", "judge"}
    near = [entry for entry in entries if entry.is_near]
    assert len(near) >= 0.8 * len(entries), entries


def test_both_halves_of_a_table_have_rows():
    for table in load_tables():
        halves = {half_of(table, index) for index in range(len(table["rows"]))}
        assert halves <= {"fit", "judge"}
        if table["halves"] == "alternating":
            assert halves == {"fit", "judge"}
