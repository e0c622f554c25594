# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fused products of live graphs: scaled ones of any element type, ones with a bias."""

import pytest
import torch
import torch.distributed._functional_collectives as functional
from torch.fx.experimental.proxy_tensor import make_fx

import commute.torch

pytestmark = [
    pytest.mark.in_process,
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
]

FP8, BF16 = torch.float8_e4m3fn, torch.bfloat16


# PyTorch's row-wise scaled product gives bf16.
@pytest.mark.parametrize(
    "types, is_rowwise",
    [((BF16,), False), ((torch.float32,), False), ((BF16, torch.float32), False), ((BF16,), True)],
)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("as_bytes", [False, True])
def test_scaled_gathers_of_any_element_type(fake_group, types, is_rowwise, dim, as_bytes):
    def function(shard, scale, *operands):
        if as_bytes:
            gathered = functional.all_gather_tensor(shard.view(torch.uint8), dim, fake_group)
            gathered = gathered.view(FP8)
        else:
            gathered = functional.all_gather_tensor(shard, dim, fake_group)
        if is_rowwise:
            scale = functional.all_gather_tensor(scale, dim, fake_group).flatten(0, 1)
        return tuple(
            torch._scaled_mm(gathered.flatten(0, 1), w, scale, s, out_dtype=dtype)
            for w, s, dtype in zip(operands[::2], operands[1::2], types, strict=True)
        )

    operands = []
    for _ in types:
        operands.append(torch.rand(16, 32).to(FP8).t())
        operands.append(torch.rand(1, 16) if is_rowwise else torch.rand(()))
    scale = torch.rand(2, 8, 1) if is_rowwise else torch.rand(())
    inputs = torch.rand(2, 8, 32).to(FP8), scale, *operands
    module = make_fx(function, tracing_mode="fake")(*inputs)
    commute.torch.micro_pipeline_tp_pass(module.graph, policy="always", fatal=True)
    (fused,) = module.graph.find_nodes(
        op="call_function",
        target=torch.ops.symm_mem.fused_all_gather_scaled_matmul.default,
    )
    names = [argument.name for argument in fused.target._schema.arguments]
    given = dict(zip(names, fused.args)) | dict(fused.kwargs)
    assert given["out_dtypes"] == list(types)
    returned = module.graph.output_node().args[0]
    assert [node.meta["val"].dtype for node in returned] == list(types)


def test_bias_of_a_scattered_linear(fake_group):
    """A replicated bias, which DTensor says of row-wise linears, needs no collective."""

    def function(x, w, b):
        return functional.reduce_scatter_tensor(torch.addmm(b, x, w), "sum", 0, fake_group)

    for placements, collectives in (({}, 1), ({"b_1": {fake_group.group_name: "replicated"}}, 0)):
        inputs = torch.randn(16, 8), torch.randn(8, 32), torch.randn(32)
        module = make_fx(function, tracing_mode="fake")(*inputs)
        commute.torch.micro_pipeline_tp_pass(
            module.graph, policy="always", fatal=True,
            context={"version": 1, "inputs": placements}, ranks="same",
        )  # fmt: skip
        targets = [str(node.target).split(".")[1] for node in module.graph.nodes
                   if node.op == "call_function"]  # fmt: skip
        assert targets.count("fused_matmul_reduce_scatter") == 1
        assert targets.count("all_reduce") == collectives
