# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fake results of new nodes, without PyTorch's dispatch of fake tensors, which takes ten to a
thousand times as long.

Results of operators that always return fresh memory are made of the types that Commute states.
PyTorch finds out from the fake results which values share memory, so those of views must share
it too: they are made by the kernel of the view.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node

from commute.torch.compatibility import (
    FakeTensor,
    FakeTensorMode,
    OpOverload,
    has_kernel,
    in_kernel_invocation_manager,
    unset_fake_temporarily,
)
from commute.torch.graph_program import get_value
from commute.torch.schema_arguments import SCALAR_TYPES_BY_NUMBER, Argument

# A stated type: a tensor's metadata in the export schema.
Metas = Mapping[str, dict[str, Any]]


def _is_composite(target: OpOverload) -> bool:
    """Whether an operator (reshape, contiguous) says nothing about what it is made of."""
    return has_kernel(target.name(), "CompositeImplicitAutograd")


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
        and not _is_composite(target)
        and target is not torch.ops._c10d_functional.wait_tensor.default
    )


@functools.cache
def returns_view(target: Any) -> bool:
    """Whether an operator of one tensor returns a view of it, or may as `reshape` does."""
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return False
    if target is torch.ops.aten.reshape.default:
        return True
    parts = (*target._schema.arguments, *target._schema.returns)
    return (
        len(target._schema.returns) == 1
        and isinstance(target._schema.returns[0].type, torch.TensorType)
        and target._schema.returns[0].alias_info is not None
        and not target._schema.is_mutable
        # What others return may be the operand itself.
        and not _is_composite(target)
        and sum(part.alias_info is not None for part in parts) == 2
    )


def _is_static(tensor: Any) -> bool:
    return isinstance(tensor, FakeTensor) and not any(
        isinstance(number, torch.SymInt) for number in (*tensor.shape, *tensor.stride())
    )


def static_view(node: Node, mode: FakeTensorMode) -> FakeTensor | None:
    """What a view of known numbers gives; None if sizes or arguments are symbols."""
    reads = node.all_input_nodes
    operand = get_value(reads[0]) if len(reads) == 1 else None
    if operand is None or node.kwargs or node.args[0] is not reads[0]:
        return None
    if not _is_static(operand):
        return None
    device = operand.device
    with unset_fake_temporarily(), in_kernel_invocation_manager(mode):
        view = node.target(operand, *node.args[1:])  # type: ignore[operator]
    return FakeTensor(mode, view, device)


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


def stated_value(outputs: Sequence[Argument], metas: Metas, mode: FakeTensorMode) -> Any | None:
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
