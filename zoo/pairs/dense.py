# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Dense layers: column and row parallel, packed, normed over shards, along two axes."""

import torch
import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Case
from zoo.common.collectives import CopyToRegion, ReduceFromRegion, all_gather, all_reduce


def axis(size, name="tp"):
    return {name: [list(range(size))]}


def _mlp(size):
    def reference(x, up, down):
        return x + F.silu(x @ up) @ down

    def ranks(mesh, x, up, down):
        inner = F.silu(x @ up)
        partial = inner @ down
        return x + all_reduce(partial, mesh.tp)

    return Case(
        f"mlp on {size}", axis(size), {"x": (6, 8), "up": (8, 2 * size), "down": (2 * size, 8)},
        {"inputs": {"up": "shard(up, 1)", "down": "shard(down, 0)"},
         "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def _mlp_with_bias(size):
    def reference(x, up, up_bias, down, down_bias):
        return F.linear(F.gelu(F.linear(x, up, up_bias)), down, down_bias)

    def ranks(mesh, x, up, up_bias, down, down_bias):
        inner = F.gelu(F.linear(x, up, up_bias))
        reduced = all_reduce(F.linear(inner, down), mesh.tp)
        return reduced + down_bias

    return Case(
        f"mlp with bias on {size}", axis(size),
        {"x": (6, 8), "up": (2 * size, 8), "up_bias": (2 * size,), "down": (8, 2 * size),
         "down_bias": (8,)},
        {"inputs": {"up": "shard(up, 0)", "up_bias": "shard(up_bias, 0)",
                    "down": "shard(down, 1)"}, "outputs": {"0": "replicated"}},
        reference, ranks,
    )  # fmt: skip


def _gated(size):
    width = 2 * size

    def dense(x, gate_up, down):
        gate, up = (x @ gate_up).chunk(2, -1)
        return (F.silu(gate) * up) @ down

    def reference(x, gate_up, down):
        return dense(x, gate_up, down)

    def ranks(mesh, x, gate_up, down):
        return all_reduce(dense(x, gate_up, down), mesh.tp)

    halves = ", ".join(
        f"shard(slice(gate_up, 1, {start}, {start + width}), 1)" for start in (0, width)
    )
    return Case(
        f"packed gated mlp on {size}", axis(size),
        {"x": (6, 8), "gate_up": (8, 2 * width), "down": (width, 8)},
        {"inputs": {"gate_up": f"cat([{halves}], 1)", "down": "shard(down, 0)"},
         "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def _mlp_backward(size):
    def reference(x, norm, up, down):
        norm, up, down = leaf(norm), leaf(up), leaf(down)
        hidden = F.rms_norm(x, (8,), eps=1e-5) * norm
        loss = (F.silu(hidden @ up) @ down).square().mean()
        return loss, *gradients(loss, [norm, up, down])

    def ranks(mesh, x, norm, up, down):
        norm, up, down = leaf(norm), leaf(up), leaf(down)
        hidden = CopyToRegion.apply(F.rms_norm(x, (8,), eps=1e-5) * norm, mesh.tp)
        partial = F.silu(hidden @ up) @ down
        loss = ReduceFromRegion.apply(partial, mesh.tp).square().mean()
        return loss, *gradients(loss, [norm, up, down])

    return Case(
        f"mlp with backward on {size}", axis(size),
        {"x": (6, 8), "norm": (8,), "up": (8, 2 * size), "down": (2 * size, 8)},
        {"inputs": {"up": "shard(up, 1)", "down": "shard(down, 0)"},
         "outputs": {"0": "replicated", "1": "replicated", "2": "shard(1)", "3": "shard(0)"}},
        reference, ranks,
    )  # fmt: skip


def _column_gathered(size):
    def reference(x, w, v):
        return torch.tanh(x @ w) @ v

    def ranks(mesh, x, w, v):
        columns = torch.tanh(x @ w)
        return all_gather(columns, mesh.tp, dim=1) @ v

    return Case(
        f"gathered columns on {size}", axis(size), {"x": (6, 8), "w": (8, 2 * size), "v": (2 * size, 5)},
        {"inputs": {"w": "shard(w, 1)"}, "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def _norm_over_shards(size):
    width = 3 * size

    def reference(x, norm, w):
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
        return (x * scale * norm) @ w

    def ranks(mesh, x, norm, w):
        squares = all_reduce(x.square().sum(-1, keepdim=True), mesh.tp)
        scale = torch.rsqrt(squares / width + 1e-5)
        return all_reduce((x * scale * norm) @ w, mesh.tp)

    return Case(
        f"norm over shards on {size}", axis(size), {"x": (4, width), "norm": (width,), "w": (width, 5)},
        {"inputs": {"x": "shard(x, 1)", "norm": "shard(norm, 0)", "w": "shard(w, 0)"},
         "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def _two_axes():
    """A product whose rows of weights lie along one axis, and columns along the other."""

    def reference(x, w, v):
        return torch.relu(x @ w) @ v

    def ranks(mesh, x, w, v):
        inner = torch.relu(all_reduce(x @ w, mesh.row))
        return all_reduce(inner @ v, mesh.column)

    return Case(
        "products over two axes on 4", {"row": [[0, 2], [1, 3]], "column": [[0, 1], [2, 3]]},
        {"x": (6, 8), "w": (8, 6), "v": (6, 4)},
        {"inputs": {"x": "shard(x, 1, row)", "w": "shard(shard(w, 0, row), 1, column)",
                    "v": "shard(shard(v, 1, row), 0, column)"},
         "outputs": {"0": "shard(1, row)"}}, reference, ranks,
    )  # fmt: skip


def _stack(size, layers):
    """Several layers with norms; the middle of each is sharded."""

    def block(x, norm, up, down, reduce):
        hidden = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * norm
        return x + reduce(F.silu(hidden @ up) @ down)

    def reference(x, norms, ups, downs):
        for norm, up, down in zip(norms.unbind(), ups.unbind(), downs.unbind()):
            x = block(x, norm, up, down, lambda y: y)
        return x

    def ranks(mesh, x, norms, ups, downs):
        for norm, up, down in zip(norms.unbind(), ups.unbind(), downs.unbind()):
            x = block(x, norm, up, down, lambda y: all_reduce(y, mesh.tp))
        return x

    return Case(
        f"{layers} layers on {size}", axis(size),
        {"x": (4, 8), "norms": (layers, 8), "ups": (layers, 8, 2 * size),
         "downs": (layers, 2 * size, 8)},
        {"inputs": {"ups": "shard(ups, 2)", "downs": "shard(downs, 1)"},
         "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def pairs():
    for size in (2, 4, 8):
        yield _mlp(size)
        yield _mlp_backward(size)
    for size in (2, 4):
        yield _mlp_with_bias(size)
        yield _gated(size)
        yield _column_gathered(size)
        yield _norm_over_shards(size)
    yield _two_axes()
    yield _stack(2, 3)
