# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A replicated shared expert is added before the reduce_scatter that sums the routed ones.

Each token becomes R + n S instead of R + S.
"""

import torch.nn.functional as F

from zoo.common.collectives import reduce_scatter, shard

ISSUE = ("sgl-project/sglang", 31475)
MESH = {"ep": [[0, 1, 2, 3]]}
INPUTS = {"x": (8, 8), "gate": (8, 1), "up": (8, 16), "down": (16, 8),
          "shared_up": (8, 8), "shared_down": (8, 8)}  # fmt: skip
RELATIONS = {
    "inputs": {"up": "shard(up, 1)", "down": "shard(down, 0)"},
    "outputs": {"0": "shard(0)"},
}
SAYS = ("every rank holds",)


def reference(x, gate, up, down, shared_up, shared_down):
    routed = gate * (F.silu(x @ up) @ down)
    return routed + F.silu(x @ shared_up) @ shared_down


def faulty(mesh, x, gate, up, down, shared_up, shared_down):
    routed = gate * (F.silu(x @ up) @ down)
    shared = F.silu(x @ shared_up) @ shared_down
    total = routed + shared  # the fault
    return reduce_scatter(total, mesh.ep)  # its first reader


def mended(mesh, x, gate, up, down, shared_up, shared_down):
    routed = gate * (F.silu(x @ up) @ down)
    shared = F.silu(x @ shared_up) @ shared_down
    return reduce_scatter(routed, mesh.ep) + shard(shared, mesh.ep)
