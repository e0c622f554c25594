# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A loss in chunks: partial gradients are collected as if they were complete.

The head is sharded by words, so that each chunk's gradient with respect to the hidden
states is a sum over the ranks. The buffer that collects the chunks took the placement of
the hidden states, replicated, and nothing reduced it before the decoder's backward.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import ReduceFromRegion, all_reduce

ISSUE = ("pytorch/torchtitan", 3412)
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (6, 8), "w": (8, 8), "head": (8, 12), "target": (6, 12)}
RELATIONS = {
    "inputs": {"head": "shard(head, 1)", "target": "shard(target, 1)"},
    "outputs": {"0": "replicated"},
}
SAYS = ("no rank has reduced",)


def reference(x, w, head, target):
    hidden = x @ w
    collected = []
    for rows, words in zip(hidden.chunk(2), target.chunk(2)):
        rows = leaf(rows)
        logits = rows @ head
        loss = logits.exp().sum(-1).log().sum() - (logits * words).sum()
        collected += gradients(loss, [rows])
    return x.t() @ torch.cat(collected)


def chunk_gradient(mesh, rows, words, head):
    rows = leaf(rows)
    logits = rows @ head
    total = ReduceFromRegion.apply(logits.exp().sum(-1), mesh.tp)
    loss = total.log().sum() - ReduceFromRegion.apply((logits * words).sum(), mesh.tp)
    return gradients(loss, [rows])[0]  # the fault


def faulty(mesh, x, w, head, target):
    chunks = zip((x @ w).chunk(2), target.chunk(2))
    collected = torch.cat(
        [chunk_gradient(mesh, rows, words, head) for rows, words in chunks]
    )  # the fault
    return x.t() @ collected  # its first reader


def mended(mesh, x, w, head, target):
    chunks = zip((x @ w).chunk(2), target.chunk(2))
    collected = torch.cat([chunk_gradient(mesh, rows, words, head) for rows, words in chunks])
    return x.t() @ all_reduce(collected, mesh.tp)
