# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Data parallelism, with sharded parameters, with tensor parallelism, in micro-batches."""

import torch
import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Case
from zoo.common.collectives import (
    CopyToRegion,
    ReduceFromRegion,
    all_gather,
    all_reduce,
    reduce_scatter,
)
from zoo.pairs.dense import axis


def loss_of(x, w, v, target):
    return (torch.tanh(x @ w) @ v - target).square().mean()


def step(x, w, v, target):
    w, v = leaf(w), leaf(v)
    loss = loss_of(x, w, v, target)
    return loss, *gradients(loss, [w, v])


def accumulate(step, batches):
    """The sums of what a step returns, each over the number of batches."""
    totals = None
    for batch in batches:
        values = [value / len(batches) for value in step(*batch)]
        totals = values if totals is None else [a + b for a, b in zip(totals, values)]
    return totals


def _inputs(size):
    return {"x": (2 * size, 4), "w": (4, 2 * size), "v": (2 * size, 3), "target": (2 * size, 3)}


BATCH = {"x": "shard(x, 0)", "target": "shard(target, 0)"}
REPLICATED = {"0": "replicated", "1": "replicated", "2": "replicated"}


def _replicated(size):
    def reference(x, w, v, target):
        return step(x, w, v, target)

    def ranks(mesh, x, w, v, target):
        return [all_reduce(value, mesh.dp, "avg") for value in step(x, w, v, target)]

    return Case(
        f"data parallel step on {size}", axis(size, "dp"), _inputs(size),
        {"inputs": BATCH, "outputs": REPLICATED}, reference, ranks,
    )  # fmt: skip


def _sharded_parameters(size):
    """Parameters are gathered before use, and gradients reduce-scattered, as in FSDP."""

    def reference(x, w, v, target):
        return step(x, w, v, target)

    def ranks(mesh, x, w, v, target):
        whole = all_gather(w, mesh.dp, dim=1), all_gather(v, mesh.dp)
        loss, of_w, of_v = step(x, *whole, target)
        of_w = reduce_scatter(of_w, mesh.dp, dim=1) / size
        of_v = reduce_scatter(of_v, mesh.dp, reduction="avg")
        return all_reduce(loss, mesh.dp, "avg"), of_w, of_v

    return Case(
        f"sharded parameters on {size}", axis(size, "dp"), _inputs(size),
        {"inputs": {**BATCH, "w": "shard(w, 1)", "v": "shard(v, 0)"},
         "outputs": {"0": "replicated", "1": "shard(1)", "2": "shard(0)"}}, reference, ranks,
    )  # fmt: skip


def _forward_gathers(size):
    def reference(x, w, v):
        return F.gelu(x @ w) @ v

    def ranks(mesh, x, w, v):
        return F.gelu(x @ all_gather(w, mesh.dp)) @ all_gather(v, mesh.dp)

    return Case(
        f"gathered parameters on {size}", axis(size, "dp"),
        {"x": (2 * size, 2 * size), "w": (2 * size, 2 * size), "v": (2 * size, 3)},
        {"inputs": {"x": "shard(x, 0)", "w": "shard(w, 0)", "v": "shard(v, 0)"},
         "outputs": {"0": "shard(0)"}}, reference, ranks,
    )  # fmt: skip


def grid(rows, columns):
    """A mesh of two axes: dp is the slow one."""
    ranks = [[row * columns + column for column in range(columns)] for row in range(rows)]
    return {"dp": [list(column) for column in zip(*ranks)], "tp": ranks}


def _with_tensor_parallelism(rows, columns, backward):
    size = max(rows, columns)

    def forward_reference(x, w, v, target):
        return torch.tanh(x @ w) @ v - target

    def forward_ranks(mesh, x, w, v, target):
        return all_reduce(torch.tanh(x @ w) @ v, mesh.tp) - target

    def reference(x, w, v, target):
        return step(x, w, v, target)

    def ranks(mesh, x, w, v, target):
        w, v = leaf(w), leaf(v)
        inner = torch.tanh(CopyToRegion.apply(x, mesh.tp) @ w)
        error = ReduceFromRegion.apply(inner @ v, mesh.tp) - target
        loss = error.square().mean()
        values = [loss, *gradients(loss, [w, v])]
        return [all_reduce(value, mesh.dp, "avg") for value in values]

    shards = {"x": "shard(x, 0, dp)", "target": "shard(target, 0, dp)", "w": "shard(w, 1, tp)",
              "v": "shard(v, 0, tp)"}  # fmt: skip
    outputs = {"0": "replicated", "1": "shard(1, tp)", "2": "shard(0, tp)"}
    return Case(
        f"data x tensor parallel{' step' if backward else ''} on {rows} x {columns}",
        grid(rows, columns), _inputs(size),
        {"inputs": shards, "outputs": outputs if backward else {"0": "shard(0, dp)"}},
        reference if backward else forward_reference, ranks if backward else forward_ranks,
    )  # fmt: skip


def _micro_batches(size):
    """The reference sees the batch at once, the ranks in two halves."""

    def reference(x, w, v, target):
        return step(x, w, v, target)

    def ranks(mesh, x, w, v, target):
        batches = list(zip(x.chunk(2), target.chunk(2)))
        totals = accumulate(lambda rows, wanted: step(rows, w, v, wanted), batches)
        return [all_reduce(value, mesh.dp, "avg") for value in totals]

    return Case(
        f"accumulated gradients on {size}", axis(size, "dp"), _inputs(size),
        {"inputs": BATCH, "outputs": REPLICATED}, reference, ranks,
    )  # fmt: skip


def _accumulated_by_both(size, count):
    """The reference has as many micro-batches as all ranks together, in a loop of its own;
    the ranks reduce-scatter the sums of their gradients."""

    def reference(x, w, v, target):
        batches = list(zip(x.chunk(size * count), target.chunk(size * count)))
        return accumulate(lambda rows, wanted: step(rows, w, v, wanted), batches)

    def ranks(mesh, x, w, v, target):
        whole = all_gather(w, mesh.dp, dim=1), all_gather(v, mesh.dp)
        batches = list(zip(x.chunk(count), target.chunk(count)))
        loss, of_w, of_v = accumulate(lambda rows, wanted: step(rows, *whole, wanted), batches)
        of_w = reduce_scatter(of_w, mesh.dp, dim=1, reduction="avg")
        return (
            all_reduce(loss, mesh.dp, "avg"), of_w, reduce_scatter(of_v, mesh.dp, reduction="avg")
        )  # fmt: skip

    inputs = _inputs(size)
    inputs["x"] = (size * count, 4)
    inputs["target"] = (size * count, 3)
    return Case(
        f"accumulated sharded gradients on {size}, {count} micro-batches", axis(size, "dp"),
        inputs,
        {"inputs": {**BATCH, "w": "shard(w, 1)", "v": "shard(v, 0)"},
         "outputs": {"0": "replicated", "1": "shard(1)", "2": "shard(0)"}}, reference, ranks,
    )  # fmt: skip


def pairs():
    for size in (2, 4, 8):
        yield _replicated(size)
        yield _sharded_parameters(size)
    yield _forward_gathers(2)
    yield _forward_gathers(4)
    yield _with_tensor_parallelism(2, 2, backward=False)
    yield _with_tensor_parallelism(2, 4, backward=False)
    yield _with_tensor_parallelism(2, 2, backward=True)
    yield _with_tensor_parallelism(4, 2, backward=True)
    yield _micro_batches(2)
    yield _micro_batches(4)
    yield _accumulated_by_both(2, 3)
    yield _accumulated_by_both(4, 2)
