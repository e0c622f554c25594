# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""commute.torch.capture: archives of parallel modules, judged by the module itself."""

import json

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

import commute.torch
from captured_models import Relations, check, load
from commute.torch import CaptureError, capture, fake_mesh
from commute_tool import optimize, show, succeed


class Mlp(nn.Module):
    def __init__(self, width=8, hidden=16):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


PLAN = {"up": ColwiseParallel(), "down": RowwiseParallel()}


def sidecar_of(program):
    extra = {"commute.json": ""}
    torch.export.load(program.path, extra_files=extra)
    return json.loads(extra["commute.json"])


def test_a_module_with_a_plan(tmp_path):
    model, x = Mlp(), torch.randn(4, 8)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    captured = capture(model, (x,), mesh={"tp": 2}, plan=PLAN, folder=tmp_path)
    assert [program.path.name for program in captured.ranks] == ["rank0.pt2", "rank1.pt2"]
    assert captured.reference.path.name == "reference.pt2"
    check(captured, model, {"x": x})
    # The model is as it was.
    for name, value in model.state_dict().items():
        assert torch.equal(value, weights[name])

    sidecar = sidecar_of(captured.ranks[1])
    assert sidecar["rank"] == 1
    assert sidecar["groups"] == {"0": {"ranks": [0, 1]}}
    assert sidecar["inputs"]["up.weight"] == {"0": "shard(0)"}
    assert sidecar["inputs"]["down.weight"] == {"0": "shard(1)"}
    assert sidecar["inputs"]["down.bias"] == {"0": "replicated"}
    assert sidecar["inputs"]["x"] == {"0": "replicated"}
    assert Relations(captured.relations).inputs["down.weight"] == "shard(down.weight, 1, tp)"

    # What the tool needs is there, and the lines are those of the model.
    shown = show(captured.ranks[0].path)
    assert not shown.get("opaque")
    assert [c["kind"] for c in shown["collectives"]] == ["all_reduce"]
    assert "test_capture.py" in json.dumps(shown["collectives"])
    target = tmp_path / "optimized.pt2"
    optimize(captured.ranks[0].path, target, "--policy=always")
    assert "equivalent on 2 ranks" in succeed("verify", captured.ranks[0].path, target)
    assert "equal on all ranks" in succeed("run", target, "--ranks=2")
    succeed("show", captured.reference.path)


def test_a_module_that_is_parallel_already(tmp_path):
    """Sequence parallelism: the plain input is a shard, as the plan says."""

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(Mlp(), Mlp())

        def forward(self, x):
            return self.layers(x)

    mesh = fake_mesh({"tp": 2})
    torch.manual_seed(0)
    single = Stack()
    parallel = Stack()
    parallel.load_state_dict(single.state_dict())
    plan = {"layers.0": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Shard(1))}
    for i in range(2):
        plan[f"layers.{i}.norm"] = SequenceParallel()
        plan[f"layers.{i}.up"] = ColwiseParallel(input_layouts=Shard(1))
        plan[f"layers.{i}.down"] = RowwiseParallel(output_layouts=Shard(1), use_local_output=False)
    parallelize_module(parallel, mesh, plan)
    x = torch.randn(2, 6, 8)
    captured = capture(parallel, (x[:, :3],), mesh=mesh, folder=tmp_path)
    assert captured.reference_refusal is None
    relations = Relations(captured.relations)
    assert relations.inputs["x"] == "shard(x, 1, tp)"
    assert relations.outputs == {"0": "shard(1, tp)"}
    check(captured, single, {"x": x})
    assert isinstance(parallel.layers[0].up.weight, DTensor)
    kinds = [c["kind"] for c in show(captured.ranks[0].path)["collectives"]]
    assert "all_gather" in kinds
    assert "reduce_scatter" in kinds


