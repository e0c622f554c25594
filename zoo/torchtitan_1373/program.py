# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Multi-head latent attention: one key for the heads of all ranks misses gradients.

The rotary part of the keys is computed once and expanded to all heads. Heads are sharded:
the forward is right on every rank, but each adds up the gradients of its own heads only.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import CopyToRegion, ReduceFromRegion

ISSUE = ("pytorch/torchtitan", 1373)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "query": (8, 16), "key": (8, 4), "out": (4, 6)}
RELATIONS = {
    "inputs": {"query": "shard(query, 1)", "out": "shard(out, 0)"},
    "outputs": {"0": "replicated", "1": "shard(1)", "2": "replicated"},
}
SAYS = ("no rank has reduced",)


def mixed(x, query, shared_key):
    heads = (x @ query).unflatten(-1, (-1, 4))
    return torch.sigmoid((heads * shared_key.unsqueeze(1)).sum(-1))


def reference(x, query, key, out):
    query, key = leaf(query), leaf(key)
    loss = (mixed(x, query, x @ key) @ out).square().sum()
    return loss, *gradients(loss, [query, key])


def faulty(mesh, x, query, key, out):
    query, key = leaf(query), leaf(key)
    shared = x @ key  # its first reader
    heads = (x @ query).unflatten(-1, (-1, 4))
    scores = torch.sigmoid((heads * shared.unsqueeze(1)).sum(-1))  # the fault
    loss = ReduceFromRegion.apply(scores @ out, mesh.tp).square().sum()
    return loss, *gradients(loss, [query, key])


def mended(mesh, x, query, key, out):
    query, key = leaf(query), leaf(key)
    scores = mixed(x, query, CopyToRegion.apply(x @ key, mesh.tp))
    loss = ReduceFromRegion.apply(scores @ out, mesh.tp).square().sum()
    return loss, *gradients(loss, [query, key])
