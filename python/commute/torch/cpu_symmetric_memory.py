# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""PyTorch's fused collectives (`torch.ops.symm_mem`) on the CPU.

PyTorch implements them for GPUs that share memory. With these, a graph that
`commute opt` has fused runs on any process group of the CPU, under gloo say:

    from commute.torch import register_cpu_fused_ops
    register_cpu_fused_ops()
    torch.export.load("fused.pt2").module()(x)

They give what the ops say, not their speed: nothing is overlapped. Results are
laid out as PyTorch's own are. Products are accumulated in f32 (f64 for f64);
partial results of a reduce-scatter are moved and added as such, in the order of
the group's ranks, and rounded once: as in `commute run`, and unlike PyTorch's
pipeline on a GPU, which rounds each rank's part.
"""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from commute.torch.compatibility import group_size_by_name, has_kernel, to_dtypes

_c10d = torch.ops._c10d_functional
_wait = _c10d.wait_tensor


def register_cpu_fused_ops() -> None:
    """Registers the four ops for the CPU; once is enough, and more is no harm.

    An implementation that is there already, a later PyTorch's say, is left
    alone.
    """
    _make_library()


@functools.cache
def _make_library() -> torch.library.Library:
    """The registrations, which go when it goes."""
    library = torch.library.Library("symm_mem", "IMPL", "CPU")
    for function in (
        fused_all_gather_matmul,
        fused_all_gather_scaled_matmul,
        fused_matmul_reduce_scatter,
        fused_scaled_matmul_reduce_scatter,
    ):
        name = f"symm_mem::{function.__name__}"
        if not has_kernel(name, "CPU"):
            library.impl(function.__name__, function)
    return library


def _group_size(group_name: str) -> int:
    return group_size_by_name(group_name)


def _compute_dtype(dtype: torch.dtype) -> torch.dtype:
    if not dtype.is_floating_point:
        return dtype
    return torch.float64 if dtype == torch.float64 else torch.float32


def _check_matrices(left: Tensor, rights: Sequence[Tensor]) -> None:
    if left.dim() < 2:
        raise ValueError(f"A has {left.dim()} dims; it is a matrix or a batch of them")
    for right in rights:
        if right.dim() != 2:
            raise ValueError(f"B has {right.dim()} dims; it is a matrix")
        if left.device.type != "cpu" or right.device.type != "cpu":
            raise ValueError("A and B are on different devices")


def _dim(dim: int, rank: int, name: str) -> int:
    if not -rank <= dim < rank:
        raise ValueError(f"{name} is {dim}; A has {rank} dims")
    return dim % rank


#
# All-gather
#


def _all_gather(shard: Tensor, dim: int, group_name: str) -> Tensor:
    """Along `dim`; dense once that is moved to the front, but for the last."""
    size = _group_size(group_name)
    shard = shard.contiguous()
    # 8-bit floats are not known to all backends.
    plain = shard.view(torch.uint8) if shard.element_size() == 1 else shard
    gathered = _wait(_c10d.all_gather_into_tensor(plain, size, group_name))
    gathered = gathered.view(shard.dtype).view(size, *shard.shape)
    if dim == shard.dim() - 1:
        return torch.cat(gathered.unbind(), dim=-1)
    return gathered.movedim(dim + 1, 1).flatten(0, 1).movedim(0, dim)


def _laid_out(product: Tensor, dim: int) -> Tensor:
    """Dense once `dim` is moved to the front, but for the last: as PyTorch."""
    if dim == product.dim() - 1:
        return product.contiguous()
    return product.movedim(dim, 0).contiguous().movedim(0, dim)


def fused_all_gather_matmul(
    A: Tensor, Bs: list[Tensor], gather_dim: int, group_name: str, *, return_A: bool = True
) -> tuple[Tensor | None, list[Tensor]]:
    _check_matrices(A, Bs)
    dim = _dim(gather_dim, A.dim(), "gather_dim")
    gathered = _all_gather(A, dim, group_name)
    products = [_laid_out(torch.matmul(gathered, B), dim) for B in Bs]
    return gathered if return_A else None, products


def _gathered_scale(
    scale: Tensor, shard: Tensor, gathered: Tensor, dim: int, group_name: str
) -> Tensor:
    """The scale of the gathered operand: one, or one for each row.

    Scales of rows are this rank's or, as PyTorch allows it, everybody's.
    """
    if scale.dim() == shard.dim() and scale.shape == (*shard.shape[:-1], 1):
        return _all_gather(scale, dim, group_name)
    if scale.numel() == 1:
        return scale.reshape(())
    if scale.shape == (*gathered.shape[:-1], 1):
        return scale
    raise ValueError(
        f"A_scale of shape {tuple(scale.shape)} is neither one number nor one a row of A,"
        f" which has shape {tuple(shard.shape)} on each rank"
    )


def _scaled_matmul(
    left: Tensor,
    right: Tensor,
    left_scale: Tensor,
    right_scale: Tensor,
    bias: Tensor | None,
    result_scale: Tensor | None,
    out_dtype: torch.dtype,
) -> Tensor:
    """In the type that the result is accumulated in."""
    compute = _compute_dtype(out_dtype)
    product = (left.to(compute) * left_scale.to(compute)) @ (
        right.to(compute) * right_scale.to(compute)
    )
    if bias is not None:
        product = product + bias.to(compute)
    # Of results that are 8-bit floats, as in aten._scaled_mm.
    if result_scale is not None and out_dtype.itemsize == 1:
        product = product * result_scale.to(compute)
    return product


def fused_all_gather_scaled_matmul(
    A: Tensor,
    Bs: list[Tensor],
    A_scale: Tensor,
    B_scales: list[Tensor],
    gather_dim: int,
    group_name: str,
    biases: list[Tensor | None],
    result_scales: list[Tensor | None],
    out_dtypes: list[torch.dtype | None],
    use_fast_accum: list[bool],
) -> tuple[Tensor, list[Tensor]]:
    _check_matrices(A, Bs)
    lists = (B_scales, biases, result_scales, out_dtypes, use_fast_accum)
    if any(len(values) != len(Bs) for values in lists):
        raise ValueError("B_scales, biases and all other lists have one entry for each of Bs")
    dim = _dim(gather_dim, A.dim(), "gather_dim")
    if dim == A.dim() - 1:
        raise ValueError("the scaled op gathers rows, not the contracted dim")
    out_dtypes = to_dtypes(out_dtypes)
    gathered = _all_gather(A, dim, group_name)
    scale = _gathered_scale(A_scale, A, gathered, dim, group_name)
    products = []
    for B, B_scale, bias, result_scale, dtype in zip(
        Bs, B_scales, biases, result_scales, out_dtypes
    ):
        dtype = dtype or B.dtype
        product = _scaled_matmul(gathered, B, scale, B_scale, bias, result_scale, dtype)
        products.append(_laid_out(product.to(dtype), dim))
    return gathered, products


#
# Reduce-scatter
#


def _reduce_scatter(
    product: Tensor, reduce_op: str, dim: int, group_name: str, dtype: torch.dtype
) -> Tensor:
    """Blocks of all ranks' products added in order, and rounded to `dtype`."""
    size = _group_size(group_name)
    if reduce_op not in ("sum", "avg"):
        raise ValueError(f"reduce_op is {reduce_op!r}; it is 'sum' or 'avg'")
    if product.shape[dim] % size:
        raise ValueError(
            f"dim {dim} of size {product.shape[dim]} cannot be cut into {size} equal blocks"
        )
    blocks = torch.stack(product.chunk(size, dim))
    received = _wait(_c10d.all_to_all_single(blocks, [1] * size, [1] * size, group_name))
    total = received[0]
    for block in received[1:]:
        total = total + block
    return (total / size if reduce_op == "avg" else total).to(dtype)


