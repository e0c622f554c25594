# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.load`, `optimize`, `verify`, `estimate`, `explain` and `run` on archives: what the
command line does, in memory."""

import json
import shutil
import subprocess
import sys
import threading

import numpy
import pytest
import torch
from torch import nn
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

import commute
from commute.torch import capture
from commute_tool import BUILD, succeed
from commute_tool import commute as run_tool

pytestmark = pytest.mark.in_process


@pytest.fixture(scope="module")
def path(fixtures_folder):
    return fixtures_folder / "llama_tp4.pt2"


@pytest.fixture(scope="module")
def program(path):
    return commute.load(path)


@pytest.fixture(scope="module")
def optimized(program):
    return commute.optimize(program, policy="always")


class Model(nn.Module):
    """Ranks have different constants: the offsets of their part of the vocabulary."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, ids):
        hidden = self.embed(ids)
        return hidden + self.down(torch.relu(self.up(hidden)))


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    plan = {
        "embed": RowwiseParallel(input_layouts=Replicate()),
        "up": ColwiseParallel(),
        "down": RowwiseParallel(),
    }
    folder = tmp_path_factory.mktemp("captured")
    capture(Model(), (torch.arange(8),), mesh={"tp": 2}, plan=plan, folder=folder)
    return folder


def test_importing_loads_neither_pytorch_nor_the_libraries(path):
    script = f"""
import sys
import commute
assert "commute._commute" not in sys.modules
program = commute.load({str(path)!r})
commute.optimize(program), commute.estimate(program), commute.explain(program)
assert "commute._commute" in sys.modules
assert "torch" not in sys.modules and "numpy" not in sys.modules
"""
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        timeout=120,
        env={"PYTHONPATH": str(BUILD / "python")},
    )


def test_a_program_is_optimized_proven_and_saved(path, program, optimized, tmp_path):
    assert program.groups == {"0": 4} and program.num_archives == 1
    assert "tp.all_reduce" in str(program)
    assert optimized.verdict == "equivalent" and optimized.is_changed
    assert optimized.proof["equivalent"] and not optimized.reason
    assert any(remark.verdict == "applied" for remark in optimized.remarks)
    assert "tp.reduce_scatter" in str(optimized.program)
    # The original is as it was.
    assert "tp.reduce_scatter" not in str(program)
    optimized.program.save(tmp_path / "python.pt2")
    succeed("opt", path, "-o", tmp_path / "tool.pt2", "--policy=always")
    assert (tmp_path / "python.pt2").read_bytes() == (tmp_path / "tool.pt2").read_bytes()
    # Saving does not use the program up.
    optimized.program.save(tmp_path / "again.pt2")
    optimized.program.save(tmp_path / "module.mlir")
    assert (tmp_path / "again.pt2").read_bytes() == (tmp_path / "python.pt2").read_bytes()
    assert "tp.reduce_scatter" in (tmp_path / "module.mlir").read_text()


def test_an_optimized_program_is_a_program(program, optimized):
    again = commute.optimize(optimized.program, policy="always")
    assert again.verdict == "unchanged" and again.program is optimized.program
    only = commute.optimize(program, passes=["sequence-parallel{policy=always}"], verify=False)
    assert only.verdict == "not verified" and only.proof is None
    # What a pass leaves is written as PyTorch's collectives.
    assert {remark.pass_name for remark in only.remarks} == {
        "sequence-parallel", "lower-collectives"
    }  # fmt: skip


def test_remarks_are_those_of_the_tool(path, tmp_path, optimized):
    output = json.loads(
        succeed("opt", path, "-o", tmp_path / "out.pt2", "--policy=always", "--json")
    )
    expected = [(entry["verdict"], entry["pass"], entry["node"]) for entry in output["remarks"]]
    assert expected == [(one.verdict, one.pass_name, one.node) for one in optimized.remarks]


def test_an_explanation_is_that_of_the_tool(path, program):
    explanation = commute.explain(program, target="h200x8")
    expected = json.loads(succeed("explain", path, "--json", "--target=h200x8"))
    assert list(explanation.rows) == expected["sites"]
    assert list(explanation.remedies) == expected["remedies"]
    assert explanation.refused and "refused" in str(explanation)


def test_an_estimate_is_that_of_the_tool(path, program, optimized):
    expected = json.loads(succeed("estimate", path, "--json"))
    found = commute.estimate(program)
    for key in set(expected) - {"version", "is_default_target"}:
        assert found.report[key] == expected[key], key
    assert optimized.price_before == found
    assert optimized.price_after.step_seconds != found.step_seconds
    assert "one step on h100x8" in str(found)


