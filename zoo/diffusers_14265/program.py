# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Ring attention: each step of the backward uses the keys and values of the first.

Keys and values go around the ring in local variables; the backward of one step reads what
the forward saved, which is the rank's own block.
"""

import torch

from zoo.common.collectives import rotate

ISSUE = ("huggingface/diffusers", 14265)
MESH = {"ring": [[0, 1, 2]]}
INPUTS = {"query": (6, 4), "key": (6, 4), "value": (6, 4), "gradient": (6, 4)}
RELATIONS = {
    "inputs": {name: f"shard({name}, 0)" for name in INPUTS},
    "outputs": {"0": "shard(0)"},
}
SAYS = ("another rank", "stale", "no rank has reduced")


def block_gradient(query, key, value, gradient):
    """Of queries, where the weights are the sigmoids of the scores."""
    weights = torch.sigmoid(query @ key.t())  # its first reader
    return ((gradient @ value.t()) * weights * (1 - weights)) @ key


def reference(query, key, value, gradient):
    return block_gradient(query, key, value, gradient)


def faulty(mesh, query, key, value, gradient):
    saved_key, saved_value = key, value
    total = block_gradient(query, key, value, gradient)
    for _ in range(mesh.ring.size - 1):
        key, value = rotate([key, value], mesh.ring)
        step = block_gradient(query, saved_key, saved_value, gradient)  # the fault
        total = total + step
    return total


def mended(mesh, query, key, value, gradient):
    total = block_gradient(query, key, value, gradient)
    for _ in range(mesh.ring.size - 1):
        key, value = rotate([key, value], mesh.ring)
        total = total + block_gradient(query, key, value, gradient)
    return total
