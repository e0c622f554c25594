# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Operators of other libraries: described by the user, or known by name."""

import json
import re

import pytest
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory  # registers symm_mem
from torch.testing._internal.distributed.fake_pg import FakeStore

import tensor_cast_operators  # noqa: F401 (defines them)
from commute_tool import commute, optimize, show, show_module
from loaded_programs import description, load
from programs import Model, define_mylib, export_program
from ranks import run_on_ranks
from records import argument_of, edit_program, node_of, read_records

RMS_NORM_OF_MYLIB = {
    "version": 1,
    "operators": {
        "torch.ops.mylib.rms_norm.default": {
            "same_as": "torch.ops.tensor_cast.rms_norm.default",
            "arguments": {"x": "input", "weight": "gamma", "eps": "epsilon"},
        }
    },
}


NORM_MEMBERS = {"weight": (12, 6), "norm": (6,), "back": (6, 5)}


def check_unchanged(source, target, *options):
    assert optimize(source, target, *options)["unchanged"]
    assert read_records(target) == read_records(source)
    assert description(load(target)) == description(load(source))


# ----------------------------------------------------------------------------
# --vocabulary
# ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unknown_library(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "program.pt2"
    export_program("unknown_library", path)
    return path


@pytest.fixture
def vocabulary(tmp_path):
    """Writes a vocabulary file and gives the option for it."""

    def write(content):
        path = tmp_path / "vocabulary.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return f"--vocabulary={path}"

    return write


def test_operator_is_opaque_until_described(unknown_library, vocabulary, tmp_path):
    before = show(unknown_library)
    assert before["opaque"]["torch.ops.mylib.rms_norm.default"] == 1
    assert "tp.rms_norm" not in before["modelled"]

    option = vocabulary(RMS_NORM_OF_MYLIB)
    after = show(unknown_library, option)
    assert "torch.ops.mylib.rms_norm.default" not in after["opaque"]
    assert after["opaque"]["torch.ops.mylib.split_heads.default"] == 1
    assert after["modelled"]["tp.rms_norm"] == 1
    check_unchanged(unknown_library, tmp_path / "out.pt2", option)


def test_arguments_go_by_the_names_given(unknown_library, vocabulary):
    module = show_module(unknown_library, vocabulary(RMS_NORM_OF_MYLIB))
    (line,) = [line for line in module.splitlines() if "= tp.rms_norm" in line]
    assert float(re.search(r"epsilon (\S+)", line)[1]) == 1e-5
    # The input and the weight, not exchanged.
    assert "(tensor<3x8xf32>, tensor<8xf32>)" in line


def test_argument_left_out_has_the_same_name(unknown_library, vocabulary):
    content = json.loads(json.dumps(RMS_NORM_OF_MYLIB))
    del content["operators"]["torch.ops.mylib.rms_norm.default"]["arguments"]["eps"]
    # The operator has no argument eps: this is not the known form.
    assert "tp.rms_norm" not in show(unknown_library, vocabulary(content))["modelled"]


def norm_of_a_sum(self, x):
    c10d = torch.ops._c10d_functional
    summed = c10d.wait_tensor(c10d.all_reduce(x @ self.weight, "sum", "0"))
    return torch.ops.mylib.rms_norm(summed, self.norm, 1e-5) @ self.back


