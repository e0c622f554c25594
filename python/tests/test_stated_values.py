# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fake results of new nodes: what Commute states is what the operators give."""

import pytest
import torch
import torch.distributed._functional_collectives as functional
from torch.fx.experimental.proxy_tensor import make_fx

import commute.torch
from commute.torch.graph_edits import GraphEdits
from commute.torch.graph_program import get_value
from commute.torch.stated_values import returns_fresh_memory
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
        if returns_fresh_memory(node.target):
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
    assert {"symm_mem.fused_all_gather_matmul.default",
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
