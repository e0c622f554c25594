# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Drop-ins: called as the passes that they stand in for, and returning what those return."""

import importlib
import logging
import pickle
import sys
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch._dynamo.utils import counters
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch.distributed._symmetric_memory import _test_mode
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

import commute.torch
import tensor_cast_operators  # noqa: F401 (defines them)
from commute.torch import CommuteError, containment
from inductor_graphs import communication_of

pytestmark = pytest.mark.in_process

cast = torch.ops.tensor_cast
GROUP = [0, 1]


def trace(function, *inputs):
    return make_fx(function, tracing_mode="fake")(*inputs)


@pytest.fixture(autouse=True)
def nothing_logged_yet():
    containment._logged.clear()


#
# Micro-pipeline: an fx.Graph, in place, None
#


def gather_and_scatter(group):
    def function(x, up, down):
        gathered = functional.all_gather_tensor(x, 0, group)
        return functional.reduce_scatter_tensor(gathered @ up @ down, "sum", 0, group)

    return trace(function, torch.randn(16, 32), torch.randn(32, 64), torch.randn(64, 32))


def test_micro_pipeline_changes_a_graph_in_place(fake_group):
    module = gather_and_scatter(fake_group)
    assert commute.torch.micro_pipeline_tp_pass(module.graph, policy="always") is None
    assert communication_of(module.graph) == {
        "fused_all_gather_matmul": 1,
        "fused_matmul_reduce_scatter": 1,
    }
    module.recompile()


def test_micro_pipeline_of_groups_on_request(fake_group):
    whole = {"all_gather_into_tensor": 1, "reduce_scatter_tensor": 1}
    name = fake_group.group_name
    for enabled, options in (
        (set(), {"only_enabled_groups": True}),
        ({"other"}, {"only_enabled_groups": True}),
        ({name}, {"groups": ["other"]}),
        ({name}, {"groups": ["other"], "only_enabled_groups": True}),
    ):
        module = gather_and_scatter(fake_group)
        with _test_mode(group_names=enabled):
            commute.torch.micro_pipeline_tp_pass(module.graph, policy="always", **options)
        assert communication_of(module.graph) == whole
    for options in ({"only_enabled_groups": True}, {"groups": [name]}):
        module = gather_and_scatter(fake_group)
        with _test_mode(group_names={name}):
            commute.torch.micro_pipeline_tp_pass(module.graph, policy="always", **options)
        assert not set(whole) & set(communication_of(module.graph))


#
# Sequence parallelism: a GraphModule, which is returned
#


def cast_module(function, shape=(1, 8, 16), num_inputs=2):
    inputs = [torch.randn(shape) for _ in range(num_inputs)]
    return trace(function, *inputs, torch.randn(16))


def first_norm(x, residual, weight):
    return cast.rms_norm(cast.all_reduce(x, 0, GROUP), weight, 1e-6) + residual


def residual_chain(x, y, z, weight):
    """One all_reduce of each pattern."""
    first = cast._internal_mark_region_begin(cast.all_reduce(x, 0, GROUP), 0)
    normed = cast.rms_norm(first, weight, 1e-6)
    second, residual = cast.add_rms_norm2(cast.all_reduce(y, 0, GROUP), first, weight, 1e-6)
    third = cast.all_reduce(z, 0, GROUP)
    ended = cast._internal_mark_region_end(residual + third.view(z.shape), 0)
    last = cast.rms_norm(cast._internal_copy_region(ended, 0), weight, 1e-6)
    return normed.exp().sum(1), second.exp().sum(1), last.exp().sum(1)


def num_reduced(graph):
    return sum("all_reduce" in str(node.target) for node in graph.nodes)


def test_sequence_parallel_returns_the_module_and_counts_patterns():
    module = cast_module(residual_chain, num_inputs=3)
    sequence_parallel = commute.torch.SequenceParallelPass(policy="always", fatal=True)
    assert sequence_parallel(module) is module
    assert num_reduced(module.graph) == 0
    # Recompiled: the module runs what the graph says.
    assert "reduce_scatter" in module.code and "all_reduce" not in module.code
    assert sequence_parallel.counts == {"P1": 1, "P2": 1, "P3": 1, "other": 0}
    sequence_parallel(module)
    assert set(sequence_parallel.counts.values()) == {0}


