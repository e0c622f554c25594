# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What callers state of a live graph: of something in it, or it is an error."""

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.fx import Graph
from torch.testing._internal.distributed.fake_pg import FakeStore

from commute.errors import CommuteError
from commute.torch import optimize_graph
from commute.torch.graph_program import GraphProgram
from commute.torch.stated_context import StatedContext

pytestmark = pytest.mark.in_process

collectives = torch.ops._c10d_functional


def make_graph(first="tp", second="dp"):
    """Gathers over two groups, of a strided value that needs a copy first."""
    graph = Graph()

    def call(function, *arguments, sizes):
        node = graph.call_function(function, arguments)
        node.meta["val"] = torch.empty(sizes, device="meta")
        return node

    x = graph.placeholder("x")
    x.meta["val"] = torch.empty(8, 4, device="meta")
    strided = call(torch.ops.aten.t.default, x, sizes=(4, 8))
    strided.meta["val"] = x.meta["val"].t()
    outputs = []
    for group in (first, second):
        started = call(
            collectives.all_gather_into_tensor.default, strided, 2, group, sizes=(8, 8)
        )
        outputs.append(call(collectives.wait_tensor.default, started, sizes=(8, 8)))
    graph.output(tuple(outputs))
    return graph


OPTIONS = {"passes": "contiguous-collectives", "is_functional_graph": True}


def copies_in(graph):
    names = ("clone", "contiguous")
    return sum(any(name in str(node.target) for name in names) for node in graph.nodes)


def state(**groups):
    return {"version": 1, "groups": {name: {"ranks": ranks} for name, ranks in groups.items()}}


def test_groups_that_nobody_states_cannot_be_proven():
    graph = make_graph()
    remarks = optimize_graph(graph, **OPTIONS)
    assert copies_in(graph) == 0
    (refused,) = [remark for remark in remarks if remark.pass_name == "verify"]
    assert "'tp' (2 ranks)" in refused.message and "'dp' (2 ranks)" in refused.message
    # What is not proven is done all the same.
    optimize_graph(graph, verify=False, **OPTIONS)
    assert copies_in(graph) > 0


def test_stated_groups():
    graph = make_graph()
    context = state(tp=[[0, 1], [2, 3]], dp=[[0, 2], [1, 3]])
    optimize_graph(graph, context=context, **OPTIONS)
    assert copies_in(graph) > 0


def test_groups_of_a_mesh_need_not_be_stated():
    dist.init_process_group(backend="fake", world_size=4, rank=0, store=FakeStore())
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    names = [mesh.get_group(axis).group_name for axis in ("tp", "dp")]
    graph = make_graph(*names)
    remarks = optimize_graph(graph, **OPTIONS)
    assert copies_in(graph) > 0
    assert not [remark for remark in remarks if remark.pass_name == "verify"]
    # Which ranks they have: the other way round, the statement is another one.
    nodes = list(make_graph(*names).nodes)
    program = GraphProgram(nodes, is_functional_graph=True)
    groups = StatedContext(None, [program]).of(program)["groups"]
    assert groups[names[0]] == {"ranks": [[0, 1], [2, 3]]}
    assert groups[names[1]] == {"ranks": [[0, 2], [1, 3]]}


def test_a_group_that_is_no_axis_of_a_mesh_is_not_known():
    dist.init_process_group(backend="fake", world_size=4, rank=0, store=FakeStore())
    names = [dist.new_group(ranks).group_name for ranks in ([0, 1], [0, 2])]
    graph = make_graph(*names)
    optimize_graph(graph, **OPTIONS)
    assert copies_in(graph) == 0


def test_the_only_group_need_not_be_stated():
    graph = make_graph("tp", "tp")
    optimize_graph(graph, **OPTIONS)
    assert copies_in(graph) > 0


@pytest.mark.parametrize(
    "context",
    [
        state(pp=[0, 1]),
        {"version": 1, "inputs": {"y": {"tp": "replicated"}}},
        {"version": 1, "inputs": {"x": {"pp": "replicated"}}},
        {"version": 1, "rank": 7},
        {"version": 1, "assumptions": ["s0 % 2 == 0"]},
    ],
)
def test_statements_about_nothing(context):
    with pytest.raises(CommuteError):
        optimize_graph(make_graph("tp", "tp"), context=context, **OPTIONS)


def test_statements_about_something():
    context = state(tp=[0, 1])
    context["inputs"] = {"x": {"tp": "varying"}}
    context["rank"] = 1
    optimize_graph(make_graph("tp", "tp"), context=context, **OPTIONS)