@pytest.mark.parametrize("world_size", [2, 4])
def test_rewritten_operator_keeps_its_own_name(world_size, vocabulary, tmp_path):
    source, target = tmp_path / "program.pt2", tmp_path / "out.pt2"
    members = {name: torch.rand(*sizes) for name, sizes in NORM_MEMBERS.items()}
    exported = torch.export.export(Model(norm_of_a_sum, **members), (torch.rand(8, 12),))
    sidecar = {
        "version": 1,
        "groups": {"0": {"ranks": list(range(world_size))}},
        "inputs": {"norm": {"0": "replicated"}},
    }
    torch.export.save(exported, source, extra_files={"commute.json": json.dumps(sidecar)})

    passes = "--passes=sequence-parallel,lower-collectives"
    option = vocabulary(RMS_NORM_OF_MYLIB)
    assert not optimize(source, target, passes, "--policy=always", option)["unchanged"]
    nodes = list(load(target).graph.nodes)
    (norm,) = [node for node in nodes if "norm.default" in str(node.target)]
    assert str(norm.target) == "mylib.rms_norm.default"
    # On shards now.
    assert norm.meta["val"].shape == (8 // world_size, 6)
    assert norm.args[2] == 1e-5

    before = run_on_ranks(source, world_size, prepare=define_mylib)
    after = run_on_ranks(target, world_size, prepare=define_mylib)
    for (old,), (new,) in zip(before, after, strict=True):
        torch.testing.assert_close(new, old)


def entry(**keys):
    return {"version": 1, "operators": {"torch.ops.mylib.rms_norm.default": keys}}


RMS_NORM = "torch.ops.tensor_cast.rms_norm.default"

BAD_VOCABULARIES = {
    "not_json": ("{", "vocabulary.json"),
    "not_an_object": ([], "an object"),
    "other_version": ({"version": 2, "operators": {}}, '"version"'),
    "no_operators": ({"version": 1}, '"operators"'),
    "entry_is_no_object": (
        {"version": 1, "operators": {"torch.ops.mylib.a.default": 3}},
        "torch.ops.mylib.a.default",
    ),
    "no_same_as": (entry(), '"same_as"'),
    "unknown_same_as": (entry(same_as="tensor_cast.rms_norm"), "tensor_cast.rms_norm"),
    "argument_is_no_string": (entry(same_as=RMS_NORM, arguments={"x": 1}), '"x"'),
    "meaning_of_a_known_operator": (
        {"version": 1, "operators": {"torch.ops.aten.mm.default": {"same_as": RMS_NORM}}},
        "torch.ops.aten.mm.default",
    ),
}


@pytest.mark.parametrize("name", BAD_VOCABULARIES)
def test_bad_vocabulary(name, unknown_library, vocabulary, tmp_path):
    content, expected = BAD_VOCABULARIES[name]
    target = tmp_path / "out.pt2"
    process = commute("opt", unknown_library, "-o", target, vocabulary(content))
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert "vocabulary.json: " in line and expected in line
    assert not target.exists()


def test_missing_vocabulary_file(unknown_library):
    process = commute("show", unknown_library, "--vocabulary=/nowhere/v.json")
    assert process.returncode == 2
    assert "/nowhere/v.json" in process.stderr


# ----------------------------------------------------------------------------
# TensorCast
# ----------------------------------------------------------------------------


def use_tensor_cast(self, x):
    cast = torch.ops.tensor_cast
    rank, group = 5, [4, 5, 6, 7]
    x = cast._internal_mark_region_begin(x, 7)
    gathered = cast.all_gather(x, 1, rank, group)
    reduced = cast.all_reduce(gathered @ self.weight, rank, group)
    normalized, residual = cast.add_rms_norm2(reduced, x, self.norm, 1e-6)
    other = cast.add_rms_norm(normalized, residual, self.norm, 1e-6)
    scattered = cast.reduce_scatter(cast.rms_norm(other, self.norm, 1e-6), -1, rank, group)
    exchanged = cast.all_to_all(scattered, [2, 2, 2, 2], [2, 2, 2, 2], rank, group)
    exchanged = cast._internal_mark_region_end(exchanged, 7)
    return exchanged, cast._internal_copy_region(exchanged, 7)


def export_model(path, function, *arguments, **members):
    exported = torch.export.export(Model(function, **members), arguments)
    torch.export.save(exported, path)


@pytest.fixture(scope="module")
def tensor_cast(tmp_path_factory):
    path = tmp_path_factory.mktemp("tensor_cast") / "program.pt2"
    members = {"weight": torch.rand(32, 8), "norm": torch.rand(8)}
    export_model(path, use_tensor_cast, torch.rand(8, 8), **members)
    return path


def test_tensor_cast_is_known(tensor_cast, tmp_path):
    summary = show(tensor_cast)
    assert summary["opaque"] == {}
    assert summary["modelled"] == {
        "tp.add_rms_norm": 2,
        "tp.all_gather": 1,
        "tp.all_reduce": 1,
        "tp.all_to_all": 1,
        "tp.matmul": 1,
        "tp.reduce_scatter": 1,
        "tp.region_marker": 3,
        "tp.rms_norm": 1,
    }
    assert {entry["group"] for entry in summary["collectives"]} == {"[4, 5, 6, 7]"}
    check_unchanged(tensor_cast, tmp_path / "out.pt2")


def test_tensor_cast_module(tensor_cast):
    """Dims, groups, results and the rank of the collectives."""
    module = show_module(tensor_cast)
    assert "tp.rank = 5" in module
    gather, scatter = (
        next(line for line in module.splitlines() if f"= tp.{op} " in line)
        for op in ("all_gather", "reduce_scatter")
    )
    assert "gather_axis 1" in gather and "[4, 5, 6, 7]" in gather
    # The dim was -1 of two.
    assert "scatter_axis 1" in scatter and "-> tensor<8x2xf32>" in scatter
    pair, single = (line for line in module.splitlines() if "= tp.add_rms_norm" in line)
    assert "-> (tensor<8x8xf32>, tensor<8x8xf32>)" in pair
    assert "-> tensor<8x8xf32>" in single
    markers = [line for line in module.splitlines() if "= tp.region_marker" in line]
    for kind, line in zip(("begin", "end", "copy"), markers, strict=True):
        assert kind in line and "7" in line


@pytest.mark.parametrize(
    "edit",
    [
        lambda node: argument_of(node, "rank").update(as_int=3),
        lambda node: argument_of(node, "rank_group").update(as_ints=[4, 4, 5, 6]),
        lambda node: argument_of(node, "rank_group").update(as_ints=[-1, 5, 6, 7]),
    ],
    ids=["rank_outside_its_group", "member_twice", "negative_member"],
)
def test_group_that_makes_no_sense_stays_opaque(edit, tensor_cast, tmp_path):
    path = tmp_path / "edited.pt2"
    edit_program(tensor_cast, path, lambda document: edit(node_of(document, "all_gather")))
    summary = show(path)
    assert summary["opaque"] == {"torch.ops.tensor_cast.all_gather.default": 1}
    assert optimize(path, tmp_path / "out.pt2")["unchanged"]
    assert read_records(tmp_path / "out.pt2") == read_records(path)


# ----------------------------------------------------------------------------
# symm_mem
# ----------------------------------------------------------------------------


def use_symm_mem(self, x, bias):
    fused = torch.ops.symm_mem
    gathered, (product,) = fused.fused_all_gather_matmul(x, [self.weight], 0, "0")
    _, several = fused.fused_all_gather_matmul(
        x, [self.weight, self.weight], 0, "0", return_A=False
    )
    scattered = fused.fused_matmul_reduce_scatter(product, self.back, "avg", 0, "0")
    return gathered, several, scattered + bias


@pytest.fixture(scope="module")
def symm_mem(tmp_path_factory):
    path = tmp_path_factory.mktemp("symm_mem") / "program.pt2"
    members = {"weight": torch.rand(8, 6), "back": torch.rand(6, 8)}
    # Unlike c10d's, the shape functions of these ask for the group's size.
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        export_model(path, use_symm_mem, torch.rand(4, 8), torch.rand(8), **members)
    finally:
        dist.destroy_process_group()
    return path


def test_symm_mem_is_known(symm_mem, tmp_path):
    summary = show(symm_mem, "--group=0=0-1")
    assert summary["opaque"] == {}
    assert summary["modelled"]["tp.all_gather_matmul"] == 2
    assert summary["modelled"]["tp.matmul_reduce_scatter"] == 1
    target = tmp_path / "out.pt2"
    assert optimize(symm_mem, target, "--group=0=0-1")["unchanged"]
    before, after = read_records(symm_mem)[1], read_records(target)[1]
    # What --group says is kept.
    assert json.loads(after.pop("extra/commute.json"))["groups"] == {"0": {"ranks": [0, 1]}}
    assert after == before
    assert description(load(target)) == description(load(symm_mem))


def test_symm_mem_module(symm_mem):
    module = show_module(symm_mem, "--group=0=0-1")
    first, second = (line for line in module.splitlines() if "= tp.all_gather_matmul" in line)
    assert "returns_gathered" in first and "-> (tensor<8x8xf32>, tensor<8x6xf32>)" in first
    assert "returns_gathered" not in second and "-> (tensor<8x6xf32>, tensor<8x6xf32>)" in second
    (scatter,) = (line for line in module.splitlines() if "= tp.matmul_reduce_scatter" in line)
    assert "avg" in scatter and "-> tensor<4x8xf32>" in scatter


def test_group_that_nothing_states(symm_mem, tmp_path):
    process = commute("opt", symm_mem, "-o", tmp_path / "out.pt2")
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert "node 'fused_all_gather_matmul' (#0)" in line and "--group=0=" in line
    assert not (tmp_path / "out.pt2").exists()
