# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Under attention data parallelism, the shared expert is not reduced.

The routed experts reduce their output; the shared expert was built without a reduction of
its own, and its partial sum is added to the complete routed one.
"""

import torch.nn.functional as F

from zoo.common.collectives import all_reduce

ISSUE = ("vllm-project/tpu-inference", 3435)
MESH = {"attn_dp": [[0, 2], [1, 3]], "model": [[0, 1], [2, 3]]}
INPUTS = {"x": (8, 8), "up": (8, 16), "down": (16, 8), "shared_up": (8, 8), "shared_down": (8, 8)}
RELATIONS = {
    "inputs": {
        "x": "shard(x, 0, attn_dp)",
        "up": "shard(up, 1, model)",
        "down": "shard(down, 0, model)",
        "shared_up": "shard(shared_up, 1, model)",
        "shared_down": "shard(shared_down, 0, model)",
    },
    "outputs": {"0": "shard(0, attn_dp)"},
}
SAYS = ("no rank has reduced",)


def reference(x, up, down, shared_up, shared_down):
    return F.silu(x @ shared_up) @ shared_down + F.silu(x @ up) @ down


def faulty(mesh, x, up, down, shared_up, shared_down):
    shared = F.silu(x @ shared_up) @ shared_down  # the fault
    routed = all_reduce(F.silu(x @ up) @ down, mesh.model)
    return shared + routed  # its first reader


def mended(mesh, x, up, down, shared_up, shared_down):
    shared = all_reduce(F.silu(x @ shared_up) @ shared_down, mesh.model)
    routed = all_reduce(F.silu(x @ up) @ down, mesh.model)
    return shared + routed
