# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs that name the process groups of one rank alone.

TensorCast's collectives list the ranks of this rank's group. With two groups, the groups
of other ranks are those of a mesh in row-major order, under a premise that verdicts print,
or the collectives are left alone.
"""

import importlib
import json
from functools import partial

import pytest
import torch

import tensor_cast_operators  # noqa: F401 (defines them)
from commute_tool import commute, optimize, succeed
from handmade_programs import HandmadeProgram
from loaded_programs import load
from programs import Model
from ranks import run_on_ranks

cast = torch.ops.tensor_cast
ALWAYS = ("--passes=sequence-parallel,lower-collectives", "--policy=always")
ALL_PASSES = ("--policy=always",)

# The groups of each of 4 ranks.
LAYOUTS = {
    "pair_and_column": lambda rank: ([rank // 2 * 2, rank // 2 * 2 + 1], [rank % 2, rank % 2 + 2]),
    "pair_and_all": lambda rank: ([rank // 2 * 2, rank // 2 * 2 + 1], [0, 1, 2, 3]),
}


def forward(module, x, *, rank, groups):
    """A layer on each of two groups."""
    for group in groups:
        summed = cast.all_reduce(x @ module.columns @ module.rows, rank, group)
        x = cast.rms_norm(summed, module.norm, 1e-6)
    return x @ module.columns


def export(path, rank, groups, *, tokens=8, hidden=16):
    """Writes one rank's program; gives its input."""

    def draw(*shape, seed):
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(shape, generator=generator, dtype=torch.float64) * 0.5

    members = {
        "columns": draw(hidden, 2 * hidden, seed=10 + rank),
        "rows": draw(2 * hidden, hidden, seed=20 + rank),
        "norm": draw(hidden, seed=30),
    }
    x = draw(tokens, hidden, seed=40 + rank)
    model = Model(partial(forward, rank=rank, groups=groups), **members)
    torch.export.save(torch.export.export(model, (x,)), path)
    return [x]


def run(paths, inputs):
    operators = partial(importlib.import_module, "tensor_cast_operators")
    return run_on_ranks(paths, len(paths), weights="archive", inputs=inputs, prepare=operators)


def groups_in(path):
    return [
        list(node.args[-1])
        for node in load(path).graph.nodes
        if str(node.target)
        in ("tensor_cast.reduce_scatter.default", "tensor_cast.all_gather.default")
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_group_sizes(layout, tmp_path):
    paths = [tmp_path / f"in{rank}.pt2" for rank in range(4)]
    inputs = [export(path, rank, LAYOUTS[layout](rank)) for rank, path in enumerate(paths)]
    targets = [tmp_path / f"out{rank}.pt2" for rank in range(4)]
    for rank, (source, target) in enumerate(zip(paths, targets, strict=True)):
        summary = optimize(source, target, *ALWAYS)
        # Each rank's program names its own groups still.
        pair, other = LAYOUTS[layout](rank)
        assert groups_in(target) == [pair, pair, other, other]
        (premise,) = (a for a in summary["verification"]["assumptions"] if "row-major" in a)
        assert f"the groups of rank {rank} alone; its 4 ranks" in premise
        assert "is one of the groups 0,1/2,3" in premise
        assert premise in succeed("verify", source, target)

    # The archives of all ranks state the groups of all: there is no premise.
    together = tmp_path / "together"
    summary = json.loads(succeed("opt", *paths, "-o", together, *ALWAYS, "--json"))
    assert not any("row-major" in a for a in summary["verification"]["assumptions"])
    merged = [together / f"rank{rank}.pt2" for rank in range(4)]

    expected = run(paths, inputs)
    for found in (run(targets, inputs), run(merged, inputs)):
        for (old,), (new,) in zip(expected, found, strict=True):
            torch.testing.assert_close(new, old, rtol=1e-11, atol=1e-11)


def test_placements_name_this_ranks_group(tmp_path):
    """Under either key the input is placed on the groups of all ranks."""
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    export(source, 0, LAYOUTS["pair_and_column"](0))
    for group in ("0,2", "0,2/1,3"):
        option = f"--input-placement=arguments_0=replicated@{group}"
        assumed = optimize(source, target, *ALWAYS, option)["verification"]["assumptions"]
        assert "input 'arguments_0' is varying on group '0,1/2,3'" in assumed
        assert not any("'arguments_0'" in text and "'0,2/1,3'" in text for text in assumed)


@pytest.mark.parametrize("rank", [0, 5])
def test_groups_of_no_mesh_are_left_alone(rank, tmp_path):
    """The product of a concatenation is split, although no collective is understood."""

    def model(module, x, y):
        summed = cast.all_reduce(torch.cat([x, y], 1) @ module.w, rank, [0, 5])
        return cast.all_reduce(summed, rank, [0, 3, 5])

    x = torch.randn(64, 32)
    program = torch.export.export(Model(model, w=torch.randn(64, 16)), (x, x + 1))
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    torch.export.save(program, source)
    summary = optimize(source, target, *ALL_PASSES)
    assert not summary["unchanged"]
    left = [r for r in summary["remarks"] if "left alone" in r["message"]]
    assert [r["pass"] for r in left] == ["import", "import"]
    assert "no mesh in row-major order has them" in left[0]["message"]
    targets = [str(node.target) for node in load(target).graph.nodes]
    assert targets.count("tensor_cast.all_reduce.default") == 2
    assert "aten.cat.default" not in targets
    assert commute("verify", source, target).returncode == 0


def named_groups(path):
    program = HandmadeProgram()
    gathered = program.all_gather(program.input("x", [4, 8]), [8, 8], "tp", 2)
    program.output(program.all_gather(gathered, [16, 8], "dp", 2))
    return program.write(path)


def test_stated_groups_of_one_rank(tmp_path):
    archive = named_groups(tmp_path / "in.pt2")
    text = succeed("verify", archive, archive, "--group=tp=0-1", "--group=dp=0,2")
    assert "equivalent on 4 ranks" in text and "0,2 is one of the groups 0,2/1,3" in text
    # All groups of both axes are stated.
    text = succeed("verify", archive, archive, "--group=tp=0-1/2-3", "--group=dp=0,2/1,3")
    assert "equivalent on 4 ranks" in text and "row-major" not in text
    # One axis is; the other is completed for its ranks.
    text = succeed("verify", archive, archive, "--group=tp=0-1/2-3/4-5/6-7", "--group=dp=0,2")
    assert "equivalent on 8 ranks" in text and "0,2/1,3/4,6/5,7" in text


def test_stated_groups_of_no_mesh(tmp_path):
    archive = named_groups(tmp_path / "in.pt2")
    options = ("--group=tp=0-1", "--group=dp=0,3")
    summary = optimize(archive, tmp_path / "out.pt2", *options, *ALL_PASSES)
    assert summary["unchanged"]
    assert sum("left alone: the groups" in r["message"] for r in summary["remarks"]) == 2
