# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Calls of collectives, for programs on several ranks."""

import torch

from random_operators.registry import OPERATORS, is_dense, operators
from random_programs import WORLD, aten, c10d

SENT = [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int32]


def wait(p, started):
    """What was started is read by the wait alone."""
    for value in started if isinstance(started, list) else [started]:
        value.private = True
        p.call(c10d.wait_tensor.default, value, exact=True)


def reduction(p, value):
    by = ["sum", "max", "min"] + (["avg"] if value.dtype in SENT[:2] else [])
    return p.choice(by)


def sent(p, scattered=False, dtypes=SENT, **options):
    """A dense operand, cut along dim 0 where it is scattered."""

    def fits(value):
        return is_dense(value) and (
            not scattered or (value.rank and value.shape[0] % p.world_size == 0)
        )

    if scattered:
        shape = (p.world_size * p.choice([1, 2]), *p.sizes(0, 2))
        return p.operand(dtypes, shape, fits=fits, **options)
    return p.operand(dtypes, fits=fits, **options)


def several_sent(p, **options):
    """Operands of one type, which gloo asks for."""
    first = sent(p, **options)
    return [first, sent(p, dtypes=[first.dtype], **options)]


@operators(c10d, "all_reduce.default")
def all_reduce(p, target):
    x = sent(p)
    wait(p, p.call(target, x, reduction(p, x), WORLD))


@operators(c10d, "all_reduce_.default")
def all_reduce_in_place(p, target):
    x = p.call(aten.mul.Tensor, sent(p), 2, exact=True)
    x.private = True
    wait(p, p.call(target, x, reduction(p, x), WORLD))


@operators(c10d, "all_reduce_coalesced.default")
def all_reduce_coalesced(p, target):
    wait(p, p.call(target, several_sent(p), "sum", WORLD))


@operators(c10d, "all_gather_into_tensor.default")
def all_gather(p, target):
    wait(p, p.call(target, sent(p, least=1), p.world_size, WORLD, exact=True))


@operators(c10d, "all_gather_into_tensor_coalesced.default")
def all_gather_coalesced(p, target):
    wait(p, p.call(target, several_sent(p, least=1), p.world_size, WORLD, exact=True))


@operators(c10d, "reduce_scatter_tensor.default")
def reduce_scatter(p, target):
    x = sent(p, scattered=True)
    wait(p, p.call(target, x, reduction(p, x), p.world_size, WORLD))


@operators(c10d, "reduce_scatter_tensor_coalesced.default")
def reduce_scatter_coalesced(p, target):
    wait(p, p.call(target, several_sent(p, scattered=True), "sum", p.world_size, WORLD))


@operators(c10d, "all_to_all_single.default")
def all_to_all(p, target):
    x = sent(p, scattered=True)
    splits = [x.shape[0] // p.world_size] * p.world_size
    wait(p, p.call(target, x, splits, splits, WORLD, exact=True))


@operators(c10d, "broadcast.default")
def broadcast(p, target):
    wait(p, p.call(target, sent(p), p.random.randrange(p.world_size), WORLD, exact=True))


@operators(c10d, "broadcast_.default")
def broadcast_in_place(p, target):
    x = p.call(aten.mul.Tensor, sent(p), 2, exact=True)
    x.private = True
    wait(p, p.call(target, x, p.random.randrange(p.world_size), WORLD, exact=True))


# Called by all of the above.
OPERATORS["_c10d_functional.wait_tensor.default"] = OPERATORS["_c10d_functional.all_reduce.default"]
