# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A slice of fuzz/joint_graphs.py: graphs of DTensor models through every pass; and the
lockstep interpreter that judges them."""

import pytest
import torch
import torch.distributed._functional_collectives as fc
from torch.fx.experimental.proxy_tensor import make_fx

from joint_graphs import (
    PASS_LISTS,
    POLICIES,
    Check,
    capture,
    check_valid,
    random_configuration,
    run_all,
)
from lockstep import LockstepError, run_in_lockstep

pytestmark = pytest.mark.in_process

# An MLP and an attention on four ranks under sequence parallelism; one on two by two.
SEEDS = (0, 9, 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_optimized_graphs_compute_the_same(seed):
    applied = set()
    for captured in capture(random_configuration(seed)):
        check = Check(captured)
        for passes in PASS_LISTS:
            for policy in POLICIES:
                remarks = check.run(passes, policy)
                applied |= {r.pass_name for r in remarks if r.verdict == "applied"}
    assert applied


def test_lockstep_collectives(fake_group):
    def function(x):
        return (
            fc.all_reduce(x, "max", fake_group),
            fc.all_gather_tensor(x, 0, fake_group),
            fc.reduce_scatter_tensor(x, "sum", 0, fake_group),
        )

    module = make_fx(function, tracing_mode="fake")(torch.randn(4, 3))
    inputs = [[torch.randn(4, 3, dtype=torch.float64)] for _ in range(2)]
    (x,), (y,) = inputs
    name = next(
        node.args[-1]
        for node in module.graph.nodes
        if node.target is torch.ops._c10d_functional.all_reduce.default
    )
    outputs = run_in_lockstep(module, inputs, {name: [[0, 1]]})
    for rank in range(2):
        maximum, gathered, scattered = outputs[rank]
        assert torch.equal(maximum, torch.maximum(x, y))
        assert torch.equal(gathered, torch.cat([x, y]))
        assert torch.equal(scattered, (x + y).chunk(2)[rank])
    with pytest.raises(LockstepError, match="nobody knows the group"):
        run_in_lockstep(module, inputs, {"other": [[0, 1]]})


def test_a_wrong_graph_is_seen():
    """The judge itself: one operand exchanged, one shape misstated."""
    captured = next(iter(capture(random_configuration(SEEDS[0]))))
    check = Check(captured)
    wrong = captured.copy()
    (node, *_) = wrong.graph.find_nodes(op="call_function", target=torch.ops.aten.mm.default)
    with wrong.graph.inserting_after(node):
        doubled = wrong.graph.call_function(torch.ops.aten.mul.Tensor, (node, 2.0))
    doubled.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled)
    check_valid(wrong, captured.module)
    with pytest.raises(AssertionError, match="rank 0, output"):
        check._compare(run_all(captured, wrong))
    doubled.meta["val"] = node.meta["val"].new_empty(1)
    with pytest.raises(AssertionError, match="is said to give"):
        check_valid(wrong, captured.module)
