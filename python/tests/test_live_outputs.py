# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What a live graph returns is part of its program: order, duplicates, inputs that are passed
through, None, constants and structure."""

import json

import pytest
import torch
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

import commute
from commute.native import native
from commute.torch.graph_program import GraphProgram
from commute.torch.live_graph import optimize_graph

pytestmark = pytest.mark.in_process


def traced(function, count=2):
    module = make_fx(function, tracing_mode="fake")(*[torch.ones(4, 6)] * count)
    for number, node in enumerate(module.graph.find_nodes(op="placeholder")):
        node.name = "xyzw"[number]
    return module


def module_that_returns(returned, swaps_definitions=False):
    """relu (`r`) and neg (`n`) of the inputs `x` and `y`, of which `returned` picks."""
    graph = Graph()
    nodes = {name: graph.placeholder(name) for name in "xy"}
    calls = {"r": torch.ops.aten.relu.default, "n": torch.ops.aten.neg.default}
    for name in reversed(calls) if swaps_definitions else calls:
        nodes[name] = graph.create_node("call_function", calls[name], (nodes["x"],), name=name)
    for node in graph.nodes:
        node.meta["val"] = torch.empty(4, 6, device="meta")
    graph.output(returned(**nodes))
    return GraphModule(torch.nn.Module(), graph)


def program(returned, **options):
    module = module_that_returns(returned, **options)
    return commute.load(module, is_functional_graph=True)


@pytest.mark.parametrize(
    "first, second",
    [
        pytest.param(lambda x, y, r, n: (r, n), lambda x, y, r, n: (n, r), id="order"),
        pytest.param(lambda x, y, r, n: (x, y), lambda x, y, r, n: (y, x), id="inputs"),
        pytest.param(lambda x, y, r, n: (r, x), lambda x, y, r, n: (x, r), id="input and value"),
        pytest.param(lambda x, y, r, n: (r, r), lambda x, y, r, n: (r, n), id="duplicate"),
        pytest.param(
            lambda x, y, r, n: (r, None, n), lambda x, y, r, n: (None, r, n), id="place of None"
        ),
        pytest.param(lambda x, y, r, n: (r, 1), lambda x, y, r, n: (r, 2), id="number"),
        pytest.param(lambda x, y, r, n: (r, 1), lambda x, y, r, n: (r, True), id="truth value"),
        pytest.param(lambda x, y, r, n: (r, "a"), lambda x, y, r, n: (r, "b"), id="text"),
        pytest.param(lambda x, y, r, n: (r, n), lambda x, y, r, n: (r, (n,)), id="nesting"),
        pytest.param(lambda x, y, r, n: r, lambda x, y, r, n: (r,), id="tuple of one"),
        pytest.param(
            lambda x, y, r, n: {"a": r, "b": n}, lambda x, y, r, n: {"b": r, "a": n}, id="keys"
        ),
    ],
)
def test_programs_that_return_something_else_are_different(first, second):
    for returned in (first, second):
        # A graph may define its values in another order.
        moved = program(returned, swaps_definitions=True)
        assert commute.verify(program(returned), moved).verdict == "equivalent"
    assert commute.verify(program(first), program(second)).verdict == "different"


def test_a_list_is_returned_as_a_tuple_is():
    verdict = commute.verify(
        program(lambda x, y, r, n: (r, [n, x])), program(lambda x, y, r, n: [r, (n, x)])
    )
    assert verdict.verdict == "equivalent"


def joined_product(a, b, w):
    return torch.cat([a, b], 1) @ torch.cat([w, w], 1).t()


@pytest.mark.parametrize(
    "returned",
    [
        pytest.param(lambda a, m, n: [n, m], id="order"),
        pytest.param(lambda a, m, n: [m, a, m, n, a], id="duplicates and an input"),
        pytest.param(lambda a, m, n: [None, m, 7, [n, None], 2.5], id="constants"),
    ],
)
def test_a_rewritten_graph_returns_what_it_did(returned):
    module = traced(lambda a, b, w: [joined_product(a, b, w), a + 1], count=3)
    output = module.graph.output_node()
    output.args = (returned(module.graph.find_nodes(op="placeholder")[0], *output.args[0]),)
    module.recompile()
    arguments = [torch.randn(4, 6) for _ in range(3)]
    expected = module(*arguments)
    before = commute.load(module)
    remarks = optimize_graph(
        module.graph, passes="split-linear", policy="always", is_functional_graph=True
    )
    module.recompile()
    assert any(remark.verdict == "applied" for remark in remarks)
    torch.testing.assert_close(module(*arguments), expected)
    assert commute.verify(before, commute.load(module)).verdict == "equivalent"


def with_autocast():
    """Two runs, of which the second reads values of the first and returns one of them."""
    graph = Graph()
    a, b, w = (graph.placeholder(name) for name in "abw")
    joined = graph.call_function(torch.ops.aten.cat.default, ([a, b], 1))
    weight = graph.call_function(torch.ops.aten.cat.default, ([w, w], 0))
    product = graph.call_function(torch.ops.aten.mm.default, (joined, weight))
    other = graph.call_function(torch.ops.aten.neg.default, (a,))
    enter = graph.call_function(torch.amp.autocast_mode._enter_autocast, ("cpu", None, False, None))
    graph.call_function(torch.amp.autocast_mode._exit_autocast, (enter,))
    total = graph.call_function(torch.ops.aten.add.Tensor, (other, a))
    joined_again = graph.call_function(torch.ops.aten.cat.default, ([total, b], 1))
    second = graph.call_function(torch.ops.aten.mm.default, (joined_again, weight))
    graph.output((product, second, other, None, product))
    sizes = {joined: (4, 12), weight: (12, 6), joined_again: (4, 12), w: (6, 6)}
    for node in graph.nodes:
        if node is not enter and node.op != "output":
            node.meta["val"] = torch.empty(sizes.get(node, (4, 6)), device="meta")
    return GraphModule(torch.nn.Module(), graph)


def test_what_later_runs_read_are_outputs_in_the_order_of_their_readers():
    module = with_autocast()
    nodes = list(module.graph.nodes)
    enter = next(node for node in nodes if "enter" in node.name)
    first, last = nodes[: nodes.index(enter)], nodes[nodes.index(enter) + 2 :]
    names = [node.name for node in GraphProgram(first).outputs]
    assert names == ["neg_default", "cat_default_1", "mm_default"]
    # Wherever they are defined.
    neg = next(node for node in first if node.name == "neg_default")
    first[2].append(neg)
    moved = [node for node in module.graph.nodes if node in first]
    assert [node.name for node in moved] != [node.name for node in first]
    assert [node.name for node in GraphProgram(moved).outputs] == names
    # The last run passes values of the first through.
    program = GraphProgram(last)
    outputs = [node and node.name for node in program.outputs]
    assert outputs == ["mm_default", "mm_default_1", "neg_default", None, "mm_default"]
    assert program.num_returned == 5
    assert {"mm_default", "neg_default", "cat_default_1"} <= {
        node.name for node in program.input_nodes()
    }


def test_runs_are_rewritten_and_return_what_they_did():
    module = with_autocast()
    arguments = torch.randn(4, 6), torch.randn(4, 6), torch.randn(6, 6)
    expected = module(*arguments)
    remarks = optimize_graph(
        module.graph, passes="split-linear", policy="always", is_functional_graph=True
    )
    assert sum(remark.verdict == "applied" for remark in remarks) >= 2
    module.recompile()
    torch.testing.assert_close(module(*arguments), expected)


def test_text_of_a_program_has_what_it_returns():
    module = module_that_returns(lambda x, y, r, n: (n, [None, 2.5, True, "a", x], {"k": r}))
    nodes = list(module.graph.nodes)
    text = GraphProgram(nodes, is_functional_graph=True).to_json()
    graph_module = json.loads(text)["graph_module"]
    assert [next(iter(output)) for output in graph_module["graph"]["outputs"]] == [
        "as_tensor",
        "as_none",
        "as_float",
        "as_bool",
        "as_string",
        "as_tensor",
        "as_tensor",
    ]
    # Another rank reads the text, and takes it for the same program.
    context = json.dumps({"version": 1, "groups": {"0": {"ranks": [0, 1]}}})

    def difference_from(other):
        return native().optimize(
            GraphProgram(nodes, is_functional_graph=True).native,
            passes="split-linear",
            context=context,
            other_ranks=[(1, other, context)],
            group_names={"0": "0"},
        )[3]

    assert difference_from(text) == ""
    assert "signature" in difference_from(text.replace("2.5", "3.5"))
    assert "signature" in difference_from(text.replace("[*, [*, *", "[*, *, [*"))
