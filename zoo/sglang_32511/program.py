# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Experts sharded over two axes are reduced over one.

With expert parallelism and tensor parallelism within experts, the deferred reduction that
the next norm fuses must span both. It took the group of expert parallelism only.
"""

import torch
import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("sgl-project/sglang", 32511)
MESH = {"ep": [[0, 2], [1, 3]], "moe_tp": [[0, 1], [2, 3]]}
INPUTS = {"x": (4, 8), "scores": (4, 2), "up": (2, 8, 12), "down": (2, 12, 8), "norm": (8,)}
RELATIONS = {
    "inputs": {
        "scores": "shard(scores, 1, ep)",
        "up": "shard(shard(up, 0, ep), 2, moe_tp)",
        "down": "shard(shard(down, 0, ep), 1, moe_tp)",
    },
    "outputs": {"0": "replicated"},
}
SAYS = ("moe_tp",)


def experts(x, scores, up, down):
    inner = F.silu(torch.einsum("th,ehf->etf", x, up))
    return (torch.einsum("etf,efh->eth", inner, down) * scores.t().unsqueeze(-1)).sum(0)


def reference(x, scores, up, down, norm):
    hidden = x + experts(x, scores, up, down)
    return hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * norm


def faulty(mesh, x, scores, up, down, norm):
    total = all_reduce(experts(x, scores, up, down), mesh.ep)  # the fault
    hidden = x + total  # its first reader
    return hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * norm


def mended(mesh, x, scores, up, down, norm):
    total = all_reduce(all_reduce(experts(x, scores, up, down), mesh.ep), mesh.moe_tp)
    hidden = x + total
    return hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * norm
