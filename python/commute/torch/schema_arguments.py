# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Numbers and arguments of the export schema."""

from typing import Any

import torch

# The numbers of the export schema.
SCALAR_TYPES = {
    torch.uint8: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.complex32: 9,
    torch.complex64: 10,
    torch.complex128: 11,
    torch.bool: 12,
    torch.bfloat16: 13,
    torch.uint16: 28,
    torch.float8_e4m3fn: 29,
    torch.float8_e5m2: 30,
    torch.float8_e4m3fnuz: 31,
    torch.float8_e5m2fnuz: 32,
    torch.float8_e8m0fnu: 33,
    torch.uint32: 34,
    torch.uint64: 35,
}
SCALAR_TYPES_BY_NUMBER = {number: dtype for dtype, number in SCALAR_TYPES.items()}
MEMORY_FORMATS = {
    torch.contiguous_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
    torch.preserve_format: 4,
}
MEMORY_FORMATS_BY_NUMBER = {number: form for form, number in MEMORY_FORMATS.items()}
STRIDED = 7

Argument = dict[str, Any]
"""One tag of the schema, such as "as_tensor", and its payload."""


def fits(number: int) -> bool:
    """Whether an integer is one of the schema."""
    return -(2**63) <= number < 2**63
