# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""fp8 products of gathered operands: what is written, PyTorch runs."""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
import torch.distributed._symmetric_memory
from torch._subclasses import FakeTensorMode

from commute_tool import optimize


class GatheredProduct(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, w, x_scale, w_scale):
        gathered = fc.all_gather_tensor(x, self.dim, dist.group.WORLD)
        flat = gathered.reshape(-1, x.shape[-1])
        return torch._scaled_mm(flat, w.t(), x_scale, w_scale, out_dtype=torch.bfloat16)


@pytest.mark.parametrize("shape, dim", [((2, 16, 64), 1), ((2, 16, 64), 0), ((16, 64), 0)])
def test_flattened_operands(shape, dim, fake_group, tmp_path):
    eight_bits = torch.float8_e4m3fn
    inputs = (
        torch.randn(*shape).to(eight_bits),
        torch.randn(32, 64).to(eight_bits),
        torch.tensor(1.0),
        torch.tensor(1.0),
    )
    torch.export.save(torch.export.export(GatheredProduct(dim), inputs), tmp_path / "in.pt2")
    # Unverified: the writer itself sees to it that PyTorch takes the graph.
    optimize(tmp_path / "in.pt2", tmp_path / "out.pt2", "--policy=always", "--no-verify")
    loaded = torch.export.load(tmp_path / "out.pt2")
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(value) for value in inputs]
        result = loaded.module()(*fakes)
    rows = 2 * torch.Size(shape).numel() // 64
    assert (result.shape, result.dtype) == ((rows, 32), torch.bfloat16)
