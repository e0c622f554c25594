# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""TensorCast's operators, which that library itself only traces: importing defines them.

Names, schemas and shapes are TensorCast's. Among ranks that have imported this
the collectives move data; elsewhere they only have the shape of their result.
"""

import torch
import torch.distributed as dist

from programs import define_library

_groups = {}


def _process_group(ranks):
    """Made by its members when they first need it."""
    if tuple(ranks) not in _groups:
        group = dist.new_group(list(ranks), use_local_synchronization=True)
        _groups[tuple(ranks)] = group
    return _groups[tuple(ranks)]


def _is_traced():
    return not dist.is_initialized()


def _along(x, dim, factor):
    shape = list(x.shape)
    shape[dim] = int(shape[dim] * factor)
    return x.new_empty(shape)


def all_reduce(x, rank, ranks):
    result = x.clone(memory_format=torch.contiguous_format)
    if not _is_traced():
        dist.all_reduce(result, group=_process_group(ranks))
    return result


def reduce_scatter(x, dim, rank, ranks):
    assert x.shape[dim] % len(ranks) == 0
    if _is_traced():
        return _along(x, dim, 1 / len(ranks))
    return all_reduce(x, rank, ranks).chunk(len(ranks), dim)[ranks.index(rank)].contiguous()


def all_gather(x, dim, rank, ranks):
    if _is_traced():
        return _along(x, dim, len(ranks))
    parts = [torch.empty(x.shape, dtype=x.dtype) for _ in ranks]
    dist.all_gather(parts, x.contiguous(), group=_process_group(ranks))
    return torch.cat(parts, dim)


def all_to_all(x, outputs, inputs, rank, ranks):
    result = x.new_empty(sum(outputs), *x.shape[1:])
    if not _is_traced():
        group = _process_group(ranks)
        dist.all_to_all_single(result, x.contiguous(), list(outputs), list(inputs), group=group)
    return result


def rms_norm(x, weight, eps):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, eps)


_GROUP = "int rank, int[] rank_group"

# A library unregisters its operators when it goes.
LIBRARY = define_library(
    "tensor_cast",
    {
        f"all_reduce(Tensor x, {_GROUP}) -> Tensor": all_reduce,
        f"reduce_scatter(Tensor x, int dim, {_GROUP}) -> Tensor": reduce_scatter,
        f"all_gather(Tensor x, int dim, {_GROUP}) -> Tensor": all_gather,
        f"all_to_all(Tensor x, int[] output_split_sizes, int[] input_split_sizes, {_GROUP})"
        " -> Tensor": all_to_all,
        "rms_norm(Tensor x, Tensor weight, float eps) -> Tensor": rms_norm,
        "add_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps) -> Tensor": (
            lambda x, residual, weight, eps: rms_norm(x + residual, weight, eps)
        ),
        "add_rms_norm2(Tensor x, Tensor residual, Tensor weight, float eps) -> (Tensor, Tensor)": (
            lambda x, residual, weight, eps: (rms_norm(x + residual, weight, eps), x + residual)
        ),
        "_internal_mark_region_begin(Tensor x, int id) -> Tensor": lambda x, id: x.clone(),
        "_internal_mark_region_end(Tensor x, int id) -> Tensor": lambda x, id: x.clone(),
        "_internal_copy_region(Tensor x, int id) -> Tensor": lambda x, id: x.clone(),
    },
)
