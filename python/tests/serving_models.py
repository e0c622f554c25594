# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Layers as serving engines write them, in their own operators: sums over ranks, norms that
add the residual, and products.

The first sum is that of the embedding, which all ranks then have as the residual.
"""

import torch
import torch.nn.functional as F

import serving_operators  # noqa: F401 (defines them)

TOKENS, HIDDEN, INNER, LAYERS = 16, 32, 24, 2
GROUP = "tp:0"
EPSILON = 1e-6

vllm, vllm_ir, kernels = torch.ops.vllm, torch.ops.vllm_ir, torch.ops._C
auto_deploy = torch.ops.auto_deploy


class Layers(torch.nn.Module):
    """Layers of one rank; the weights of products differ between ranks."""

    def __init__(self, rank, dtype=torch.float64):
        super().__init__()

        def draw(seed, *shape):
            generator = torch.Generator().manual_seed(seed)
            return torch.nn.Parameter(
                torch.randn(shape, generator=generator, dtype=dtype) * 0.5, requires_grad=False
            )

        self.norms = torch.nn.ParameterList(draw(place, HIDDEN) for place in range(LAYERS + 1))
        self.ups = torch.nn.ParameterList(
            draw(100 + 10 * rank + place, INNER, HIDDEN) for place in range(LAYERS)
        )
        self.downs = torch.nn.ParameterList(
            draw(200 + 10 * rank + place, HIDDEN, INNER) for place in range(LAYERS)
        )

    def reduce(self, x):
        return vllm.all_reduce(x, GROUP)

    def product(self, x, place):
        return F.linear(F.silu(F.linear(x, self.ups[place])), self.downs[place])

    def forward(self, x):
        residual = self.reduce(x)
        normed = self.norm(residual, self.norms[0])
        for place in range(LAYERS):
            summed = self.reduce(self.product(normed, place))
            normed, residual = self.add_norm(summed, residual, self.norms[place + 1])
        return normed


class IrLayers(Layers):
    """vLLM's intermediate representation."""

    def norm(self, x, weight):
        return vllm_ir.rms_norm(x, weight, EPSILON)

    def add_norm(self, x, residual, weight):
        return vllm_ir.fused_add_rms_norm(x, residual, weight, EPSILON)


class KernelLayers(Layers):
    """vLLM's kernels, which write into their arguments."""

    def norm(self, x, weight):
        result = torch.empty_like(x)
        kernels.rms_norm(result, x, weight, EPSILON)
        return result

    def add_norm(self, x, residual, weight):
        kernels.fused_add_rms_norm(x, residual, weight, EPSILON)
        return x, residual


class AutoDeployLayers(Layers):
    """TensorRT-LLM's AutoDeploy: a group that nothing names."""

    def reduce(self, x):
        return auto_deploy.torch_dist_all_reduce(x, "AUTO")

    def product(self, x, place):
        inner = F.silu(auto_deploy.torch_linear_simple(x, self.ups[place], None))
        return auto_deploy.torch_linear_simple(inner, self.downs[place], None)

    def norm(self, x, weight):
        return auto_deploy.flashinfer_rms_norm(x, weight, EPSILON)

    def add_norm(self, x, residual, weight):
        total = x + residual
        return self.norm(total, weight), total


def make_input(rank, tokens=TOKENS, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1000 + rank)
    return torch.randn((tokens, HIDDEN), generator=generator, dtype=dtype)
