# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Tensors of `commute.run`, which exist without PyTorch and NumPy."""

import ctypes
import dataclasses
import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from commute.errors import CommuteError

# PyTorch's names of element types, by those of the safetensors format.
_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}
_SAFETENSORS = {dtype: name for name, dtype in _DTYPES.items()}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A dense tensor in row-major order."""

    dtype: str
    """PyTorch's name of the element type: "float32", "bfloat16"."""
    shape: tuple[int, ...]
    data: bytes = dataclasses.field(repr=False)

    def numpy(self) -> Any:
        """Returns a NumPy array. NumPy lacks bfloat16 and the types of 8-bit floats."""
        import numpy

        try:
            dtype = numpy.dtype(self.dtype)
        except TypeError:
            raise CommuteError(
                f"NumPy has no element type {self.dtype}; use torch() instead of numpy()"
            ) from None
        return numpy.frombuffer(self.data, dtype).reshape(self.shape)

    def torch(self) -> Any:
        """Returns a torch.Tensor."""
        import torch

        dtype: torch.dtype = getattr(torch, self.dtype)
        if not self.data:
            return torch.empty(self.shape, dtype=dtype)
        return torch.frombuffer(bytearray(self.data), dtype=dtype).reshape(self.shape)

    @classmethod
    def of(cls, value: Any) -> "Tensor":
        """Converts a torch.Tensor, a NumPy array, or anything that NumPy converts."""
        if isinstance(value, Tensor):
            return value
        if type(value).__module__.partition(".")[0] == "torch":
            dense = value.detach().cpu().contiguous()
            size = dense.numel() * dense.element_size()
            data = ctypes.string_at(dense.data_ptr(), size) if size else b""
            return cls(str(dense.dtype).removeprefix("torch."), tuple(dense.shape), data)
        import numpy

        array = numpy.ascontiguousarray(value)
        return cls(str(array.dtype), numpy.shape(value), array.tobytes())


def from_safetensors(dtype: str, shape: Sequence[int], data: bytes) -> Tensor:
    """Returns a tensor whose element type has the name of the safetensors format."""
    return Tensor(_DTYPES[dtype], tuple(shape), data)


def to_safetensors(tensors: Mapping[str, Tensor]) -> bytes:
    """Returns a safetensors file."""
    header: dict[str, Any] = {}
    offset = 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _SAFETENSORS:
            raise CommuteError(
                f"input {name!r}: element type {tensor.dtype} cannot be run; expected"
                f" {', '.join(_SAFETENSORS)}"
            )
        end = offset + len(tensor.data)
        header[name] = {
            "dtype": _SAFETENSORS[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, end],
        }
        offset = end
    text = json.dumps(header).encode()
    # The data start at a multiple of 8 bytes.
    text += b" " * (math.ceil(len(text) / 8) * 8 - len(text))
    data = b"".join(tensor.data for tensor in tensors.values())
    return struct.pack("<Q", len(text)) + text + data
