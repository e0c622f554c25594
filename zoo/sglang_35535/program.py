# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A replicated shared expert joins a sum that the next layer's norm reduces.

The reduction of the mixture layer is deferred, and fused with the residual and norm of the
next layer. The shared expert is complete on every rank, and is summed once more.
"""

import torch
import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("sgl-project/sglang", 35535)
MESH = {"tp": [[0, 1, 2, 3, 4, 5, 6, 7]]}
INPUTS = {"x": (4, 8), "up": (8, 16), "down": (16, 8), "shared_up": (8, 8),
          "shared_down": (8, 8), "norm": (8,)}  # fmt: skip
RELATIONS = {
    "inputs": {"up": "shard(up, 1)", "down": "shard(down, 0)"},
    "outputs": {"0": "replicated", "1": "replicated"},
}
SAYS = ("every rank holds",)


def reference(x, up, down, shared_up, shared_down, norm):
    shared = F.silu(x @ shared_up) @ shared_down
    residual = x + (F.silu(x @ up) @ down + shared)
    return residual * torch.rsqrt(residual.square().mean(-1, keepdim=True) + 1e-6) * norm, residual


def faulty(mesh, x, up, down, shared_up, shared_down, norm):
    shared = F.silu(x @ shared_up) @ shared_down
    deferred = F.silu(x @ up) @ down + shared  # the fault
    residual = x + all_reduce(deferred, mesh.tp)  # its first reader
    return residual * torch.rsqrt(residual.square().mean(-1, keepdim=True) + 1e-6) * norm, residual


def mended(mesh, x, up, down, shared_up, shared_down, norm):
    shared = F.silu(x @ shared_up) @ shared_down
    residual = x + (all_reduce(F.silu(x @ up) @ down, mesh.tp) + shared)
    return residual * torch.rsqrt(residual.square().mean(-1, keepdim=True) + 1e-6) * norm, residual
