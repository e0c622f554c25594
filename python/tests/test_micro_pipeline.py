# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""All passes on real programs: fused, proven, and equal in PyTorch under gloo.

A fused product is summed in f32 and rounded once, as is a scattered sum: results
agree up to rounding, and in double precision to twelve digits.
"""

from collections import Counter

import pytest
import torch

from collective_programs import gather
from commute.torch import register_cpu_fused_ops
from commute_tool import optimize
from fixtures import FIXTURES
from loaded_programs import load
from ranks import run_on_ranks
from tensor_parallel.archive import export_archive
from tensor_parallel.config import Config
from test_sequence_parallel import MODELS, WRONG_IN_PYTORCH, check_close

ALWAYS = "--policy=always"

# Of PyTorch about itself, when it exports.
pytestmark = pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.")

# Programs whose collectives have no products beside them.
WITHOUT_PRODUCTS = {"every_collective_tp4", "in_place_collectives_tp2", WRONG_IN_PYTORCH}


def ops_of(archive):
    """How many nodes there are of each operator."""
    names = (str(node.target).split(".") for node in load(archive).graph.nodes)
    return Counter(".".join(parts[:2]) for parts in names if len(parts) > 2)


def fused_ops_of(archive):
    return {name: count for name, count in ops_of(archive).items() if name.startswith("symm_mem.")}


def check_same_results(source, target, world_size, **options):
    expected = run_on_ranks(source, world_size, **options)
    found = run_on_ranks(target, world_size, prepare=register_cpu_fused_ops, **options)
    for old_outputs, new_outputs in zip(expected, found, strict=True):
        for old, new in zip(old_outputs, new_outputs, strict=True):
            check_close(new, old)


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("name", sorted(set(FIXTURES) - WITHOUT_PRODUCTS))
def test_fixture_gives_the_same_results(name, world_size, archive_for, tmp_path):
    source, target = archive_for(name, world_size), tmp_path / "out.pt2"
    optimize(source, target, ALWAYS)
    assert fused_ops_of(target)
    check_same_results(source, target, world_size, seed=7)


@pytest.mark.parametrize("name", sorted(WITHOUT_PRODUCTS))
def test_nothing_is_fused_without_products(name, fixtures_folder, tmp_path):
    target = tmp_path / "out.pt2"
    optimize(fixtures_folder / f"{name}.pt2", target, ALWAYS)
    assert not fused_ops_of(target)


def test_default_policy_leaves_small_fixtures_alone(fixtures_folder, tmp_path):
    summary = optimize(fixtures_folder / "llama_sequence_parallel_tp2.pt2", tmp_path / "out.pt2")
    refused = [r for r in summary["remarks"] if r["pass"] == "micro-pipeline"]
    assert refused and all(" us unfused on " in remark["message"] for remark in refused)


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_model_to_twelve_digits(name, world_size, tmp_path):
    choices = dict(MODELS[name])
    model = choices.pop("model", name)
    config = Config(dtype=torch.float64, layers=2, **choices)
    sources = [tmp_path / f"in{rank}.pt2" for rank in range(world_size)]
    targets = [tmp_path / f"out{rank}.pt2" for rank in range(world_size)]
    for rank, (source, target) in enumerate(zip(sources, targets, strict=True)):
        export_archive(source, model, config, world_size, rank)
        optimize(source, target, ALWAYS)
    inputs = [list(load(source).example_inputs[0]) for source in sources]
    check_same_results(sources, targets, world_size, weights="archive", inputs=inputs)


class GatheredForEachProduct(torch.nn.Module):
    """Query, key and value, as DTensor captures them: each gathers the input along its rows."""

    def forward(self, x, query, key, value):
        def gathered():
            return torch.cat(torch.chunk(gather(x, 2), 2), 1)

        return gathered() @ query, gathered() @ key, gathered() @ value, gathered().sin()


def test_products_of_one_value_share_its_gather(tmp_path):
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    generator = torch.Generator().manual_seed(3)
    x, *weights = (
        torch.randn(*sizes, dtype=torch.float64, generator=generator)
        for sizes in ((1, 8, 16), (16, 8), (16, 4), (16, 4))
    )
    program = torch.export.export(GatheredForEachProduct(), (x, *weights), strict=False)
    torch.export.save(program, source)
    summary = optimize(source, target, ALWAYS)
    assert sum("removed: it repeats" in remark["message"] for remark in summary["remarks"]) == 3
    (name,) = (name for name in ops_of(target) if "all_gather" in name)
    assert (name, ops_of(target)[name]) == ("symm_mem.fused_all_gather_matmul", 1)
    check_same_results(source, target, 2, inputs=[[x + rank, *weights] for rank in range(2)])


def test_every_collective_of_llama_blocks_is_fused_or_explained(tmp_path):
    """Two blocks of rows that one dim cuts: nothing exposed but what a remark names."""
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    export_archive(source, "llama_model", Config(layers=2, batch=1), 2)
    summary = optimize(source, target, ALWAYS)
    ops = ops_of(target)
    assert ops["symm_mem.fused_matmul_reduce_scatter"] == 4
    assert ops["symm_mem.fused_all_gather_matmul"] == 5  # two a block, and the head's
    apart = {
        remark["node"]
        for remark in summary["remarks"]
        if remark["pass"] == "micro-pipeline" and remark["verdict"] == "refused"
    }
    left = ops["_c10d_functional.reduce_scatter_tensor"]
    left += ops["_c10d_functional.all_gather_into_tensor"]
    assert left == len(apart) == 2  # the embedding's, and the logits'
