# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Nodes of live graphs as the native module reads them: as if from an archive."""

import json
import operator

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx import Graph
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import serving_operators  # noqa: F401 (defines them)
from commute.torch import CommuteError, optimize_graph
from commute.torch.graph_program import GraphProgram
from commute.torch.graph_transaction import GraphTransaction

pytestmark = pytest.mark.in_process

MODE = FakeTensorMode(shape_env=ShapeEnv())


def fake(*size, dtype=torch.float32):
    with MODE:
        return torch.empty(*size, dtype=dtype)


def placeholder(graph, name, value):
    node = graph.placeholder(name)
    node.meta["val"] = value
    return node


def call(graph, target, *args, value=None, **kwargs):
    node = graph.call_function(target, args, kwargs)
    if value is not None:
        node.meta["val"] = value
    return node


def document_of(program):
    document = json.loads(program.to_json())
    return document, document["graph_module"]["graph"]


def is_read_back(program):
    """Whether the reader of archives reads the program as the same."""
    from commute import _commute

    text = program.to_json()
    report = json.loads(_commute.verify(text, text))
    return report["verdict"] == "equivalent"


def opaque(*args, **kwargs):
    """A function that no vocabulary knows."""


@pytest.mark.parametrize(
    "value, expected",
    [
        (None, {"as_none": True}),
        (True, {"as_bool": True}),
        (-3, {"as_int": -3}),
        (2**70, {"as_string": f"python: {2**70}"}),
        (1.5, {"as_float": 1.5}),
        (float("-inf"), {"as_float": "-Infinity"}),
        (float("nan"), {"as_float": "NaN"}),
        (1j, {"as_string": "python: 1j"}),
        ("caf\u00e9", {"as_string": "caf\u00e9"}),
        (..., {"as_string": "..."}),
        (torch.bfloat16, {"as_scalar_type": 13}),
        (torch.channels_last, {"as_memory_format": 2}),
        (torch.device("cuda", 3), {"as_device": {"type": "cuda", "index": 3}}),
        (torch.device("cpu"), {"as_device": {"type": "cpu", "index": None}}),
        (torch.strided, {"as_layout": 7}),
        (torch.ops.aten.exp.default, {"as_operator": "torch.ops.aten.exp.default"}),
        ([], {"as_ints": []}),
        ([1, 2], {"as_ints": [1, 2]}),
        ((1.0, 2.0), {"as_floats": [1.0, 2.0]}),
        ([True, False], {"as_bools": [True, False]}),
        (
            slice(1, None, 2),
            {
                "as_string_to_argument": {
                    "start": {"as_int": 1},
                    "stop": {"as_none": True},
                    "step": {"as_int": 2},
                }
            },
        ),
        (
            ["a", 1],
            {"as_string_to_argument": {"0": {"as_string": "a"}, "1": {"as_int": 1}}},
        ),
        ({"k": 1}, {"as_string_to_argument": {"k": {"as_int": 1}}}),
    ],
)
def test_constants(value, expected):
    graph = Graph()
    x = placeholder(graph, "x", fake(4))
    call(graph, opaque, x, value, value=fake(4), key=value)
    program = GraphProgram(list(graph.nodes))
    _, content = document_of(program)
    inputs = content["nodes"][0]["inputs"]
    assert inputs == [
        {"name": "", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
        {"name": "", "arg": expected, "kind": 1},
        {"name": "key", "arg": expected, "kind": 2},
    ]
    assert content["nodes"][0]["metadata"] == {"effects": "any"}
    assert is_read_back(program)


def test_values_in_lists():
    graph = Graph()
    x, y = (placeholder(graph, name, fake(4)) for name in "xy")
    size = call(graph, torch.ops.aten.sym_size.int, x, 0, value=4)
    thing = placeholder(graph, "thing", object())
    call(graph, opaque, [x, y], [x, None], [size, 2], [size, x])
    nested = call(graph, opaque, [x, thing], 3)
    program = GraphProgram(list(graph.nodes))
    _, content = document_of(program)
    lists = [entry["arg"] for entry in content["nodes"][1]["inputs"]]
    assert lists[0] == {"as_tensors": [{"name": "x"}, {"name": "y"}]}
    assert lists[1] == {"as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": True}]}
    assert lists[2] == {"as_sym_ints": [{"as_name": size.name}, {"as_int": 2}]}
    assert list(lists[3]["as_string_to_argument"]) == ["0", "1"]
    # The schema has no lists of objects: what the call reads is all that is kept of it.
    last = content["nodes"][2]
    assert last["name"] == nested.name
    assert last["target"].startswith("opaque.")
    assert [entry["arg"] for entry in last["inputs"]] == [
        {"as_tensor": {"name": "x"}},
        {"as_custom_obj": {"name": "thing", "class_fqn": "object"}},
    ]


