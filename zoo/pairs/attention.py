# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Attention: sharded by heads, with fewer key heads than ranks, packed, rotated."""

import torch
import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Case
from zoo.common.collectives import CopyToRegion, ReduceFromRegion, all_reduce
from zoo.pairs.dense import axis

TOKENS, SIZE = 5, 4


def attend(query, key, value):
    """Causal attention of heads [H, T, D], spelled out."""
    scores = query @ key.transpose(-1, -2) * SIZE**-0.5
    tokens = scores.shape[-1]
    seen = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ value


def heads(x):
    return x.unflatten(-1, (-1, SIZE)).transpose(0, 1)


def joined(x):
    return x.transpose(0, 1).flatten(1)


def layer(x, wq, wk, wv, wo):
    query, key, value = heads(x @ wq), heads(x @ wk), heads(x @ wv)
    repeats = query.shape[0] // key.shape[0]
    if repeats > 1:
        key, value = (part.repeat_interleave(repeats, 0) for part in (key, value))
    return joined(attend(query, key, value)) @ wo


def _inputs(count, key_count):
    width, key_width = SIZE * count, SIZE * key_count
    return {"x": (TOKENS, 8), "wq": (8, width), "wk": (8, key_width), "wv": (8, key_width),
            "wo": (width, 8)}  # fmt: skip


SHARDS = {"wq": "shard(wq, 1)", "wk": "shard(wk, 1)", "wv": "shard(wv, 1)", "wo": "shard(wo, 0)"}


def _by_heads(size, count, key_count):
    def reference(x, wq, wk, wv, wo):
        return x + layer(x, wq, wk, wv, wo)

    def ranks(mesh, x, wq, wk, wv, wo):
        return x + all_reduce(layer(x, wq, wk, wv, wo), mesh.tp)

    relations = {"inputs": SHARDS, "outputs": {"0": "replicated"}}
    if key_count < size:
        # Several ranks have the same key head.
        of_rank = [key_count * rank // size * SIZE for rank in range(size)]
        relations = {
            "inputs": {name: SHARDS[name] for name in ("wq", "wo")},
            "inputs_of_rank": [
                {name: f"slice({name}, 1, {start}, {start + SIZE})" for name in ("wk", "wv")}
                for start in of_rank
            ],
            "outputs": {"0": "replicated"},
        }
    name = f"attention of {count} heads, {key_count} of keys, on {size}"
    return Case(name, axis(size), _inputs(count, key_count), relations, reference, ranks)


def _packed(size):
    def attention(x, wqkv, wo):
        query, key, value = (heads(part) for part in (x @ wqkv).chunk(3, -1))
        return joined(attend(query, key, value)) @ wo

    def reference(x, wq, wk, wv, wo):
        return attention(x, torch.cat([wq, wk, wv], 1), wo)

    def ranks(mesh, x, wqkv, wo):
        return all_reduce(attention(x, wqkv, wo), mesh.tp)

    packed = "cat([shard(wq, 1), shard(wk, 1), shard(wv, 1)], 1)"
    return Case(
        f"packed attention on {size}", axis(size), _inputs(size, size),
        {"inputs": {"wqkv": packed, "wo": "shard(wo, 0)"}, "outputs": {"0": "replicated"}},
        reference, ranks,
    )  # fmt: skip


def rotate_half(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


def _rotary(size):
    def attention(x, wq, wk, wv, wo, cosine, sine):
        query = rotate_half(heads(x @ wq), cosine, sine)
        key = rotate_half(heads(x @ wk), cosine, sine)
        return joined(attend(query, key, heads(x @ wv))) @ wo

    def reference(x, wq, wk, wv, wo, cosine, sine):
        return attention(x, wq, wk, wv, wo, cosine, sine)

    def ranks(mesh, x, wq, wk, wv, wo, cosine, sine):
        return all_reduce(attention(x, wq, wk, wv, wo, cosine, sine), mesh.tp)

    return Case(
        f"rotary attention on {size}", axis(size),
        {**_inputs(size, size), "cosine": (TOKENS, SIZE), "sine": (TOKENS, SIZE)},
        {"inputs": SHARDS, "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def _backward(size):
    def reference(x, wq, wk, wv, wo):
        x, wq, wk, wv, wo = (leaf(t) for t in (x, wq, wk, wv, wo))
        loss = layer(x, wq, wk, wv, wo).square().sum()
        return loss, *gradients(loss, [x, wq, wk, wv, wo])

    def ranks(mesh, x, wq, wk, wv, wo):
        x, wq, wk, wv, wo = (leaf(t) for t in (x, wq, wk, wv, wo))
        partial = layer(CopyToRegion.apply(x, mesh.tp), wq, wk, wv, wo)
        loss = ReduceFromRegion.apply(partial, mesh.tp).square().sum()
        return loss, *gradients(loss, [x, wq, wk, wv, wo])

    outputs = {"0": "replicated", "1": "replicated", "2": "shard(1)", "3": "shard(1)",
               "4": "shard(1)", "5": "shard(0)"}  # fmt: skip
    return Case(
        f"attention with backward on {size}", axis(size), _inputs(size, size),
        {"inputs": SHARDS, "outputs": outputs}, reference, ranks,
    )  # fmt: skip


def _fused(size):
    def attention(x, wq, wk, wv, wo):
        query, key, value = (heads(x @ w).unsqueeze(0) for w in (wq, wk, wv))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return joined(mixed.squeeze(0)) @ wo

    def reference(x, wq, wk, wv, wo):
        return attention(x, wq, wk, wv, wo)

    def ranks(mesh, x, wq, wk, wv, wo):
        return all_reduce(attention(x, wq, wk, wv, wo), mesh.tp)

    return Case(
        f"fused attention on {size}", axis(size), _inputs(size, size),
        {"inputs": SHARDS, "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def pairs():
    yield _by_heads(2, 4, 4)
    yield _by_heads(4, 4, 4)
    yield _by_heads(8, 8, 8)
    yield _by_heads(2, 4, 2)
    yield _by_heads(4, 8, 2)
    yield _by_heads(8, 8, 2)
    yield _by_heads(4, 4, 1)
    for size in (2, 4):
        yield _packed(size)
        yield _backward(size)
    yield _rotary(2)
    yield _rotary(4)
    yield _fused(2)
