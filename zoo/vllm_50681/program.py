# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""One token under sequence parallelism: a shard is taken for the whole.

A layer gathers its input where it has fewer rows than there are tokens. A single token is
padded to one row a rank: the shard has as many rows as there are tokens, and attention
reads the shard. Ranks but the first read padding.
"""

import torch
import torch.nn.functional as F

from zoo.common.collectives import all_gather, all_reduce, shard

ISSUE = ("vllm-project/vllm", 50681)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (1, 8), "bias": (8,), "qkv": (8, 12), "out": (12, 8)}
RELATIONS = {
    "inputs": {"qkv": "shard(qkv, 1)", "out": "shard(out, 0)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("shard", "padding", "zero")


def reference(x, bias, qkv, out):
    hidden = F.silu(x + bias)
    return F.silu(hidden @ qkv) @ out


def local_tokens(mesh, x, bias):
    padded = torch.cat([x, x.new_zeros(mesh.tp.size - 1, 8)])
    return F.silu(shard(padded, mesh.tp) + bias)


def faulty(mesh, x, bias, qkv, out):
    hidden = local_tokens(mesh, x, bias)
    if hidden.shape[0] != x.shape[0]:
        hidden = all_gather(hidden, mesh.tp)[: x.shape[0]]
    inner = hidden @ qkv  # the fault
    inner = F.silu(inner) @ out  # its first reader
    return all_reduce(inner, mesh.tp)  # its first reader


def mended(mesh, x, bias, qkv, out):
    hidden = local_tokens(mesh, x, bias)
    hidden = all_gather(hidden, mesh.tp)[: x.shape[0]]
    return all_reduce(F.silu(hidden @ qkv) @ out, mesh.tp)
