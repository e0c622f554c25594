# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Pipeline stages, joined by messages. Every rank runs a program of its own."""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Case
from zoo.common.collectives import all_reduce, begin_send, broadcast, receive, send, wait


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


def _result_on_the_last(size):
    """The other stages return what they have sent, which is no output of the reference."""

    def reference(x, ws, vs):
        for w, v in zip(ws.unbind(), vs.unbind()):
            x = stage(x, w, v)
        return x

    def ranks(mesh, x, ws, vs):
        if mesh.pp.index > 0:
            x = receive(x, mesh.pp.previous, mesh.pp)
        y = stage(x, ws[0], vs[0])
        if mesh.pp.index == size - 1:
            return x, y
        send(y, mesh.pp.next, mesh.pp)
        return y

    return Case(
        f"pipeline of {size} with the result on the last", {"pp": [list(range(size))]},
        {"x": (4, 6), "ws": (size, 6, 5), "vs": (size, 5, 6)},
        {"inputs": {"ws": "shard(ws, 0)", "vs": "shard(vs, 0)"},
         "outputs": {"0": {"output": 1, "relation": "replicated"}}},
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


def in_order_of_gpipe(index, size, count):
    """What a stage does: forward or not, and with which micro-batch."""
    return [(True, batch) for batch in range(count)] + [(False, batch) for batch in range(count)]


def in_order_of_1f1b(index, size, count):
    ahead = min(size - 1 - index, count)
    steps = [(True, batch) for batch in range(ahead)]
    for batch in range(count):
        if ahead + batch < count:
            steps.append((True, ahead + batch))
        steps.append((False, batch))
    return steps


def train_stage(mesh, steps, batches, targets, w, v):
    """The loss, on the last stage, and the gradients of this stage, summed over micro-batches."""
    axis, count = mesh.pp, len(batches)
    is_first, is_last = axis.index == 0, axis.index == axis.size - 1
    pending, kept, loss, totals = [], {}, torch.zeros(()), None
    for is_forward, batch in steps:
        if is_forward:
            rows = batches[batch]
            rows = leaf(rows if is_first else receive(rows, axis.previous, axis, batch))
            own = leaf(w), leaf(v)
            y = stage(rows, *own)
            if is_last:
                y = (y - targets[batch]).square().mean() / count
                loss = loss + y
            else:
                pending.append(begin_send(y.detach(), axis.next, axis, batch))
            kept[batch] = y, (rows, *own)
        else:
            y, reads = kept.pop(batch)
            gradient = None if is_last else receive(y.detach(), axis.next, axis, count + batch)
            of_rows, *found = gradients(y, reads, gradient)
            if not is_first:
                pending.append(begin_send(of_rows, axis.previous, axis, count + batch))
            totals = found if totals is None else [a + b for a, b in zip(totals, found)]
    for message in pending:
        wait(message)
    return loss.detach(), *totals


def _step(size, count, order, name):
    """Forward and backward in micro-batches, which the reference takes at once."""

    def reference(x, target, ws, vs):
        ws, vs = leaf(ws), leaf(vs)
        for w, v in zip(ws.unbind(), vs.unbind()):
            x = stage(x, w, v)
        loss = (x - target).square().mean()
        return loss, *gradients(loss, [ws, vs])

    def ranks(mesh, x, target, ws, vs):
        steps = order(mesh.pp.index, size, count)
        loss, of_w, of_v = train_stage(
            mesh, steps, x.chunk(count), target.chunk(count), ws[0], vs[0]
        )
        return broadcast(loss, mesh.pp, source=size - 1), of_w.unsqueeze(0), of_v.unsqueeze(0)

    return Case(
        f"{name} step of {size}, {count} micro-batches", {"pp": [list(range(size))]},
        {"x": (2 * count, 6), "target": (2 * count, 6), "ws": (size, 6, 5), "vs": (size, 5, 6)},
        {"inputs": {"ws": "shard(ws, 0)", "vs": "shard(vs, 0)"},
         "outputs": {"0": "replicated", "1": "shard(0)", "2": "shard(0)"}},
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
    yield _result_on_the_last(2)
    yield _micro_batches(2, 2)
    yield _micro_batches(4, 3)
    yield _step(2, 2, in_order_of_gpipe, "GPipe")
    yield _step(4, 3, in_order_of_gpipe, "GPipe")
    yield _step(2, 4, in_order_of_1f1b, "1F1B")
    yield _step(4, 6, in_order_of_1f1b, "1F1B")
    yield _with_tensor_parallelism()
