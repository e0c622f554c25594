# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the native reader of live graphs asks of PyTorch.

Nodes that call Python functions or methods go under the name that they have in Python;
their arguments have a name where they were given by keyword, and none where by place.
"""

import operator
from typing import Any

import torch
from torch.fx import Node

from commute.torch.compatibility import (
    FakeTensor,
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    nn_functions,
)
from commute.torch.effects import is_functional, written_arguments
from commute.torch.process_groups import implied_group
from commute.torch.schema_arguments import MEMORY_FORMATS, SCALAR_TYPES, fits
from commute.torch.source_lines import user_frame

# A name, the names of the arguments in a schema, those that are written if it is known,
# whether the call writes into none, and the group of a collective that takes none.
Description = tuple[str, list[str], list[str] | None, bool | None, str | None]


def _function_name(function: Any) -> str:
    """The name by which a user calls a function: torch.cat, not torch._C....cat."""
    name = getattr(function, "__name__", None) or type(function).__name__
    for prefix, holder in (
        ("torch", torch),
        ("torch._C._nn", nn_functions),
        ("torch.nn.functional", torch.nn.functional),
        ("_operator", operator),
    ):
        if getattr(holder, name, None) is function:
            return f"{prefix}.{name}"
    module = getattr(function, "__module__", None) or "unknown"
    return f"{module}.{name}"


def _name_of_operator(target: OpOverload, is_functional_graph: bool) -> str:
    if not is_functional_graph and target is torch.ops.aten.detach.default:
        # Not its operand's value to autograd.
        return "torch.Tensor.detach"
    name = f"torch.ops.{target}"
    known = name.startswith(("torch.ops.aten.", "torch.ops._c10d_functional."))
    if target._schema.is_mutable and not known:
        # Its name need not say that it writes.
        return f"mutating.{target}"
    return name


def _name_of_call(node: Node, is_functional_graph: bool) -> str:
    target = node.target
    if node.op == "call_method":
        return f"torch.Tensor.{target}"
    if node.op != "call_function":
        return f"{node.op}.{target}"
    if isinstance(target, HigherOrderOperator):
        # What its graphs write into is seen only after functionalization.
        prefix = "torch.ops.higher_order" if is_functional_graph else "higher_order"
        return f"{prefix}.{target.name()}"
    if isinstance(target, OpOverloadPacket):
        return f"packet.{target._qualified_op_name.replace('::', '.')}"
    if target is getattr:
        return "builtins.getattr"
    return _function_name(target)


def _range(known: Any) -> tuple[int | None, int | None]:
    """The bounds of a symbol, None where there is none that the schema can state."""
    if known is None:
        return None, None
    lower, upper = (
        int(bound) if bound.is_Integer and fits(int(bound)) else None
        for bound in (known.lower, known.upper)
    )
    return lower, upper


class NodeFacts:
    """The attributes that the reader looks up; it asks for operators and sizes once each."""

    node_type = Node
    operator_type = OpOverload
    # Strided tensors of a known type: subclasses have rules of their own.
    plain_tensor_types = (
        torch.Tensor,
        torch.nn.Parameter,
        FakeTensor,
    )
    sym_int, sym_bool, sym_float = torch.SymInt, torch.SymBool, torch.SymFloat
    dtype, memory_format, device = torch.dtype, torch.memory_format, torch.device
    strided = torch.strided
    scalar_types = SCALAR_TYPES
    memory_formats = MEMORY_FORMATS
    get_item, set_item = operator.getitem, operator.setitem

    @staticmethod
    def describe_operator(target: OpOverload, is_functional_graph: bool) -> Description:
        name = _name_of_operator(target, is_functional_graph)
        return (
            name,
            [argument.name for argument in target._schema.arguments],
            written_arguments(target),
            None if name.startswith("torch.ops.") else not target._schema.is_mutable,
            implied_group(target),
        )

    @staticmethod
    def describe_call(node: Node, is_functional_graph: bool) -> Description:
        name = _name_of_call(node, is_functional_graph)
        effects = None if name.startswith("torch.ops.") else is_functional(node)
        return name, [], None, effects, None

    @staticmethod
    def describe_size(
        number: int | torch.SymInt,
    ) -> int | tuple[str, int | None, dict[str, tuple[int | None, int | None]]]:
        """A number; or an expression, the value that it had, and the ranges of its symbols."""
        if not isinstance(number, torch.SymInt):
            return int(number)
        node = number.node
        expression = node.expr
        if expression.is_number:
            return int(expression)
        hint = node.maybe_as_int()
        if hint is None and node.has_hint():
            hint = node.hint
        ranges = {
            str(symbol): _range(node.shape_env.var_to_range.get(symbol))
            for symbol in expression.free_symbols
        }
        return str(expression), None if hint is None else int(hint), ranges

    @staticmethod
    def get_frame(trace: str) -> str:
        """The user's frame of a stack trace."""
        return user_frame(trace)

    @staticmethod
    def get_storage(tensor: torch.Tensor) -> int | None:
        """What tensors in the same memory have in common."""
        try:
            return tensor.untyped_storage()._cdata
        except (NotImplementedError, RuntimeError):
            return None
