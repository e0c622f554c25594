# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Pipeline stages, joined by messages. Every rank runs a program of its own."""

import torch

from zoo.common.cases import Case
from zoo.common.collectives import all_reduce, broadcast, receive, send


def stage(x, w, v):
    return x + torch.tanh(x @ w) @ v


def _stages(size):
    """The last stage broadcasts the result, so that all ranks have it."""

    def reference(x, ws, vs):
        for w, v in zip(ws.unbind(), vs.unbind()):
            x = stage(x, w, v)
        return x

    def ranks(mesh, x, ws, vs):
        if mesh.pp.index > 0:
            x = receive(x, mesh.pp.previous, mesh.pp)
        y = stage(x, ws[0], vs[0])
        if mesh.pp.index < size - 1:
            send(y, mesh.pp.next, mesh.pp)
        return broadcast(y, mesh.pp, source=size - 1)

    return Case(
        f"pipeline of {size}", {"pp": [list(range(size))]},
        {"x": (4, 6), "ws": (size, 6, 5), "vs": (size, 5, 6)},
        {"inputs": {"ws": "shard(ws, 0)", "vs": "shard(vs, 0)"}, "outputs": {"0": "replicated"}},
        reference, ranks,
    )  # fmt: skip


def _micro_batches(size, count):
    """Micro-batches follow each other; tags tell them apart."""

    def reference(x, ws, vs):
        for w, v in zip(ws.unbind(), vs.unbind()):
            x = stage(x, w, v)
        return x

    def ranks(mesh, x, ws, vs):
        results = []
        for tag, rows in enumerate(x.chunk(count)):
            if mesh.pp.index > 0:
                rows = receive(rows, mesh.pp.previous, mesh.pp, tag)
            y = stage(rows, ws[0], vs[0])
            if mesh.pp.index < size - 1:
                send(y, mesh.pp.next, mesh.pp, tag)
            results.append(y)
        return broadcast(torch.cat(results), mesh.pp, source=size - 1)

    return Case(
        f"pipeline of {size}, {count} micro-batches", {"pp": [list(range(size))]},
        {"x": (2 * count, 6), "ws": (size, 6, 5), "vs": (size, 5, 6)},
        {"inputs": {"ws": "shard(ws, 0)", "vs": "shard(vs, 0)"}, "outputs": {"0": "replicated"}},
        reference, ranks,
    )  # fmt: skip


def _with_tensor_parallelism():
    def reference(x, ws, vs):
        for w, v in zip(ws.unbind(), vs.unbind()):
            x = stage(x, w, v)
        return x

    def ranks(mesh, x, ws, vs):
        if mesh.pp.index > 0:
            x = receive(x, mesh.pp.previous, mesh.pp)
        y = x + all_reduce(torch.tanh(x @ ws[0]) @ vs[0], mesh.tp)
        if mesh.pp.index == 0:
            send(y, mesh.pp.next, mesh.pp)
        return broadcast(y, mesh.pp, source=1)

    return Case(
        "pipeline x tensor parallel on 2 x 2", {"pp": [[0, 2], [1, 3]], "tp": [[0, 1], [2, 3]]},
        {"x": (4, 6), "ws": (2, 6, 4), "vs": (2, 4, 6)},
        {"inputs": {"ws": "shard(shard(ws, 0, pp), 2, tp)", "vs": "shard(shard(vs, 0, pp), 1, tp)"},
         "outputs": {"0": "replicated"}}, reference, ranks,
    )  # fmt: skip


def pairs():
    for size in (2, 4, 8):
        yield _stages(size)
    yield _micro_batches(2, 2)
    yield _micro_batches(4, 3)
    yield _with_tensor_parallelism()
