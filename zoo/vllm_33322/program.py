# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sequence-parallel rewrite: every rank takes rank 0's rows of the residual.

The pass replaces all_reduce + norm by reduce_scatter + norm on the rank's rows, and
slices the full residual from row 0 on all ranks.
"""

import torch

from zoo.common.collectives import all_gather, reduce_scatter

ISSUE = ("vllm-project/vllm", 33322)
MESH = {"tp": [[0, 1]]}
INPUTS = {"residual": (6, 8), "x": (6, 16), "w": (16, 8), "norm": (8,), "v": (8, 8)}
RELATIONS = {
    "inputs": {"x": "shard(x, 1)", "w": "shard(w, 0)"},
    "outputs": {"0": "replicated", "1": "shard(0)"},
}
SAYS = ("another rank", "rank 0's")


def normalize(x, norm):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * norm


def reference(residual, x, w, norm, v):
    hidden = x @ w + residual
    return normalize(hidden, norm) @ v, hidden


def faulty(mesh, residual, x, w, norm, v):
    local = reduce_scatter(x @ w, mesh.tp)
    rows = local.shape[0]
    mine = residual[0:rows]  # the fault
    hidden = local + mine  # its first reader
    return all_gather(normalize(hidden, norm), mesh.tp) @ v, hidden


def mended(mesh, residual, x, w, norm, v):
    local = reduce_scatter(x @ w, mesh.tp)
    rows = local.shape[0]
    hidden = local + residual[mesh.tp.index * rows : (mesh.tp.index + 1) * rows]
    return all_gather(normalize(hidden, norm), mesh.tp) @ v, hidden
