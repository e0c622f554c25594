# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Public defects of parallel programs: zoo/README.md lists them.

PyTorch judges the captured programs first: the faulty one differs from the reference in
float64, and the mended one does not. Then `commute verify` has to say so.
"""

import contextlib

import pytest

from zoo.common import judge, verdicts
from zoo.common.cases import DIFFERENT, EQUAL, ZOO, load_defects

DEFECTS = {defect.name: defect for defect in load_defects()}


# Right programs that are not proven, and why.
NOT_PROVEN = {
    "transformers_48205": "masks of experts meet in a product after each is collapsed",
}


@pytest.mark.parametrize("name", DEFECTS)
def test_mended_program_refines_the_reference(name, tmp_path):
    program = DEFECTS[name].case("mended").capture()
    assert program.difference() < EQUAL
    verdict = verdicts.verify(program, tmp_path)
    assert verdict.exit_code == (4 if name in NOT_PROVEN else 0), verdict.text


@pytest.mark.parametrize("name", DEFECTS)
def test_fault_is_found_and_named(name, tmp_path):
    defect = DEFECTS[name]
    program = defect.case("faulty").capture()
    # Or the ranks do not run together at all.
    with contextlib.suppress(judge.JudgeError):
        assert program.difference() > DIFFERENT
    verdict = verdicts.verify(program, tmp_path)
    assert verdict.exit_code == 1, verdict.text
    is_named = verdict.line_of(f"zoo/{name}/program.py") in defect.marked_lines()
    is_explained = any(word in verdict.explanation for word in defect.says)
    assert is_named, verdict.text
    assert is_explained, verdict.text


def test_readme_has_a_row_for_each():
    text = (ZOO / "README.md").read_text()
    for defect in DEFECTS.values():
        project, number = defect.module.ISSUE
        assert f"| {project} | {number} | [`{defect.name}`]({defect.name}/program.py) |" in text
