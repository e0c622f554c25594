# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What capture states of the ranks: known placements, those that the user states, and nothing
of all others."""

import json

import pytest
import torch
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

import commute.torch
from commute.torch import CaptureError, capture, fake_mesh
from commute_tool import show

pytestmark = pytest.mark.in_process


def sidecar_of(program):
    extra = {"commute.json": ""}
    torch.export.load(program.path, extra_files=extra)
    return json.loads(extra["commute.json"])


def relations_of(captured):
    return json.loads(captured.relations.read_text())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16, bias=False)
        self.down = nn.Linear(16, 8, bias=False)
        self.head = nn.Linear(8, 12, bias=False)

    def forward(self, x):
        return self.head(x + self.down(torch.relu(self.up(self.norm(x)))))


PLAN = {"up": ColwiseParallel(), "down": RowwiseParallel()}
X = torch.randn(2, 4, 8)


class HandSharded(nn.Module):
    """Plain parameters: `down` is the rank's own, `scale` may be anything."""

    def __init__(self, hidden):
        super().__init__()
        self.up = nn.Parameter(torch.randn(8, hidden))
        self.down = nn.Parameter(torch.randn(hidden, 8))
        self.scale = nn.Parameter(torch.randn(8))

    def reduce(self, y):
        return y

    def forward(self, x):
        return (self.scale * self.reduce(torch.tanh(x @ self.up) @ self.down)).square().sum()


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        return functional.all_reduce(y, "sum", torch.distributed.group.WORLD)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class OnRanks(HandSharded):
    def reduce(self, y):
        return _Reduce.apply(y)


#
# Parameters
#


def test_parameters_that_a_plan_leaves_alone_are_replicated(tmp_path):
    captured = capture(Model(), (X,), mesh={"tp": 2}, plan=PLAN, folder=tmp_path)
    placements = sidecar_of(captured.ranks[0])["inputs"]
    assert placements["norm.weight"] == placements["head.weight"] == {"0": "replicated"}
    assert relations_of(captured)["inputs"]["norm.weight"] == "norm.weight"


def test_plain_parameters_of_a_parallel_module_are_unknown(tmp_path):
    mesh = fake_mesh({"tp": 2})
    model = parallelize_module(Model(), mesh, PLAN)
    captured = capture(model, (X,), mesh=mesh, folder=tmp_path)
    placements = sidecar_of(captured.ranks[0])["inputs"]
    assert placements["up.weight"] == {"0": "shard(0)"}
    assert "norm.weight" not in placements
    assert "norm.weight" not in relations_of(captured)["inputs"]
    result = commute.torch.check(Model(), model, (X,), mesh)
    assert result, result
    assert "input norm.weight: replicated (inferred from name and shape)" in result.premises

    captured = capture(
        model, (X,), mesh=mesh, folder=tmp_path, plain_parameters="replicated", ranks=[1]
    )
    assert sidecar_of(captured.ranks[0])["inputs"]["norm.weight"] == {"0": "replicated"}
    assert any("plain_parameters" in text for text in relations_of(captured)["premises"])


def test_nothing_is_claimed_of_parameters_sharded_by_hand(tmp_path):
    """The ranks' summands look replicated if `up` and `down` are taken for replicated."""
    mesh = fake_mesh({"tp": 2})
    captured = capture(OnRanks(4), (X,), mesh=mesh, folder=tmp_path)
    assert sidecar_of(captured.ranks[0])["inputs"] == {"x": {"0": "replicated"}}
    assert not show(captured.ranks[0].path)["placement_problems"]
    stated = capture(
        OnRanks(4), (X,), mesh=mesh, folder=tmp_path, plain_parameters="replicated", ranks=[0]
    )
    problems = show(stated.ranks[0].path)["placement_problems"]
    assert "sums a value that is replicated" in problems[0]["message"]


def test_gradients_follow_parameters():
    mesh = fake_mesh({"tp": 2})
    result = commute.torch.check(HandSharded(8), OnRanks(4), (X,), mesh, backward=True)
    assert result, result
    assert [output["relation"] for output in result.outputs] == [
        "replicated", "shard(1, tp)", "shard(0, tp)", "replicated",
    ]  # fmt: skip
    with pytest.raises(CaptureError, match=r"up is \[8, 4\] on a rank and \[8, 8\] on a single"):
        commute.torch.check(HandSharded(8), OnRanks(4), (X,), mesh, plain_parameters="replicated")


#
# Outputs
#


@pytest.mark.parametrize(
    ("head", "relation", "verdict"),
    [
        (ColwiseParallel(), None, "does not refine"),
        (ColwiseParallel(), "shard(2, tp)", "refines"),
        (ColwiseParallel(), "any", "refines"),
        (ColwiseParallel(output_layouts=Replicate()), None, "refines"),
        (ColwiseParallel(use_local_output=False), None, "refines"),
    ],
)
def test_a_head_that_is_not_gathered(head, relation, verdict):
    model = Model()
    outputs = {"0": relation} if relation else {}
    result = commute.torch.check(
        model, model, (X,), {"tp": 2}, plan={**PLAN, "head": head}, relations={"outputs": outputs}
    )
    assert result.verdict == verdict, result
    if not result:
        (finding,) = result.differences
        assert "is sharded along dim 2 over tp: gather it, or state it" in finding["message"]
        assert '"outputs": {"0": "shard(2, tp)"}' in finding["fix"]


