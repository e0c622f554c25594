# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Archives in the operators of serving engines: rewritten, proven, loaded again, and run with
real collectives."""

import importlib
import json
from collections import Counter
from functools import partial

import pytest
import torch

from commute_tool import commute, optimize, show
from loaded_programs import load
from ranks import run_on_ranks
from serving_models import GROUP, LAYERS, IrLayers, KernelLayers, make_input

SIZE = 2
NUM_SUMS = LAYERS + 1
ALWAYS = ("--passes=sequence-parallel,lower-collectives", "--policy=always")
FUSED = ("--passes=sequence-parallel,micro-pipeline,lower-collectives", "--policy=always")


def export(folder, layers, **group):
    """An archive for each rank, whose weights differ."""
    sidecar = {"version": 1, "groups": {GROUP: {"ranks": list(range(SIZE)), **group}}}
    paths = []
    for rank in range(SIZE):
        exported = torch.export.export(layers(rank), (make_input(rank),))
        paths.append(folder / f"in{rank}.pt2")
        torch.export.save(
            exported.run_decompositions({}),
            paths[-1],
            extra_files={"commute.json": json.dumps(sidecar)},
        )
    return paths


def operators_of(path):
    counts = Counter()
    for node in load(path).graph.nodes:
        if node.op != "call_function":
            continue
        target = node.target if "auto_functionalized" not in str(node.target) else node.args[0]
        counts[str(target).rsplit(".", 1)[0]] += 1
    return counts


def run(paths):
    operators = partial(importlib.import_module, "serving_operators")
    inputs = [[make_input(rank)] for rank in range(SIZE)]
    return run_on_ranks(paths, SIZE, weights="archive", inputs=inputs, prepare=operators)


@pytest.mark.parametrize("layers", [IrLayers, KernelLayers])
def test_rewritten_archive_computes_the_same(layers, tmp_path):
    paths = export(tmp_path, layers)
    targets = [tmp_path / f"out{rank}.pt2" for rank in range(SIZE)]
    assert show(paths[0])["opaque"] == {}
    for source, target in zip(paths, targets, strict=True):
        optimize(source, target, *ALWAYS)
        before, after = operators_of(source), operators_of(target)
        assert before["vllm.all_reduce"] == NUM_SUMS and after["vllm.all_reduce"] == 0
        assert after["vllm.reduce_scatter"] == after["vllm.all_gather"] == NUM_SUMS
        for name in before:
            if "norm" in name:
                assert after[name] == before[name]
        assert optimize(target, tmp_path / "again.pt2", *ALWAYS)["unchanged"]
    for (old,), (new,) in zip(run(paths), run(targets), strict=True):
        torch.testing.assert_close(new, old, rtol=1e-10, atol=1e-10)


def test_new_collectives_pass_arguments_as_vllms_pass_does(tmp_path):
    source, _ = export(tmp_path, IrLayers)
    optimize(source, tmp_path / "out.pt2", *ALWAYS)
    nodes = load(tmp_path / "out.pt2").graph.nodes
    for name in ("reduce_scatter", "all_gather"):
        node = next(n for n in nodes if str(n.target) == f"vllm.{name}.default")
        assert node.args[1:] == (0, SIZE, GROUP)
        assert node.kwargs == {}


def test_fused_products_take_pytorchs_name_of_the_group(tmp_path):
    source, _ = export(tmp_path, IrLayers, process_group="0")
    target = tmp_path / "out.pt2"
    optimize(source, target, *FUSED)
    fused = [node for node in load(target).graph.nodes if "symm_mem" in str(node.target)]
    assert len(fused) == 2 * LAYERS
    assert all("0" in node.args for node in fused)
    # Both names are of one group when the archive is read again.
    assert commute("verify", source, target).returncode == 0
    assert optimize(target, tmp_path / "again.pt2", *FUSED)["unchanged"]


def test_products_are_not_fused_without_it(tmp_path):
    source, _ = export(tmp_path, IrLayers)
    target = tmp_path / "out.pt2"
    summary = optimize(source, target, *FUSED)
    assert not any("symm_mem" in name for name in operators_of(target))
    reasons = [r["message"] for r in summary["remarks"] if r["verdict"] == "refused"]
    assert any("'tp:0' is a name of vllm" in reason for reason in reasons)


@pytest.mark.parametrize(
    "ranges, problem",
    [
        ({"s0": [16]}, '"size_ranges" must map'),
        ({"s0": [32, 16]}, '"size_ranges" must map'),
        ({"s0": [16, 32]}, "s0"),
    ],
)
def test_bad_size_ranges(ranges, problem, tmp_path):
    """The last is right, of a program that has no such size."""
    exported = torch.export.export(IrLayers(0), (make_input(0),))
    sidecar = {"version": 1, "groups": {GROUP: {"ranks": [0, 1]}}, "size_ranges": ranges}
    path = tmp_path / "program.pt2"
    torch.export.save(exported, path, extra_files={"commute.json": json.dumps(sidecar)})
    process = commute("show", path)
    assert process.returncode == 2
    assert problem in process.stderr


def test_process_group_that_is_no_name(tmp_path):
    exported = torch.export.export(IrLayers(0), (make_input(0),))
    sidecar = {"version": 1, "groups": {GROUP: {"ranks": [0, 1], "process_group": 0}}}
    path = tmp_path / "program.pt2"
    torch.export.save(exported, path, extra_files={"commute.json": json.dumps(sidecar)})
    process = commute("show", path)
    assert process.returncode == 2
    assert "groups.tp:0.process_group must be the name" in process.stderr