def test_two_axes(tmp_path):
    """fully_shard on one axis, tensor parallelism on another."""
    from torch.distributed.fsdp import fully_shard

    mesh = fake_mesh({"dp": 2, "tp": 2})
    torch.manual_seed(0)
    single, parallel = Mlp(), Mlp()
    parallel.load_state_dict(single.state_dict())
    parallelize_module(parallel, mesh["tp"], PLAN)
    fully_shard(parallel, mesh=mesh["dp"])
    x = torch.randn(4, 8)
    captured = capture(parallel, (x[:2],), mesh=mesh, folder=tmp_path)
    assert captured.reference_refusal is None
    groups = sidecar_of(captured.ranks[3])["groups"]
    assert groups == {"dp": {"ranks": [[0, 2], [1, 3]]}, "tp": {"ranks": [[0, 1], [2, 3]]}}
    relations = Relations(captured.relations)
    assert relations.inputs["x"] == "shard(x, 0, dp)"
    expected = single(x).detach()
    tensors = {**dict(single.named_parameters()), "x": x}
    from captured_models import run_ranks

    for rank, (value,) in enumerate(run_ranks(captured, tensors)):
        torch.testing.assert_close(value, expected.chunk(2)[rank // 2])


def test_backward(tmp_path):
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = Mlp()

        def forward(self, x, y):
            return F.mse_loss(self.mlp(x), y)

    torch.manual_seed(0)
    model = Loss()
    x, y = torch.randn(4, 8), torch.randn(4, 8)
    plan = {f"mlp.{name}": style for name, style in PLAN.items()}
    captured = capture(model, (x, y), mesh={"tp": 2}, plan=plan, backward=True, folder=tmp_path)
    loss = model(x, y)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    expected = [loss.detach(), *gradients]
    check(captured, model, {"x": x, "y": y}, expected=expected)
    # Also the collectives of the backward have a line of the model.
    collectives = show(captured.ranks[0].path)["collectives"]
    assert len(collectives) == 2
    assert all("test_capture.py" in collective["source"] for collective in collectives)


def test_dynamic_sizes(tmp_path):
    dim = torch.export.Dim("tokens", min=2, max=64)
    model = Mlp()
    captured = capture(
        model, (torch.randn(4, 8),), mesh={"tp": 2}, plan=PLAN, dynamic_shapes={"x": {0: dim}},
        ranks=[0], folder=tmp_path,
    )  # fmt: skip
    program = load(captured.ranks[0])
    assert program.range_constraints
    (x,) = [n for n in program.graph.find_nodes(op="placeholder") if n.name == "x"]
    assert not isinstance(x.meta["val"].shape[0], int)


def test_a_function_of_collectives(tmp_path):
    mesh = fake_mesh({"tp": 4})

    def function(x, w):
        return fc.all_reduce(x @ w, "sum", (mesh, 0))

    captured = capture(
        function, (torch.randn(4, 8), torch.randn(8, 8)), mesh=mesh, ranks=[0, 3], folder=tmp_path
    )
    assert captured.reference is None
    assert "cannot run on a single device" in captured.reference_refusal
    assert [program.rank for program in captured.ranks] == [0, 3]
    assert [c["kind"] for c in show(captured.ranks[1].path)["collectives"]] == ["all_reduce"]


def test_constants_of_a_rank(tmp_path):
    """A vocabulary-parallel embedding compares with the rank's own offset."""

    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(16, 8)

        def forward(self, ids):
            return self.table(ids)

    model, ids = Tokens(), torch.arange(12).view(2, 6)
    captured = capture(
        model, (ids,), mesh={"tp": 2}, plan={"table": RowwiseParallel(input_layouts=Replicate())},
        folder=tmp_path,
    )  # fmt: skip
    check(captured, model, {"ids": ids})

    names = {constant.node: constant.values for constant in captured.constants_of_rank}
    assert {0: 0, 1: 8} in names.values()
    stated = sidecar_of(captured.ranks[0])["constants_of_rank"]
    assert {"0": 0, "1": 8} in [constant["values"] for constant in stated]
    # The programs of the first test are the same on both ranks.
    same = capture(Mlp(), (torch.randn(4, 8),), mesh={"tp": 2}, plan=PLAN, folder=tmp_path / "same")
    assert same.constants_of_rank == ()
    assert "constants_of_rank" not in sidecar_of(same.ranks[0])


def test_nothing_but_the_model_remains(tmp_path):
    """No line of a library, and no view of a shard that is the shard."""
    captured = capture(Mlp(), (torch.randn(4, 8),), mesh={"tp": 2}, plan=PLAN, folder=tmp_path)
    program = torch.export.load(captured.ranks[0].path)
    for node in program.graph.nodes:
        assert "torch/distributed" not in (node.meta.get("stack_trace") or ""), node
        if str(node.target) == "aten.view.default":
            assert node.meta["val"].shape != node.args[0].meta["val"].shape, node


def test_weights_take_no_memory(tmp_path):
    with torch.device("meta"):
        model = Mlp(1 << 16, 1 << 18)
    captured = capture(
        model, (torch.empty(4, 1 << 16, device="meta"),), mesh={"tp": 8}, plan=PLAN, ranks=[7],
        folder=tmp_path,
    )  # fmt: skip
    assert captured.ranks[0].path.stat().st_size < 1 << 20


#
# Refusals
#


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class WithBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(Mlp(), Branch())

    def forward(self, x):
        return self.inner(x)


def test_what_cannot_be_traced_says_which_module(tmp_path):
    plan = {"inner.0.up": ColwiseParallel(), "inner.0.down": RowwiseParallel()}
    with pytest.raises(CaptureError) as error:
        capture(WithBranch(), (torch.randn(4, 8),), mesh={"tp": 2}, plan=plan, folder=tmp_path)
    text = str(error.value)
    assert "rank 0: inner.1 (Branch) cannot be captured" in text
    assert "test_capture.py" in text
    assert "depends on the values of a tensor" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plan": {"upp": ColwiseParallel()}}, "the plan names 'upp', but Mlp has no such module"),
        ({"plan": [ColwiseParallel()]}, "plan is a list; expected a dict from module names"),
        ({"plan": {"up": "colwise"}}, "Mlp has no plan of its own"),
        ({"plan": None}, "Mlp is not parallel: it has no DTensor parameters"),
        ({"ranks": [2]}, r"rank 2 is not in the mesh; its ranks are \[0, 1\]"),
        ({"ranks": []}, "pass 'all' or a list such as"),
        ({"mesh": 2}, "mesh is a int; pass a DeviceMesh"),
        ({"mesh": {"tp": 0}}, "a mesh needs at least one axis and axes of at least one rank"),
        ({"backward": True}, "backward=True needs a model that returns a loss"),
    ],
)
def test_refusals(tmp_path, options, message):
    given = {"mesh": {"tp": 2}, "plan": PLAN, "folder": tmp_path, **options}
    with pytest.raises(CaptureError, match=message):
        capture(Mlp(), (torch.randn(4, 8),), **given)


def test_a_plan_for_a_parallel_model(tmp_path):
    mesh = fake_mesh({"tp": 2})
    model = parallelize_module(Mlp(), mesh, PLAN)
    with pytest.raises(CaptureError, match="already has DTensor parameters"):
        capture(model, (torch.randn(4, 8),), mesh=mesh, plan=PLAN, folder=tmp_path)


def test_a_mesh_of_another_size(tmp_path):
    dist.init_process_group("fake", rank=0, world_size=4, store=_store())
    with pytest.raises(CaptureError, match="the process group has 4 ranks, but the mesh has 2"):
        capture(Mlp(), (torch.randn(4, 8),), mesh={"tp": 2}, plan=PLAN, folder=tmp_path)


def _store():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    return FakeStore()


def test_the_package_exports_it():
    assert commute.torch.capture is capture
