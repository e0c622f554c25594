# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What calls in a graph write into, as far as PyTorch's own schemas say it.

A rewrite moves reads of tensors past other nodes, which is right only where those
do not write into them. A call of which nothing is known may.
"""

import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional
from torch.fx import Node
from torch.fx.operator_schemas import get_signature_for_torch_op

from commute.torch.compatibility import OpOverload, operator_schemas

# Update the statistics that they are given, which their schemas do not say.
_UPDATES_STATISTICS = ("batch_norm", "instance_norm")

# ... but for these forms.
_LEAVES_STATISTICS = ("functional", "no_training", "no_stats", "backward")

# With max_norm they rescale the rows of their table.
_RESCALES = ("embedding", "embedding_bag")


def _writes(schema: torch.FunctionSchema) -> bool:
    """Whether an overload writes into an argument other than `out`."""
    return any(
        argument.alias_info is not None and argument.alias_info.is_write and not argument.is_out
        for argument in schema.arguments
    )


def _are_functional(name: str, schemas: Iterable[torch.FunctionSchema] | None) -> bool:
    if not schemas or any(part in name for part in _UPDATES_STATISTICS):
        return False
    return not any(_writes(schema) for schema in schemas)


@functools.cache
def written_arguments(overload: OpOverload) -> list[str]:
    """The names of the arguments that an operator's overload writes into."""
    schema = overload._schema
    names = [
        argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    if any(part in schema.name for part in _UPDATES_STATISTICS) and not any(
        part in schema.name for part in _LEAVES_STATISTICS
    ):
        names += [
            argument.name
            for argument in schema.arguments
            if argument.name in ("running_mean", "running_var") and argument.name not in names
        ]
    return names


@functools.cache
def _method_is_functional(name: str) -> bool:
    """A method of torch.Tensor, by the schemas of the operators of its name."""
    try:
        schemas = operator_schemas(f"aten::{name}")
    except RuntimeError:
        return False
    return _are_functional(name, schemas)


@functools.cache
def _function_is_functional(function: Callable[..., Any]) -> bool:
    """A function that PyTorch has a schema for, whatever the arguments."""
    if isinstance(function, OpOverload):
        return not function._schema.is_mutable
    try:
        _, schemas = get_signature_for_torch_op(function, return_schemas=True)
    except (RuntimeError, TypeError):
        return False
    return _are_functional(getattr(function, "__name__", ""), schemas)


def _neural_call_is_functional(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """A Python function of torch.nn.functional: where `inplace` is not set."""
    name = function.__name__
    if any(part in name for part in _UPDATES_STATISTICS):
        return False
    try:
        arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return False
    if name in _RESCALES and arguments.get("max_norm") is not None:
        return False
    return not name.endswith("_") and arguments.get("inplace", False) is False


def is_functional(node: Node) -> bool:
    """Whether a node is known to write into none of its arguments.

    In-place forms that their name gives away (`add_`, `out=`, `operator.iadd`) need
    not be told apart here: whoever reads the graph knows them.
    """
    target = node.target
    if isinstance(target, str):
        return node.op == "call_method" and _method_is_functional(target)
    if node.op != "call_function":
        return False
    if getattr(target, "__module__", None) in ("_operator", "math"):
        return getattr(operator, f"i{target.__name__}", None) is not target
    if target is getattr:
        return True
    if inspect.isfunction(target) and target.__module__ == torch.nn.functional.__name__:
        return _neural_call_is_functional(target, node.args, node.kwargs)
    return _function_is_functional(target)


# What a node may give without having been called for something else.
_VALUES = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, int, float, list, tuple)


def switches_mode(node: Node, value: Any, switches: set[Node]) -> bool:
    """Whether a node changes how the nodes behind it run: gradients on or off,
    autocast, a level of vmap. Such nodes read nothing of the graph but what other
    such nodes, which are in `switches`, gave, and give nothing that computes.

    `value` is what the node gave when the graph was traced, None where nothing is
    known of it.
    """
    return (
        node.op == "call_function"
        and not isinstance(node.target, OpOverload)
        and not isinstance(value, _VALUES)
        and all(read in switches for read in node.all_input_nodes)
    )
