# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The archives of all ranks, as capture writes them: optimized together, proven, and run in
PyTorch, where each rank loads its own."""

import json
import math
import zipfile

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
)

from captured_models import check, in_folder, load, run_ranks, run_ranks_in_processes
from commute.torch import capture
from commute_tool import commute, optimize, show, succeed
from safetensors_files import read_safetensors, write_safetensors

VOCABULARY = 64


class Model(nn.Module):
    """An embedding that is sharded over the vocabulary, and two blocks."""

    def __init__(self, width=16, blocks=2):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(blocks))
        self.ups = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(blocks))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(blocks))

    def forward(self, ids):
        hidden = self.embed(ids)
        for norm, up, down in zip(self.norms, self.ups, self.downs, strict=True):
            hidden = hidden + down(torch.relu(up(norm(hidden))))
        return hidden


PLAN = {
    "embed": RowwiseParallel(input_layouts=Replicate()),
    "ups.*": ColwiseParallel(),
    "downs.*": RowwiseParallel(),
}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Model().double()


@pytest.fixture(scope="module")
def ids():
    return torch.randint(VOCABULARY, (8,), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module", params=[2, 4])
def captured(request, model, ids, tmp_path_factory):
    folder = tmp_path_factory.mktemp("captured")
    return capture(model, (ids,), mesh={"tp": request.param}, plan=PLAN, folder=folder)


def sidecar_of(path):
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("extra/commute.json")]
        return json.loads(archive.read(name))


def literals(path, operator):
    """The numbers that the nodes of an operator compare with, or subtract."""
    graph = torch.export.load(path).graph
    return [node.args[1] for node in graph.nodes if str(node.target) == operator]


@pytest.mark.parametrize("policy", ["profitable", "always"])
def test_ranks_compute_what_the_model_does(captured, model, ids, policy, tmp_path):
    out = tmp_path / "out"
    done = optimize(captured.folder, out, f"--policy={policy}")
    size = len(captured.ranks)
    assert done["ranks"] == size
    if policy == "always":
        assert done["verification"]["equivalent"]
        assert not done["unchanged"]
        assert any(remark["pass"] == "sequence-parallel" and remark["verdict"] == "applied"
                   for remark in done["remarks"])  # fmt: skip
    optimized = in_folder(captured, out)
    run = run_ranks_in_processes if policy == "always" else run_ranks
    check(optimized, model, {"ids": ids}, run=run, rtol=1e-9, atol=1e-9)
    # Each rank has its own constants, and the sidecar of before.
    rows = VOCABULARY // size
    for rank, program in enumerate(optimized.ranks):
        assert literals(program.path, "aten.lt.Scalar") == [rank * rows]
        assert literals(program.path, "aten.ge.Scalar") == [(rank + 1) * rows]
        assert sidecar_of(program.path) == sidecar_of(captured.ranks[rank].path)
    # What differs is only that.
    graphs = [[node.name for node in load(program).graph.nodes] for program in optimized.ranks]
    assert all(names == graphs[0] for names in graphs)
    assert f"equivalent on {size} ranks" in succeed("verify", captured.folder, out)


def test_decisions_do_not_depend_on_how_files_are_named(captured, tmp_path):
    """A list is read as the folder is; the second pass over the result finds no work."""
    paths = [program.path for program in captured.ranks]
    optimize(captured.folder, tmp_path / "folder", "--policy=always")
    text = succeed("opt", *paths, "-o", tmp_path / "list", "--policy=always", "--json")
    assert json.loads(text)["ranks"] == len(paths)
    for path in paths:
        first = (tmp_path / "folder" / path.name).read_bytes()
        assert (tmp_path / "list" / path.name).read_bytes() == first
    again = optimize(tmp_path / "folder", tmp_path / "again", "--policy=always")
    assert again["unchanged"]


def test_constants_are_shown(captured):
    shown = show(captured.folder)
    size = len(captured.ranks)
    rows = VOCABULARY // size
    assert shown["ranks"] == size
    expected = ", ".join(f"{rank * rows} on rank {rank}" for rank in range(size))
    (found,) = [text for text in shown["constants_of_ranks"] if text.startswith("lt (")]
    assert found.endswith(f": {expected}")
    assert "test_rank_archives.py" in found


def test_runtime_runs_each_ranks_program(captured, model, ids, tmp_path):
    """The embedding is right only if each rank masks the rows of the others."""
    tensors = {"ids": ids}
    size = len(captured.ranks)
    weights = dict(model.named_parameters())
    for name, weight in weights.items():
        weight = weight.detach()
        if name.startswith(("embed.", "ups.")):
            parts = weight.chunk(size, 0)
        elif name.startswith("downs.") and name.endswith("weight"):
            parts = weight.chunk(size, 1)
        else:
            parts = [weight] * size
        for rank, part in enumerate(parts):
            tensors[f"rank{rank}.{name}"] = part.contiguous().clone()
    write_safetensors(tmp_path / "inputs.safetensors", tensors)
    succeed(
        "run", captured.folder, f"--inputs={tmp_path / 'inputs.safetensors'}",
        f"--outputs={tmp_path / 'outputs.safetensors'}",
    )  # fmt: skip
    outputs = read_safetensors(tmp_path / "outputs.safetensors")
    expected = model(ids).detach()
    for rank in range(size):
        torch.testing.assert_close(outputs[f"rank{rank}.output0"], expected, rtol=1e-9, atol=1e-9)


def test_program_of_one_rank_is_another_one(captured):
    """Rank 0's program on all ranks is not what the ranks compute: it is said, and found."""
    first = captured.ranks[0].path
    process = commute("verify", captured.folder, first)
    assert process.returncode == 1, process.stdout + process.stderr
    assert "holds constants of rank 0 (lt other: 0 on rank 0" in process.stderr
    assert "different: " in process.stdout
    succeed("verify", captured.folder, captured.folder)


