# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Operators of vLLM and TensorRT-LLM with the names and schemas of these engines, computed by
PyTorch on the CPU: importing defines them.

Collectives run in the default group, whatever the name that they are given.
"""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def all_reduce(tensor, group_name="", strategy=""):
    result = tensor.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(result)
    return result


def all_gather(tensor, dim=0, world_size=0, group_name=""):
    parts = [torch.empty(tensor.shape, dtype=tensor.dtype) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor.contiguous())
    return torch.cat(parts, dim)


def reduce_scatter(tensor, dim, world_size, group_name):
    return all_reduce(tensor).chunk(world_size, dim)[dist.get_rank()].contiguous()


def rms_norm(x, weight, epsilon, variance_size=None):
    assert variance_size is None
    return F.rms_norm(x, x.shape[-1:], weight, epsilon)


def fused_add_rms_norm(x, x_residual, weight, epsilon, variance_size=None):
    total = x + x_residual
    return rms_norm(total, weight, epsilon, variance_size), total


def write_rms_norm(result, input, weight, epsilon):
    result.copy_(rms_norm(input, weight, epsilon))


def write_fused_add_rms_norm(input, residual, weight, epsilon):
    normed, total = fused_add_rms_norm(input, residual, weight, epsilon)
    input.copy_(normed)
    residual.copy_(total)


def all_gather_fake(tensor, dim=0, world_size=None, *_, **__):
    shape = list(tensor.shape)
    shape[dim] = shape[dim] * (world_size or dist.get_world_size())
    return tensor.new_empty(shape)


def reduce_scatter_fake(tensor, dim, world_size, group_name):
    shape = list(tensor.shape)
    shape[dim] = shape[dim] // world_size
    return tensor.new_empty(shape)


def like_first(tensor, *_, **__):
    return torch.empty_like(tensor)


def like_both(x, x_residual, *_, **__):
    return torch.empty_like(x), torch.empty_like(x_residual)


def nothing(*_, **__):
    return None


def auto_deploy_gather(tensor, dim=0, sizes=None, strategy="AUTO", workspace_id=0):
    return all_gather(tensor, dim)


def auto_deploy_gather_fake(tensor, dim=0, sizes=None, strategy="AUTO", workspace_id=0):
    return all_gather_fake(tensor, dim)


def write_silu_and_mul(result, input):
    gate, up = input.chunk(2, -1)
    result.copy_(F.silu(gate) * up)


def write_quantized(result, input, scale, group_shape=None):
    largest = torch.finfo(result.dtype).max
    result.copy_((input.float() / scale.float()).clamp(-largest, largest).to(result.dtype))


def write_quantized_rows(result, input, scale, scale_ub=None):
    assert scale_ub is None
    largest = torch.finfo(result.dtype).max
    scale.copy_((input.float().abs().amax(-1, True) / largest).clamp(min=1 / (largest * 512)))
    write_quantized(result, input, scale)


def write_quantized_norm(result, input, weight, scale, epsilon):
    write_quantized(result, rms_norm(input, weight, epsilon), scale)


def write_quantized_norm_of_sum(result, input, residual, weight, scale, epsilon):
    normed, total = fused_add_rms_norm(input, residual, weight, epsilon)
    write_quantized(result, normed, scale)
    residual.copy_(total)


def write_scaled_product(out, a, b, a_scales, b_scales, bias=None):
    product = (a.float() @ b.float()) * a_scales * b_scales
    out.copy_(product if bias is None else product + bias)


def write_rotated(positions, query, key, head_size, cos_sin_cache, is_neox):
    cosines, sines = cos_sin_cache[positions].unsqueeze(1).chunk(2, -1)
    for tensor in (query, key):
        if tensor is None:
            continue
        heads = tensor.view(positions.shape[0], -1, head_size)
        rotated = heads[..., : 2 * cosines.shape[-1]]
        a, b = rotated.chunk(2, -1) if is_neox else (rotated[..., ::2], rotated[..., 1::2])
        first, second = a * cosines - b * sines, b * cosines + a * sines
        if is_neox:
            rotated.copy_(torch.cat((first, second), -1))
        else:
            rotated.copy_(torch.stack((first, second), -1).flatten(-2))


# By library: schema, function, and the function of shapes alone.
_OPERATORS = {
    "vllm": [
        ("all_reduce(Tensor tensor, str group_name) -> Tensor", all_reduce, like_first),
        (
            "all_gather(Tensor tensor, int dim, int world_size, str group_name) -> Tensor",
            all_gather,
            all_gather_fake,
        ),
        (
            "reduce_scatter(Tensor tensor, int dim, int world_size, str group_name) -> Tensor",
            reduce_scatter,
            reduce_scatter_fake,
        ),
    ],
    "vllm_ir": [
        (
            "rms_norm(Tensor x, Tensor? weight, float epsilon, int? variance_size=None) -> Tensor",
            rms_norm,
            like_first,
        ),
        (
            "fused_add_rms_norm(Tensor x, Tensor x_residual, Tensor? weight, float epsilon, "
            "int? variance_size=None) -> (Tensor, Tensor)",
            fused_add_rms_norm,
            like_both,
        ),
    ],
    "_C": [
        (
            "rms_norm(Tensor! result, Tensor input, Tensor weight, float epsilon) -> ()",
            write_rms_norm,
            nothing,
        ),
        (
            "fused_add_rms_norm(Tensor! input, Tensor! residual, Tensor weight, float epsilon)"
            " -> ()",
            write_fused_add_rms_norm,
            nothing,
        ),
        ("silu_and_mul(Tensor! result, Tensor input) -> ()", write_silu_and_mul, nothing),
        (
            "static_scaled_fp8_quant(Tensor! result, Tensor input, Tensor scale, "
            "int[]? group_shape=None) -> ()",
            write_quantized,
            nothing,
        ),
        (
            "dynamic_per_token_scaled_fp8_quant(Tensor! result, Tensor input, Tensor! scale, "
            "Tensor? scale_ub) -> ()",
            write_quantized_rows,
            nothing,
        ),
        (
            "rms_norm_static_fp8_quant(Tensor! result, Tensor input, Tensor weight, "
            "Tensor scale, float epsilon) -> ()",
            write_quantized_norm,
            nothing,
        ),
        (
            "fused_add_rms_norm_static_fp8_quant(Tensor! result, Tensor input, "
            "Tensor! residual, Tensor weight, Tensor scale, float epsilon) -> ()",
            write_quantized_norm_of_sum,
            nothing,
        ),
        (
            "cutlass_scaled_mm(Tensor! out, Tensor a, Tensor b, Tensor a_scales, "
            "Tensor b_scales, Tensor? bias=None) -> ()",
            write_scaled_product,
            nothing,
        ),
        (
            "rotary_embedding(Tensor positions, Tensor! query, Tensor!? key, int head_size, "
            "Tensor cos_sin_cache, bool is_neox) -> ()",
            write_rotated,
            nothing,
        ),
    ],
    "auto_deploy": [
        (
            "torch_dist_all_reduce(Tensor t, str strategy) -> Tensor",
            lambda t, strategy: all_reduce(t),
            like_first,
        ),
        (
            "torch_dist_all_gather(Tensor tensor, int dim=0, int[]? sizes=None, "
            'str strategy="AUTO", int workspace_id=0) -> Tensor',
            auto_deploy_gather,
            auto_deploy_gather_fake,
        ),
        (
            "flashinfer_rms_norm(Tensor input, Tensor weight, float eps) -> Tensor",
            rms_norm,
            like_first,
        ),
        (
            "torch_linear_simple(Tensor input, Tensor weight, Tensor? bias, "
            'str tp_mode="none", int[]? output_sizes=None, int tp_min_local_shape=1, '
            'str layer_type="unknown") -> Tensor',
            lambda input, weight, bias, *_: F.linear(input, weight, bias),
            lambda input, weight, bias, *_: F.linear(input, weight, bias),
        ),
    ],
}

# A library unregisters its operators when it goes.
LIBRARIES = []


def _define():
    for namespace, operators in _OPERATORS.items():
        library = torch.library.Library(namespace, "FRAGMENT")
        LIBRARIES.append(library)
        for schema, function, shapes in operators:
            name = schema.split("(")[0]
            library.define(schema)
            library.impl(name, function, "CPU")
            torch.library.register_fake(f"{namespace}::{name}", shapes, lib=library)


_define()
