# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Live FX graphs through the passes and back: what is not rewritten stays as it is,
and what is wrong is said."""

import pytest
import torch
import torch.distributed._functional_collectives as fc
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from captured_graphs import Captured, check_metadata, results_and_gradients
from commute.torch import CommuteError, optimize_graph
from commute.torch.effects import is_functional
from commute.torch.graph_edits import GraphEdits
from commute.torch.source_lines import user_frame

pytestmark = pytest.mark.in_process

ALWAYS = "split-linear{policy=always}"


def tensors(*shapes, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in shapes
    ]


def everything(a, b, w):
    """Nodes of every kind that Dynamo leaves: modes, lists, indices, sizes, attributes."""
    with torch.no_grad():
        scale = a.abs().max()
    first, second = a.chunk(2, dim=-1)
    joined = torch.cat(b.split(4, dim=1), 0)
    picked = a[..., None, 1:3] * scale
    flat = b.view(b.size(0) * 2, -1).T
    masked = torch.where(a > 0, a, -a)[[0, 1]]
    return first @ w[:4], F.silu(second), joined, picked.permute(0, 2, 1), flat, masked


@pytest.mark.parametrize("dynamic", [False, True])
def test_unchanged_graph_keeps_every_node(dynamic):
    def change(graph):
        before = [(node, node.args, node.kwargs, dict(node.meta)) for node in graph.nodes]
        optimize_graph(graph, passes="split-linear")
        after = [(node, node.args, node.kwargs, dict(node.meta)) for node in graph.nodes]
        assert len(before) == len(after)
        for old, new in zip(before, after):
            assert old[0] is new[0]
            assert old[1:3] == new[1:3]
            assert old[3].keys() == new[3].keys()
            assert all(old[3][key] is new[3][key] for key in old[3])

    captured = Captured(everything, change, dynamic=dynamic)
    inputs = tensors((4, 8), (4, 8), (4, 6))
    for expected, found in zip(everything(*inputs), captured(*inputs), strict=True):
        assert torch.equal(expected, found)
    assert captured.changes == [None]


def test_untouched_nodes_stay_the_same_objects():
    def function(a, b, w):
        scaled = a.exp()
        return F.linear(torch.cat([scaled, b], -1), w), scaled.sin()

    kept = {}

    def change(graph):
        kept.update({node.name: node for node in graph.nodes})
        return optimize_graph(graph, passes=ALWAYS)

    inputs = tensors((3, 8), (3, 16), (5, 24))
    captured = Captured(function, change)
    found = results_and_gradients(captured, inputs)
    for expected, value in zip(results_and_gradients(function, inputs), found, strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
    names = {node.name: node for node in captured.graph.nodes}
    assert "cat" not in captured.targets()
    for name in ("scaled", "sin"):
        assert names[name] is kept[name]
    for node in captured.graph.find_nodes(op="placeholder"):
        assert kept[node.name] is node
    check_metadata(captured.graph)


def test_new_nodes_say_what_they_give_and_where_they_come_from():
    def function(a, b, w):
        return F.linear(torch.cat([a, b], -1), w)

    inputs = tensors((3, 8), (3, 16), (5, 24), dtype=torch.float32)
    captured = Captured(function, lambda graph: optimize_graph(graph, passes=ALWAYS))
    captured(*inputs)
    new = [node for node in captured.graph.nodes if node.op.startswith("call_")]
    assert new
    for node in new:
        assert __file__ in node.meta["stack_trace"]
        fakes = [read.meta["example_value"] for read in node.all_input_nodes]
        assert all(isinstance(fake, torch._subclasses.FakeTensor) for fake in fakes)
        value = node.meta["example_value"]
        assert value.requires_grad and value.dtype == torch.float32
        # As PyTorch computes it from the values that the node reads.
        again = torch.fx.map_arg(node.args, lambda read: read.meta["example_value"])
        kwargs = torch.fx.map_arg(node.kwargs, lambda read: read.meta["example_value"])
        call = getattr(again[0], node.target) if node.op == "call_method" else node.target
        with value.fake_mode:
            fresh = call(*again[node.op == "call_method" :], **kwargs)
        assert (fresh.shape, fresh.stride()) == (value.shape, value.stride())
    check_metadata(captured.graph)


def test_error_on_the_way_leaves_the_graph(monkeypatch):
    """PyTorch may fail to run a new node's operator on fake tensors."""

    def function(a, b, w):
        first, second = a.chunk(2, -1)
        return F.linear(torch.cat([second, b, first], -1), w).exp()

    seen = []

    def change(graph):
        before = [(node, node.args, node.kwargs) for node in graph.nodes]
        compute, calls = GraphEdits._value_of, []

        def fail_at_the_third(self, node, origin, outputs):
            calls.append(node)
            if len(calls) == 3:
                raise RuntimeError("no kernel")
            return compute(self, node, origin, outputs)

        monkeypatch.setattr(GraphEdits, "_value_of", fail_at_the_third)
        with pytest.raises(RuntimeError, match="no kernel"):
            optimize_graph(graph, passes=ALWAYS)
        assert [(node, node.args, node.kwargs) for node in graph.nodes] == before
        seen.append(graph)

    inputs = tensors((3, 8), (3, 16), (5, 24))
    captured = Captured(function, change)
    torch.testing.assert_close(captured(*inputs), function(*inputs), rtol=0, atol=0)
    assert len(seen) == 1


