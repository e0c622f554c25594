# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Mixtures of experts: sharded within experts, by experts, and with exchanged tokens."""

import torch
import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Case
from zoo.common.collectives import (
    CopyToRegion,
    ExchangeRows,
    ReduceFromRegion,
    all_reduce,
    all_to_all,
    shard,
)
from zoo.pairs.dense import axis


def mixture(x, scores, ups, downs):
    """Every expert takes every token, weighed by its score."""
    outputs = F.silu(x @ ups) @ downs
    return (outputs * scores.t().unsqueeze(-1)).sum(0)


def _within(size, backward):
    inputs = {"x": (5, 8), "router": (8, 3), "ups": (3, 8, 2 * size), "downs": (3, 2 * size, 8)}

    def forward_reference(x, router, ups, downs):
        return x + mixture(x, torch.softmax(x @ router, -1), ups, downs)

    def forward_ranks(mesh, x, router, ups, downs):
        partial = mixture(x, torch.softmax(x @ router, -1), ups, downs)
        return x + all_reduce(partial, mesh.tp)

    def reference(x, router, ups, downs):
        router, ups, downs = leaf(router), leaf(ups), leaf(downs)
        loss = mixture(x, torch.softmax(x @ router, -1), ups, downs).square().sum()
        return loss, *gradients(loss, [router, ups, downs])

    def ranks(mesh, x, router, ups, downs):
        router, ups, downs = leaf(router), leaf(ups), leaf(downs)
        scores = CopyToRegion.apply(torch.softmax(x @ router, -1), mesh.tp)
        partial = mixture(x, scores, ups, downs)
        loss = ReduceFromRegion.apply(partial, mesh.tp).square().sum()
        return loss, *gradients(loss, [router, ups, downs])

    outputs = {"0": "replicated", "1": "replicated", "2": "shard(2)", "3": "shard(1)"}
    return Case(
        f"experts sharded within{' with backward' if backward else ''} on {size}", axis(size),
        inputs,
        {"inputs": {"ups": "shard(ups, 2)", "downs": "shard(downs, 1)"},
         "outputs": outputs if backward else {"0": "replicated"}},
        reference if backward else forward_reference, ranks if backward else forward_ranks,
    )  # fmt: skip


def _by_experts(size, backward):
    inputs = {"x": (5, 8), "router": (8, 2 * size), "ups": (2 * size, 8, 6),
              "downs": (2 * size, 6, 8)}  # fmt: skip

    def forward_reference(x, router, ups, downs):
        return x + mixture(x, torch.softmax(x @ router, -1), ups, downs)

    def forward_ranks(mesh, x, router, ups, downs):
        scores = torch.softmax(x @ router, -1)
        partial = mixture(x, shard(scores, mesh.ep, 1), ups, downs)
        return x + all_reduce(partial, mesh.ep)

    def reference(x, router, ups, downs):
        router, ups, downs = leaf(router), leaf(ups), leaf(downs)
        loss = mixture(x, torch.softmax(x @ router, -1), ups, downs).square().sum()
        return loss, *gradients(loss, [router, ups, downs])

    def ranks(mesh, x, router, ups, downs):
        router, ups, downs = leaf(router), leaf(ups), leaf(downs)
        scores = CopyToRegion.apply(torch.softmax(x @ router, -1), mesh.ep)
        partial = mixture(x, shard(scores, mesh.ep, 1), ups, downs)
        loss = ReduceFromRegion.apply(partial, mesh.ep).square().sum()
        return loss, *gradients(loss, [router, ups, downs])

    outputs = {"0": "replicated", "1": "replicated", "2": "shard(0)", "3": "shard(0)"}
    return Case(
        f"experts on ranks{' with backward' if backward else ''} on {size}", axis(size, "ep"),
        inputs,
        {"inputs": {"ups": "shard(ups, 0)", "downs": "shard(downs, 0)"},
         "outputs": outputs if backward else {"0": "replicated"}},
        reference if backward else forward_reference, ranks if backward else forward_ranks,
    )  # fmt: skip


def _exchanged(size, backward):
    """The rows of each rank are ordered by expert, as many for each."""
    rows = 2

    def by_expert(x):
        tokens = x.view(size, size, rows, 8).transpose(0, 1)
        return tokens.reshape(size, size * rows, 8)

    def by_rank(y):
        return y.view(size, size, rows, 8).transpose(0, 1).reshape(-1, 8)

    def forward_reference(x, ups, downs):
        return x + by_rank(F.silu(by_expert(x) @ ups) @ downs)

    def forward_ranks(mesh, x, ups, downs):
        tokens = all_to_all(x, mesh.ep)
        return x + all_to_all(F.silu(tokens @ ups[0]) @ downs[0], mesh.ep)

    def reference(x, ups, downs):
        ups, downs = leaf(ups), leaf(downs)
        loss = (x + by_rank(F.silu(by_expert(x) @ ups) @ downs)).square().mean()
        return loss, *gradients(loss, [ups, downs])

    def ranks(mesh, x, ups, downs):
        ups, downs = leaf(ups), leaf(downs)
        tokens = ExchangeRows.apply(x, mesh.ep)
        outputs = x + ExchangeRows.apply(F.silu(tokens @ ups[0]) @ downs[0], mesh.ep)
        loss = outputs.square().mean()
        of_ups, of_downs = gradients(loss, [ups, downs])
        return all_reduce(loss, mesh.ep, "avg"), of_ups / size, of_downs / size

    return Case(
        f"experts by exchange{' with backward' if backward else ''} on {size}", axis(size, "ep"),
        {"x": (size * size * rows, 8), "ups": (size, 8, 6), "downs": (size, 6, 8)},
        {"inputs": {"x": "shard(x, 0)", "ups": "shard(ups, 0)", "downs": "shard(downs, 0)"},
         "outputs": {"0": "replicated", "1": "shard(0)", "2": "shard(0)"} if backward
         else {"0": "shard(0)"}},
        reference if backward else forward_reference, ranks if backward else forward_ranks,
    )  # fmt: skip


def _shared(size):
    def reference(x, up, down, shared_up, shared_down):
        return F.silu(x @ up) @ down + F.silu(x @ shared_up) @ shared_down

    def ranks(mesh, x, up, down, shared_up, shared_down):
        routed = F.silu(x @ up) @ down
        shared = F.silu(x @ shared_up) @ shared_down
        return all_reduce(routed + shared, mesh.tp)

    shards = {"up": "shard(up, 1)", "down": "shard(down, 0)",
              "shared_up": "shard(shared_up, 1)", "shared_down": "shard(shared_down, 0)"}  # fmt: skip
    return Case(
        f"shared expert on {size}", axis(size),
        {"x": (5, 8), "up": (8, 2 * size), "down": (2 * size, 8), "shared_up": (8, 2 * size),
         "shared_down": (2 * size, 8)},
        {"inputs": shards, "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def pairs():
    for size in (2, 4):
        yield _within(size, backward=False)
        yield _by_experts(size, backward=False)
        yield _exchanged(size, backward=False)
    yield _within(2, backward=True)
    yield _by_experts(2, backward=True)
    yield _exchanged(2, backward=True)
    yield _by_experts(8, backward=False)
    yield _shared(4)
