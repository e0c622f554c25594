# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A dense layer under sequence parallelism sums different tokens.

The ranks hold different tokens, but the dense layer kept sharded weights and its
all_reduce: row i of the sum mixes the i-th token of every rank.
"""

import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("vllm-project/vllm-ascend", 16804)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "gate": (8, 16), "up": (8, 16), "down": (16, 8)}
RELATIONS = {"inputs": {"x": "shard(x, 0)"}, "outputs": {"0": "shard(0)"}}
RELATIONS_FAULTY = {
    "inputs": {"x": "shard(x, 0)", "gate": "shard(gate, 1)", "up": "shard(up, 1)",
               "down": "shard(down, 0)"},
    "outputs": {"0": "shard(0)"},
}  # fmt: skip
SAYS = ("shard along dim 0", "different")


def reference(x, gate, up, down):
    return x + (F.silu(x @ gate) * (x @ up)) @ down


def faulty(mesh, x, gate, up, down):
    inner = F.silu(x @ gate) * (x @ up)  # its first reader
    inner = inner @ down  # its first reader
    return x + all_reduce(inner, mesh.tp)  # the fault


def mended(mesh, x, gate, up, down):
    return x + (F.silu(x @ gate) * (x @ up)) @ down
