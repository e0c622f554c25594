# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Dense inputs for collectives: how many copies, with what metadata, same results.

What is compared on ranks is compared bit by bit.
"""

import pytest
import torch

import commute_tool
from collective_programs import CASES
from commute_tool import UPSTREAM_RULE
from fixtures import FIXTURES
from loaded_programs import check_strides, load, same_tensor
from ranks import run_on_ranks

PASS = "--passes=contiguous-collectives"

# One transposed value in two all-gathers.
COPIES_OF_FIXTURES = {"llama_transposed_gather_tp2": 1, "llama_transposed_gather_tp4": 1}

# Upstream's rule copies every input of an all_gather_into_tensor and of a
# reduce_scatter_tensor, here those of their coalesced forms too; all but a few
# of the values are dense already.
UPSTREAM_COPIES_OF_FIXTURES = {
    "every_collective_tp4": 8,
    "llama_model_tp2": 1,
    "llama_sequence_first_tp2": 4,
    "llama_sequence_first_tp4_dynamic": 4,
    "llama_sequence_parallel_tp2": 4,
    "llama_sequence_parallel_tp2_aten": 4,
    "llama_transposed_gather_tp2": 4,
    "llama_transposed_gather_tp2_batch1": 4,
    "llama_transposed_gather_tp4": 4,
}


def optimize(source, target, *options):
    """With the pass under test alone, unless `options` name passes."""
    passes = () if any("--passes" in option for option in options) else (PASS,)
    return commute_tool.optimize(source, target, *passes, *options)


def copies_in(exported):
    """The nodes that make a value dense."""
    return [
        node
        for node in exported.graph.nodes
        if node.target is torch.ops.aten.clone.default
        and node.kwargs.get("memory_format") is torch.contiguous_format
    ]


def new_copies(original, optimized):
    """The copies in an optimized program that the original does not have."""
    before = {node.name for node in original.graph.nodes}
    return [node for node in copies_in(optimized) if node.name not in before]


def check_dense(copies):
    for node in copies:
        assert node.meta["val"].is_contiguous()


def check_same_results(archives, size):
    """The archives, the first of them the original, give the same bits."""
    expected, *others = (run_on_ranks(archive, size, seed=3) for archive in archives)
    for outputs in others:
        for rank in range(size):
            assert len(outputs[rank]) == len(expected[rank])
            for index, (old, new) in enumerate(zip(expected[rank], outputs[rank])):
                assert same_tensor(old, new), f"output {index} on rank {rank}"


@pytest.mark.parametrize("name", FIXTURES)
def test_fixture(name, fixtures_folder, tmp_path):
    source, target = fixtures_folder / f"{name}.pt2", tmp_path / "out.pt2"
    upstream = tmp_path / "upstream.pt2"
    optimize(source, target)
    optimize(source, upstream, UPSTREAM_RULE)
    original, optimized, cloned = load(source), load(target), load(upstream)

    copies = new_copies(original, optimized)
    assert len(copies) == COPIES_OF_FIXTURES.get(name, 0)
    for node in copies:
        assert len(node.users) == 2
    upstream_copies = new_copies(original, cloned)
    assert len(upstream_copies) == UPSTREAM_COPIES_OF_FIXTURES.get(name, 0)
    for exported in (optimized, cloned):
        check_strides(exported)
    check_dense(copies + upstream_copies)

    size = FIXTURES[name].size
    check_same_results([source, target, upstream], size)


# Of the transposed parameter, which does not fill its storage in order.
@pytest.mark.filterwarnings("ignore:No complete tensor")
@pytest.mark.parametrize("name", CASES)
def test_program(name, tmp_path):
    case = CASES[name]
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    case.export(source, world_size=2)
    summary = optimize(source, target)
    original, optimized = load(source), load(target)

    copies = new_copies(original, optimized)
    assert len(copies) == case.copies
    check_dense(copies)
    check_strides(optimized)
    verdicts = {remark["verdict"] for remark in summary["remarks"]}
    assert ("refused" in verdicts) == case.refused
    # An op made to write dense memory changes the program without a new node.
    assert summary["nodes_after"] == summary["nodes_before"] + case.copies
    assert summary["unchanged"] == (case.copies == 0 and not case.rewritten)
    for node in original.graph.nodes:
        assert node.name in {after.name for after in optimized.graph.nodes}
    check_inputs_are_dense(optimized, case)
    if case.runs and not summary["unchanged"]:
        check_same_results([source, target], 2)


# c10d reads the memory of these in order.
DENSE_INPUTS = (
    "all_gather_into_tensor",
    "all_gather_into_tensor_coalesced",
    "reduce_scatter_tensor",
    "all_to_all_single",
    "all_reduce_",
    "broadcast_",
)


def check_inputs_are_dense(exported, case):
    """Nothing is left to do, unless the pass has refused."""
    strided = [
        f"{node.name}({value.name})"
        for node in exported.graph.nodes
        if str(node.target).startswith("_c10d_functional.")
        and str(node.target).split(".")[1] in DENSE_INPUTS
        for value in node.all_input_nodes
        # Of symbolic sizes, what is proven counts, and not what holds for the
        # sizes of the example.
        if not value.meta["val"].is_contiguous()
    ]
    assert bool(strided) == case.refused


def test_copy_stands_in_front_of_the_first_that_needs_it(fixtures_folder, tmp_path):
    target = tmp_path / "out.pt2"
    optimize(fixtures_folder / "llama_transposed_gather_tp2.pt2", target)
    (copy,) = copies_in(load(target))
    assert {user.name for user in copy.users} == {
        "all_gather_into_tensor",
        "all_gather_into_tensor_1",
    }
    assert copy.next.name == "all_gather_into_tensor"
    # A new node belongs to the line of Python that it was made for.
    assert copy.meta["stack_trace"] == copy.next.meta["stack_trace"]


def test_remarks_name_node_and_line(fixtures_folder, tmp_path):
    source = fixtures_folder / "llama_transposed_gather_tp2.pt2"
    remarks = optimize(source, tmp_path / "out.pt2")["remarks"]
    found = [(entry["node"], entry["verdict"], entry["name"]) for entry in remarks]
    assert found == [
        ("all_gather_into_tensor", "applied", "copy"),
        ("reduce_scatter_tensor", "noted", "dense"),
        ("all_gather_into_tensor_1", "applied", "shared-copy"),
        ("reduce_scatter_tensor_1", "noted", "dense"),
    ]
    lines = {}
    for entry in remarks:
        source_file = fixtures_folder.parents[1] / entry["file"]
        lines[entry["node"]] = source_file.read_text().splitlines()[entry["line"] - 1]
    assert "self.region.enter(y)" in lines["all_gather_into_tensor"]
    assert "self.region.enter(y)" in lines["all_gather_into_tensor_1"]


def test_in_place_with_holes_is_refused_with_a_way_out(fixtures_folder, tmp_path):
    source = fixtures_folder / "in_place_with_holes_tp2.pt2"
    (remark,) = optimize(source, tmp_path / "out.pt2")["remarks"]
    assert (remark["node"], remark["verdict"]) == ("all_reduce_", "refused")
    assert remark["suggestion"] == "use the functional form of the collective"


@pytest.mark.filterwarnings("ignore:No complete tensor")
def test_symbolic_strides_get_a_remark(tmp_path):
    CASES["symbolic_sizes"].export(tmp_path / "in.pt2", world_size=2)
    remarks = optimize(tmp_path / "in.pt2", tmp_path / "out.pt2")["remarks"]
    assert [entry["verdict"] for entry in remarks] == ["applied", "noted"]
    assert "depends on symbols" in remarks[0]["message"]
