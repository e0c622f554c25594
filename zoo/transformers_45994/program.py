# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The loss is scaled by the number of processes, of which some share a batch.

Each rank divides by the number of all tokens, and multiplies by the number of processes
to undo the average of the gradients. Ranks of a tensor-parallel group have the same batch,
and are not averaged.
"""

from zoo.common.collectives import all_gather, all_reduce

ISSUE = ("huggingface/transformers", 45994)
MESH = {"dp": [[0, 2], [1, 3]], "tp": [[0, 1], [2, 3]]}
INPUTS = {"x": (8, 8), "w": (8, 6), "target": (8, 6)}
RELATIONS = {
    "inputs": {"x": "shard(x, 0, dp)", "target": "shard(target, 0, dp)", "w": "shard(w, 1, tp)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("2 times",)


def reference(x, w, target):
    return (x @ w - target).square().sum() / target.numel()


def faulty(mesh, x, w, target):
    error = all_gather(x @ w, mesh.tp, dim=1) - target
    loss = error.square().sum() / (target.numel() * mesh.dp.size)
    scaled = loss * mesh.world_size  # the fault
    return all_reduce(scaled, mesh.dp, "avg")  # its first reader


def mended(mesh, x, w, target):
    error = all_gather(x @ w, mesh.tp, dim=1) - target
    loss = error.square().sum() / (target.numel() * mesh.dp.size)
    return all_reduce(loss * mesh.dp.size, mesh.dp, "avg")
