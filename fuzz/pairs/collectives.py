# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Collectives in lockstep: the tensors of all ranks in, those of all ranks out."""

import torch
import torch.distributed._functional_collectives  # registers _c10d_functional

c10d = torch.ops._c10d_functional


def _sum(tensors):
    total = tensors[0]
    for summand in tensors[1:]:
        total = total + summand
    return total


REDUCTIONS = {
    "sum": _sum,
    "avg": lambda tensors: _sum(tensors) / len(tensors),
    "max": lambda tensors: torch.stack(tensors).amax(0),
    "min": lambda tensors: torch.stack(tensors).amin(0),
    "product": lambda tensors: torch.stack(tensors).prod(0),
}


def _check(condition, message):
    if not condition:
        raise RuntimeError(message)


def _all_reduce(tensors, reduction):
    result = REDUCTIONS[reduction](tensors)
    return [result] * len(tensors)


def _all_gather(tensors, size):
    _check(size == len(tensors), f"group_size {size} of a group of {len(tensors)}")
    result = torch.cat(tensors)
    return [result] * len(tensors)


def _reduce_scatter(tensors, reduction, size):
    _check(size == len(tensors), f"group_size {size} of a group of {len(tensors)}")
    _check(tensors[0].shape[0] % size == 0, "shards of different sizes")
    return list(REDUCTIONS[reduction](tensors).chunk(size))


def _all_to_all(tensors, outputs, inputs):
    _check(len(inputs) == len(outputs) == len(tensors), "as many splits as ranks")
    _check(inputs == outputs, "splits of which every rank receives what it expects")
    pieces = [tensor.split(inputs) for tensor in tensors]
    return [torch.cat([sent[rank] for sent in pieces]) for rank in range(len(tensors))]


def _broadcast(tensors, source):
    _check(0 <= source < len(tensors), f"rank {source} of {len(tensors)}")
    return [tensors[source]] * len(tensors)


# What each does with the tensors of one group, in the order of its members, and
# its arguments between the tensor and the group.
FUNCTIONS = {
    c10d.all_reduce.default: _all_reduce,
    c10d.all_gather_into_tensor.default: _all_gather,
    c10d.reduce_scatter_tensor.default: _reduce_scatter,
    c10d.all_to_all_single.default: _all_to_all,
    c10d.broadcast.default: _broadcast,
}
COALESCED = {
    c10d.all_reduce_coalesced.default: _all_reduce,
    c10d.all_gather_into_tensor_coalesced.default: _all_gather,
    c10d.reduce_scatter_tensor_coalesced.default: _reduce_scatter,
}
COLLECTIVES = {*FUNCTIONS, *COALESCED}


def run_collective(target, arguments, by_rank, groups):
    """The results of a collective, each a list of tensors by rank.

    `by_rank` holds one list of tensors by rank for each operand; `arguments` are
    the others, the group's name last; `groups` maps it to the lists of members.
    """
    *rest, name = arguments
    function = FUNCTIONS.get(target) or COALESCED[target]
    results = []
    for tensors in by_rank:
        found = [None] * len(tensors)
        for members in groups[name]:
            given = function([tensors[rank] for rank in members], *rest)
            for rank, tensor in zip(members, given, strict=True):
                found[rank] = tensor
        results.append(found)
    return results
