# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Edits of live FX graphs: made as a whole or not at all, around nodes in any order."""

import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from captured_graphs import Captured, results_and_gradients
from commute.torch import CommuteError, optimize_graph
from commute.torch.graph_edits import GraphEdits
from commute.torch.graph_transaction import GraphTransaction

pytestmark = pytest.mark.in_process

ALWAYS = "split-linear{policy=always}"


def state(graph):
    """All that edits change of a graph."""
    return [
        (node, node.args, node.kwargs, list(node.users), dict(node.meta)) for node in graph.nodes
    ]


def split_twice(a, b, w):
    """Two runs of nodes, one on each side of a switch of the gradient mode."""
    first = F.linear(torch.cat([a, b], -1), w)
    with torch.no_grad():
        second = F.linear(torch.cat([b, a], -1), w)
    return first.exp(), second.exp()


def inputs():
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64)
        for shape in ((3, 8), (3, 8), (5, 16))
    ]


def fails_at(method, owner, call, monkeypatch):
    """Lets the given call of a method fail; gives the calls that there were."""
    original, calls = getattr(owner, method), []

    def failing(self, *arguments):
        calls.append(arguments)
        if len(calls) == call:
            raise ZeroDivisionError("planted")
        return original(self, *arguments)

    monkeypatch.setattr(owner, method, failing)
    return calls


