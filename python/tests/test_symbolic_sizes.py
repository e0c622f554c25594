# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Rewrites of graphs with symbolic sizes: new nodes take sizes from what the graph has."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from captured_graphs import Captured
from commute.torch import optimize_graph, register_cpu_fused_ops
from commute_tool import optimize

ALWAYS = "--policy=always"


class LinearOfConcat(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(32, 48, dtype=torch.float64))

    def forward(self, a, b):
        return F.linear(torch.cat([a, b], -1), self.w)


class ProductAndScatter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(64, 32))

    def forward(self, x):
        return fc.reduce_scatter_tensor(x @ self.w, "sum", 1, dist.group.WORLD)


@pytest.mark.parametrize("decomposed", [False, True])
def test_linear_of_a_concatenation_in_three_dims(decomposed, tmp_path):
    b, s = torch.export.Dim("b", min=2, max=64), torch.export.Dim("s", min=2, max=512)

    def draw(batch, tokens):
        return [torch.randn(batch, tokens, size, dtype=torch.float64) for size in (16, 32)]

    shapes = {"a": {0: b, 1: s}, "b": {0: b, 1: s}}
    program = torch.export.export(LinearOfConcat(), tuple(draw(3, 8)), dynamic_shapes=shapes)
    if decomposed:
        program = program.run_decompositions()
    torch.export.save(program, tmp_path / "in.pt2")
    report = optimize(tmp_path / "in.pt2", tmp_path / "out.pt2", ALWAYS)
    assert any(remark["verdict"] == "applied" for remark in report["remarks"])
    loaded = torch.export.load(tmp_path / "out.pt2")
    assert "cat" not in str(loaded.graph)
    # At other sizes than those of the capture.
    for sizes in ((3, 8), (5, 11), (2, 2)):
        inputs = draw(*sizes)
        torch.testing.assert_close(
            loaded.module()(*inputs), program.module()(*inputs), rtol=1e-12, atol=1e-12
        )


def test_product_before_a_scatter_after_decompositions(fake_group, tmp_path):
    b, h = torch.export.Dim("b", min=2, max=64), torch.export.Dim("h", min=2, max=512)
    program = torch.export.export(
        ProductAndScatter(), (torch.randn(3, 8, 64),), dynamic_shapes={"x": {0: b, 1: 2 * h}}
    ).run_decompositions()
    torch.export.save(program, tmp_path / "in.pt2")
    optimize(tmp_path / "in.pt2", tmp_path / "out.pt2", ALWAYS)
    loaded = torch.export.load(tmp_path / "out.pt2")
    assert "fused_matmul_reduce_scatter" in str(loaded.graph)
    # Numbers that the graph computes are used again.
    targets = [str(node.target) for node in loaded.graph.nodes]
    assert targets.count("aten.sym_size.int") == 2
    register_cpu_fused_ops()
    assert loaded.module()(torch.randn(5, 12, 64)).shape == (5, 6, 32)


@pytest.mark.in_process
def test_sizes_of_a_live_graph():
    def function(a, b, w):
        return F.linear(torch.cat([a, b], -1), w)

    def draw(batch, tokens):
        return [
            torch.randn(*shape, dtype=torch.float64)
            for shape in ((batch, tokens, 16), (batch, tokens, 32), (7, 48))
        ]

    captured = Captured(
        function, lambda graph: optimize_graph(graph, passes="split-linear", policy="always")
    )
    for sizes in ((3, 8), (5, 11)):
        inputs = draw(*sizes)
        for value in inputs[:2]:
            torch._dynamo.mark_dynamic(value, (0, 1))
        torch.testing.assert_close(captured(*inputs), function(*inputs), rtol=1e-12, atol=1e-12)
    assert len(captured.modules) == 1
    assert "cat" not in captured.targets()


@pytest.mark.in_process
def test_strides_of_a_dense_tensor_with_a_shard_of_rounded_size():
    """PyTorch writes 8*Max(1, (s + 1)//2), of which Commute once had said that it is not dense."""

    def function(x, y):
        shard = y.narrow(0, 0, (x.shape[0] + 1) // 2).unsqueeze(0)
        return shard.expand(2, -1, 8).clone(memory_format=torch.contiguous_format)

    module = make_fx(function, tracing_mode="symbolic")(torch.randn(16, 8), torch.randn(16, 8))
    remarks = optimize_graph(
        module.graph, passes="contiguous-collectives", is_functional_graph=True
    )
    assert [remark for remark in remarks if remark.pass_name == "import"] == []


@pytest.mark.in_process
def test_fused_collectives_of_symbolic_sizes(fake_group):
    """Without a dispatcher that the caller has to switch on."""

    def function(x, w):
        gathered = fc.all_gather_tensor(x, 0, dist.group.WORLD)
        return (gathered.reshape(-1, 64) @ w).view(2 * x.shape[0], x.shape[1], 32)

    module = make_fx(function, tracing_mode="symbolic")(torch.randn(3, 16, 64), torch.randn(64, 32))
    optimize_graph(
        module.graph, passes="micro-pipeline,lower-collectives", policy="always",
        is_functional_graph=True,
    )  # fmt: skip
    assert "fused_all_gather_matmul" in str(module.graph)
