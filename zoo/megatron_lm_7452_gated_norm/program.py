# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Gated delta net: a norm that all heads share misses the gradients of other ranks' heads.

The weight of the norm is replicated, the heads are sharded. The gradient is a sum over the
ranks, with and without sequence parallelism; it was reduced only with it.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import ReduceFromRegion, all_reduce

ISSUE = ("NVIDIA/Megatron-LM", 7452)
MESH = {"tp": [[0, 1]]}
INPUTS = {"mixed": (6, 16), "gate": (6, 16), "norm": (4,), "out": (16, 8)}
RELATIONS = {
    "inputs": {"mixed": "shard(mixed, 1)", "gate": "shard(gate, 1)", "out": "shard(out, 0)"},
    "outputs": {"0": "replicated", "1": "replicated", "2": "shard(0)"},
}
SAYS = ("no rank has reduced",)


def gated(mixed, gate, norm):
    heads = mixed.unflatten(-1, (-1, 4))
    heads = heads * torch.rsqrt(heads.square().mean(-1, keepdim=True) + 1e-5) * norm  # the fault
    return heads.flatten(-2) * torch.sigmoid(gate)


def reference(mixed, gate, norm, out):
    norm, out = leaf(norm), leaf(out)
    loss = (gated(mixed, gate, norm) @ out).square().sum()
    return loss, *gradients(loss, [norm, out])


def faulty(mesh, mixed, gate, norm, out):
    norm, out = leaf(norm), leaf(out)
    partial = gated(mixed, gate, norm) @ out
    loss = ReduceFromRegion.apply(partial, mesh.tp).square().sum()
    return loss, *gradients(loss, [norm, out])


def mended(mesh, mixed, gate, norm, out):
    norm, out = leaf(norm), leaf(out)
    partial = gated(mixed, gate, norm) @ out
    loss = ReduceFromRegion.apply(partial, mesh.tp).square().sum()
    of_norm, of_out = gradients(loss, [norm, out])
    return loss, all_reduce(of_norm, mesh.tp), of_out