@pytest.mark.parametrize(
    "owner, method, call",
    [
        (GraphEdits, "_value_of", 1),
        (GraphEdits, "_value_of", 4),
        (GraphEdits, "_replace_outputs", 1),
        # Of the second run: the first one has been changed.
        (GraphEdits, "_replace_outputs", 2),
        (GraphEdits, "apply", 2),
        (GraphTransaction, "commit", 1),
    ],
)
def test_an_error_anywhere_leaves_the_graph_as_it_was(owner, method, call, monkeypatch):
    seen = []

    def change(graph):
        before = state(graph)
        with monkeypatch.context() as patch:
            calls = fails_at(method, owner, call, patch)
            with pytest.raises(ZeroDivisionError, match="planted"):
                optimize_graph(graph, passes=ALWAYS)
        assert len(calls) == call
        assert state(graph) == before
        # The legal twin: nothing is left over that would be in the way.
        applied = [r for r in optimize_graph(graph, passes=ALWAYS) if r.verdict == "applied"]
        seen.append(len(applied))

    captured = Captured(split_twice, change)
    for expected, found in zip(split_twice(*inputs()), captured(*inputs()), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert seen == [2]


def test_a_reader_that_the_program_does_not_know_leaves_the_graph(monkeypatch):
    """The check before nodes are erased."""

    def change(graph):
        before = state(graph)
        with monkeypatch.context() as patch:
            patch.setattr(GraphEdits, "_replace_outputs", lambda self: None)
            with pytest.raises(CommuteError, match="is gone but for its readers"):
                optimize_graph(graph, passes=ALWAYS)
        assert state(graph) == before

    captured = Captured(lambda a, b, w: F.linear(torch.cat([a, b], -1), w), change)
    captured(*inputs())


def test_a_new_node_that_pytorch_refuses_is_named(monkeypatch):
    def change(graph):
        before = state(graph)
        with monkeypatch.context() as patch:
            patch.setattr(GraphEdits, "_operator_arguments", lambda *_: ((), {"no": 1}))
            patch.setattr(GraphEdits, "_arguments", lambda *_: ((), {"no": 1}))
            with pytest.raises(CommuteError, match="PyTorch refuses the new node %"):
                optimize_graph(graph, passes=ALWAYS)
        assert state(graph) == before

    captured = Captured(lambda a, b, w: F.linear(torch.cat([a, b], -1), w), change)
    captured(*inputs())


def test_a_node_that_gives_another_shape_takes_no_place(monkeypatch):
    """Stale metadata: the graph says another shape than its operators give."""
    module = make_fx(lambda a, b, w: torch.cat([a, b], -1) @ w.t(), tracing_mode="fake")(*inputs())
    compute = GraphEdits._value_of

    def compute_wrongly(self, node, origin, outputs):
        value = compute(self, node, origin, outputs)
        return value.unsqueeze(0) if node.target is torch.ops.aten.addmm.default else value

    before = state(module.graph)
    with monkeypatch.context() as patch:
        patch.setattr(GraphEdits, "_value_of", compute_wrongly)
        with pytest.raises(CommuteError, match=r"gives float64\[1, 3, 5\] in place of mm, which"):
            optimize_graph(module.graph, passes=ALWAYS, is_functional_graph=True)
    assert state(module.graph) == before
    assert any(
        remark.verdict == "applied"
        for remark in optimize_graph(module.graph, passes=ALWAYS, is_functional_graph=True)
    )


@pytest.mark.parametrize("late", [1, 2])
def test_placeholders_may_stand_behind_other_nodes(late):
    function = lambda a, b, w: torch.cat([a * 2, b], -1) @ w.t()  # noqa: E731
    module = make_fx(function, tracing_mode="fake")(*inputs())
    graph = module.graph
    placeholders = graph.find_nodes(op="placeholder")
    first = next(node for node in graph.nodes if node.op == "call_function")
    for node in reversed(placeholders[late:]):
        first.append(node)
    graph.lint()
    remarks = optimize_graph(graph, passes=ALWAYS, is_functional_graph=True)
    assert any(remark.verdict == "applied" for remark in remarks)
    # They are the arguments, in this order.
    assert graph.find_nodes(op="placeholder") == placeholders
    module.recompile()
    torch.testing.assert_close(module(*inputs()), function(*inputs()), rtol=1e-12, atol=1e-12)


def test_attributes_of_an_earlier_run_stay_where_they_are():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(inputs()[2])

        def forward(self, a, b):
            return split_twice(a, b, self.w)

    module = Module()
    arguments = [value.requires_grad_() for value in inputs()[:2]]
    captured = Captured(module, lambda graph: optimize_graph(graph, passes=ALWAYS))
    for expected, found in zip(
        results_and_gradients(module, arguments),
        results_and_gradients(captured, arguments),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert "cat" not in captured.targets()


def test_one_node_with_stale_metadata_is_left_alone():
    """[S, H] where the operator gives [1, S, H]."""

    def function(a, b, w):
        return torch.cat([a, b], -1) @ w.t(), a.unsqueeze(0).exp()

    def trace():
        return make_fx(function, tracing_mode="fake")(*inputs())

    module = trace()
    (stale,) = module.graph.find_nodes(op="call_function", target=torch.ops.aten.unsqueeze.default)
    stale.meta["val"] = stale.meta["val"][0]
    remarks = optimize_graph(module.graph, passes=ALWAYS, is_functional_graph=True)
    assert any(remark.verdict == "applied" for remark in remarks)
    (complaint,) = [remark for remark in remarks if remark.pass_name == "import"]
    assert (complaint.verdict, complaint.node) == ("refused", "exp")
    assert "contradicts the shapes that the graph states" in complaint.message
    module.recompile()
    for expected, found in zip(function(*inputs()), module(*inputs()), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    # With the right one there is nothing to say.
    remarks = optimize_graph(trace().graph, passes=ALWAYS, is_functional_graph=True)
    assert not [remark for remark in remarks if remark.pass_name == "import"]


def test_watchers_are_told_what_the_output_reads():
    def function(a, b, w):
        product = F.linear(torch.cat([a, b], -1), w)
        return product, a, product

    module = make_fx(function, tracing_mode="fake")(*inputs())
    (output,) = module.graph.find_nodes(op="output")
    before = list(output.args[0])
    told = []
    module._register_replace_node_hook(lambda old, new, user: told.append((old, new, user)))
    assert any(
        remark.verdict == "applied" for remark in optimize_graph(module.graph, passes=ALWAYS)
    )
    after = list(output.args[0])
    assert after[0] is after[2] and after[0] is not before[0]
    assert after[1] is before[1]
    assert [entry for entry in told if entry[2] is output] == [(before[0], after[0].name, output)]
