# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sequence parallelism on real programs: rewritten, proven, and equal in PyTorch.

Sums are made in the same or in another order, and over other blocks: results
agree up to rounding, and in double precision to twelve digits.
"""

from collections import Counter

import pytest
import torch

from commute_tool import optimize
from fixtures import FIXTURES
from loaded_programs import check_strides, load
from ranks import run_on_ranks
from tensor_parallel.archive import export_archive
from tensor_parallel.config import Config

PASSES = "sequence-parallel,lower-collectives"
ALWAYS = (f"--passes={PASSES}", "--policy=always")

# Of the largest value. One step of bf16 is 2 to 4 times 2^-9 of a value, and
# what is rounded differently once is rounded again by every op that follows.
# Kernels without products of bfloat16 in hardware round more: 3.2e-2 was seen on Zen 3.
# The same models are compared to twelve digits in float64.
ROUNDS_LESS = torch.cpu._is_avx512_bf16_supported()
TOLERANCES = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.bfloat16: 3e-2 if ROUNDS_LESS else 6e-2,
}

# Fixtures without an all_reduce that rows could follow: their activations are
# shards already, or every value is returned.
UNCHANGED = {
    "every_collective_tp4",
    "in_place_collectives_tp2",
    "llama_sequence_first_tp2",
    "llama_sequence_first_tp4_dynamic",
    "llama_sequence_parallel_tp2",
    "llama_sequence_parallel_tp2_aten",
    "llama_transposed_gather_tp2",
    "llama_transposed_gather_tp2_batch1",
    "llama_transposed_gather_tp4",
}
# PyTorch computes the wrong sum of the original.
WRONG_IN_PYTORCH = "in_place_with_holes_tp2"
REWRITTEN = sorted(set(FIXTURES) - UNCHANGED - {WRONG_IN_PYTORCH})


def collectives_of(archive):
    """How many there are of each, a coalesced one counted once."""
    names = (str(node.target).split(".") for node in load(archive).graph.nodes)
    return Counter(
        parts[1] for parts in names if parts[0] == "_c10d_functional" and parts[1] != "wait_tensor"
    )


def check_rewritten(source, target, summary, numbers=None):
    """Every all_reduce has become a reduce_scatter, and PyTorch takes the result."""
    before, after = collectives_of(source), collectives_of(target)
    assert not summary["unchanged"]
    assert before["all_reduce"] > 0
    assert after["all_reduce"] == 0
    assert after["all_gather_into_tensor"] > before["all_gather_into_tensor"]
    sums = [
        node
        for node in load(target).graph.nodes
        if str(node.target) == "_c10d_functional.reduce_scatter_tensor.default"
        and node.args[1] == "sum"
    ]
    assert len(sums) == before["all_reduce"] + before["reduce_scatter_tensor"]
    check_strides(load(target), numbers)


def check_close(ours, theirs):
    assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
    ours, expected = ours.double(), theirs.double()
    largest = expected.abs().max()
    assert torch.isfinite(largest) and largest > 0
    assert (ours - expected).abs().max() <= TOLERANCES[theirs.dtype] * largest


def check_same_results(source, target, world_size, **options):
    expected = run_on_ranks(source, world_size, **options)
    found = run_on_ranks(target, world_size, **options)
    for old_outputs, new_outputs in zip(expected, found, strict=True):
        for old, new in zip(old_outputs, new_outputs, strict=True):
            check_close(new, old)


def rewrite(source, target, *options, numbers=None):
    """With the proof, which is on."""
    summary = optimize(source, target, *ALWAYS, *options)
    check_rewritten(source, target, summary, numbers)
    return summary


# Of PyTorch about itself, when it exports.
pytestmark = pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.")


# ----------------------------------------------------------------------------
# Fixtures
# ----------------------------------------------------------------------------


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("name", REWRITTEN)
def test_fixture_gives_the_same_results(name, world_size, archive_for, tmp_path):
    source, target = archive_for(name, world_size), tmp_path / "out.pt2"
    rewrite(source, target)
    check_same_results(source, target, world_size, seed=7)
    # All that pays is done the first time, by all passes.
    again = tmp_path / "again.pt2"
    assert optimize(target, again, *ALWAYS)["unchanged"]


@pytest.mark.parametrize("name", sorted(UNCHANGED))
def test_fixture_without_work_is_unchanged(name, fixtures_folder, tmp_path):
    assert optimize(fixtures_folder / f"{name}.pt2", tmp_path / "out.pt2", *ALWAYS)["unchanged"]


@pytest.mark.parametrize("world_size", [2, 4])
def test_sum_in_place_becomes_a_right_one(world_size, archive_for, tmp_path):
    """The original reduces other bytes than its operand's; the rewritten does not."""
    source, target = archive_for(WRONG_IN_PYTORCH, world_size), tmp_path / "out.pt2"
    optimize(source, target, *ALWAYS)
    generator = torch.Generator().manual_seed(0)
    inputs = [
        [torch.randn(load(source).example_inputs[0][0].shape, generator=generator)]
        for _ in range(world_size)
    ]
    right = sum(x * 2 for (x,) in inputs)[:, ::2]
    for (output,) in run_on_ranks(target, world_size, inputs=inputs):
        torch.testing.assert_close(output, right)