def test_symbolic_sizes_and_their_ranges():
    size = MODE.shape_env.create_unbacked_symint()
    torch._check(size >= 3)
    torch._check(size <= 700)
    graph = Graph()
    x = placeholder(graph, "x", fake(size, 8))
    n = placeholder(graph, "n", size)
    call(graph, torch.ops.aten.neg.default, x, value=fake(size, 8))
    program = GraphProgram(list(graph.nodes), is_functional_graph=True)
    document, content = document_of(program)
    (symbol,) = program.symbols()
    expression = {"as_expr": {"expr_str": symbol, "hint": None}}
    assert document["range_constraints"] == {symbol: {"min_val": 3, "max_val": 700}}
    assert content["tensor_values"][x.name]["sizes"] == [expression, {"as_int": 8}]
    assert content["sym_int_values"][n.name] == expression
    assert is_read_back(program)


def test_picked_results():
    graph = Graph()
    x = placeholder(graph, "x", fake(4, 4))
    split = call(graph, torch.ops.aten.split.Tensor, x, 2, value=[fake(2, 4), fake(2, 4)])
    first = call(graph, operator.getitem, split, 0, value=fake(2, 4))
    between = call(graph, torch.ops.aten.neg.default, first, value=fake(2, 4))
    again = call(graph, operator.getitem, split, -2, value=fake(2, 4))
    graph.output((between, again))
    program = GraphProgram(list(graph.nodes), is_functional_graph=True)
    assert [program.group(index) for index in range(len(program))] == [
        (split, first, again),
        (between,),
    ]
    assert program.scattered() == [0]
    assert program.find_nodes(first.name) == [first, again]
    assert program.find_nodes("nothing") == []
    assert program.outputs == [between, again]
    assert program.contains(again)
    assert program.contains(x)
    assert not program.contains(graph.output_node())
    _, content = document_of(program)
    unused = f"{split.name}_unused_1"
    assert content["nodes"][0]["outputs"] == [
        {"as_tensors": [{"name": first.name}, {"name": unused}]}
    ]
    assert is_read_back(program)
    with pytest.raises(IndexError):
        program.group(2)


def make_nested_results(*, reads_list):
    """A node that gives None, a tensor and a list, which other nodes pick."""
    graph = Graph()
    x = placeholder(graph, "x", fake(4))
    parts = [fake(2), fake(2)]
    several = call(graph, opaque, x, value=(None, fake(4), parts))
    call(graph, operator.getitem, several, 0)
    listed = call(graph, operator.getitem, several, 2, value=parts)
    part = call(graph, operator.getitem, listed, 1, value=fake(2))
    read = call(graph, opaque, listed if reads_list else part, value=fake(2))
    graph.output((part, read))
    return graph, several


def test_results_picked_from_a_list_in_a_tuple():
    graph, several = make_nested_results(reads_list=False)
    _, nothing, listed, part, read = list(graph.nodes)[1:-1]
    program = GraphProgram(list(graph.nodes))
    assert program.group(0) == (several, nothing, listed, part)
    assert program.find_nodes(part.name) == [part]
    assert program.outputs == [part, read]
    _, content = document_of(program)
    assert content["nodes"][0]["outputs"] == [
        {"as_none": True},
        {"as_tensor": {"name": f"{several.name}_unused_1"}},
        {"as_tensors": [{"name": f"{several.name}_unused_2_0"}, {"name": part.name}]},
    ]
    assert is_read_back(program)


def test_results_that_are_read_together_are_one_value():
    graph, several = make_nested_results(reads_list=True)
    program = GraphProgram(list(graph.nodes))
    assert program.group(0) == (several,)
    _, content = document_of(program)
    assert content["nodes"][0]["outputs"] == [
        {"as_custom_obj": {"name": several.name, "class_fqn": "object"}}
    ]


