# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What callers state of a live graph: of something in it, or it is an error."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch.distributed.device_mesh import init_device_mesh
from torch.fx import Graph
from torch.fx.experimental.proxy_tensor import make_fx
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
        started = call(collectives.all_gather_into_tensor.default, strided, 2, group, sizes=(8, 8))
        outputs.append(call(collectives.wait_tensor.default, started, sizes=(8, 8)))
    graph.output(tuple(outputs))
    return graph


OPTIONS = {"passes": "contiguous-collectives", "is_functional_graph": True}


def copies_in(graph):
    names = ("clone", "contiguous")
    return sum(any(name in str(node.target) for name in names) for node in graph.nodes)


def state(**groups):
    return {"version": 1, "groups": {name: {"ranks": ranks} for name, ranks in groups.items()}}


def check_left_alone(remarks, *groups):
    """Each collective of these groups, and no other, has a remark."""
    noted = [
        remark for remark in remarks if remark.verdict == "noted" and "left alone" in str(remark)
    ]
    assert len(noted) == len(groups)
    for remark, group in zip(noted, groups):
        assert repr(group) in remark.message and "DeviceMesh" in remark.suggestion


def test_collectives_of_groups_that_nobody_states_are_left_alone():
    graph = make_graph()
    before = list(graph.nodes)
    check_left_alone(optimize_graph(graph, **OPTIONS), "tp", "dp")
    assert list(graph.nodes) == before
    # What is not proven is done all the same.
    optimize_graph(graph, verify=False, **OPTIONS)
    assert copies_in(graph) > 0


def test_other_collectives_are_rewritten_all_the_same():
    graph = make_graph()
    check_left_alone(optimize_graph(graph, context=state(tp=[[0, 1], [2, 3]]), **OPTIONS), "dp")
    (copy,) = [node for node in graph.nodes if "clone" in str(node.target)]
    (user,) = copy.users
    assert "tp" in user.args


def test_lone_all_reduce_of_an_unknown_group_is_no_error():
    """It does not say how many ranks it has."""
    graph = Graph()
    x = graph.placeholder("x")
    reduced = graph.call_function(collectives.all_reduce.default, (x, "sum", "tp"))
    waited = graph.call_function(collectives.wait_tensor.default, (reduced,))
    for node in (x, reduced, waited):
        node.meta["val"] = torch.empty(8, 4, device="meta")
    graph.output(waited)
    before = list(graph.nodes)
    for verify in (True, False):
        remarks = optimize_graph(graph, is_functional_graph=True, verify=verify)
        check_left_alone(remarks, "tp")
    assert list(graph.nodes) == before


def test_only_collectives_of_selected_groups_are_rewritten():
    context = state(tp=[[0, 1], [2, 3]], dp=[[0, 2], [1, 3]])
    graph = make_graph()
    check_left_alone(optimize_graph(graph, context=context, groups=["dp"], **OPTIONS))
    (copy,) = [node for node in graph.nodes if "clone" in str(node.target)]
    (user,) = copy.users
    assert "dp" in user.args


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


def test_own_group_is_completed_by_its_mesh():
    """What a process states of itself: the groups that it is in."""
    dist.init_process_group(backend="fake", world_size=4, rank=3, store=FakeStore())
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    groups = [mesh.get_group(axis) for axis in ("tp", "dp")]
    own = {group.group_name: dist.get_process_group_ranks(group) for group in groups}
    graph = make_graph(*own)
    check_left_alone(optimize_graph(graph, context=state(**own), **OPTIONS))
    assert copies_in(graph) > 0
    program = GraphProgram(list(make_graph(*own).nodes), is_functional_graph=True)
    known = StatedContext(state(**own), [program]).of(program)
    assert [known["groups"][name]["ranks"] for name in own] == [
        [[0, 1], [2, 3]],
        [[0, 2], [1, 3]],
    ]
    assert known["rank"] == 3


def test_mesh_that_is_older_than_the_groups_of_its_names():
    dist.init_process_group(backend="fake", world_size=4, rank=0, store=FakeStore())
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    names = [mesh.get_group(axis).group_name for axis in ("tp", "dp")]
    optimize_graph(make_graph(*names), **OPTIONS)
    dist.destroy_process_group()
    dist.init_process_group(backend="fake", world_size=4, rank=0, store=FakeStore())
    again = [dist.new_group(ranks).group_name for ranks in ([0, 3], [0, 3])]
    assert set(names) & set(again)
    graph = make_graph(*again)
    check_left_alone(optimize_graph(graph, **OPTIONS), *again)


