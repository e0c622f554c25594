# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A shared expert that every rank holds whole is added before the sum over ranks.

The routed experts are sharded, and the plan left the shared one alone: its output counts
once a rank.
"""

import torch

from zoo.common.collectives import all_reduce

ISSUE = ("NVIDIA/TensorRT-LLM", 16286)
MESH = {"tp": [[0, 1, 2, 3]]}
INPUTS = {
    "x": (4, 6), "up": (6, 8), "down": (8, 6), "shared_up": (6, 5), "shared_down": (5, 6),
}  # fmt: skip
RELATIONS = {
    "inputs": {"up": "shard(up, 1)", "down": "shard(down, 0)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("counts it repeatedly",)


def shared(x, up, down):
    return torch.relu(x @ up) @ down


def reference(x, up, down, shared_up, shared_down):
    return torch.tanh(x @ up) @ down + shared(x, shared_up, shared_down)


def faulty(mesh, x, up, down, shared_up, shared_down):
    routed = torch.tanh(x @ up) @ down
    merged = routed + shared(x, shared_up, shared_down)  # the fault
    return all_reduce(merged, mesh.tp)  # its first reader


def mended(mesh, x, up, down, shared_up, shared_down):
    routed = all_reduce(torch.tanh(x @ up) @ down, mesh.tp)
    return routed + shared(x, shared_up, shared_down)