def test_graph_of_operators_gets_operators():
    def both(a, b, w, tangent):
        leaves = [value.detach().requires_grad_() for value in (a, b, w)]
        result = torch.cat([leaves[0] * 2, leaves[1] * 3], -1) @ leaves[2].t()
        return (result, *torch.autograd.grad(result, leaves, tangent))

    inputs = [value.detach() for value in tensors((64, 8), (64, 16), (5, 24), (64, 5))]
    module = make_fx(both, tracing_mode="fake")(*inputs)
    remarks = optimize_graph(module.graph, passes=ALWAYS, is_functional_graph=True)
    assert any(remark.verdict == "applied" for remark in remarks)
    module.recompile()
    torch.testing.assert_close(module(*inputs), both(*inputs), rtol=1e-12, atol=1e-12)
    for node in module.graph.nodes:
        if node.op == "call_function":
            assert isinstance(node.target, torch._ops.OpOverload)
            assert isinstance(node.meta["val"], torch._subclasses.FakeTensor)


@pytest.mark.parametrize("stated", [False, True])
def test_casts_of_decompositions_are_casts(fake_group, stated):
    """What AOTAutograd makes of casts does not stop a rewrite, and is written again."""
    prims, size = torch.ops.prims, 2

    def function(x, w):
        whole = fc.all_reduce(x @ w, "sum", fake_group)
        return prims.convert_element_type(
            torch.relu(prims.convert_element_type(whole, torch.float32)), torch.bfloat16
        )

    module = make_fx(function, tracing_mode="fake")(
        *[t.detach() for t in tensors((16, 8), (8, 8), dtype=torch.bfloat16)]
    )
    entry = {"same_as": "torch.ops.aten._to_copy.default", "arguments": {"self": "a"}}
    vocabulary = {
        "version": 1,
        "operators": {"torch.ops.prims.convert_element_type.default": entry},
    }
    remarks = optimize_graph(
        module.graph, passes="sequence-parallel,lower-collectives", policy="always", is_functional_graph=True,
        vocabulary=vocabulary if stated else None, ranks="same",
    )  # fmt: skip
    assert any(remark.verdict == "applied" for remark in remarks)
    casts = [
        node for node in module.graph.nodes if node.target is prims.convert_element_type.default
    ]
    assert [node.meta["val"].shape[0] for node in casts] == [16 // size] * 2
    assert not any(node.target is torch.ops.aten._to_copy.default for node in module.graph.nodes)


def test_remarks_name_the_line_of_python():
    def function(a, b, w):
        return F.linear(torch.cat([a, b], -1), w)

    captured = Captured(function, lambda graph: optimize_graph(graph, passes=ALWAYS))
    captured(*tensors((3, 8), (3, 16), (5, 24)))
    (remarks,) = captured.changes
    (applied,) = [remark for remark in remarks if remark.verdict == "applied"]
    assert applied.pass_name == "split-linear"
    assert applied.file.endswith("test_live_graph.py")
    assert applied.line == function.__code__.co_firstlineno + 1
    assert str(applied.line) in str(applied)


def test_remarks_name_the_users_line_inside_of_pytorchs_modules():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(24, 5, dtype=torch.float64))

        def forward(self, a, b):
            return self.layers(torch.cat([a, b], -1))

    captured = Captured(Model(), lambda graph: optimize_graph(graph, passes=ALWAYS))
    captured(*tensors((3, 8), (3, 16)))
    (applied,) = [remark for remark in captured.changes[0] if remark.verdict == "applied"]
    assert applied.file.endswith("test_live_graph.py")
    assert applied.line == Model.forward.__code__.co_firstlineno + 1


