# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fake results of new nodes: what Commute states is what the operators give."""

import operator

import pytest
import torch
import torch.distributed._functional_collectives as functional
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import commute.torch
from commute.torch.graph_edits import GraphEdits
from commute.torch.graph_program import get_value
from commute.torch.stated_values import returns_fresh_memory, returns_view, static_view
from joint_graphs import capture, random_configuration

pytestmark = [
    pytest.mark.in_process,
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
]


@pytest.fixture
def compared(monkeypatch):
    """The names of the nodes whose stated values were found to be those of their operators."""
    found = set()
    original = GraphEdits._value_of

    def described(value):
        if not isinstance(value, torch.Tensor):
            return value and [described(part) for part in value]
        return value.shape, value.stride(), value.dtype, value.device, type(value)

    def value_of(self, node, origin, outputs):
        value = original(self, node, origin, outputs)
        if returns_fresh_memory(node.target) or returns_view(node.target):
            modes = [getattr(get_value(read), "fake_mode", None) for read in node.all_input_nodes]
            mode = next(filter(None, modes), None) or self._own_mode()
            assert described(value) == described(self._compute(node, origin, mode)), node
            found.add(str(node.target))
        return value

    monkeypatch.setattr(GraphEdits, "_value_of", value_of)
    return found


def test_of_models(compared):
    for captured in capture(random_configuration(0)):
        commute.torch.optimize_graph(
            captured.copy().graph, policy="always", verify=False, is_functional_graph=True
        )
    assert {"symm_mem.fused_all_gather_matmul.default", "aten.reshape.default",
            "symm_mem.fused_matmul_reduce_scatter.default"} <= compared  # fmt: skip


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("returns_gathered", [False, True])
def test_of_gathers_along_a_dim(compared, fake_group, dim, returns_gathered):
    def function(x, w):
        gathered = functional.all_gather_tensor(x, dim, fake_group)
        product = gathered @ w
        return (product, gathered + 1) if returns_gathered else product

    module = make_fx(function, tracing_mode="fake")(torch.randn(4, 6, 8), torch.randn(8, 16))
    commute.torch.micro_pipeline_tp_pass(module.graph, policy="always", fatal=True)
    assert "symm_mem.fused_all_gather_matmul.default" in compared


def test_memory_that_views_share_stays_shared(fake_group):
    """Inductor finds out in this way what it may write into."""
    aten = torch.ops.aten
    for target in (
        aten.view.default, aten.reshape.default, aten.permute.default, aten.slice.Tensor,
        aten.contiguous.default, aten.split.Tensor, aten.alias.default, aten.add_.Tensor,
        torch.ops._c10d_functional.wait_tensor.default,
        torch.ops._c10d_functional.all_reduce_.default,
    ):  # fmt: skip
        assert not returns_fresh_memory(target), target
    for target in (aten.mm.default, aten.cat.default, aten.clone.default):
        assert returns_fresh_memory(target), target


def make_view(target, *args, kwargs=None, size=(4, 6, 8), dynamic=False):
    """A node that calls a view of an operand that does not start where its memory does."""
    mode = FakeTensorMode(shape_env=ShapeEnv() if dynamic else None)
    with mode:
        memory = torch.empty(2, *size)
    if dynamic:
        memory = mode.from_tensor(torch.empty(2, *size))
    graph = torch.fx.Graph()
    operand = graph.placeholder("operand")
    with mode:
        operand.meta["val"] = memory[1]
    return graph.call_function(target, (operand, *args), kwargs or {}), mode


@pytest.mark.parametrize(
    "name, args",
    [
        ("reshape.default", ([24, 8],)),
        ("view.default", ([4, 48],)),
        ("permute.default", ([2, 0, 1],)),
        ("transpose.int", (0, 2)),
        ("slice.Tensor", (1, 2, 5)),
        ("select.int", (0, 3)),
        ("unsqueeze.default", (1,)),
        ("alias.default", ()),
    ],
)
def test_views_are_those_of_pytorch(name, args):
    target = operator.attrgetter(name)(torch.ops.aten)
    assert returns_view(target)
    node, mode = make_view(target, *args)
    operand = get_value(node.args[0])
    with mode:
        expected = target(operand, *args)
    view = static_view(node, mode)

    def described(value):
        return (
            type(value), value.fake_mode, value.shape, value.stride(), value.storage_offset(),
            value.dtype, value.device, value.untyped_storage()._cdata,
        )  # fmt: skip

    assert described(view) == described(expected)
    assert view.untyped_storage()._cdata == operand.untyped_storage()._cdata


def test_reshape_of_strided_operand_is_fresh():
    node, mode = make_view(torch.ops.aten.reshape.default, [48, 4])
    operand = node.args[0]
    with mode:
        operand.meta["val"] = get_value(operand).permute(1, 2, 0)[::2]
    copy = static_view(node.graph.call_function(node.target, (operand, [24, 4])), mode)
    assert copy.stride() == (4, 1)
    assert copy.untyped_storage()._cdata != get_value(operand).untyped_storage()._cdata


def test_views_of_symbols_are_left_to_pytorch():
    aten = torch.ops.aten
    assert static_view(*make_view(aten.unsqueeze.default, 0, dynamic=True)) is None
    assert static_view(*make_view(aten.unsqueeze.default, 0)) is not None
    # An operand that is not the first argument, or of which nothing is known.
    assert static_view(*make_view(aten.slice.Tensor, kwargs={"dim": 1})) is None
    node, mode = make_view(aten.unsqueeze.default, 0)
    node.args[0].meta.clear()
    assert static_view(node, mode) is None


def test_operators_that_return_views():
    aten = torch.ops.aten
    for target in (
        aten.mm.default, aten.add_.Tensor, aten.split.Tensor, aten.clone.default,
        aten.contiguous.default, torch.ops._c10d_functional.wait_tensor.default,
        operator.getitem, "view",
    ):  # fmt: skip
        assert not returns_view(target), target