def test_symbolic_sizes_have_values(fixtures_folder):
    program = commute.load(fixtures_folder / "llama_tp2_dynamic.pt2")
    small, large = (commute.estimate(program, sizes={"s27": size}) for size in (64, 4096))
    assert small.step_seconds < large.step_seconds
    with pytest.raises(commute.CommuteError, match=r"no symbolic size 's9'; it has .*s27"):
        commute.estimate(program, sizes={"s9": 4})
    with pytest.raises(commute.CommuteError, match="size 's27': expected a number from 1"):
        commute.estimate(program, sizes={"s27": 0})


def test_two_forms_of_a_program_are_compared(program, optimized, path, tmp_path):
    same = commute.verify(program, optimized.program)
    assert same and same.verdict == "equivalent" and "equivalent on 4 ranks" in str(same)
    optimized.program.save(tmp_path / "better.pt2")
    # Programs of two files are in memory of their own.
    assert commute.verify(commute.load(tmp_path / "better.pt2"), path)
    text = str(program)
    assert text.count("tp.all_reduce sum") > 1
    (tmp_path / "wrong.mlir").write_text(text.replace("tp.all_reduce sum", "tp.all_reduce avg", 1))
    wrong = commute.verify(program, commute.load(tmp_path / "wrong.mlir"))
    assert not wrong and wrong.verdict == "different" and wrong.differences
    with pytest.raises(commute.CommuteError, match="have no relations"):
        commute.verify(program, optimized.program, {"version": 1})