def frame(path, line):
    return f'  File "{path}", line {line}, in forward\n    return x\n           ^\n'


def test_frames_of_libraries_are_dropped():
    users, notebook = frame("/home/user/model.py", 3), frame("<ipython-input-1>", 1)
    linear = frame(torch.nn.modules.linear.__file__, 134)
    ours = frame(GraphEdits.__init__.__code__.co_filename, 9)
    generated = frame("<eval_with_key>.12", 5)
    assert user_frame(users) == users
    assert user_frame(users + linear + ours + generated) == users
    # What is around the user's frame is not the user's either.
    assert user_frame(linear + notebook + linear) == notebook
    assert user_frame(linear + generated) == user_frame("") == ""


def test_nothing_moves_past_a_switch_of_mode():
    def function(a, b, w):
        joined = torch.cat([a, b], -1)
        with torch.no_grad():
            stopped = F.linear(joined, w)
        return stopped, F.linear(torch.cat([b, a], -1), w)

    inputs = tensors((3, 8), (3, 16), (5, 24))
    captured = Captured(function, lambda graph: optimize_graph(graph, passes=ALWAYS))
    found = results_and_gradients(captured, inputs)
    for expected, value in zip(results_and_gradients(function, inputs), found, strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
    assert not found[0].requires_grad
    # The second one only: the first one's concatenation is on the other side.
    assert captured.targets().count("cat") == 1


def test_what_shares_memory_with_a_written_input_is_left_alone():
    def function(a, view, w):
        joined = torch.cat([a, a], -1)
        view.mul_(2)
        return F.linear(joined, w)

    memory = torch.randn(3, 8, dtype=torch.float64)
    (w,) = tensors((5, 16))

    def run(call):
        own = memory.clone()
        return call(own, own[:2], w)

    captured = Captured(function, lambda graph: optimize_graph(graph, passes=ALWAYS))
    torch.testing.assert_close(run(captured), run(function), rtol=0, atol=0)
    assert "cat" in captured.targets()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"target": "h1000"}, "h1000"),
        ({"passes": "split-lines"}, "unknown pass 'split-lines'"),
        ({"policy": "sometimes"}, "sometimes"),
        ({"context": {"version": 2}}, "version"),
        ({"vocabulary": {"version": 1}}, "operators"),
    ],
)
def test_wrong_options_are_errors_and_leave_the_graph(options, message):
    graph = torch.fx.symbolic_trace(lambda a: a + 1).graph
    before = str(graph)
    with pytest.raises(CommuteError, match=message):
        optimize_graph(graph, **{"passes": "split-linear", **options})
    assert str(graph) == before


def test_graph_without_values_is_left_alone():
    graph = torch.fx.symbolic_trace(lambda a, b, w: F.linear(torch.cat([a, b], -1), w)).graph
    before = list(graph.nodes)
    assert not any(r.verdict == "applied" for r in optimize_graph(graph, passes=ALWAYS))
    assert list(graph.nodes) == before


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: torch.sigmoid(x), True),
        (lambda x: x.clamp(0), True),
        (lambda x: x.to(torch.float64), True),
        (lambda x: F.leaky_relu(x, 0.1), True),
        (lambda x: F.softmax(x, dim=-1), True),
        (lambda x: x[0], True),
        (lambda x: F.leaky_relu(x, 0.1, True), False),
        (lambda x: F.dropout(x, 0.5, inplace=True), False),
        (lambda x: F.batch_norm(x, x[0], x[0], training=True), False),
        (lambda x: F.embedding(x, x, max_norm=1.0), False),
        (lambda x: x.add_(1), False),
        (lambda x: torch.relu_(x), False),
        (lambda x: x.untyped_storage(), False),
        (lambda x: x.some_method_of_a_subclass(), False),
    ],
)
def test_effects_are_what_schemas_say(function, expected):
    graph = torch.fx.symbolic_trace(function).graph
    node = [node for node in graph.nodes if node.op.startswith("call_")][-1]
    assert is_functional(node) == expected
