# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Aria on several ranks: the shared expert's output is reduced twice.

The shared experts' down projection reduces its output, as a row-parallel linear does by
default. The mixture layer adds the routed experts' partial sums, and reduces the total
once more: the shared part counts as often as there are ranks.
"""

import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("vllm-project/vllm", 49122)
MESH = {"tp": [[0, 1, 2, 3]]}
INPUTS = {"x": (6, 8), "gate": (6, 1), "up": (8, 16), "down": (16, 8),
          "shared_up": (8, 16), "shared_down": (16, 8)}  # fmt: skip
RELATIONS = {
    "inputs": {
        "up": "shard(up, 1)",
        "down": "shard(down, 0)",
        "shared_up": "shard(shared_up, 1)",
        "shared_down": "shard(shared_down, 0)",
    },
    "outputs": {"0": "replicated"},
}
SAYS = ("every rank holds", "4 times")


def reference(x, gate, up, down, shared_up, shared_down):
    routed = gate * (F.silu(x @ up) @ down)
    shared = F.silu(x @ shared_up) @ shared_down
    return x + (routed + shared)


def faulty(mesh, x, gate, up, down, shared_up, shared_down):
    routed = gate * (F.silu(x @ up) @ down)
    shared = all_reduce(F.silu(x @ shared_up) @ shared_down, mesh.tp)  # the fault
    total = routed + shared  # its first reader
    return x + all_reduce(total, mesh.tp)


def mended(mesh, x, gate, up, down, shared_up, shared_down):
    routed = gate * (F.silu(x @ up) @ down)
    shared = F.silu(x @ shared_up) @ shared_down
    return x + all_reduce(routed + shared, mesh.tp)
