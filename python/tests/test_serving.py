# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Graphs of serving engines inside torch.compile, on gloo ranks: what the engines' own passes
rewrite is rewritten in the engines' operators, and computes the same."""

from collections import Counter

import pytest
import torch
import torch._dynamo
import torch.distributed as dist
from torch._inductor import config

import commute.torch
from commute.torch import CommuteError, drop_ins, process_groups
from inductor_graphs import InductorGraphs
from ranks import call_on_ranks
from serving_models import (
    GROUP,
    LAYERS,
    AutoDeployLayers,
    IrLayers,
    KernelLayers,
    make_input,
)

pytestmark = pytest.mark.in_process

SIZE = 2
NUM_SUMS = LAYERS + 1

# By name: the layers, and the options of Inductor.
GRAPHS = {
    "ir": (IrLayers, {}),
    "functionalized": (KernelLayers, {"enable_auto_functionalized_v2": False}),
    "functionalized_v2": (KernelLayers, {"enable_auto_functionalized_v2": True}),
    "auto_deploy": (AutoDeployLayers, {}),
}


def operators_of(graph):
    """How often each operator is called, by "namespace.name"."""
    counts = Counter()
    for node in graph.nodes:
        if node.op == "call_function" and hasattr(node.target, "namespace"):
            counts[str(node.target).rsplit(".", 1)[0]] += 1
            if str(node.target).startswith("auto_functionalized"):
                counts[str(node.args[0]).rsplit(".", 1)[0]] += 1
    return counts


class Seen:
    """Custom passes of a serving engine: ours, and the graph before and after them."""

    def __init__(self, passes):
        self.passes = passes
        self.before = self.after = None

    def __call__(self, graph):
        self.before = operators_of(graph)
        for run in self.passes:
            run(graph)
        graph.eliminate_dead_code()
        graph.lint()
        self.after = operators_of(graph)

    def uuid(self):
        return None


def compile_layers(rank, name, fuses, options):
    """On one rank: the outputs in eager execution and compiled, and the operators."""
    torch._dynamo.reset()
    layers, inductor_options = GRAPHS[name]
    module = layers(rank)
    x = make_input(rank)
    expected = module(x.clone())
    if name != "auto_deploy":
        commute.torch.register_group_name(GROUP, dist.group.WORLD)
    passes = [commute.torch.SequenceParallelPass(**options)]
    if fuses:
        commute.torch.register_cpu_fused_ops()
        passes.append(commute.torch.MicroPipelinePass(**options))
    seen = Seen(passes)
    with torch.no_grad(), config.patch(post_grad_custom_post_pass=seen, **inductor_options):
        compiled = torch.compile(module, backend=InductorGraphs())
        found = compiled(x.clone())
    return {
        "expected": expected,
        "found": found,
        "before": dict(seen.before),
        "after": dict(seen.after),
    }


ALWAYS = {"policy": "always", "fatal": True}


@pytest.fixture(scope="module")
def sharded():
    """By graph: what every rank has after sequence parallelism."""
    found = {}

    def run(name):
        if name not in found:
            found[name] = call_on_ranks(compile_layers, SIZE, name, False, ALWAYS, timeout=300)
        return found[name]

    return run


