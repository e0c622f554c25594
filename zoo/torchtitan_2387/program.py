# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Expert parallelism: the router's gradient is not reduced.

Every rank routes all tokens and weighs the outputs of its own experts. The gradient of
the scores has entries of the rank's experts only, and was taken for replicated.
"""

import torch

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import CopyToRegion, ReduceFromRegion, shard

ISSUE = ("pytorch/torchtitan", 2387)
MESH = {"ep": [[0, 1]]}
INPUTS = {"x": (6, 8), "router": (8, 4), "experts": (4, 8, 8)}
RELATIONS = {
    "inputs": {"experts": "shard(experts, 0)"},
    "outputs": {"0": "replicated", "1": "replicated", "2": "shard(0)"},
}
SAYS = ("no rank has reduced",)


def reference(x, router, experts):
    router, experts = leaf(router), leaf(experts)
    scores = torch.softmax(x @ router, -1)
    loss = ((x @ experts) * scores.t().unsqueeze(-1)).sum(0).square().sum()
    return loss, *gradients(loss, [router, experts])


def faulty(mesh, x, router, experts):
    router, experts = leaf(router), leaf(experts)
    scores = torch.softmax(x @ router, -1)  # its first reader
    mine = shard(scores, mesh.ep, 1)  # the fault
    partial = ((x @ experts) * mine.t().unsqueeze(-1)).sum(0)
    loss = ReduceFromRegion.apply(partial, mesh.ep).square().sum()
    return loss, *gradients(loss, [router, experts])


def mended(mesh, x, router, experts):
    router, experts = leaf(router), leaf(experts)
    scores = CopyToRegion.apply(torch.softmax(x @ router, -1), mesh.ep)
    partial = ((x @ experts) * shard(scores, mesh.ep, 1).t().unsqueeze(-1)).sum(0)
    loss = ReduceFromRegion.apply(partial, mesh.ep).square().sum()
    return loss, *gradients(loss, [router, experts])
