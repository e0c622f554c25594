# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""No order of the passes is predicted to be faster than the one that `opt` chooses, for any
model in the fixtures: all of them are run, one by one, as a user would name them."""

import itertools
from pathlib import Path

import pytest

import commute
from small_target import target_of_small_tensors

COMPETING = ("sequence-parallel", "micro-pipeline", "split-linear")
FIXTURES = Path(__file__).parents[2] / "test" / "fixtures"
ORDERS = [
    ",".join(("normalize-collectives", *order, "lower-collectives", "contiguous-collectives"))
    for length in range(len(COMPETING) + 1)
    for order in itertools.permutations(COMPETING, length)
]


def predicted_seconds(program, target, **options):
    optimized = commute.optimize(program, verify=False, target=target, **options)
    return commute.estimate(optimized.program, target=target).step_seconds


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return target_of_small_tensors(tmp_path_factory.mktemp("target"))


@pytest.mark.parametrize("kind", ["eager", "compiled"])
@pytest.mark.parametrize("name", sorted(path.stem for path in FIXTURES.glob("*.pt2")))
def test_no_order_is_faster(name, kind, target):
    program = commute.load(FIXTURES / f"{name}.pt2")
    machine = f"{target}:{kind}"
    chosen = predicted_seconds(program, machine)
    for order in ORDERS:
        assert chosen <= 1.001 * predicted_seconds(program, machine, passes=order), order