@pytest.mark.parametrize("name", GRAPHS)
def test_sequence_parallelism_computes_the_same(name, sharded):
    for of_rank in sharded(name):
        torch.testing.assert_close(of_rank["found"], of_rank["expected"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["ir", "functionalized", "functionalized_v2"])
def test_vllm_graph_becomes_that_of_vllms_own_pass(name, sharded):
    """all_reduce -> reduce_scatter, norms on shards, all_gather before each product."""
    norms = {
        "ir": ("vllm_ir.rms_norm", "vllm_ir.fused_add_rms_norm"),
        "functionalized": ("_C.rms_norm", "_C.fused_add_rms_norm"),
        "functionalized_v2": ("_C.rms_norm", "_C.fused_add_rms_norm"),
    }[name]
    for of_rank in sharded(name):
        before, after = of_rank["before"], of_rank["after"]
        assert before["vllm.all_reduce"] == NUM_SUMS
        assert after.get("vllm.all_reduce", 0) == 0
        assert after["vllm.reduce_scatter"] == NUM_SUMS
        # The last gathers the result.
        assert after["vllm.all_gather"] == NUM_SUMS
        # The norms are vLLM's still, and in the form that they had.
        for norm in norms:
            assert after[norm] == before[norm] > 0
        for form in ("auto_functionalized", "auto_functionalized_v2"):
            assert after.get(form, 0) == before.get(form, 0)
        assert not any(operator.startswith("_c10d_functional") for operator in after)
        assert not any(operator.startswith("tensor_cast") for operator in after)


def test_auto_deploy_graph_is_written_in_its_operators(sharded):
    for of_rank in sharded("auto_deploy"):
        before, after = of_rank["before"], of_rank["after"]
        assert before["auto_deploy.torch_dist_all_reduce"] == NUM_SUMS
        assert after.get("auto_deploy.torch_dist_all_reduce", 0) == 0
        assert after["auto_deploy.torch_dist_all_gather"] == NUM_SUMS
        # AutoDeploy has no reduce_scatter: PyTorch's, in its group of all ranks.
        assert after["_c10d_functional.reduce_scatter_tensor"] == NUM_SUMS
        norm, linear = "auto_deploy.flashinfer_rms_norm", "auto_deploy.torch_linear_simple"
        assert after[norm] == before[norm] and after[linear] == before[linear]


def test_products_are_fused_as_by_vllms_async_tensor_parallelism():
    for of_rank in call_on_ranks(compile_layers, SIZE, "ir", True, ALWAYS, timeout=300):
        torch.testing.assert_close(of_rank["found"], of_rank["expected"], rtol=1e-10, atol=1e-10)
        after = of_rank["after"]
        # The first sum is of an input, and the last gather of the result.
        assert after["symm_mem.fused_all_gather_matmul"] == LAYERS
        assert after["symm_mem.fused_matmul_reduce_scatter"] == LAYERS
        assert after["vllm.reduce_scatter"] == 1 and after["vllm.all_gather"] == 1


#
# Without ranks
#


@pytest.fixture
def group(fake_group):
    commute.torch.register_group_name(GROUP, fake_group)
    yield fake_group
    commute.torch.register_group_name(GROUP, None)


def joint_free_graph(layers, tokens=16, dynamic=False, **options):
    """The graph of layers that custom passes after autograd get."""
    kept = []

    class Keep(Seen):
        def __call__(self, graph):
            kept.append(graph)

    torch._dynamo.reset()
    x = make_input(0, tokens)
    if dynamic:
        torch._dynamo.mark_dynamic(x, 0)
    with torch.no_grad(), config.patch(post_grad_custom_post_pass=Keep([]), **options):
        torch.compile(layers(0), backend=CompileOnly())(x)
    return kept[0]


class CompileOnly(InductorGraphs):
    """Runs nothing: there is no second rank."""

    def _compile(self, module, example_inputs, is_inference=False, **options):
        run = super()._compile(module, example_inputs, is_inference, **options)

        def like_output(arguments):
            arguments.clear()
            (output,) = (node for node in module.graph.nodes if node.op == "output")
            return [torch.zeros(()) for _ in output.args[0]]

        like_output._boxed_call = run._boxed_call
        return like_output


def test_name_of_a_group_that_nobody_knows_leaves_the_graph(fake_group):
    graph = joint_free_graph(IrLayers)
    before = operators_of(graph)
    remarks = commute.torch.optimize_graph(
        graph, passes="sequence-parallel", policy="always", is_functional_graph=True
    )
    assert operators_of(graph) == before
    assert any(GROUP in remark.message for remark in remarks)


def test_fused_products_need_pytorchs_name_of_the_group(fake_group):
    graph = joint_free_graph(IrLayers)
    options = dict(
        policy="always",
        is_functional_graph=True,
        context={"version": 1, "groups": {GROUP: {"ranks": [0, 1]}}},
        ranks="same",
    )
    commute.torch.optimize_graph(graph, passes="sequence-parallel", **options)
    assert operators_of(graph)["vllm.all_gather"] == NUM_SUMS
    remarks = commute.torch.optimize_graph(graph, passes="micro-pipeline", **options)
    assert not any(name.startswith("symm_mem") for name in operators_of(graph))
    assert any('state "process_group"' in remark.message for remark in remarks)
    # With it, in the same graph.
    options["context"]["groups"][GROUP]["process_group"] = "0"
    commute.torch.optimize_graph(graph, passes="micro-pipeline", **options)
    assert operators_of(graph)["symm_mem.fused_all_gather_matmul"] == LAYERS


def test_passes_change_nothing_the_second_time(group):
    for name in ("ir", "functionalized", "functionalized_v2"):
        layers, options = GRAPHS[name]
        graph = joint_free_graph(layers, **options)
        drop_ins.sequence_parallel_pass(graph, **ALWAYS)
        nodes = list(graph.nodes)
        drop_ins.sequence_parallel_pass(graph, **ALWAYS)
        assert list(graph.nodes) == nodes


class VllmGroup:
    def __init__(self, device_group):
        self.device_group = device_group


def test_names_of_vllms_groups_are_known(fake_group, monkeypatch):
    state = type("state", (), {"_groups": {GROUP: lambda: VllmGroup(fake_group)}})
    monkeypatch.setitem(process_groups.sys.modules, "vllm.distributed.parallel_state", state)
    assert process_groups.process_group_name(GROUP) == fake_group.group_name
    assert process_groups.ProcessGroups().find(GROUP) == [[0, 1]]
    assert process_groups.process_group_name("pp:0") == "pp:0"


#
# Ranges of a symbolic size
#


class Range:
    """vLLM's range of sizes that a graph is compiled for."""

    def __init__(self, start, end):
        self.start, self.end = start, end


def num_sharded(compile_range, **options):
    graph = joint_free_graph(IrLayers, dynamic=True)
    symbols = {str(s) for node in graph.nodes for s in getattr(node.meta.get("val"), "shape", ())
               if isinstance(s, torch.SymInt)}  # fmt: skip
    (symbol,) = {name for name in symbols if name.isidentifier()}
    context = {"version": 1, "assumptions": [f"{symbol} % {SIZE} == 0"]}
    shard = commute.torch.SequenceParallelPass(
        context=context, allow_unused_context=True, fatal=True, ranks="same", **options
    )
    if compile_range is not None:
        assert shard.is_applicable_for_range(Range(*compile_range))
    shard(graph)
    return operators_of(graph)["vllm.reduce_scatter"]


def test_decisions_are_those_for_the_range_that_is_compiled(group):
    # As vLLM decides: by the smallest number of tokens.
    assert num_sharded((1, 1 << 22)) == 0
    assert num_sharded((1 << 20, 1 << 22)) == NUM_SUMS
    # The numbers at which the graph was traced are too few.
    assert num_sharded(None) == 0


def test_range_of_a_size_that_the_graph_lacks_is_refused(group):
    graph = joint_free_graph(IrLayers)
    with pytest.raises(CommuteError, match="'s99' is stated"):
        commute.torch.optimize_graph(
            graph, is_functional_graph=True, context={"version": 1, "size_ranges": {"s99": [1, 2]}}
        )
