# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Expert parallelism: the gradients of experts are as many times too large as ranks.

The loss is a mean over the ranks' batches. Replicated parameters get the average of the
ranks' gradients; experts get the sum over all tokens that were sent to them, and nobody
divides it.
"""

import torch.nn.functional as F

from zoo.common.capture import gradients, leaf
from zoo.common.collectives import ExchangeRows

ISSUE = ("pytorch/pytorch", 160285)
MESH = {"ep": [[0, 1]]}
# Rows of a rank: first those for expert 0, then those for expert 1.
INPUTS = {"x": (8, 8), "experts": (2, 8, 8)}
RELATIONS = {
    "inputs": {"x": "shard(x, 0)", "experts": "shard(experts, 0)"},
    "outputs": {"0": "shard(0)"},
}
SAYS = ("2 times",)


def reference(x, experts):
    experts = leaf(experts)
    tokens = x.view(2, 2, 2, 8).transpose(0, 1).reshape(2, 4, 8)
    loss = F.silu(tokens @ experts).square().mean()
    return gradients(loss, [experts])


def expert_gradient(mesh, x, experts):
    experts = leaf(experts)
    tokens = ExchangeRows.apply(x, mesh.ep)
    outputs = ExchangeRows.apply(F.silu(tokens @ experts[0]), mesh.ep)
    loss = outputs.square().mean()  # the fault
    return gradients(loss, [experts])[0]


def faulty(mesh, x, experts):
    return expert_gradient(mesh, x, experts)


def mended(mesh, x, experts):
    return expert_gradient(mesh, x, experts) / mesh.ep.size
