# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The checker sees faults in numbers: cuts, positions, thresholds, counts, names.

As test_mutations.py, with the programs of rewrites_of_numbers.py. Twins and faults
alike are judged by PyTorch's kernels too, in float64 on all ranks.
"""

import collections
import json

import pytest

import rewrites_of_computed_numbers  # noqa: F401 (registers its rewrites)
import rewrites_of_surroundings  # noqa: F401 (likewise)
from pairs import export_schema
from pairs.judge import judge
from pairs.samples import MANY_SAMPLES, SAMPLES
from rewrites_of_numbers import REWRITES

pytestmark = [pytest.mark.in_process, pytest.mark.usefixtures("campaign_settings")]

FAULTS = [(rewrite, fault) for rewrite in REWRITES for fault in rewrite.faults]
FORMS_OF_EACH_CAUSE = 3
# Laws of integers that a proof for all of them does not use, and why.
NOT_PROVEN = {
    "constants: modulus": "products of 64 bits wrap around",
    "computed integers: squares below": "squares of 64 bits wrap around",
    "computed integers: ids as floats": "floats made of integers are unknown when compared",
    "deciding elements: any id": "a count above zero is not a disjunction",
}


def name(case):
    rewrite, fault = case
    return f"{rewrite.name}: {fault}"


def verify(first, second):
    """The verdict, and what is said of it."""
    from commute import _commute

    (first, first_context), (second, second_context) = map(export_schema.to_text, (first, second))
    text = _commute.verify(
        first, second, first_context=first_context, second_context=second_context
    )
    report = json.loads(text)
    return report["verdict"], text


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_correct_rewrite_passes(rewrite):
    first, second = rewrite.programs("captured", "twin")
    verdict, text = verify(first, second)
    expected = "not proven" if rewrite.name in NOT_PROVEN else "equivalent"
    assert verdict == expected, text


@pytest.mark.parametrize("case", FAULTS, ids=name)
def test_fault_is_caught(case):
    rewrite, fault = case
    first, second = rewrite.programs("captured", fault)
    verdict, text = verify(first, second)
    assert verdict == "different", text


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_pytorch_says_the_same(rewrite):
    """The twins are correct, and the faults are faults, by PyTorch's word."""
    first, *others = rewrite.programs("captured", "twin", *rewrite.faults)
    for variant, other in zip(["twin", *rewrite.faults], others, strict=True):
        found = judge(first, other)
        if variant != "twin" and found.is_equal:
            # Few inputs show it.
            found = judge(first, other, range(SAMPLES, MANY_SAMPLES))
        assert found.is_equal == (variant == "twin"), f"{variant}: {found.reason}"


def test_each_cause_is_planted_in_several_forms():
    forms = collections.Counter(rewrite.cause for rewrite in REWRITES)
    assert set(forms) == {
        "cuts", "positions", "choices", "integers", "constants", "random operators",
        "signatures", "symbolic sizes", "groups", "computed integers", "computed positions",
        "looked up positions", "counted integers", "numbers made of integers",
        "deciding elements",
    }  # fmt: skip
    assert min(forms.values()) >= FORMS_OF_EACH_CAUSE
