# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Functional collectives of tensors on a GPU where gloo lacks them: through host memory."""

import torch
import torch.distributed as dist

# A library's implementations end with it.
_libraries = []


def _collectives(group_name, size):
    """Each collective with arguments that try it."""
    ops = torch.ops._c10d_functional
    return {
        "all_reduce": (ops.all_reduce, ("sum", group_name)),
        "all_reduce_": (ops.all_reduce_, ("sum", group_name)),
        "all_gather_into_tensor": (ops.all_gather_into_tensor, (size, group_name)),
        "reduce_scatter_tensor": (ops.reduce_scatter_tensor, ("sum", size, group_name)),
        "all_to_all_single": (ops.all_to_all_single, ([4] * size, [4] * size, group_name)),
    }


def stage_missing_collectives(device, group):
    """Tries every collective on all ranks, and replaces those that fail or give wrong
    values. Returns the errors of those by name."""
    if device == "cpu":
        return {}
    failed = {}
    size = group.size()
    for dtype in (torch.float32, torch.bfloat16):
        for name, (operator, arguments) in _collectives(group.group_name, size).items():
            x = torch.arange(4 * size, device=device, dtype=dtype).unsqueeze(1).repeat(1, 8)
            try:
                result = torch.ops._c10d_functional.wait_tensor(operator(x.clone(), *arguments))
                torch.cuda.synchronize()
                if not torch.equal(result, _expected(name, x, group)):
                    raise ValueError("wrong values")
            except Exception as error:
                failed[name] = f"{dtype}: {str(error).splitlines()[0][:300]}"
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, failed)
    missing = sorted({name for failures in everywhere for name in failures})
    for name in missing:
        _libraries.append(torch.library.Library("_c10d_functional", "IMPL"))
        _libraries[-1].impl(name, _through_host(name), "CUDA")
    return failed


def _expected(name, x, group):
    """What a collective returns if all ranks have the same operand."""
    size, rank = group.size(), group.rank()
    own = x.chunk(size)[rank]
    return {
        "all_reduce": lambda: x * size,
        "all_reduce_": lambda: x * size,
        "all_gather_into_tensor": lambda: x.repeat(size, 1),
        "reduce_scatter_tensor": lambda: own * size,
        "all_to_all_single": lambda: own.repeat(size, 1),
    }[name]()


def _through_host(name):
    operator = getattr(torch.ops._c10d_functional, name).default

    def staged(x, *arguments):
        # Gloo reduces no bfloat16 in some versions.
        host = x.float().cpu() if x.dtype == torch.bfloat16 else x.cpu()
        result = torch.ops._c10d_functional.wait_tensor(operator(host.contiguous(), *arguments))
        if name.endswith("_"):
            return x.copy_(result)
        return result.to(device=x.device, dtype=x.dtype)

    return staged
