# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The draft model's experts are sharded, and nobody reduces them.

The reduction was switched off for attention data parallelism, where ranks need none, and
stayed off under tensor parallelism.
"""

import torch
import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("NVIDIA/TensorRT-LLM", 16617)
MESH = {"tp": [[0, 1, 2, 3]]}
INPUTS = {"x": (4, 8), "up": (8, 16), "down": (16, 8), "norm": (8,), "head": (8, 6)}
RELATIONS = {
    "inputs": {"up": "shard(up, 1)", "down": "shard(down, 0)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("no rank has reduced",)


def project(hidden, norm, head):
    return (hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-6) * norm) @ head


def reference(x, up, down, norm, head):
    return project(x + F.silu(x @ up) @ down, norm, head)


def faulty(mesh, x, up, down, norm, head):
    experts = F.silu(x @ up) @ down  # the fault
    hidden = x + experts  # its first reader
    return project(hidden, norm, head)


def mended(mesh, x, up, down, norm, head):
    experts = all_reduce(F.silu(x @ up) @ down, mesh.tp)
    return project(x + experts, norm, head)
