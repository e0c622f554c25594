# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A layer that no rank shards is reduced like one that all shard.

The dense layer was built without the ranks of its group, so each rank computes all of it.
The next norm's fused all_reduce sums the copies.
"""

import torch
import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("lightseekorg/tokenspeed", 80)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (4, 8), "gate_up": (8, 24), "down": (12, 8), "norm": (8,)}
RELATIONS = {"outputs": {"0": "replicated"}}
RELATIONS_MENDED = {
    "inputs": {
        "gate_up": "cat([shard(slice(gate_up, 1, 0, 12), 1), shard(slice(gate_up, 1, 12, 24), 1)], 1)",
        "down": "shard(down, 0)",
    },
    "outputs": {"0": "replicated"},
}
SAYS = ("2 times",)


def dense(x, gate_up, down):
    gate, up = (x @ gate_up).chunk(2, -1)
    return (F.silu(gate) * up) @ down


def reference(x, gate_up, down, norm):
    hidden = x + dense(x, gate_up, down)
    return hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * norm


def faulty(mesh, x, gate_up, down, norm):
    reduced = all_reduce(dense(x, gate_up, down), mesh.tp)  # the fault
    hidden = x + reduced  # its first reader
    return hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * norm


def mended(mesh, x, gate_up, down, norm):
    hidden = x + all_reduce(dense(x, gate_up, down), mesh.tp)
    return hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * norm