def test_a_captured_output_can_be_removed(tmp_path):
    model, head = Model(), ColwiseParallel(use_local_output=False)
    captured = capture(model, (X,), mesh={"tp": 2}, plan={**PLAN, "head": head}, folder=tmp_path)
    assert captured.relations_with({})["outputs"] == {"0": "shard(2, tp)"}
    assert captured.relations_with({"outputs": {"0": None}})["outputs"] == {}


class Named(Model):
    """Returns its logits under a name."""

    def forward(self, x):
        return {"hidden": x * 2, "logits": super().forward(x)}


@pytest.mark.parametrize(
    ("placements", "relation"),
    [
        ({"logits": {"tp": Shard(-1)}}, "shard(2, tp)"),
        ({1: {"tp": "shard(2)"}}, "shard(2, tp)"),
        ({"logits": {"tp": "replicated"}}, None),
    ],
)
def test_outputs_are_stated_by_name_or_index(placements, relation):
    model = Named()
    result = commute.torch.check(
        model, model, (X,), {"tp": 2}, plan={**PLAN, "head": ColwiseParallel()},
        output_placements=placements,
    )  # fmt: skip
    assert bool(result) == bool(relation), result
    if relation:
        assert [output["relation"] for output in result.outputs] == ["replicated", relation]


@pytest.mark.parametrize(
    ("placements", "message"),
    [
        (
            {"scores": {"tp": Shard(0)}},
            "the model returns 2 tensors under the names hidden, logits",
        ),
        ({2: {"tp": Shard(0)}}, "output_placements names '2'"),
        ({"logits": {"tp": Shard(3)}}, "logits has 3 dims, but is placed"),
        ({"logits": {"tp": "whole"}}, "logits on axis tp: 'whole' is not a placement"),
    ],
)
def test_outputs_that_cannot_be_stated(placements, message, tmp_path):
    with pytest.raises(CaptureError) as error:
        capture(
            Named(), (X,), mesh={"tp": 2}, plan=PLAN, output_placements=placements,
            folder=tmp_path, ranks=[0],
        )  # fmt: skip
    assert message in str(error.value)


@pytest.mark.parametrize("is_dtensor", [False, True])
def test_each_rank_of_another_axis_has_its_own_batch(is_dtensor, tmp_path):
    """The output is a DTensor of the tensor-parallel axis only, or plain."""
    from torch.distributed.fsdp import fully_shard

    mesh = fake_mesh({"fsdp": 2, "tp": 2})
    layouts = {} if is_dtensor else {"output_layouts": Replicate()}
    head = ColwiseParallel(use_local_output=not is_dtensor, **layouts)
    model = parallelize_module(Model(), mesh["tp"], {**PLAN, "head": head})
    fully_shard(model, mesh=mesh["fsdp"])
    result = commute.torch.check(Model(), model, (X,), mesh)
    assert result, result
    expected = "shard(shard(output, 0, fsdp), 2, tp)" if is_dtensor else "shard(0, fsdp)"
    assert [output["relation"] for output in result.outputs] == [expected]
    assert result.outputs[0]["required"]


#
# Inputs
#


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16, bias=False)
        self.down = nn.Linear(16, 8, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(self.norm(x))))


BELIEF = {
    "norm": SequenceParallel(),
    "up": ColwiseParallel(input_layouts=Shard(1)),
    "down": RowwiseParallel(),
}
PREMISE = (
    "callers pass all of x on every rank of tp, but norm (SequenceParallel) takes it for a shard"
    " along dim 1; if callers pass shards, state input_placements={'x': {'tp': Shard(1)}}"
)


@pytest.mark.parametrize(
    ("first", "stated", "verdict"),
    [
        # SequenceParallel takes the whole x for a shard.
        ({}, None, "does not refine"),
        ({}, "replicated", "does not refine"),
        ({}, Replicate(), "does not refine"),
        ({}, "shard(1)", "refines"),
        ({}, Shard(1), "refines"),
        (
            {
                "": PrepareModuleInput(
                    input_layouts=(Replicate(),),
                    desired_input_layouts=(Shard(1),),
                    use_local_output=True,
                )
            },
            None,
            "refines",
        ),
    ],
)
def test_what_a_style_believes_is_no_statement(first, stated, verdict):
    model = Block()
    placements = {"x": {"tp": stated}} if stated is not None else None
    result = commute.torch.check(
        model, model, (X,), {"tp": 2}, plan={**first, **BELIEF}, input_placements=placements
    )
    assert result.verdict == verdict, result
    assert (PREMISE in result.premises) == (not first and stated is None)
    assert (PREMISE in str(result)) == (PREMISE in result.premises)


