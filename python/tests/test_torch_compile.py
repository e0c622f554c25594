# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Parallel modules in torch.compile on gloo ranks, with Commute's passes enabled: the same
outputs and gradients as in eager execution, other collectives, no more recompilations."""

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounterWithBackend
from torch._inductor import config
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.device_mesh import init_device_mesh

import commute.torch
from commute.torch.graph_edits import GraphEdits
from inductor_graphs import InductorGraphs
from parallel_modules import MODULES, make_input
from ranks import call_on_ranks

pytestmark = pytest.mark.in_process

SIZE = 2

# Forward and backward graph.
COMMUNICATION = {
    "sequence_parallel_block": [
        {"fused_all_gather_matmul": 2, "fused_matmul_reduce_scatter": 2},
        {"fused_all_gather_matmul": 2, "fused_matmul_reduce_scatter": 5},
    ],
    "functional_feed_forward": [
        {"fused_all_gather_matmul": 1, "fused_matmul_reduce_scatter": 1},
        {"fused_all_gather_matmul": 1, "fused_matmul_reduce_scatter": 1},
    ],
}


def local_tensor(value):
    """What a rank holds, once it is there."""
    value = getattr(value, "_local_tensor", value).detach()
    return value.wait() if isinstance(value, AsyncCollectiveTensor) else value.clone()


def run_step(function, module, x):
    """The output, and the gradients of a weighted sum of it."""
    output = function(x)
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view(output.shape)
    wanted = [x, *module.parameters()]
    gradients = torch.autograd.grad((output * weights).sum(), wanted)
    return [local_tensor(value) for value in (output, *gradients)]


def compile_modules(rank, names):
    """On one rank: the results of every module in eager execution and compiled."""
    mesh = init_device_mesh("cpu", (SIZE,), mesh_dim_names=("tp",))
    results = {}
    for name in names:
        torch._dynamo.reset()
        module, x = MODULES[name](mesh), make_input(name, mesh)
        graphs = InductorGraphs()
        counter = CompileCounterWithBackend(graphs)
        before = config.joint_custom_post_pass
        with commute.torch.enable(policy="always", fatal=True):
            compiled = torch.compile(module, backend=counter)
            found = run_step(compiled, module, x)
            again = run_step(compiled, module, x)
        assert config.joint_custom_post_pass is before
        results[name] = {
            "expected": run_step(module, module, x),
            "found": found,
            "again": again,
            "communication": graphs.communication(),
            "compiled": counter.frame_count,
        }
    return results


@pytest.fixture(scope="module")
def results():
    return call_on_ranks(compile_modules, SIZE, sorted(MODULES), timeout=400)


@pytest.mark.parametrize("name", MODULES)
def test_outputs_and_gradients_are_those_of_eager_execution(results, name):
    for of_rank in results:
        for outcome in ("found", "again"):
            pairs = zip(of_rank[name][outcome], of_rank[name]["expected"], strict=True)
            for found, expected in pairs:
                torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", COMMUNICATION)
def test_products_beside_collectives_are_fused(results, name):
    for of_rank in results:
        assert of_rank[name]["communication"] == COMMUNICATION[name]


def test_weights_of_norms_are_replicated_because_dtensor_says_so(results):
    """Otherwise no row of a norm could be computed on a shard."""
    for of_rank in results:
        forward, _ = of_rank["replicated_block"]["communication"]
        assert "all_reduce" not in forward and "all_reduce_" not in forward
        assert forward["fused_matmul_reduce_scatter"] == 2


@pytest.mark.parametrize("name", MODULES)
def test_compiled_once(results, name):
    assert [of_rank[name]["compiled"] for of_rank in results] == [1] * SIZE


def fail(*_):
    raise RuntimeError("no such thing")


def compile_alike_or_not(rank, policies, broken_rank):
    """On one rank: the communication of a module compiled with a policy of its own."""
    if rank == broken_rank:
        GraphEdits.apply = fail
    mesh = init_device_mesh("cpu", (SIZE,), mesh_dim_names=("tp",))
    name, graphs = "functional_feed_forward", InductorGraphs()
    compiled = torch.compile(MODULES[name](mesh), backend=graphs)
    with commute.torch.enable(policy=policies[rank], check_ranks=True), torch.no_grad():
        compiled(make_input(name, mesh))
    return graphs.communication()


@pytest.mark.parametrize(
    "policies, broken_rank, are_alike",
    [
        (("always", "always"), None, True),
        (("always", "profitable"), None, False),
        (("always", "always"), 1, False),
    ],
)
def test_ranks_that_do_not_decide_alike_leave_the_graph(policies, broken_rank, are_alike):
    results = call_on_ranks(compile_alike_or_not, SIZE, policies, broken_rank, timeout=300)
    fused = {"fused_all_gather_matmul": 1, "fused_matmul_reduce_scatter": 1}
    whole = {"all_gather_into_tensor": 1, "reduce_scatter_tensor": 1}
    assert results == [[fused if are_alike else whole]] * SIZE
