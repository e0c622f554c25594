# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Products beside collectives along the last dim, as users write them: of the default group,
on which they depend when they are called."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F


def _gather_rows(x):
    return functional.all_gather_tensor(x, 0, dist.group.WORLD)


def _gather_last_dim(x):
    return functional.all_gather_tensor(x, x.dim() - 1, dist.group.WORLD)


def product_of_chunks(x, weight):
    """The gather along dim 0, taken apart and put together along dim 1."""
    rows = functional.wait_tensor(_gather_rows(x))
    return torch.cat(torch.chunk(rows, dist.get_world_size(), 0), 1) @ weight


def product_of_gather(x, weight):
    return _gather_last_dim(x) @ weight


def linear_of_chunks(x, weight):
    rows = functional.wait_tensor(_gather_rows(x))
    return F.linear(torch.cat(torch.chunk(rows, dist.get_world_size(), 0), 1), weight)


def linear_of_gather(x, weight):
    return F.linear(_gather_last_dim(x), weight)


def scattered_chunks(x, weight):
    """The reduce_scatter along dim 1, of chunks of the product put together along dim 0."""
    chunks = torch.chunk(x @ weight, dist.get_world_size(), 1)
    scattered = functional.reduce_scatter_tensor(torch.cat(chunks, 0), "sum", 0, dist.group.WORLD)
    return functional.wait_tensor(scattered)


FUNCTIONS = {
    function.__name__: function
    for function in (
        product_of_chunks,
        product_of_gather,
        linear_of_chunks,
        linear_of_gather,
        scattered_chunks,
    )
}


def shapes_of(name, rows, depth, columns, ranks):
    """The shapes of the inputs on one of some ranks, for a product of `rows` x `depth` by
    `depth` x `columns`."""
    x = (rows, depth) if name == "scattered_chunks" else (rows, depth // ranks)
    return x, (columns, depth) if name.startswith("linear") else (depth, columns)


def fused_op(name):
    is_scattered = name == "scattered_chunks"
    return "fused_matmul_reduce_scatter" if is_scattered else "fused_all_gather_matmul"
