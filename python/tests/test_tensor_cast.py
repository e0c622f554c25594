# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sequence parallelism in TensorCast's vocabulary: the shapes that its own pass knows.

Each program is rewritten into TensorCast's operators, proven, loaded again, and run
with real collectives on 2 and 4 ranks, in double precision. Its collectives name
their rank, so that every rank has an archive of its own.
"""

import importlib
from collections import Counter
from functools import partial

import pytest
import torch

import tensor_cast_operators  # noqa: F401 (defines them)
from commute_tool import commute, optimize
from loaded_programs import load
from programs import Model
from ranks import run_on_ranks

TOKENS, HIDDEN = 8, 16
# Inputs after the first are the same on all ranks.
RESIDUAL = "--input-placement=arguments_1=replicated"
ALWAYS = ("--passes=sequence-parallel,lower-collectives", "--policy=always")
cast = torch.ops.tensor_cast


class Rank:
    """What a program does on one rank: products by columns and rows, and their sum."""

    def __init__(self, module, rank, size):
        self.module = module
        self.place = rank, list(range(size))

    def reduce(self, x):
        return cast.all_reduce(x, *self.place)

    def product(self, x):
        """What attention or a feed-forward block leaves to be summed."""
        return torch.nn.functional.silu(x @ self.module.columns) @ self.module.rows

    def norm(self, x):
        return cast.rms_norm(x, self.module.norm, 1e-6)

    def add_norm(self, x, residual):
        return cast.add_rms_norm(x, residual, self.module.norm, 1e-6)

    def add_norm_pair(self, x, residual):
        return cast.add_rms_norm2(x, residual, self.module.norm, 1e-6)


def first_norm(p, x):
    """P1."""
    return p.product(p.norm(p.reduce(x)))


def first_norm_behind_marker(p, x):
    """P1 where layers are repeated."""
    marked = cast._internal_mark_region_begin(p.reduce(x), 0)
    return p.product(p.norm(marked))


def first_add_norm(p, x, residual):
    """P1 with a residual that all ranks have, which TensorCast's pass breaks."""
    return p.product(p.add_norm(p.reduce(x), residual))


def chain(p, x):
    """P2: the residual stays local over two layers, in either place."""
    first = p.reduce(x)
    normed, residual = p.add_norm_pair(p.reduce(p.product(p.norm(first))), first)
    normed, residual = p.add_norm_pair(residual, p.reduce(p.product(normed)))
    return p.product(normed)


def end_of_layers(p, x):
    """P3: sum, end and copies of a region, norm."""
    first = p.reduce(x)
    normed, residual = p.add_norm_pair(p.reduce(p.product(p.norm(first))), first)
    summed = residual + p.reduce(p.product(normed)).view(x.shape)
    ended = cast._internal_mark_region_end(summed, 0)
    copied = cast._internal_copy_region(cast._internal_copy_region(ended, 0), 0)
    return p.product(p.norm(copied))


def fused_end(p, x):
    """P3 with the sum in the norm."""
    first = p.reduce(x)
    normed, residual = p.add_norm_pair(p.reduce(p.product(p.norm(first))), first)
    return p.product(p.add_norm(residual, p.reduce(p.product(normed))))


def whole_model(p, x):
    """All of them, with a repeated layer between its markers."""
    residual = cast._internal_mark_region_begin(p.reduce(x), 0)
    normed, residual = p.add_norm_pair(p.reduce(p.product(p.norm(residual))), residual)
    residual = residual + p.reduce(p.product(normed))
    residual = cast._internal_mark_region_end(residual, 0)
    residual = cast._internal_copy_region(residual, 0)
    normed, residual = p.add_norm_pair(p.reduce(p.product(p.norm(residual))), residual)
    return p.product(p.add_norm(residual, p.reduce(p.product(normed))))


# By function: all_reduces, and values gathered in their place.
PROGRAMS = {
    first_norm: (1, 1),
    first_norm_behind_marker: (1, 1),
    first_add_norm: (1, 1),
    chain: (3, 3),
    end_of_layers: (3, 3),
    fused_end: (3, 3),
    whole_model: (5, 5),
}
SHAPES = {
    "tokens": (TOKENS, HIDDEN),
    "one_batch": (1, TOKENS, HIDDEN),
    "batches": (2, TOKENS, HIDDEN),
}


