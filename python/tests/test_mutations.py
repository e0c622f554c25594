# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The checker sees every fault planted into correct rewrites.

docs/equivalence.md lists the faults; `python test_mutations.py` prints that
table, and what a comparison of floats would have missed.
"""

import pytest
import torch

from commute_tool import commute
from rewrites_of_blocks import BLOCK_REWRITES, WIDE_BLOCK_REWRITES
from rewrites_of_products import PRODUCT_REWRITES
from rewrites_of_reindexing import REINDEXING_REWRITES

REWRITES = [*BLOCK_REWRITES, *REINDEXING_REWRITES, *PRODUCT_REWRITES]
FAULTS = [(rewrite, fault) for rewrite in REWRITES for fault in rewrite.faults]
STRICT_FAULTS = [(rewrite, fault) for rewrite in REWRITES for fault in rewrite.strict_faults]
WIDE_FAULTS = [(rewrite, fault) for rewrite in WIDE_BLOCK_REWRITES for fault in rewrite.faults]

# How frameworks compare bf16 results: what torch.testing.assert_close uses for
# bf16, with the absolute tolerance that tests of distributed code set.
TOLERANCE = {"rtol": 1.6e-2, "atol": 1e-2}


def name(case):
    rewrite, fault = case
    return f"{rewrite.name}: {fault}"


def verify(folder, first, second, *options):
    """Exit code and output of commute verify on two programs."""
    paths = [folder / "first.mlir", folder / "second.mlir"]
    for path, program in zip(paths, (first, second)):
        path.write_text(program.text())
    process = commute("verify", *paths, *options)
    return process.returncode, process.stdout + process.stderr


def expect(code, folder, first, second, *options):
    found, output = verify(folder, first, second, *options)
    assert found == code, output


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
@pytest.mark.parametrize("precision", ["algebraic", "strict"])
@pytest.mark.parametrize("sizes", ["reduced sizes", "real sizes"])
def test_correct_rewrite_passes(rewrite, precision, sizes, tmp_path):
    options = [f"--precision={precision}"] + ["--real-sizes"] * (sizes == "real sizes")
    expect(0, tmp_path, rewrite.captured, rewrite.build_rewritten(), *options)


@pytest.mark.parametrize("rewrite", REWRITES, ids=lambda rewrite: rewrite.name)
def test_correct_rewrite_computes_the_same_in_floats(rewrite):
    """The twins are correct by PyTorch's word as well as by the checker's."""
    first, second = rewrite.captured, rewrite.build_rewritten()
    for a, b in zip(first.results, second.results, strict=True):
        for x, y in zip(a.shards, b.shards, strict=True):
            torch.testing.assert_close(x, y)


@pytest.mark.parametrize("case", FAULTS, ids=name)
def test_fault_is_caught(case, tmp_path):
    rewrite, fault = case
    original, faulty = rewrite.captured, rewrite.build_rewritten(fault)
    assert faulty.text() != rewrite.build_rewritten().text()
    code = 1 if rewrite.is_described else 4
    expect(code, tmp_path, original, faulty)
    # Wider groups differ from these in nothing that sizes touch.
    if rewrite.groups[0].size == 2:
        expect(code, tmp_path, original, faulty, "--real-sizes")


@pytest.mark.parametrize("case", STRICT_FAULTS, ids=name)
def test_moved_cast_is_caught_under_strict_precision(case, tmp_path):
    rewrite, fault = case
    original, faulty = rewrite.captured, rewrite.build_rewritten(fault)
    expect(0, tmp_path, original, faulty)
    expect(1, tmp_path, original, faulty, "--precision=strict")


@pytest.mark.parametrize("case", WIDE_FAULTS, ids=name)
def test_fault_in_a_program_of_real_width_is_caught(case, tmp_path):
    """Sizes of thousands become sizes of a few."""
    rewrite, fault = case
    expect(1, tmp_path, rewrite.captured, rewrite.build_rewritten(fault))


@pytest.mark.parametrize("rewrite", WIDE_BLOCK_REWRITES, ids=lambda rewrite: rewrite.name)
def test_correct_rewrite_of_real_width_passes(rewrite, tmp_path):
    expect(0, tmp_path, rewrite.captured, rewrite.build_rewritten())


def is_missed_by_floats(rewrite, fault):
    """Whether the results agree as bf16 results are compared."""
    if not rewrite.has_floats:
        return False
    first, second = rewrite.captured, rewrite.build_rewritten(fault)
    for a, b in zip(first.results, second.results, strict=True):
        for x, y in zip(a.shards, b.shards, strict=True):
            if x.dtype != y.dtype or x.shape != y.shape:
                return False
            if not torch.allclose(x.double(), y.double(), **TOLERANCE):
                return False
    return True


def test_number_of_faults():
    """The suite holds what the project promises; floats would miss a part."""
    distinct = {fault for _, fault in [*FAULTS, *STRICT_FAULTS]}
    cases = [*FAULTS, *STRICT_FAULTS]
    missed = {fault for rewrite, fault in cases if is_missed_by_floats(rewrite, fault)}
    print(f"\n{len(distinct)} distinct faults; comparing floats misses {len(missed)}")
    assert len(distinct) >= 60
    # Else the comparison would say nothing of the method.
    assert missed


def print_table():
    cases = [*FAULTS, *STRICT_FAULTS]
    missed = {name(case) for case in cases if is_missed_by_floats(*case)}
    places = {}
    for rewrite, fault in cases:
        text = {**rewrite.faults, **rewrite.strict_faults}[fault]
        places.setdefault((fault, text), []).append(name((rewrite, fault)))
    print("| fault | what is wrong | planted | floats miss |\n|---|---|---|---|")
    for (fault, text), planted in places.items():
        count = sum(place in missed for place in planted)
        print(f"| {fault} | {text} | {len(planted)} | {count or ''} |")
    distinct = {fault for fault, _ in places}
    by_floats = {f for (f, _), planted in places.items() if any(p in missed for p in planted)}
    print(
        f"\n{len(distinct)} faults, planted {len(cases)} times in {len(REWRITES)} rewrites; "
        f"floats miss {len(by_floats)} of the faults, {len(missed)} of the plantings"
    )


if __name__ == "__main__":
    print_table()
