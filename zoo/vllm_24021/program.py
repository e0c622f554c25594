# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Pipeline and sequence parallelism: a sharded residual is sent as if all ranks had it.

To save bandwidth, each tensor-parallel rank sends its slice of a tensor that all ranks of
the stage have, and the next stage gathers the slices. Under sequence parallelism the
residual is sharded: slice i of rank i's rows is not what the others have there.
"""

import torch

from zoo.common.collectives import all_gather, broadcast, receive, reduce_scatter, send, shard

ISSUE = ("vllm-project/vllm", 24021)
MESH = {"pp": [[0, 2], [1, 3]], "tp": [[0, 1], [2, 3]]}
INPUTS = {"x": (8, 12), "w": (12, 6), "v": (6, 6)}
RELATIONS = {
    "inputs": {"x": "shard(x, 1, tp)", "w": "shard(w, 0, tp)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("order", "another rank")


def reference(x, w, v):
    residual = x @ w
    return residual + torch.tanh(residual) @ v


def last_stage(mesh, residual, v):
    rows = residual + torch.tanh(residual) @ v  # its first reader
    return broadcast(all_gather(rows, mesh.tp), mesh.pp, source=1)


def faulty(mesh, x, w, v):
    residual = x.new_empty(4, 6)
    if mesh.pp.index == 0:
        residual = reduce_scatter(x @ w, mesh.tp)
        send(shard(residual, mesh.tp), mesh.pp.next, mesh.pp)  # the fault
    else:
        mine = receive(x.new_empty(2, 6), mesh.pp.previous, mesh.pp)  # its first reader
        residual = all_gather(mine, mesh.tp)  # its first reader
    return last_stage(mesh, residual, v)


def mended(mesh, x, w, v):
    residual = x.new_empty(4, 6)
    if mesh.pp.index == 0:
        residual = reduce_scatter(x @ w, mesh.tp)
        send(residual, mesh.pp.next, mesh.pp)
    else:
        residual = receive(residual, mesh.pp.previous, mesh.pp)
    return last_stage(mesh, residual, v)