def test_different_constants_are_a_difference(tmp_path):
    """Constants are inputs of the graph; only their bytes tell them apart."""

    class Scaled(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * torch.tensor([1.0, self.factor])

    programs = [
        commute.load(torch.export.export(Scaled(factor), (torch.ones(2),)))
        for factor in (2.0, 2.0, 3.0)
    ]
    assert commute.verify(programs[0], programs[1])
    found = commute.verify(programs[0], programs[2])
    assert not found and "has different elements" in found.differences[0]["message"]


def test_a_proof_beyond_its_budget_leaves_the_program(program):
    result = commute.optimize(program, policy="always", proof_memory=1)
    assert result.verdict == "not proven" and result.program is program and result.reason
    allowed = commute.optimize(program, policy="always", proof_memory=1, allow_unproven=True)
    assert allowed.verdict == "not proven" and allowed.is_changed


def test_a_program_runs(program, optimized):
    before, after = (commute.run(one, seed=3) for one in (program, optimized.program))
    assert len(before.outputs) == 4
    for own, expected in zip(after.outputs, before.outputs, strict=True):
        assert own[0].dtype == "bfloat16" and own[0].shape == expected[0].shape
        torch.testing.assert_close(own[0].torch(), expected[0].torch(), rtol=0.1, atol=0.1)
    with pytest.raises(commute.CommuteError, match="NumPy has no element type bfloat16"):
        before.outputs[0][0].numpy()


class Sum(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group

    def forward(self, x, y):
        from torch.distributed._functional_collectives import all_reduce

        return all_reduce(x, "sum", self.group) + y


def test_inputs_of_a_run(fake_group):
    exported = torch.export.export(Sum("0"), (torch.ones(3), torch.ones(3)))
    program = commute.load(exported)
    rows = [torch.tensor([1.0, 2.0, 3.0]), numpy.array([10, 20, 30], numpy.float32)]
    done = commute.run(program, {"x": rows, "y": commute.Tensor.of(torch.ones(3))})
    for own in done.outputs:
        assert own[0].numpy().tolist() == [12.0, 23.0, 34.0]
        assert torch.equal(own[0].torch(), torch.tensor([12.0, 23.0, 34.0]))
    with pytest.raises(commute.CommuteError, match="'z'"):
        commute.run(program, {"z": torch.ones(3)})
    with pytest.raises(commute.CommuteError, match="element type complex64 cannot be run"):
        commute.run(program, {"x": torch.ones(3, dtype=torch.complex64)})
    with pytest.raises(commute.CommuteError, match="expected 'archive' or 'seeded'"):
        commute.run(program, weights="random")


class Layer(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.group = group
        self.norm = nn.Parameter(torch.ones(8))

    def forward(self, x, w):
        from torch.distributed._functional_collectives import all_reduce

        hidden = torch.relu(all_reduce(x @ w, "sum", self.group))
        return nn.functional.rms_norm(hidden, (8,), self.norm)


def test_exported_programs_come_and_go(fake_group):
    """The process knows the groups of an ExportedProgram."""
    exported = torch.export.export(Layer("0"), (torch.ones(4, 8), torch.ones(8, 8)))
    result = commute.optimize(exported, policy="always")
    assert result.verdict == "equivalent"
    returned = result.program.exported_program()
    assert isinstance(returned, torch.export.ExportedProgram)
    assert "reduce_scatter" in str(returned.graph)
    with pytest.raises(commute.CommuteError, match="no archive of rank 1"):
        result.program.exported_program(rank=1)


def test_groups_that_the_process_does_not_know_must_be_stated(fake_group):
    exported = torch.export.export(Layer("0"), (torch.ones(4, 8), torch.ones(8, 8)))
    torch.distributed.destroy_process_group()
    with pytest.raises(commute.CommuteError, match="members of process group '0' are not stated"):
        commute.load(exported)
    commute.load(exported, groups={"0": [0, 1]})


def test_the_archives_of_all_ranks(captured, tmp_path):
    files = [captured / "rank0.pt2", captured / "rank1.pt2"]
    program = commute.load(files)
    assert program.num_archives == 2 and commute.load(captured).num_archives == 2
    result = commute.optimize(program, policy="always")
    assert result.verdict == "equivalent"
    result.program.save(tmp_path / "better")
    run_tool("opt", captured, "-o", tmp_path / "tool", "--policy=always")
    for rank in range(2):
        name = f"rank{rank}.pt2"
        saved = (tmp_path / "better" / name).read_bytes()
        assert saved == (tmp_path / "tool" / name).read_bytes()
        own = result.program.exported_program(rank)
        assert isinstance(own, torch.export.ExportedProgram)
    assert commute.verify(program, tmp_path / "better")
    assert commute.verify(program, commute.load(tmp_path / "better"))
    assert result.price_after.step_seconds > 0 and commute.explain(program).rows
    assert len(commute.run(program).outputs) == 2
    # The same call without a Program is about a reference.
    refined = commute.verify(captured / "reference.pt2", captured, captured / "relations.json")
    assert refined and refined.verdict == "refines"
    with pytest.raises(commute.CommuteError, match="expected a folder"):
        result.program.save(tmp_path / "one.pt2")
    with pytest.warns(UserWarning, match=r"holds constants of rank 0 .*give the archives of all"):
        commute.load(files[0])


def test_statements(fixtures_folder, path, tmp_path):
    stated = commute.load(
        path,
        groups={"0": [3, 2, 1, 0]},
        input_placements={".*": {"0": "varying"}},
    )
    assert "[3, 2, 1, 0]" in str(stated) and "varying" in str(stated)
    dynamic = commute.load(fixtures_folder / "llama_tp2_dynamic.pt2", assumptions=["s27 == 512"])
    assert commute.estimate(dynamic).report["sizes"]["s27"] == 512
    vocabulary = {"version": 1, "operators": {}}
    file = tmp_path / "vocabulary.json"
    file.write_text(json.dumps(vocabulary))
    commute.load(path, vocabulary=[vocabulary, file])
    commute.load(path, vocabulary=file)
    with pytest.raises(commute.CommuteError, match=r"none\.json: No such file"):
        commute.load(path, vocabulary=tmp_path / "none.json")
    with pytest.raises(commute.CommuteError, match="'9'"):
        commute.load(path, groups={"9": [[0, 1], [2, 3]]})


def test_mistakes(program, path, tmp_path):
    with pytest.raises(commute.CommuteError, match=r"none\.pt2"):
        commute.load(tmp_path / "none.pt2")
    with pytest.raises(commute.CommuteError, match="not a float"):
        commute.load(1.5)
    with pytest.raises(commute.CommuteError, match="the list is empty"):
        commute.load([])
    with pytest.raises(commute.CommuteError, match="about live graphs"):
        commute.load(path, is_functional_graph=True)
    with pytest.raises(commute.CommuteError, match="expected 'always' or 'profitable'"):
        commute.optimize(program, policy="upstream")
    with pytest.raises(commute.CommuteError, match="h100"):
        commute.optimize(program, target="h100x9")
    with pytest.raises(commute.CommuteError, match="no-such-pass"):
        commute.optimize(program, passes=["no-such-pass"])
    with pytest.raises(commute.CommuteError, match="no-such-pass"):
        commute.explain(program, passes="no-such-pass")
    with pytest.raises(commute.CommuteError, match=r"\.txt"):
        program.save(tmp_path / "program.txt")
    copy = tmp_path / "copy.pt2"
    shutil.copy(path, copy)
    link = tmp_path / "link.pt2"
    link.symlink_to(copy)
    for name in (copy, link):
        with pytest.raises(commute.CommuteError, match="would overwrite the input"):
            commute.load(copy).save(name)
    commute.load(copy).save(tmp_path / "elsewhere.pt2")


def test_threads_share_a_program(program, optimized):
    """Calls release Python's lock, and programs of one source share its memory."""
    expected = commute.estimate(program), str(optimized.program)
    found = []

    def use():
        result = commute.optimize(program, policy="always")
        found.append((commute.estimate(program), str(result.program)))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
