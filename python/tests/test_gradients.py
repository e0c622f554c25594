# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Gradients that no CPU kernel computes, against those of autograd."""

import json

import pytest
import torch

from commute_tool import commute
from safetensors_files import read_safetensors, write_safetensors

EPSILON = 1e-3


class RmsNormBackward(torch.nn.Module):
    def forward(self, gradient, x, rstd, weight):
        return torch.ops.aten._fused_rms_norm_backward.default(
            gradient, x, [x.shape[-1]], rstd, weight, [True, True]
        )


@pytest.mark.parametrize("sizes", [(5, 7), (2, 3, 4)])
def test_rms_norm(tmp_path, sizes):
    generator = torch.Generator().manual_seed(3)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    gradient, x, weight = draw(*sizes), draw(*sizes), draw(sizes[-1])
    rstd = (x.square().mean(-1, keepdim=True) + EPSILON).rsqrt()
    x.requires_grad_(), weight.requires_grad_()
    output = torch.nn.functional.rms_norm(x, (sizes[-1],), weight, EPSILON)
    expected = torch.autograd.grad(output, [x, weight], gradient)

    inputs = gradient, x.detach(), rstd.detach(), weight.detach()
    program = torch.export.export(RmsNormBackward(), inputs)
    archive, given, outputs = (tmp_path / name for name in ("p.pt2", "in.st", "out.st"))
    torch.export.save(program, archive)
    names = program.graph_signature.user_inputs
    write_safetensors(given, dict(zip(names, inputs, strict=True)))
    process = commute("run", archive, f"--inputs={given}", f"--outputs={outputs}")
    assert process.returncode == 0, process.stderr
    ours = read_safetensors(outputs)
    for index, theirs in enumerate(expected):
        assert torch.allclose(ours[f"rank0.output{index}"], theirs, rtol=1e-10, atol=1e-12)


class Padded(torch.nn.Module):
    def __init__(self, operator, *arguments):
        super().__init__()
        self.operator, self.arguments = operator, arguments

    def forward(self, gradient):
        return self.operator(gradient, *self.arguments)


@pytest.mark.parametrize("sizes, opaque", [((1, 1), 0), ((), 1), ((1,), 1)])
def test_gradient_of_a_slice_is_not_broadcast(tmp_path, sizes, opaque):
    # PyTorch broadcasts a smaller gradient; it stays PyTorch's own operator here.
    operator = torch.ops.aten.slice_backward.default
    program = torch.export.export(Padded(operator, [1, 3], 1, 2, 3, 1), (torch.ones(sizes),))
    torch.export.save(program, tmp_path / "p.pt2")
    process = commute("show", tmp_path / "p.pt2", "--json")
    assert process.returncode == 0, process.stderr
    assert sum(json.loads(process.stdout)["opaque"].values()) == opaque