def test_a_group_that_is_no_axis_of_a_mesh_is_not_known():
    # More ranks than the meshes of other tests have, whose groups had the same names.
    dist.init_process_group(backend="fake", world_size=6, rank=0, store=FakeStore())
    names = [dist.new_group(ranks).group_name for ranks in ([0, 1], [0, 2])]
    graph = make_graph(*names)
    check_left_alone(optimize_graph(graph, **OPTIONS), *names)
    assert copies_in(graph) == 0


@pytest.mark.parametrize("verify", [True, False])
def test_a_group_that_a_distributed_process_does_not_have_is_left_alone(fake_group, verify):
    """What is written for it could not run here, whatever its ranks are."""
    for name in ("tp", fake_group.group_name):
        graph = Graph()
        x, w = graph.placeholder("x"), graph.placeholder("w")
        started = graph.call_function(collectives.all_gather_into_tensor.default, (x, 2, name))
        waited = graph.call_function(collectives.wait_tensor.default, (started,))
        product = graph.call_function(torch.ops.aten.mm.default, (waited, w))
        for node, sizes in ((x, (4, 8)), (w, (8, 6)), (started, (8, 8)), (waited, (8, 8)),
                            (product, (8, 6))):  # fmt: skip
            node.meta["val"] = torch.empty(sizes, device="meta")
        graph.output(product)
        remarks = optimize_graph(
            graph, passes="micro-pipeline", policy="always", verify=verify, is_functional_graph=True
        )
        check_left_alone(remarks, *(["tp"] if name == "tp" else []))
        is_fused = any("symm_mem" in str(node.target) for node in graph.nodes)
        assert is_fused == (name != "tp")


def test_a_group_that_the_graph_computes_is_left_alone():
    graph = make_graph()
    with graph.inserting_before(next(iter(graph.nodes))):
        group = graph.placeholder("group")
    group.meta["val"] = "tp"
    for node in graph.find_nodes(
        op="call_function", target=collectives.all_gather_into_tensor.default
    ):
        node.args = (*node.args[:-1], group)
    before = list(graph.nodes)
    remarks = optimize_graph(graph, **{**OPTIONS, "passes": "micro-pipeline"})
    computed = [remark for remark in remarks if "that the graph computes" in remark.message]
    assert len(computed) == 2 and all(remark.verdict == "noted" for remark in computed)
    assert list(graph.nodes) == before


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


def test_statements_about_other_graphs_on_request():
    context = state(tp=[0, 1], pp=[0, 1])
    context["inputs"] = {"y": {"tp": "replicated"}, "x": {"pp": "replicated"}}
    context["assumptions"] = ["s0 % 2 == 0"]
    graph = make_graph("tp", "tp")
    optimize_graph(graph, context=context, allow_unused_context=True, **OPTIONS)
    assert copies_in(graph) > 0


def test_statements_about_something():
    context = state(tp=[0, 1])
    context["inputs"] = {"x": {"tp": "varying"}}
    context["rank"] = 1
    optimize_graph(make_graph("tp", "tp"), context=context, **OPTIONS)


@pytest.mark.parametrize("rank", [0, 1])
def test_graph_of_a_process_takes_the_rows_of_its_rank(rank):
    """A replicated residual costs no communication: each process knows its rank."""
    dist.init_process_group(backend="fake", world_size=2, rank=rank, store=FakeStore())
    group = dist.group.WORLD

    def function(x, w, residual):
        return torch.relu(fc.all_reduce(x @ w, "sum", group) + residual)

    tensors = torch.randn(16, 8), torch.randn(8, 8), torch.randn(16, 8)
    module = make_fx(function, tracing_mode="fake")(*tensors)
    residual = next(node.name for node in module.graph.nodes if node.name.startswith("residual"))
    optimize_graph(
        module.graph, passes="sequence-parallel,lower-collectives", policy="always",
        is_functional_graph=True,
        context={"version": 1, "inputs": {residual: {"0": "replicated"}}}, ranks="same",
    )  # fmt: skip
    (rows,) = [node for node in module.graph.nodes if node.target is torch.ops.aten.slice.Tensor]
    assert rows.args[0].name == residual
    assert rows.args[1:] == (0, 8 * rank, 8 * rank + 8)