class Exported:
    """A program for each rank, with the inputs of that rank."""

    def __init__(self, folder, function, shape, size):
        self.paths = [folder / f"in{rank}.pt2" for rank in range(size)]
        self.inputs = []
        count = function.__code__.co_argcount - 1
        shared = [self.draw(shape, seed) for seed in range(1, count)]
        for rank, path in enumerate(self.paths):
            members = {
                "columns": self.draw((HIDDEN, 2 * HIDDEN), 10 + rank),
                "rows": self.draw((2 * HIDDEN, HIDDEN), 20 + rank),
                "norm": self.draw((HIDDEN,), 30),
            }
            self.inputs.append([self.draw(shape, 40 + rank), *shared])

            def forward(module, *arguments, rank=rank):
                return function(Rank(module, rank, size), *arguments)

            program = torch.export.export(Model(forward, **members), tuple(self.inputs[-1]))
            torch.export.save(program, path)

    @staticmethod
    def draw(shape, seed):
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(shape, generator=generator, dtype=torch.float64) * 0.5


def operators_of(path):
    return Counter(
        str(node.target).removeprefix("tensor_cast.").removesuffix(".default")
        for node in load(path).graph.nodes
        if str(node.target).startswith("tensor_cast.")
    )


def run(paths, inputs):
    operators = partial(importlib.import_module, "tensor_cast_operators")
    return run_on_ranks(paths, len(paths), weights="archive", inputs=inputs, prepare=operators)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_rewritten_program_gives_the_same(function, shape, size, tmp_path):
    exported = Exported(tmp_path, function, SHAPES[shape], size)
    targets = [tmp_path / f"out{rank}.pt2" for rank in range(size)]
    reduces, gathers = PROGRAMS[function]
    has_residual = len(exported.inputs[0]) > 1
    for source, target in zip(exported.paths, targets, strict=True):
        optimize(source, target, *ALWAYS, *([RESIDUAL] if has_residual else []))
        before, after = operators_of(source), operators_of(target)
        assert before["all_reduce"] == reduces
        assert after["all_reduce"] == 0
        assert after["reduce_scatter"] == reduces
        assert after["all_gather"] == gathers
        # Norms and markers are TensorCast's still; nothing came from c10d.
        for name in before.keys() - {"all_reduce"}:
            assert after[name] == before[name]
        assert not any("_c10d" in str(node.target) for node in load(target).graph.nodes)
        assert optimize(target, tmp_path / "again.pt2", *ALWAYS)["unchanged"]

    expected, found = run(exported.paths, exported.inputs), run(targets, exported.inputs)
    for (old,), (new,) in zip(expected, found, strict=True):
        assert (old.dtype, old.shape, old.stride()) == (new.dtype, new.shape, new.stride())
        torch.testing.assert_close(new, old, rtol=1e-11, atol=1e-11)


def test_collectives_name_rank_group_and_dim(tmp_path):
    """The rank of the archive and the order of its group; rows 1 of [1, tokens, hidden]."""
    exported = Exported(tmp_path, first_add_norm, SHAPES["one_batch"], 4)
    target = tmp_path / "out.pt2"
    optimize(exported.paths[2], target, *ALWAYS, RESIDUAL)
    nodes = {node.name: node for node in load(target).graph.nodes}
    assert nodes["reduce_scatter"].args[1:] == (1, 2, [0, 1, 2, 3])
    assert nodes["all_gather"].args[1:] == (1, 2, [0, 1, 2, 3])
    # The rows of rank 2 of 4, of eight.
    (part,) = (n for n in nodes.values() if n.target is torch.ops.aten.slice.Tensor)
    assert part.args[1:] == (1, 4, 6)


def test_residual_that_may_differ_stays_whole(tmp_path):
    exported = Exported(tmp_path, first_add_norm, SHAPES["tokens"], 2)
    summary = optimize(exported.paths[0], tmp_path / "out.pt2", *ALWAYS)
    assert summary["unchanged"]
    (remark,) = (r for r in summary["remarks"] if r["verdict"] == "refused")
    assert "not known to be replicated" in remark["message"]
    assert "--input-placement" in remark["suggestion"]


def test_rank_that_contradicts_the_collectives(tmp_path):
    exported = Exported(tmp_path, first_norm, SHAPES["tokens"], 2)
    target = tmp_path / "out.pt2"
    process = commute("opt", exported.paths[0], "-o", target, *ALWAYS, "--rank=1")
    assert process.returncode == 2
    assert "rank" in process.stderr
    assert not target.exists()
