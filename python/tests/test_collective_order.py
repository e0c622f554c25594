# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute verify A B` where collectives of one group come in another order."""

import json

import pytest
import torch

from commute_tool import commute
from zoo.common import capture
from zoo.common.cases import Case

c10d = torch.ops._c10d_functional
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (4, 4), "y": (4, 4)}


def total(mesh, x, reduction="sum"):
    return c10d.wait_tensor(c10d.all_reduce(x, reduction, mesh.tp.name))


def gather(mesh, x):
    return c10d.wait_tensor(c10d.all_gather_into_tensor(x, 2, mesh.tp.name))


def first_total(mesh, x, y):
    a = total(mesh, x)
    return a, gather(mesh, y), total(mesh, y)


def first_gather(mesh, x, y):
    b = gather(mesh, y)
    return total(mesh, x), b, total(mesh, y)


def swapped_on_one_rank(mesh, x, y):
    return (first_gather if mesh.tp.index == 1 else first_total)(mesh, x, y)


def swapped_alike_on_one_rank(mesh, x, y):
    if mesh.tp.index == 0:
        return first_total(mesh, x, y)
    # Of the same type: the ranks do not wait, but sum different things.
    c = total(mesh, y)
    b = gather(mesh, y)
    return total(mesh, x), b, c


def another_reduction_on_one_rank(mesh, x, y):
    a = total(mesh, x, "max" if mesh.tp.index == 1 else "sum")
    return a, gather(mesh, y), total(mesh, y)


def missing_on_one_rank(mesh, x, y):
    a, b = total(mesh, x), gather(mesh, y)
    return a, b, y if mesh.tp.index == 1 else total(mesh, y)


def write(ranks, folder):
    """The archives of both ranks in a folder."""
    case = Case("", MESH, INPUTS, {}, lambda x, y: x, ranks)
    folder.mkdir()
    for rank, (mesh, values) in enumerate(zip(case.meshes, case.values_of_ranks())):
        module = capture.trace(lambda x, y, mesh=mesh: ranks(mesh, x, y), values)
        capture.save(module, folder / f"rank{rank}.pt2", MESH, rank)
    return folder


def test_another_order_on_all_ranks_is_noted(tmp_path):
    before, after = write(first_total, tmp_path / "a"), write(first_gather, tmp_path / "b")
    process = commute("verify", before, after)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "equivalent on 2 ranks" in process.stdout
    assert (
        "the collectives of group 'tp' are in another order in the second program: all of its"
        " ranks must run the second program" in process.stdout
    )
    assert "another order" not in commute("verify", before, before).stdout
    # So for one program that all ranks run.
    process = commute("verify", before / "rank0.pt2", after / "rank0.pt2")
    assert process.returncode == 0 and "another order" in process.stdout


@pytest.mark.parametrize(
    "ranks, said",
    [
        (swapped_on_one_rank, ["collective 0 of the group of ranks 0, 1", "different collectives"]),
        (another_reduction_on_one_rank, ["rank 1 runs tp.all_reduce max", "all_reduce sum"]),
        (missing_on_one_rank, ["rank 0 runs tp.all_reduce sum", "rank 1 returns without"]),
    ],
)
def test_ranks_that_disagree_are_different(ranks, said, tmp_path):
    right, wrong = write(first_total, tmp_path / "right"), write(ranks, tmp_path / "wrong")
    for programs in ((right, wrong), (wrong, right), (wrong, wrong)):
        process = commute("verify", *programs)
        assert process.returncode == 1, process.stdout + process.stderr
        assert process.stdout.startswith(f"different: {wrong / 'rank1.pt2'}: ")
        for words in (*said, "the same collectives in the same order"):
            assert words in process.stdout
    report = json.loads(commute("verify", right, wrong, "--json").stdout)
    assert report["verdict"] == "different" and said[0] in report["differences"][0]["message"]
    # Nothing that all ranks do can be made better.
    process = commute("opt", wrong, "-o", tmp_path / "out")
    assert process.returncode == 2 and said[0] in process.stderr


def test_ranks_that_exchange_other_values_are_different(tmp_path):
    right = write(first_total, tmp_path / "right")
    wrong = write(swapped_alike_on_one_rank, tmp_path / "wrong")
    process = commute("verify", right, wrong)
    assert process.returncode == 1, process.stdout + process.stderr
    assert "different" in process.stdout