def test_sequence_parallel_function_takes_options():
    counts = {"stale": 1}
    module = cast_module(first_norm)
    # These rows are too few to pay.
    assert commute.torch.sequence_parallel_pass(module, counts=counts) is module
    assert num_reduced(module.graph) == 1 and set(counts.values()) == {0}
    commute.torch.sequence_parallel_pass(module, policy="always", counts=counts)
    assert num_reduced(module.graph) == 0
    assert counts == {"P1": 1, "P2": 0, "P3": 0, "other": 0}


@pytest.mark.parametrize("flag", [False, True])
def test_sequence_parallel_runs_under_the_flag_of_tensor_cast(flag, monkeypatch):
    passes = SimpleNamespace(enable_sequence_parallel=flag)
    config = SimpleNamespace(compilation=SimpleNamespace(passes=passes))
    monkeypatch.setitem(sys.modules, "tensor_cast.config", config)
    module = cast_module(first_norm)
    sequence_parallel = commute.torch.SequenceParallelPass(policy="always")
    assert sequence_parallel(module) is module
    assert num_reduced(module.graph) == (0 if flag else 1)


#
# Linears of concatenations: an fx.Graph of Dynamo; the graph, or a count
#


def linear_of_parts(widths=(16, 16), dim=-1):
    graph = Graph()

    def state(node, *shape):
        node.meta["val"] = torch.empty(shape)
        return node

    parts = [state(graph.placeholder(f"part{i}"), 4, width) for i, width in enumerate(widths)]
    shape = (4, sum(widths)) if dim else (4 * len(widths), widths[0])
    joined = state(graph.call_function(torch.cat, (parts, dim)), *shape)
    weight = state(graph.placeholder("weight"), 8, shape[1])
    bias = state(graph.placeholder("bias"), 8)
    graph.output(state(graph.call_function(F.linear, (joined, weight, bias)), shape[0], 8))
    return graph


@pytest.mark.parametrize(
    "options, count",
    [
        ({}, 1),
        ({"widths": (16, 16, 16)}, 1),
        ({"widths": (16, 16, 16, 16)}, 0),
        ({"widths": (7, 16)}, 0),
        ({"widths": (200, 200)}, 0),
        ({"dim": 0}, 0),
    ],
)
def test_linears_of_concatenations_that_the_original_splits(options, count):
    counters.clear()
    assert commute.torch.fuse_cat_linear_in_graph(linear_of_parts(**options)) == count
    assert counters["inductor"]["cat_linear_fused"] == count
    graph = linear_of_parts(**options)
    assert commute.torch.cat_linear_fused_pre_grad_pass(graph) is graph
    assert counters["inductor"]["cat_linear_fused"] == 2 * count


class JoinedHead(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 64)
        self.second = torch.nn.Linear(64, 64)
        self.head = torch.nn.Linear(128, 32)

    def forward(self, a, b):
        return self.head(torch.cat([self.first(a).relu(), self.second(b).relu()], dim=-1))


def test_function_is_a_custom_pass_of_inductor_as_it_is():
    torch._dynamo.reset()
    counters.clear()
    module, inputs = JoinedHead().eval(), (torch.randn(8, 64), torch.randn(8, 64))
    options = dict(
        pre_grad_custom_pass=commute.torch.cat_linear_fused_pre_grad_pass,
        force_disable_caches=True,
    )
    with torch._inductor.config.patch(**options), torch.no_grad():
        found = torch.compile(module, dynamic=False)(*inputs)
    assert counters["inductor"]["cat_linear_fused"] == 1
    torch.testing.assert_close(found, module(*inputs), rtol=1e-4, atol=1e-4)


#
# Contiguous collectives: a GraphModule, in place, None
#

