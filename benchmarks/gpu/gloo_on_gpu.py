# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Functional collectives of tensors on a GPU over gloo: through host memory.

Gloo takes some collectives of tensors on a GPU and lacks others; where it takes what it
lacks, it reads device memory from the host, which ends the process. No rank can try that.
"""

import torch

# A library's implementations end with it.
_libraries = []

COLLECTIVES = (
    "all_reduce",
    "all_reduce_",
    "all_gather_into_tensor",
    "reduce_scatter_tensor",
    "all_to_all_single",
)


def stage_collectives():
    """Makes the collectives of tensors on a GPU go through host memory; returns their names."""
    library = torch.library.Library("_c10d_functional", "IMPL")
    for name in COLLECTIVES:
        library.impl(name, _through_host(name), "CUDA")
    _libraries.append(library)
    return list(COLLECTIVES)


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
