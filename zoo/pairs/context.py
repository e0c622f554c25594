# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Context parallelism: keys and values gathered, or around a ring."""

import torch

from zoo.common.cases import Case
from zoo.common.collectives import all_gather, rotate
from zoo.pairs.dense import axis

ROWS, WIDTH = 2, 4


def _inputs(size):
    shape = (ROWS * size, WIDTH)
    return {"query": shape, "key": shape, "value": shape}


RELATIONS = {
    "inputs": {name: f"shard({name}, 0)" for name in ("query", "key", "value")},
    "outputs": {"0": "shard(0)"},
}


def attend(query, key, value, first=0):
    """Causal: row i of the queries is position first + i."""
    scores = query @ key.t()
    positions = torch.arange(query.shape[0]) + first
    seen = torch.arange(key.shape[0]) <= positions.unsqueeze(1)
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ value


def _gathered(size):
    def reference(query, key, value):
        return attend(query, key, value)

    def ranks(mesh, query, key, value):
        key, value = all_gather(key, mesh.cp), all_gather(value, mesh.cp)
        return attend(query, key, value, mesh.cp.index * ROWS)

    name = f"causal attention on gathered keys on {size}"
    return Case(name, axis(size, "cp"), _inputs(size), RELATIONS, reference, ranks)


def _ring(size):
    """Exponentials are summed block by block; the reference's softmax does the rest."""

    def reference(query, key, value):
        return torch.softmax(query @ key.t(), -1) @ value

    def ranks(mesh, query, key, value):
        weights = (query @ key.t()).exp()
        total, mixed = weights.sum(-1, keepdim=True), weights @ value
        for _ in range(mesh.cp.size - 1):
            key, value = rotate([key, value], mesh.cp)
            weights = (query @ key.t()).exp()
            total, mixed = total + weights.sum(-1, keepdim=True), mixed + weights @ value
        return mixed / total

    name = f"attention around a ring on {size}"
    return Case(name, axis(size, "cp"), _inputs(size), RELATIONS, reference, ranks)


def _online_ring(size):
    """With the largest score so far, by which earlier sums are rescaled."""

    def reference(query, key, value):
        return torch.softmax(query @ key.t(), -1) @ value

    def ranks(mesh, query, key, value):
        scores = query @ key.t()
        largest = scores.amax(-1, keepdim=True)
        weights = (scores - largest).exp()
        total, mixed = weights.sum(-1, keepdim=True), weights @ value
        for _ in range(mesh.cp.size - 1):
            key, value = rotate([key, value], mesh.cp)
            scores = query @ key.t()
            larger = torch.maximum(largest, scores.amax(-1, keepdim=True))
            rescale, weights = (largest - larger).exp(), (scores - larger).exp()
            total = total * rescale + weights.sum(-1, keepdim=True)
            mixed, largest = mixed * rescale + weights @ value, larger
        return mixed / total

    name = f"attention around a ring with running maxima on {size}"
    return Case(name, axis(size, "cp"), _inputs(size), RELATIONS, reference, ranks)


def _causal_ring(size):
    """Blocks of later positions are skipped: ranks run different programs."""

    def reference(query, key, value):
        scores = query @ key.t()
        seen = torch.ones(scores.shape, dtype=torch.bool).tril()
        weights = scores.exp() * seen
        return (weights @ value) / weights.sum(-1, keepdim=True)

    def ranks(mesh, query, key, value):
        seen = torch.ones(ROWS, ROWS, dtype=torch.bool).tril()
        weights = (query @ key.t()).exp() * seen
        total, mixed = weights.sum(-1, keepdim=True), weights @ value
        for step in range(1, mesh.cp.size):
            key, value = rotate([key, value], mesh.cp)
            if step <= mesh.cp.index:
                weights = (query @ key.t()).exp()
                total, mixed = total + weights.sum(-1, keepdim=True), mixed + weights @ value
        return mixed / total

    name = f"causal attention around a ring on {size}"
    return Case(name, axis(size, "cp"), _inputs(size), RELATIONS, reference, ranks)


def pairs():
    for size in (2, 4):
        yield _gathered(size)
        yield _ring(size)
        yield _causal_ring(size)
    yield _online_ring(2)
    yield _gathered(8)
    yield _causal_ring(8)