def test_estimate_of_all_ranks(captured):
    together = json.loads(succeed("estimate", captured.folder, "--json"))
    alone = json.loads(succeed("estimate", captured.ranks[0].path, "--json"))
    del together["file"], alone["file"]
    assert together == alone


class Norms(nn.Module):
    """Its plain input is replicated, and each rank takes its own rows."""

    def __init__(self, width=16):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(self.norm(x))))


def test_ranks_that_use_other_results_of_a_split(tmp_path):
    torch.manual_seed(0)
    model, x = Norms().double(), torch.randn(8, 16, dtype=torch.float64)
    captured = capture(
        model, (x,), mesh={"tp": 2}, folder=tmp_path / "in",
        plan={
            "": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0)),
            "norm": SequenceParallel(sequence_dim=0),
            "up": ColwiseParallel(input_layouts=Shard(0)),
            "down": RowwiseParallel(),
        },
    )  # fmt: skip
    assert [str(constant) for constant in captured.constants_of_rank] == [
        "clone self: split[0] on rank 0, split[1] on rank 1"
    ]
    done = optimize(captured.folder, tmp_path / "out", "--policy=always")
    assert done["verification"]["equivalent"]
    check(in_folder(captured, tmp_path / "out"), model, {"x": x}, rtol=1e-9, atol=1e-9)
    assert "equivalent on 2 ranks" in succeed("verify", captured.folder, tmp_path / "out")


class Rows(nn.Module):
    """Sums that all ranks have, of which each then takes its own rows."""

    def __init__(self, width=16):
        super().__init__()
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.down(torch.relu(self.up(x))))


@pytest.mark.parametrize("size", [2, 4])
def test_rows_of_a_sum_are_a_reduce_scatter(size, tmp_path):
    """Slices that follow the rank are shards to the passes, though no graph says so."""
    torch.manual_seed(0)
    model, x = Rows().double(), torch.randn(8, 16, dtype=torch.float64)
    captured = capture(
        model, (x,), mesh={"tp": size}, folder=tmp_path / "in",
        plan={
            "up": ColwiseParallel(),
            "down": RowwiseParallel(output_layouts=Replicate(), use_local_output=False),
            "norm": SequenceParallel(sequence_dim=0),
        },
    )  # fmt: skip

    def collectives(folder):
        return [collective["kind"] for collective in show(folder)["collectives"]]

    done = optimize(
        captured.folder, tmp_path / "out", "--policy=always", "--passes=sequence-parallel"
    )
    assert done["verification"]["equivalent"]
    assert collectives(captured.folder) == ["all_reduce"]
    assert collectives(tmp_path / "out") == ["reduce_scatter"]
    graph = load(in_folder(captured, tmp_path / "out").ranks[0]).graph
    assert not any(
        "split" in str(node.target) or "slice" in str(node.target) for node in graph.nodes
    )
    check(in_folder(captured, tmp_path / "out"), model, {"x": x}, rtol=1e-9, atol=1e-9)


def test_data_parallel_ranks_share_constants(ids, tmp_path):
    """On a mesh, constants follow one axis."""
    torch.manual_seed(0)
    model = Model(blocks=1).double()
    captured = capture(model, (ids,), mesh={"dp": 2, "tp": 2}, plan=PLAN, folder=tmp_path / "in")
    shown = show(captured.folder)
    (found,) = [text for text in shown["constants_of_ranks"] if text.startswith("lt (")]
    assert found.endswith(": 0 on ranks 0 and 2, 32 on ranks 1 and 3")
    optimize(captured.folder, tmp_path / "out", "--policy=always")
    assert "equivalent on 4 ranks" in succeed("verify", captured.folder, tmp_path / "out")


