# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Embeddings and losses that are sharded by words."""

import torch
import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Case, Integers
from zoo.common.collectives import CopyToRegion, ReduceFromRegion, all_gather, all_reduce
from zoo.pairs.dense import axis


def own_rows(mesh, table, ids):
    """The rows of the rank's words, and zeros elsewhere."""
    first = mesh.tp.index * table.shape[0]
    is_own = (ids >= first) & (ids < first + table.shape[0])
    rows = F.embedding((ids - first).where(is_own, 0), table)
    return rows * is_own.unsqueeze(-1)


def _embedding(size):
    def reference(ids, table, w):
        return F.embedding(ids, table) @ w

    def ranks(mesh, ids, table, w):
        return all_reduce(own_rows(mesh, table, ids), mesh.tp) @ w

    return Case(
        f"embedding by words on {size}", axis(size),
        {"ids": Integers((6,), 0, 5 * size), "table": (5 * size, 4), "w": (4, 3)},
        {"inputs": {"table": "shard(table, 0)"}, "outputs": {"0": "replicated"}},
        reference, ranks,
    )  # fmt: skip


def _embedding_by_width(size):
    def reference(ids, table):
        return F.embedding(ids, table)

    def ranks(mesh, ids, table):
        return all_gather(F.embedding(ids, table), mesh.tp, dim=1)

    return Case(
        f"embedding by width on {size}", axis(size),
        {"ids": Integers((6,), 0, 9), "table": (9, 2 * size)},
        {"inputs": {"table": "shard(table, 1)"}, "outputs": {"0": "replicated"}},
        reference, ranks,
    )  # fmt: skip


def parallel_loss(mesh, logits, labels, reduce):
    """The negative log likelihoods, of logits that are sharded by words."""
    words = logits.shape[-1]
    largest = all_reduce(logits.detach().amax(-1), mesh.tp, "max")
    shifted = logits - largest.unsqueeze(-1)
    own = labels - mesh.tp.index * words
    is_own = (own >= 0) & (own < words)
    picked = shifted.gather(1, own.where(is_own, 0).unsqueeze(1)).squeeze(1) * is_own
    return reduce(shifted.exp().sum(-1)).log() - reduce(picked)


def _loss(size, backward):
    inputs = {"x": (6, 8), "head": (8, 5 * size), "labels": Integers((6,), 0, 5 * size)}

    def forward_reference(x, head, labels):
        return F.cross_entropy(x @ head, labels, reduction="none")

    def forward_ranks(mesh, x, head, labels):
        return parallel_loss(mesh, x @ head, labels, lambda y: all_reduce(y, mesh.tp))

    def reference(x, head, labels):
        x, head = leaf(x), leaf(head)
        loss = F.cross_entropy(x @ head, labels)
        return loss, *gradients(loss, [x, head])

    def ranks(mesh, x, head, labels):
        x, head = leaf(x), leaf(head)
        logits = CopyToRegion.apply(x, mesh.tp) @ head
        losses = parallel_loss(mesh, logits, labels, lambda y: ReduceFromRegion.apply(y, mesh.tp))
        loss = losses.mean()
        return loss, *gradients(loss, [x, head])

    outputs = {"0": "replicated", "1": "replicated", "2": "shard(1)"}
    return Case(
        f"loss by words{' with backward' if backward else ''} on {size}", axis(size), inputs,
        {"inputs": {"head": "shard(head, 1)"},
         "outputs": outputs if backward else {"0": "replicated"}},
        reference if backward else forward_reference, ranks if backward else forward_ranks,
    )  # fmt: skip


def _tied(size):
    """One table for words in and words out: its gradient has both parts."""

    def reference(ids, table, w):
        table = leaf(table)
        hidden = torch.tanh(F.embedding(ids, table) @ w)
        loss = (hidden @ table.t()).square().mean()
        return loss, *gradients(loss, [table])

    def ranks(mesh, ids, table, w):
        table = leaf(table)
        rows = ReduceFromRegion.apply(own_rows(mesh, table, ids), mesh.tp)
        hidden = CopyToRegion.apply(torch.tanh(rows @ w), mesh.tp)
        squares = ReduceFromRegion.apply((hidden @ table.t()).square().sum(), mesh.tp)
        loss = squares / (ids.shape[0] * table.shape[0] * mesh.tp.size)
        return loss, *gradients(loss, [table])

    return Case(
        f"tied embeddings with backward on {size}", axis(size),
        {"ids": Integers((6,), 0, 5 * size), "table": (5 * size, 4), "w": (4, 4)},
        {"inputs": {"table": "shard(table, 0)"}, "outputs": {"0": "replicated", "1": "shard(0)"}},
        reference, ranks,
    )  # fmt: skip


def pairs():
    for size in (2, 4, 8):
        yield _embedding(size)
        yield _loss(size, backward=False)
    yield _embedding_by_width(2)
    yield _loss(2, backward=True)
    yield _loss(4, backward=True)
    yield _tied(2)