@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("name", ["llama_tp2", "gpt2_tp2", "bert_tp4_aten"])
def test_each_rank_cuts_its_own_rows(name, world_size, archive_for, tmp_path):
    """With --rank the replicated residual is sliced: one archive for each rank."""
    source = archive_for(name, world_size)
    targets = [tmp_path / f"rank{rank}.pt2" for rank in range(world_size)]
    for rank, target in enumerate(targets):
        summary = rewrite(source, target, f"--rank={rank}")
        assert "rank-slice" in {remark["name"] for remark in summary["remarks"]}
        assert len(collectives_of(target)) == 2  # no scatter of equal values
    check_same_results(source, targets, world_size, seed=8)


def test_default_policy_leaves_small_fixtures_alone(fixtures_folder, tmp_path):
    summary = optimize(
        fixtures_folder / "llama_tp2.pt2", tmp_path / "out.pt2", f"--passes={PASSES}"
    )
    assert summary["unchanged"]
    refused = [remark for remark in summary["remarks"] if remark["verdict"] == "refused"]
    assert {remark["node"] for remark in refused} == {"all_reduce", "all_reduce_1"}


# ----------------------------------------------------------------------------
# Models in double precision
# ----------------------------------------------------------------------------

MODELS = {
    "llama": {},
    "llama_sequence_first": dict(model="llama", layout="sequence_first"),
    "llama_one_batch": dict(model="llama", batch=1),
    "llama_decomposed_norm": dict(model="llama", fused_norm=False),
    "llama_model": {},
    "qwen": {},
    "gpt2": {},
    "bert": {},
}


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
        rewrite(source, target)
    inputs = [list(load(source).example_inputs[0]) for source in sources]
    check_same_results(sources, targets, world_size, weights="archive", inputs=inputs)


# ----------------------------------------------------------------------------
# Symbolic sizes, and sizes that do not divide
# ----------------------------------------------------------------------------


# Of batch and sequence, for metadata.
NUMBERS = {"s77": 12, "s27": 20}


@pytest.fixture(scope="module", params=[2, 4])
def dynamic_archive(request, tmp_path_factory):
    """A program with symbolic batch s77 and sequence s27, and its number of ranks.

    Its example has more rows than ranks: of a shard that has one row in the
    example, PyTorch's own propagation says that it always has one.
    """
    path = tmp_path_factory.mktemp("dynamic") / "program.pt2"
    config = Config(batch=8, sequence=16, dtype=torch.bfloat16)
    export_archive(path, "llama", config, request.param, dynamic=True)
    assert {str(symbol) for symbol in load(path).range_constraints} == set(NUMBERS)
    return path, request.param


def check_on_sizes(source, target, world_size, sizes):
    generator = torch.Generator().manual_seed(3)
    for batch, sequence in sizes:
        x = torch.randn(batch, sequence, 32, generator=generator).bfloat16()
        check_same_results(source, target, world_size, inputs=[[x]] * world_size)


def test_symbolic_sequence(dynamic_archive, tmp_path):
    source, world_size = dynamic_archive
    target, fact = tmp_path / "out.pt2", f"s27 % {world_size} == 0"
    summary = rewrite(source, target, f"--assume={fact}", numbers=NUMBERS)
    messages = [remark["message"] for remark in summary["remarks"]]
    assert any("dim 1 (" in message and fact in message for message in messages)
    check_on_sizes(source, target, world_size, [(2, 4), (3, 8), (5, 32)])


def test_symbolic_batch(dynamic_archive, tmp_path):
    source, world_size = dynamic_archive
    target, fact = tmp_path / "out.pt2", f"s77 % {world_size} == 0"
    summary = rewrite(source, target, f"--assume={fact}", numbers=NUMBERS)
    messages = [remark["message"] for remark in summary["remarks"]]
    assert any("dim 0 (" in message and fact in message for message in messages)
    check_on_sizes(source, target, world_size, [(4, 2), (8, 7), (12, 32)])


def test_symbolic_rows_without_assumption_cut_the_columns(fixtures_folder, tmp_path):
    """32 columns divide, whatever the rows; norms, which need them all, stay whole."""
    source, target = fixtures_folder / "llama_tp2_dynamic.pt2", tmp_path / "out.pt2"
    summary = rewrite(source, target)
    assert any("dim 2 (" in remark["message"] for remark in summary["remarks"])
    check_on_sizes(source, target, 2, [(3, 5), (2, 7)])


def test_assumption_that_does_not_hold_fails_in_pytorch(fixtures_folder, tmp_path):
    """No wrong values: blocks of seven rows for two ranks cannot be made."""
    source, target = fixtures_folder / "llama_tp2_dynamic.pt2", tmp_path / "out.pt2"
    rewrite(source, target, "--assume=s27 % 2 == 0", numbers=NUMBERS)
    x = torch.ones(2, 7, 32, dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match=r"unflatten|divis|shape|size"):
        run_on_ranks(target, 2, inputs=[[x]] * 2)


@pytest.mark.parametrize("world_size", [2, 4])
def test_rows_that_do_not_divide_are_padded(world_size, tmp_path):
    config = Config(dtype=torch.float64, batch=1, sequence=7)
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    export_archive(source, "llama", config, world_size)
    options = ("--policy=always", "--passes=sequence-parallel{pad=true},lower-collectives")
    check_rewritten(source, target, optimize(source, target, *options))
    check_same_results(source, target, world_size, seed=9)