@pytest.mark.parametrize(
    ("placements", "message"),
    [
        ({"x": {"tp": "sharded"}}, "x on axis tp: 'sharded' is not a placement; expected"),
        ({"x": {"tp": "shard"}}, "'shard' is not a placement"),
        ({"x": {"tp": 1}}, "1 is not a placement"),
        ({"x": {"tp": "partial(mean)"}}, "is not a placement"),
        ({"x": {"tp": "shard(3)"}}, "x has 3 dims, but is placed"),
        ({"x": {"dp": "replicated"}}, "x has the axis 'dp', but the mesh has tp"),
        ({"x": "replicated"}, "x is 'replicated'; expected a dict from axes to placements"),
        ({"y": {"tp": "replicated"}}, "names 'y', but the arguments are x"),
    ],
)
def test_words_that_are_no_placements(placements, message, tmp_path):
    with pytest.raises(CaptureError) as error:
        capture(
            Model(), (X,), mesh={"tp": 2}, plan=PLAN, input_placements=placements, folder=tmp_path
        )
    assert message in str(error.value)


@pytest.mark.parametrize("word", ["partial", "partial(sum)"])
def test_partial_is_a_word(word, tmp_path):
    captured = capture(
        Model(), (X,), mesh={"tp": 2}, plan=PLAN, input_placements={"x": {"tp": word}},
        folder=tmp_path, ranks=[0],
    )  # fmt: skip
    assert relations_of(captured)["inputs"]["x"] == "partial(x, tp)"


def test_plain_parameters_is_a_choice(tmp_path):
    with pytest.raises(CaptureError, match="pass 'unknown' or 'replicated'"):
        capture(Model(), (X,), mesh={"tp": 2}, plan=PLAN, plain_parameters="same", folder=tmp_path)


#
# Random numbers
#


class WithDropout(nn.Module):
    def __init__(self, hidden, where, activation=torch.relu, reduces=False):
        super().__init__()
        self.up = nn.Parameter(torch.randn(8, hidden))
        self.down = nn.Parameter(torch.randn(hidden, 8))
        self.where, self.activation, self.reduces = where, activation, reduces

    def drop(self, y, where):
        return nn.functional.dropout(y, 0.3, True) if where == self.where else y

    def forward(self, x):
        y = self.drop(self.activation(x @ self.up), "shards") @ self.down
        if self.reduces:
            y = functional.all_reduce(y, "sum", torch.distributed.group.WORLD)
        return x + self.drop(y, "whole")


@pytest.mark.parametrize(
    ("where", "activation", "verdict"),
    [
        ("nowhere", torch.relu, "refines"),
        ("whole", torch.relu, "refines"),
        ("whole", torch.tanh, "does not refine"),
        ("shards", torch.relu, "not proven"),
        # The dropout has another operand, whatever it draws.
        ("shards", torch.tanh, "does not refine"),
    ],
)
def test_dropout(where, activation, verdict):
    mesh = fake_mesh({"tp": 2})
    model = WithDropout(4, where, activation, reduces=True)
    result = commute.torch.check(WithDropout(8, where), model, (X,), mesh)
    assert result.verdict == verdict, result
    has_premise = any("equal seeds" in premise for premise in result.premises)
    assert has_premise == (where != "nowhere")
    if verdict == "not proven":
        assert "random numbers: native_dropout" in result.report["not_proven"]
        assert "shard(2, tp) of relu" in result.report["not_proven"]


#
# Tied parameters, and numbers among the arguments
#


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.head = nn.Linear(8, 12, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids, scale):
        return (self.head(torch.tanh(self.embed(ids))) * scale).square().sum()


TIED_PLAN = {
    "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate()),
    "head": ColwiseParallel(output_layouts=Replicate()),
}


def test_one_parameter_of_the_reference_that_is_two_of_the_ranks():
    model, args, mesh = Tied(), (torch.randint(0, 12, (2, 5)), 3), fake_mesh({"tp": 2})
    result = commute.torch.check(model, model, args, mesh, plan=TIED_PLAN)
    assert not result.differences, result
    both = "embed.weight and head.weight are one parameter of the model on one device, but two"
    assert any(text.startswith(both) for text in result.premises)
    with pytest.raises(CaptureError, match=both):
        commute.torch.check(model, model, args, mesh, plan=TIED_PLAN, backward=True)

    tied_again = parallelize_module(Tied(), mesh, TIED_PLAN)
    tied_again.head.weight = tied_again.embed.weight
    result = commute.torch.check(model, tied_again, args, mesh, backward=True)
    assert not result.differences, result


def test_numbers_among_the_arguments_are_constants(tmp_path):
    args = {"ids": torch.randint(0, 12, (2, 5)), "scale": 3}
    captured = capture(Tied(), args, mesh={"tp": 2}, plan=TIED_PLAN, folder=tmp_path)
    program = torch.export.load(captured.ranks[0].path)
    assert program.graph_signature.user_inputs == ("ids",)
