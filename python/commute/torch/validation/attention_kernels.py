# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The kernels of attention, of CPUs and GPUs, as the one that has a meaning.

They return the attention and the logarithms of the sums of exponentials; what else they return
matters to dropout alone.
"""

from typing import Any

import torch

from commute.torch.compatibility import OpOverload

_FORWARD = (
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_fused_attention_overrideable",
)
_BACKWARD = tuple(f"{name}_backward" for name in _FORWARD)

Call = tuple[OpOverload, tuple[Any, ...], dict[str, Any]]


def known_kernel(target: OpOverload, args: Any, kwargs: Any) -> tuple[Call, int] | None:
    """The call that a kernel's call stands for, and the number of its results that count.
    None for other operators, and for those that drop out."""
    name = target._schema.name
    if name not in _FORWARD and name not in _BACKWARD:
        return None
    schema = target._schema.arguments
    named = {argument.name: argument.default_value for argument in schema}
    named.update(zip((argument.name for argument in schema), args))
    named.update(kwargs)
    if named.get("dropout_p") != 0 or named.get("return_debug_mask"):
        return None
    options: dict[str, Any] = {"scale": named.get("scale")}
    if named.get("attn_bias") is not None:
        options["attn_mask"] = named["attn_bias"]
    operands = [named[one] for one in ("query", "key", "value")]
    flags = (0.0, named["is_causal"])
    aten = torch.ops.aten
    if name in _FORWARD:
        kernel = aten._scaled_dot_product_flash_attention_for_cpu.default
        return (kernel, (*operands, *flags), options), 2
    gradient = named.get("grad_out", named.get("grad_out_"))
    saved = (named["out"], named["logsumexp"])
    kernel = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    return (kernel, (gradient, *operands, *saved, *flags), options), 3
