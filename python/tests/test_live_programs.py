# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.load` and the functions on programs, on live GraphModules."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

import commute
from commute_tool import succeed

pytestmark = pytest.mark.in_process

NORM = {"norm.*": "replicated"}


def layer(x, w, norm, up):
    hidden = collectives.all_reduce(x @ w, "sum", dist.group.WORLD)
    return normalized(hidden, norm) @ up


def normalized(hidden, norm):
    # PyTorch's decomposition of rms_norm writes in place.
    return hidden * torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-5) * norm


@pytest.fixture
def traced(fake_group):
    arguments = (torch.ones(8, 4), torch.ones(4, 16), torch.ones(16), torch.ones(16, 6))
    module = make_fx(layer, tracing_mode="fake")(*arguments)
    for node, name in zip(module.graph.nodes, ("x", "w", "norm", "up")):
        node.name = name
    return module


def text_of(module):
    return str(module.graph)


def test_a_graph_module_is_a_program(traced, tmp_path):
    before = text_of(traced)
    program = commute.load(traced, input_placements=NORM)
    assert program.groups == {"0": 2} and "groups '0' of 2" in repr(program)
    result = commute.optimize(program, policy="always")
    assert result.verdict == "equivalent" and result.proof["equivalent"]
    assert any(remark.verdict == "applied" for remark in result.remarks)
    # The module is as it was; the result shares its parameters.
    assert text_of(traced) == before
    optimized = result.program.graph_module
    assert "reduce_scatter" in text_of(optimized)
    assert "reduce_scatter" in optimized.code
    assert commute.verify(program, result.program)
    assert commute.verify(result.program, program).verdict == "equivalent"
    # Fused ops, some of which return lists in tuples, are read again.
    assert "tp.all_gather_matmul" in str(result.program)
    assert "tp.call" not in str(result.program)
    assert commute.optimize(result.program, policy="always").verdict == "unchanged"
    assert result.price_before.step_seconds > 0
    assert result.price_before != result.price_after
    assert commute.explain(program).rows
    program.save(tmp_path / "graph.mlir")
    succeed("show", tmp_path / "graph.mlir")
    with pytest.raises(commute.CommuteError, match="an archive holds weights"):
        program.save(tmp_path / "graph.pt2")


def test_explanations_name_the_lines_of_the_users_program(traced):
    assert not any("source" in row for row in commute.explain(traced).rows)
    for node in traced.graph.nodes:
        node.meta["stack_trace"] = '  File "model.py", line 12, in forward\n    return x @ w\n'
    rows = commute.explain(commute.load(traced, input_placements=NORM)).rows
    assert rows and all(row["source"] == "model.py:12" for row in rows)


def test_a_graph_module_runs(traced):
    program = commute.load(traced)
    result = commute.optimize(program, policy="always")
    assert result.is_changed
    names = [node.name for node in traced.graph.nodes if node.op == "placeholder"]
    generator = torch.Generator().manual_seed(0)
    inputs = {
        name: torch.randn(size, generator=generator)
        for name, size in zip(names, [(8, 4), (4, 16), (16,), (16, 6)], strict=True)
    }
    done = [commute.run(one, inputs) for one in (program, result.program)]
    x, w, norm, up = inputs.values()
    expected = normalized(2 * (x @ w), norm) @ up
    for run in done:
        for own in run.outputs:
            torch.testing.assert_close(own[0].torch(), expected, rtol=1e-4, atol=1e-4)


def test_options_reach_the_passes(traced):
    unchanged = commute.optimize(traced, passes=["split-linear"], policy="always")
    assert unchanged.verdict == "unchanged" and not unchanged.is_changed
    unverified = commute.optimize(traced, policy="always", verify=False)
    assert unverified.verdict == "not verified" and unverified.proof is None
    unproven = commute.optimize(traced, policy="always", proof_memory=1)
    assert unproven.verdict == "not proven" and not unproven.is_changed and unproven.reason
    allowed = commute.optimize(traced, policy="always", proof_memory=1, allow_unproven=True)
    assert allowed.verdict == "not proven" and allowed.is_changed


def test_statements(traced):
    stated = commute.load(traced, groups={"0": [1, 0]}, input_placements=NORM, rank=1)
    assert "[1, 0]" in str(stated)
    with pytest.raises(commute.CommuteError, match="no such input; it has x, w, norm, up"):
        commute.load(traced, input_placements={"bias": "replicated"})
    with pytest.raises(commute.CommuteError, match=r"input placement '\('"):
        commute.load(traced, input_placements={"(": "replicated"})
    with pytest.raises(commute.CommuteError, match="size 's0' is stated"):
        repr(commute.load(traced, assumptions=["s0 == 4"]))
    with pytest.raises(commute.CommuteError, match="one vocabulary"):
        commute.load(traced, vocabulary=[{"version": 1}, {"version": 1}])


def test_a_graph_that_switches_modes(fake_group):
    """It is several programs, each of which can be optimized."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.ones(4)
    graph.call_function(torch._C._set_grad_enabled, (False,))
    y = graph.call_function(torch.ops.aten.relu.default, (x,))
    y.meta["val"] = torch.ones(4)
    graph.output(y)
    module = torch.fx.GraphModule(nn.Module(), graph)
    with pytest.raises(commute.CommuteError, match="switches a mode"):
        commute.estimate(module)
    assert commute.optimize(module, policy="always").verdict == "unchanged"
