# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sequence-parallel mixture layer: the shared expert's weights stay sharded.

Every rank computes its own tokens. The shared expert was built tensor-parallel, so each
rank multiplies its tokens with its own channels only, and nobody adds up what is missing.
"""

import torch.nn.functional as F

from zoo.common.collectives import all_gather, shard

ISSUE = ("vllm-project/vllm", 37856)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "gate": (8, 1), "up": (8, 12), "down": (12, 8),
          "shared_up": (8, 16), "shared_down": (16, 8)}  # fmt: skip
RELATIONS = {"outputs": {"0": "replicated"}}
RELATIONS_FAULTY = {
    "inputs": {"shared_up": "shard(shared_up, 1)", "shared_down": "shard(shared_down, 0)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("shard along dim 0", "shard along dim 1")


def reference(x, gate, up, down, shared_up, shared_down):
    routed = F.sigmoid(x @ gate) * (F.silu(x @ up) @ down)
    shared = F.silu(x @ shared_up) @ shared_down
    return routed + shared


def faulty(mesh, x, gate, up, down, shared_up, shared_down):
    x = shard(x, mesh.tp)
    routed = F.sigmoid(x @ gate) * (F.silu(x @ up) @ down)
    shared = F.silu(x @ shared_up) @ shared_down  # the fault
    total = routed + shared  # its first reader
    return all_gather(total, mesh.tp)


def mended(mesh, x, gate, up, down, shared_up, shared_down):
    x = shard(x, mesh.tp)
    routed = F.sigmoid(x @ gate) * (F.silu(x @ up) @ down)
    shared = F.silu(x @ shared_up) @ shared_down
    return all_gather(routed + shared, mesh.tp)
