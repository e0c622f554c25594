# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sequence parallelism: Megatron's, by slices of replicated values, and Ulysses'."""

import torch
import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Case
from zoo.common.collectives import (
    GatherFromSequence,
    ReduceFromRegion,
    ReduceScatterToSequence,
    all_gather,
    all_reduce,
    exchange_dims,
    reduce_scatter,
    shard,
)
from zoo.pairs.dense import axis


def normalize(x, norm):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * norm


def block(x, norm, up, down, gather, scatter):
    inner = F.silu(gather(normalize(x, norm)) @ up)
    return x + scatter(inner @ down)


def same(x):
    return x


def _inputs(size):
    return {"x": (2 * size, 8), "norm": (8,), "up": (8, 2 * size), "down": (2 * size, 8)}


def _megatron(size):
    def reference(x, norm, up, down):
        return block(block(x, norm, up, down, same, same), norm, up, down, same, same)

    def ranks(mesh, x, norm, up, down):
        def gather(y):
            return all_gather(y, mesh.tp)

        def scatter(y):
            return reduce_scatter(y, mesh.tp)

        x = block(x, norm, up, down, gather, scatter)
        return block(x, norm, up, down, gather, scatter)

    return Case(
        f"sequence parallel layers on {size}", axis(size), _inputs(size),
        {"inputs": {"x": "shard(x, 0)", "up": "shard(up, 1)", "down": "shard(down, 0)"},
         "outputs": {"0": "shard(0)"}}, reference, ranks,
    )  # fmt: skip


def _megatron_dim1(size):
    """Batch before sequence: collectives along dim 1."""

    def reference(x, norm, up, down):
        return block(x, norm, up, down, same, same)

    def ranks(mesh, x, norm, up, down):
        return block(
            x, norm, up, down,
            lambda y: all_gather(y, mesh.tp, dim=1),
            lambda y: reduce_scatter(y, mesh.tp, dim=1),
        )  # fmt: skip

    return Case(
        f"sequence parallel layer along dim 1 on {size}", axis(size),
        {**_inputs(size), "x": (3, 2 * size, 8)},
        {"inputs": {"x": "shard(x, 1)", "up": "shard(up, 1)", "down": "shard(down, 0)"},
         "outputs": {"0": "shard(1)"}}, reference, ranks,
    )  # fmt: skip


def _megatron_backward(size):
    def reference(x, norm, up, down):
        x, norm, up, down = (leaf(t) for t in (x, norm, up, down))
        loss = block(x, norm, up, down, same, same).square().sum()
        return loss, *gradients(loss, [x, norm, up, down])

    def ranks(mesh, x, norm, up, down):
        x, norm, up, down = (leaf(t) for t in (x, norm, up, down))
        rows = block(
            x, norm, up, down,
            lambda y: GatherFromSequence.apply(y, mesh.tp),
            lambda y: ReduceScatterToSequence.apply(y, mesh.tp),
        )  # fmt: skip
        loss = ReduceFromRegion.apply(rows.square().sum(), mesh.tp)
        of_x, of_norm, of_up, of_down = gradients(loss, [x, norm, up, down])
        return loss, of_x, all_reduce(of_norm, mesh.tp), of_up, of_down

    return Case(
        f"sequence parallel layer with backward on {size}", axis(size), _inputs(size),
        {"inputs": {"x": "shard(x, 0)", "up": "shard(up, 1)", "down": "shard(down, 0)"},
         "outputs": {"0": "replicated", "1": "shard(0)", "2": "replicated", "3": "shard(1)",
                     "4": "shard(0)"}}, reference, ranks,
    )  # fmt: skip


def _by_slices(size):
    """The residual is replicated, and each rank slices its own rows, as compilers do."""

    def reference(residual, x, w, norm, v):
        hidden = residual + x @ w
        return normalize(hidden, norm) @ v, hidden

    def ranks(mesh, residual, x, w, norm, v):
        hidden = reduce_scatter(x @ w, mesh.tp) + shard(residual, mesh.tp)
        return all_gather(normalize(hidden, norm), mesh.tp) @ v, hidden

    return Case(
        f"sequence parallel by slices on {size}", axis(size),
        {"residual": (2 * size, 8), "x": (2 * size, 2 * size), "w": (2 * size, 8), "norm": (8,),
         "v": (8, 4)},
        {"inputs": {"x": "shard(x, 1)", "w": "shard(w, 0)"},
         "outputs": {"0": "replicated", "1": "shard(0)"}}, reference, ranks,
    )  # fmt: skip


def _ulysses(size):
    def mix(query, key, value):
        scores = torch.softmax(torch.einsum("thd,shd->hts", query, key), -1)
        return torch.einsum("hts,shd->thd", scores, value)

    def reference(x, wq, wk, wv, wo):
        query, key, value = ((x @ w).unflatten(-1, (-1, 3)) for w in (wq, wk, wv))
        return mix(query, key, value).flatten(1) @ wo

    def ranks(mesh, x, wq, wk, wv, wo):
        query, key, value = (
            exchange_dims((x @ w).unflatten(-1, (-1, 3)), mesh.tp, split=1, join=0)
            for w in (wq, wk, wv)
        )
        mixed = exchange_dims(mix(query, key, value), mesh.tp, split=0, join=1)
        return mixed.flatten(1) @ wo

    width = 3 * size
    return Case(
        f"exchanged heads and positions on {size}", axis(size),
        {"x": (2 * size, 8), "wq": (8, width), "wk": (8, width), "wv": (8, width), "wo": (width, 8)},
        {"inputs": {"x": "shard(x, 0)"}, "outputs": {"0": "shard(0)"}}, reference, ranks,
    )  # fmt: skip


def pairs():
    for size in (2, 4):
        yield _megatron(size)
        yield _megatron_backward(size)
        yield _by_slices(size)
        yield _ulysses(size)
    yield _megatron_dim1(2)
    yield _megatron(8)
