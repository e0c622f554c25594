# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A slice of fuzz/joint_graphs.py: graphs of DTensor models through every pass; and the
lockstep interpreter that judges them."""

import dataclasses
import json

import pytest
import torch
import torch.distributed._functional_collectives as fc
from torch.fx.experimental.proxy_tensor import make_fx

from commute_tool import succeed
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


def _gathered_types(module):
    """The element types of what is gathered, and the products of each gather."""
    types, products = set(), []
    for node in module.graph.nodes:
        name = str(node.target)
        if "all_gather_into_tensor" in name or "fused_all_gather_matmul" in name:
            types.add(node.args[0].meta["val"].dtype)
            products.append(len(node.args[1]) if "fused" in name else 0)
    return types, products


def test_gathers_move_behind_the_casts_of_autocast():
    """DTensor gathers for each product what autocast then converts for each: one gather of
    what was converted once remains, and is fused."""
    config = dataclasses.replace(
        random_configuration(SEEDS[0]), model="llama", mesh=(2,), sequence_parallel=True,
        fused_attention=False, blocks=1, batch=1, tokens=4, heads=4, key_heads=2, head_size=4,
        hidden=8, bias=False, autocast=True,
    )  # fmt: skip
    (captured,) = (graph for graph in capture(config) if graph.kind == "joint")
    types, products = _gathered_types(captured.module)
    assert torch.float32 in types and len(products) >= 5
    check = Check(captured)
    remarks = check.run("", "always", verify=True, ranks="same")
    types, products = _gathered_types(check.module)
    assert types == {torch.bfloat16}
    assert {2, 3} <= set(products), "those of query, key and value, and of gate and up"
    repeated = [r for r in remarks if "it repeats" in r.message]
    assert len(repeated) == 6, "three gathers of the five, and as many casts"


def _write_slow_target(path):
    """A machine on which shards of small tensors pay."""
    target = json.loads(succeed("targets", "h100x8", "--json"))
    target["memory_bytes_per_second"]["value"] = 1e5
    path.write_text(json.dumps(target))
    return path


def test_gradients_of_norms_are_summed_over_shards(tmp_path):
    """The weight of a norm is the same on all ranks, and so is its gradient, a sum over rows."""
    target = _write_slow_target(tmp_path / "slow.json")
    config = dataclasses.replace(
        random_configuration(SEEDS[0]), model="llama", mesh=(2,), sequence_parallel=False,
        fused_attention=False, blocks=1, batch=2, tokens=4, heads=4, key_heads=2, head_size=4,
        hidden=8, bias=False,
    )  # fmt: skip
    (captured,) = (graph for graph in capture(config) if graph.kind == "joint")
    whole = ((config.width,), (config.batch, config.tokens, config.width))
    placeholders = captured.module.graph.find_nodes(op="placeholder")
    names = tuple(p.name for p in placeholders if tuple(p.meta["val"].shape) in whole)
    captured = dataclasses.replace(captured, replicated=names)
    check = Check(captured)
    passes = f"sequence-parallel{{target={target}}},lower-collectives"
    remarks = check.run(passes, "profitable", verify=True, ranks="same")
    assert any("reductions of rows completed by an all_reduce" in r.message for r in remarks)
    passes = passes.replace("}", " exact-rounding=true}")
    remarks = check.run(passes, "profitable", ranks="same")
    assert not any("reductions of rows" in r.message for r in remarks)


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
