# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Every rank loads the first shard of a packed weight.

The loader of packed weights takes the rank from its arguments, where nobody puts it; its
default is 0. The shapes are right.
"""

import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("vllm-project/vllm-gguf-plugin", 103)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (4, 8), "gate": (8, 12), "up": (8, 12), "down": (12, 8)}
RELATIONS = {"inputs": {"down": "shard(down, 0)"}, "outputs": {"0": "replicated"}}
SAYS = ("another rank", "rank 0's")


def reference(x, gate, up, down):
    return (F.silu(x @ gate) * (x @ up)) @ down


def faulty(mesh, x, gate, up, down):
    rank = 0
    gate = gate.narrow(1, rank * 6, 6)  # the fault
    up = up.narrow(1, rank * 6, 6)  # the fault
    inner = F.silu(x @ gate) * (x @ up)  # its first reader
    partial = inner @ down  # its first reader
    return all_reduce(partial, mesh.tp)  # its first reader


def mended(mesh, x, gate, up, down):
    rank = mesh.tp.index
    gate, up = gate.narrow(1, rank * 6, 6), up.narrow(1, rank * 6, 6)
    return all_reduce((F.silu(x @ gate) * (x @ up)) @ down, mesh.tp)