def fused_matmul_reduce_scatter(
    A: Tensor, B: Tensor, reduce_op: str, scatter_dim: int, group_name: str
) -> Tensor:
    _check_matrices(A, [B])
    dim = _dim(scatter_dim, A.dim(), "scatter_dim")
    compute = _compute_dtype(A.dtype)
    product = torch.matmul(A.to(compute), B.to(compute))
    return _reduce_scatter(product, reduce_op, dim, group_name, A.dtype)


def fused_scaled_matmul_reduce_scatter(
    A: Tensor,
    B: Tensor,
    A_scale: Tensor,
    B_scale: Tensor,
    reduce_op: str,
    orig_scatter_dim: int,
    scatter_dim_after_maybe_reshape: int,
    group_name: str,
    output_shape: list[int] | None,
    bias: Tensor | None = None,
    result_scale: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    _check_matrices(A, [B])
    if A_scale.numel() == 1:
        A_scale = A_scale.reshape(())
    elif A_scale.shape != (*A.shape[:-1], 1):
        raise ValueError(
            f"A_scale of shape {tuple(A_scale.shape)} is neither one number nor one a row of A,"
            f" which has shape {tuple(A.shape)}"
        )
    dtype = out_dtype or A.dtype
    product = _scaled_matmul(A, B, A_scale, B_scale, bias, result_scale, dtype)
    if output_shape is not None:
        product = product.reshape(*output_shape[:-1], B.shape[1])
    dim = _dim(orig_scatter_dim, product.dim(), "orig_scatter_dim")
    return _reduce_scatter(product, reduce_op, dim, group_name, dtype)