def test_group_of_a_collective_that_takes_none():
    graph = Graph()
    x = placeholder(graph, "x", fake(4))
    call(graph, torch.ops.auto_deploy.torch_linear_simple.default, x, x, None, value=fake(4))
    assert GraphProgram(list(graph.nodes)).group_names() == set()
    call(graph, torch.ops.auto_deploy.torch_dist_all_reduce.default, x, "AUTO", value=fake(4))
    assert GraphProgram(list(graph.nodes)).group_names() == {"0"}


def test_a_program_is_taken_once():
    from commute import _commute

    graph = Graph()
    x = placeholder(graph, "x", fake(4))
    call(graph, torch.ops.aten.neg.default, x, value=fake(4))
    program = GraphProgram(list(graph.nodes), is_functional_graph=True)
    assert "tp.map" in _commute.Program.take(program.native).print()
    for use in (_commute.Program.take, _commute.optimize):
        with pytest.raises(ValueError, match="taken before; read the graph again"):
            use(program.native)


def test_nodes_before_what_they_read_are_refused():
    graph = Graph()
    x = placeholder(graph, "x", fake(4))
    first = call(graph, torch.ops.aten.neg.default, x, value=fake(4))
    second = call(graph, torch.ops.aten.exp.default, first, value=fake(4))
    nodes = list(graph.nodes)
    assert len(GraphProgram(nodes, is_functional_graph=True)) == 2
    with pytest.raises(CommuteError, match="use of 'neg_default' before its definition"):
        GraphProgram([x, second, first], is_functional_graph=True)


def test_commit_refuses_a_wrong_order():
    graph = Graph()
    x = placeholder(graph, "x", fake(4))
    first = call(graph, torch.ops.aten.neg.default, x, value=fake(4))
    second = call(graph, torch.ops.aten.exp.default, first, value=fake(4))
    graph.output(second)
    transaction = GraphTransaction(graph)
    transaction.commit()
    second.append(first)
    with pytest.raises(CommuteError, match="exp_default stands before neg_default, which it reads"):
        transaction.commit()
    transaction.roll_back()
    assert [node.name for node in graph.nodes] == [
        "x",
        "neg_default",
        "exp_default",
        "output",
    ]


COLLECTIVE_PASSES = "normalize-collectives,sequence-parallel,micro-pipeline,lower-collectives"


def make_contradictory_graph(gathers):
    """A product whose metadata contradicts it, of which reading a graph makes a remark."""
    graph = Graph()
    x, w = placeholder(graph, "x", fake(4, 8)), placeholder(graph, "w", fake(8, 8))
    if gathers:
        c10d = torch.ops._c10d_functional
        gathered = call(graph, c10d.all_gather_into_tensor.default, x, 2, "0", value=fake(8, 8))
        x = call(graph, c10d.wait_tensor.default, gathered, value=fake(8, 8))
    product = call(graph, torch.ops.aten.mm.default, x, w, value=fake(3, 3))
    graph.output(product)
    return graph


@pytest.mark.parametrize(
    "gathers, passes, is_read",
    [
        (False, COLLECTIVE_PASSES, False),
        (True, COLLECTIVE_PASSES, True),
        (False, "split-linear", True),
    ],
)
def test_graphs_without_collectives_are_not_translated(gathers, passes, is_read):
    graph = make_contradictory_graph(gathers)
    remarks = optimize_graph(
        graph, passes=passes, policy="always", verify=False, is_functional_graph=True
    )
    assert any(remark.pass_name == "import" for remark in remarks) == is_read


def test_a_vocabulary_is_compared_with_a_graph_without_collectives():
    operator_of_file = {"torch.ops.own.scale.default": {"same_as": "torch.ops.aten.relu.default"}}
    vocabulary = {"version": 1, "operators": operator_of_file}
    options = {"passes": COLLECTIVE_PASSES, "verify": False, "is_functional_graph": True}
    (remark,) = [
        remark
        for remark in optimize_graph(
            make_contradictory_graph(False), vocabulary=vocabulary, **options
        )
        if "no node of the graph calls" in remark.message
    ]
    assert remark.pass_name == "import"


def test_statements_are_checked_without_collectives():
    def optimize(**options):
        return optimize_graph(
            make_contradictory_graph(False),
            passes=COLLECTIVE_PASSES,
            is_functional_graph=True,
            **options,
        )

    with pytest.raises(CommuteError, match="unknown policy"):
        optimize(policy="nonsense")
    with pytest.raises(CommuteError, match="context"):
        optimize(context={"version": 1, "assumptions": ["s0 %% 2"]}, allow_unused_context=False)
    assert optimize(context={"version": 1}) == []