def test_opaque_operators_with_constants_of_the_rank(tmp_path):
    """An unknown operator stays one, and each rank keeps its own argument."""

    @torch.library.custom_op("rank_archives::shift", mutates_args=())
    def shift(x: torch.Tensor, places: int) -> torch.Tensor:
        return torch.roll(x, places)

    shift.register_fake(lambda x, places: torch.empty_like(x))
    (tmp_path / "in").mkdir()
    x = torch.randn(8, 4, dtype=torch.float64)
    for rank in range(2):

        class Shift(nn.Module):
            def __init__(self, places):
                super().__init__()
                self.places = places

            def forward(self, x):
                return torch.ops.rank_archives.shift(x, self.places) * math.pi

        program = torch.export.export(Shift(rank + 1), (x,))
        sidecar = {"version": 1, "rank": rank, "groups": {"0": {"ranks": [0, 1]}}}
        torch.export.save(
            program, tmp_path / "in" / f"rank{rank}.pt2",
            extra_files={"commute.json": json.dumps(sidecar)},
        )  # fmt: skip
    done = optimize(tmp_path / "in", tmp_path / "out")
    assert done["unchanged"]
    for rank in range(2):
        path = tmp_path / "out" / f"rank{rank}.pt2"
        assert literals(path, "rank_archives.shift.default") == [rank + 1]
    assert "equivalent on 2 ranks" in succeed("verify", tmp_path / "in", tmp_path / "out")
    # Nobody knows what its arguments do.
    process = commute("verify", tmp_path / "in", tmp_path / "in" / "rank0.pt2")
    assert process.returncode == 4, process.stderr
    assert "rank_archives.shift.default" in process.stdout


class OfItsRank(nn.Module):
    """A number and a tensor that follow the rank, as constants of the program."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4, dtype=torch.float64))

    def forward(self, x):
        rank = dist.get_rank()
        scale = torch.tensor([1.0 + rank, 2.0, 3.0, 4.0], dtype=torch.float64)
        product = (x + torch.tensor(8.0 * rank)) @ self.weight * scale
        return functional.all_reduce(product, "sum", dist.group.WORLD)


def test_constant_tensors_of_the_rank(tmp_path):
    x = torch.randn(3, 4, dtype=torch.float64)
    captured = capture(OfItsRank(), (x,), mesh={"tp": 2}, folder=tmp_path / "in")
    sidecar = sidecar_of(captured.ranks[1].path)
    constants = [name for name in sidecar["inputs"] if "lifted" in name]
    assert len(constants) == 2
    assert all(set(sidecar["inputs"][name].values()) == {"varying"} for name in constants)
    optimize(tmp_path / "in", tmp_path / "out", "--policy=always")
    assert "equivalent on 2 ranks" in succeed("verify", tmp_path / "in", tmp_path / "out")
    succeed("run", tmp_path / "in")


@pytest.mark.parametrize("placement", ["varying", "replicated"])
def test_constant_tensors_that_are_said_to_be_one(placement, tmp_path):
    class Scaled(nn.Module):
        def __init__(self, rank):
            super().__init__()
            self.rank = rank

        def forward(self, x):
            return x * torch.tensor([1.0 + self.rank, 2.0])

    for rank in range(2):
        sidecar = {
            "version": 1, "rank": rank, "groups": {"tp": {"ranks": [0, 1]}},
            "inputs": {"c_lifted_tensor_0": {"tp": placement}},
        }  # fmt: skip
        torch.export.save(
            torch.export.export(Scaled(rank), (torch.randn(2),)), tmp_path / f"rank{rank}.pt2",
            extra_files={"commute.json": json.dumps(sidecar)},
        )  # fmt: skip
    process = commute("run", tmp_path)
    if placement == "varying":
        assert process.returncode == 0, process.stderr
        return
    assert process.returncode == 2
    assert (
        "rank1.pt2: the constant tensor 'c_lifted_tensor_0' has other elements than in"
    ) in process.stderr
    assert '"inputs": {"c_lifted_tensor_0": {"tp": "varying"}}' in process.stderr


def test_rank_of_another_model(captured, ids, tmp_path):
    paths = [program.path for program in captured.ranks]
    other = capture(
        Model(blocks=1).double(), (ids,), mesh={"tp": len(paths)}, plan=PLAN, folder=tmp_path
    )
    succeed("verify", *paths, *paths)
    process = commute("opt", *paths[:-1], other.ranks[-1].path, "-o", tmp_path / "out")
    assert process.returncode == 2
    assert f"{other.ranks[-1].path}: " in process.stderr
    assert "these are not two ranks of one model" in process.stderr
    assert not (tmp_path / "out").exists()
