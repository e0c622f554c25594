# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The choice among passes inside torch.compile: collectives along other dims than the first,
beside products, which can be fused, or split at a loss or at a smaller gain."""

import logging

import pytest
import torch
import torch._dynamo
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

import commute.torch
from gathered_products import FUNCTIONS, fused_op, shapes_of
from inductor_graphs import InductorGraphs
from ranks import call_on_ranks

pytestmark = pytest.mark.in_process

TOY = 16


class Compiled(Exception):
    """Raised in place of the first run."""


class OnlyCompiled(InductorGraphs):
    """A backend whose graphs do not run: they can be of any size."""

    def _compile(self, *arguments, **options):
        super()._compile(*arguments, **options)

        def run(_):
            raise Compiled

        run._boxed_call = True
        return run


def communication(name, ranks, size, *, policy="profitable", trains=False):
    """What the graphs of a function of square matrices communicate with, on one of some ranks."""
    dist.init_process_group(backend="fake", world_size=ranks, rank=0, store=FakeStore())
    torch._dynamo.reset()
    inputs = [
        torch.empty(shape, dtype=torch.bfloat16, requires_grad=trains)
        for shape in shapes_of(name, size, size, size, ranks)
    ]
    graphs = OnlyCompiled()
    # Nobody can ask the other ranks of a fake group.
    with commute.torch.enable(policy=policy, ranks="same", fatal=True), pytest.raises(Compiled):
        torch.compile(FUNCTIONS[name], backend=graphs)(*inputs)
    return graphs.communication()


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_fused_when_every_legal_rewrite_is_asked_for(name, ranks):
    assert communication(name, ranks, TOY, policy="always") == [{fused_op(name): 1}]


# Without 4096 on 8 ranks, where the fusion does not pay: its price is 359 us instead of 341.
@pytest.mark.parametrize("ranks, size", [(2, 4096), (2, 8192), (8, 8192)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_fused_by_default_where_it_pays(name, ranks, size):
    assert communication(name, ranks, size) == [{fused_op(name): 1}]


@pytest.mark.parametrize("policy", ["always", "profitable"])
def test_gathered_value_that_the_backward_graph_needs_is_a_reason(policy, caplog):
    """PyTorch's fused op along the contraction does not return what it gathers."""
    caplog.set_level(logging.DEBUG, logger="commute")
    found = communication("product_of_chunks", 2, 4096, policy=policy, trains=True)
    assert found == [{"all_gather_into_tensor": 1}]
    assert "gathers along the contraction dimension, and the gathered value has other users" in (
        caplog.text
    )


def compute_on_rank(rank):
    """On one rank: every function in eager execution and compiled."""
    results = {}
    for name, function in FUNCTIONS.items():
        torch._dynamo.reset()
        generator = torch.Generator().manual_seed(rank)
        inputs = [
            torch.randn(shape, generator=generator, dtype=torch.float64)
            for shape in shapes_of(name, TOY, 2 * TOY, 3 * TOY, dist.get_world_size())
        ]
        graphs = InductorGraphs()
        with commute.torch.enable(policy="always", fatal=True), torch.no_grad():
            found = torch.compile(function, backend=graphs)(*inputs)
            expected = function(*inputs)
        results[name] = {
            "found": found.clone(),
            "expected": expected.clone(),
            "communication": graphs.communication(),
        }
    return results


@pytest.fixture(scope="module")
def results_of_ranks():
    return call_on_ranks(compute_on_rank, 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_fused_values_are_those_of_eager_execution(results_of_ranks, name):
    for of_rank in results_of_ranks:
        assert of_rank[name]["communication"] == [{fused_op(name): 1}]
        torch.testing.assert_close(
            of_rank[name]["found"], of_rank[name]["expected"], rtol=1e-10, atol=1e-10
        )
