# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Arguments of Python calls in the form of the export schema.

The schema has tags for what operators take. Of what only Python takes, a tuple of
different things is written as a dictionary with the keys "0", "1", ..., a slice as one
with "start", "stop" and "step", an ellipsis as the string "...".
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Node

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
_MEMORY_FORMATS = {
    torch.contiguous_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
    torch.preserve_format: 4,
}
MEMORY_FORMATS_BY_NUMBER = {number: form for form, number in _MEMORY_FORMATS.items()}
STRIDED = 7

Argument = dict[str, Any]
"""One tag of the schema, such as "as_tensor", and its payload."""


def fits(number: int) -> bool:
    """Whether an integer is one of the schema."""
    return -(2**63) <= number < 2**63


class ArgumentWriter:
    """Writes arguments; `name_value` gives the argument that names a node's value."""

    def __init__(self, name_value: Callable[[Node], Argument]) -> None:
        self._name_value = name_value

    def write_index(self, value: Any) -> Argument:
        """What stands between brackets."""
        # A list gathers, and a tuple counts dims.
        if isinstance(value, list):
            return {"as_string_to_argument": {"list": self.write(value)}}
        return self.write(value)

    def write(self, value: Any) -> Argument:
        if isinstance(value, Node):
            return self._name_value(value)
        if isinstance(value, (list, tuple)):
            return self._sequence(value)
        if isinstance(value, slice):
            parts = {"start": value.start, "stop": value.stop, "step": value.step}
            return self._dictionary(parts)
        if isinstance(value, dict):
            return self._dictionary({str(key): part for key, part in value.items()})
        constant = self._constant(value)
        # What the schema has no tag for is only compared.
        return {"as_string": f"python: {value!r}"} if constant is None else constant

    @staticmethod
    def _constant(value: Any) -> Argument | None:
        if value is None:
            return {"as_none": True}
        if value is Ellipsis:
            return {"as_string": "..."}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int) and fits(value):
            return {"as_int": int(value)}
        if isinstance(value, float):
            if math.isfinite(value):
                return {"as_float": value}
            return {"as_float": "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, torch.dtype) and value in SCALAR_TYPES:
            return {"as_scalar_type": SCALAR_TYPES[value]}
        if isinstance(value, torch.memory_format):
            return {"as_memory_format": _MEMORY_FORMATS[value]}
        if isinstance(value, torch.device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if value is torch.strided:
            return {"as_layout": STRIDED}
        if isinstance(value, torch._ops.OpOverload):
            return {"as_operator": f"torch.ops.{value}"}
        return None

    def _dictionary(self, parts: dict[str, Any]) -> Argument:
        return {
            "as_string_to_argument": {key: self.write(part) for key, part in parts.items()}
        }

    def _sequence(self, values: Sequence[Any]) -> Argument:
        if not values:
            return {"as_ints": []}
        parts = [self.write(value) for value in values]
        tags = {next(iter(part)) for part in parts}
        payloads = [next(iter(part.values())) for part in parts]
        lists = {
            "as_tensor": "as_tensors",
            "as_int": "as_ints",
            "as_float": "as_floats",
            "as_bool": "as_bools",
        }
        if len(tags) == 1 and (tag := next(iter(tags))) in lists:
            return {lists[tag]: payloads}
        if tags == {"as_tensor", "as_none"}:
            return {"as_optional_tensors": parts}
        if tags <= {"as_int", "as_sym_int"}:
            sizes = [
                part if "as_int" in part else part["as_sym_int"] for part in parts
            ]
            return {"as_sym_ints": sizes}
        return {"as_string_to_argument": {str(place): part for place, part in enumerate(parts)}}
