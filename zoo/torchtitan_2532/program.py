# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""SimpleFSDP with tensor parallelism: a norm's gradient is reduced over dp only.

The weight of the norm is sharded over dp and replicated over tp. Under sequence
parallelism each tp rank normalizes its own tokens, so its gradient is a summand over tp.
`to_local` without placements of the gradient took it for replicated. Also issue 2217.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import CopyToRegion, GatherFromSequence, all_reduce

ISSUE = ("pytorch/torchtitan", 2532)
MESH = {"dp": [[0, 2], [1, 3]], "tp": [[0, 1], [2, 3]]}
INPUTS = {"x": (4, 6, 8), "target": (4, 6, 8), "norm": (8,)}
RELATIONS = {
    "inputs": {
        "x": "shard(shard(x, 0, dp), 1, tp)",
        "target": "shard(shard(target, 0, dp), 1, tp)",
        "norm": "shard(norm, 0, dp)",
    },
    "outputs": {"0": "replicated", "1": "shard(0, dp)"},
}
SAYS = ("no rank has reduced",)


def loss_of(x, target, weight):
    normalized = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight
    return (normalized - target).square().sum()


def reference(x, target, norm):
    norm = leaf(norm)
    loss = loss_of(x, target, norm)
    return loss, *gradients(loss, [norm])


def faulty(mesh, x, target, norm):
    norm = leaf(norm)
    weight = GatherFromSequence.apply(norm, mesh.dp)  # its first reader
    normalized = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight  # the fault
    loss = (normalized - target).square().sum()
    return all_reduce(all_reduce(loss, mesh.tp), mesh.dp), *gradients(loss, [norm])


def mended(mesh, x, target, norm):
    norm = leaf(norm)
    weight = CopyToRegion.apply(GatherFromSequence.apply(norm, mesh.dp), mesh.tp)
    loss = loss_of(x, target, weight)
    return all_reduce(all_reduce(loss, mesh.tp), mesh.dp), *gradients(loss, [norm])
