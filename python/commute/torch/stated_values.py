# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fake results of new nodes, made of the types that Commute states instead of by running the
operator, which takes PyTorch a thousand times as long.

Only for operators that always return fresh memory: PyTorch finds out from the fake results
which values share memory, so that those of views must share it too.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from commute.torch.compatibility import (
    FakeTensor,
    FakeTensorMode,
    OpOverload,
    has_kernel,
    unset_fake_temporarily,
)
from commute.torch.schema_arguments import SCALAR_TYPES_BY_NUMBER, Argument

# A stated type: a tensor's metadata in the export schema.
Metas = Mapping[str, dict[str, Any]]


@functools.cache
def returns_fresh_memory(target: Any) -> bool:
    """Whether no result of an operator can share memory with an operand or another result."""
    return (
        isinstance(target, OpOverload)
        # Those of PyTorch's own, whose schemas are known to be right.
        and target.namespace in ("aten", "prims", "_c10d_functional", "symm_mem")
        and not any(
            part.alias_info is not None
            for part in (*target._schema.arguments, *target._schema.returns)
        )
        # Composite operators (reshape, contiguous) say nothing about what they are made of.
        and not has_kernel(target.name(), "CompositeImplicitAutograd")
        and target is not torch.ops._c10d_functional.wait_tensor.default
    )


def _static(sizes: Sequence[dict[str, Any]]) -> list[int] | None:
    values = [size.get("as_int") for size in sizes]
    return None if None in values else values  # type: ignore[return-value]


def _tensor(meta: dict[str, Any], mode: FakeTensorMode) -> FakeTensor | None:
    sizes, strides = _static(meta["sizes"]), _static(meta["strides"])
    if sizes is None or strides is None:
        return None
    index = meta["device"]["index"]
    device = torch.device(meta["device"]["type"], *(() if index is None else (index,)))
    with unset_fake_temporarily():
        tensor = torch.empty_strided(
            sizes, strides, dtype=SCALAR_TYPES_BY_NUMBER[meta["dtype"]], device="meta"
        )
        return FakeTensor(mode, tensor, device)


class _Unstated(Exception):
    pass


def stated_value(
    outputs: Sequence[Argument], metas: Metas, mode: FakeTensorMode
) -> Any | None:
    """What a node with these outputs gives; None if not all types are stated as numbers."""

    def value(output: Argument) -> Any:
        tag, payload = next(iter(output.items()))
        if tag == "as_none":
            return None
        if tag == "as_tensors":
            return [value({"as_tensor": item}) for item in payload]
        meta = metas.get(payload["name"]) if tag == "as_tensor" else None
        tensor = None if meta is None else _tensor(meta, mode)
        if tensor is None:
            raise _Unstated
        return tensor

    try:
        values = tuple(value(output) for output in outputs)
    except _Unstated:
        return None
    return values[0] if len(values) == 1 else values
