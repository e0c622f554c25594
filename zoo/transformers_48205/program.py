# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Expert parallelism: the mask of remote experts leaves a partial gradient of the scores.

Every rank routes all tokens, and zeroes the slots whose experts are on other ranks. The
gradient of the scores is that of the rank's own slots, and no rank sums these gradients:
the router and all that is upstream of it miss the contributions of remote experts. The
thread's other defect, rows that a kernel leaves uninitialized, is not reduced here.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.cases import Integers
from zoo.common.collectives import CopyToRegion, ReduceFromRegion

ISSUE = ("huggingface/transformers", 48205)
MESH = {"ep": [[0, 1]]}
INPUTS = {
    "x": (6, 8), "gate": (8, 4), "slots": Integers((6, 2), 0, 4), "experts": (4, 8, 8),
}  # fmt: skip
RELATIONS = {
    "inputs": {"experts": "shard(experts, 0)"},
    "outputs": {"0": "replicated", "1": "replicated", "2": "replicated"},
}
SAYS = ("no rank has reduced",)


def outputs_of(x, scores, slots, experts):
    return ((x[:, None, None, :] @ experts[slots]).squeeze(2) * scores.unsqueeze(-1)).sum(1)


def reference(x, gate, slots, experts):
    x, gate = leaf(x), leaf(gate)
    scores = torch.softmax(x @ gate, -1).gather(1, slots)
    output = outputs_of(x, scores, slots, experts)
    return output, *gradients(output.square().sum(), [gate, x])


def mixed(mesh, x, scores, slots, experts):
    local = (slots - 2 * mesh.ep.index).masked_fill(slots // 2 != mesh.ep.index, 0)
    partial = outputs_of(CopyToRegion.apply(x, mesh.ep), scores, local, experts)
    return ReduceFromRegion.apply(partial, mesh.ep)


def faulty(mesh, x, gate, slots, experts):
    x, gate = leaf(x), leaf(gate)
    scores = torch.softmax(x @ gate, -1).gather(1, slots)  # its first reader
    scores = scores.masked_fill(slots // 2 != mesh.ep.index, 0.0)  # the fault
    output = mixed(mesh, x, scores, slots, experts)
    return output, *gradients(output.square().sum(), [gate, x])


def mended(mesh, x, gate, slots, experts):
    x, gate = leaf(x), leaf(gate)
    scores = CopyToRegion.apply(torch.softmax(x @ gate, -1).gather(1, slots), mesh.ep)
    scores = scores.masked_fill(slots // 2 != mesh.ep.index, 0.0)
    output = mixed(mesh, x, scores, slots, experts)
    return output, *gradients(output.square().sum(), [gate, x])