_c10d = torch.ops._c10d_functional


def gathers_of_one_value(is_strided, groups=("0", "1")):
    """Of groups that no process knows."""
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.randn(8, 4).t() if is_strided else torch.randn(4, 8)
    gathered = []
    for size, group in enumerate(groups, start=2):
        node = graph.call_function(_c10d.all_gather_into_tensor.default, (x, size, group))
        node.meta["val"] = torch.randn(4 * size, 8)
        gathered.append(node)
    graph.output(tuple(gathered))
    return GraphModule(torch.nn.Module(), graph)


def num_copies(module):
    return len(module.graph.find_nodes(op="call_function", target=torch.ops.aten.clone.default))


@pytest.mark.parametrize("groups", [("0",), ("0", "1")])
def test_collectives_of_unknown_groups_are_made_contiguous(groups):
    module = gathers_of_one_value(True, groups)
    before = module.code
    assert commute.torch.make_collectives_contiguous(module) is None
    assert num_copies(module) == 1
    assert module.code != before and "clone" in module.code
    (copy,) = module.graph.find_nodes(op="call_function", target=torch.ops.aten.clone.default)
    assert copy.meta["val"].is_contiguous()
    commute.torch.make_collectives_contiguous(module)
    assert num_copies(module) == 1


def test_contiguous_inputs_are_copied_by_the_upstream_rule_alone():
    module = gathers_of_one_value(False)
    commute.torch.make_collectives_contiguous(module)
    assert num_copies(module) == 0
    assert commute.torch.contiguous_collectives_pass(module, policy="upstream") is None
    assert num_copies(module) == 2


#
# All of them
#

PASSES = [
    commute.torch.CatLinearFusedPreGradPass,
    commute.torch.ContiguousCollectivesPass,
    commute.torch.MicroPipelinePass,
    commute.torch.SequenceParallelPass,
]


@pytest.mark.parametrize("kind", PASSES)
def test_passes_as_objects(kind, fake_group):
    custom = kind(policy="always")
    assert isinstance(custom, CustomGraphPass)
    assert (
        custom.uuid() == kind(policy="always").uuid() == pickle.loads(pickle.dumps(custom.uuid()))
    )
    assert custom.uuid() != kind(policy="profitable").uuid()
    assert len({other(policy="always").uuid() for other in PASSES}) == len(PASSES)
    with pytest.raises(CommuteError, match="sometimes"):
        kind(policy="sometimes")
    # Of another rank, or with other groups, the same graph becomes another one.
    before = custom.uuid()
    dist.new_group([0])
    assert custom.uuid() != before
    dist.destroy_process_group()
    assert custom.uuid() not in (before, kind(policy="profitable").uuid())


@pytest.mark.parametrize("kind", PASSES)
def test_passes_leave_other_graphs_alone(kind):
    module = trace(lambda x: x.exp() + 1, torch.randn(4))
    before = list(module.graph.nodes)
    kind(policy="always", fatal=True)(module.graph)
    assert list(module.graph.nodes) == before


def test_error_is_logged_and_leaves_the_graph(fake_group, monkeypatch, caplog):
    live_graph = importlib.import_module("commute.torch.live_graph")

    def fail(*arguments):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(live_graph.GraphEdits, "apply", fail)
    module = gather_and_scatter(fake_group)
    before = [(node, node.args) for node in module.graph.nodes]
    with caplog.at_level(logging.WARNING, logger="commute"):
        for _ in range(2):
            commute.torch.micro_pipeline_tp_pass(module.graph, policy="always")
    assert len(caplog.records) == 1
    assert [(node, node.args) for node in module.graph.nodes] == before
    with pytest.raises(RuntimeError, match="no such thing"):
        commute.torch.micro_pipeline_tp_pass(module.graph, policy="always", fatal=True)
    # A mistake of the caller is no error of Commute's.
    with pytest.raises(CommuteError, match="h1000"):
        commute.torch.micro_pipeline_tp_pass(module.graph, target="h1000")
