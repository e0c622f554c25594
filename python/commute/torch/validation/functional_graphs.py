# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Graphs of functional operators, as PyTorch's own functionalization makes them.

Graphs before AOTAutograd call Python functions and modules, and passes after it may write into
tensors. Such graphs are traced again, on a copy.
"""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from commute.errors import CommuteError
from commute.torch.compatibility import (
    FakeTensorMode,
    HigherOrderOperator,
    OpOverload,
    aten_operator,
    preserve_node_meta,
    pytree,
    trace_again,
)
from commute.torch.graph_program import get_value
from commute.torch.validation.graph_states import find_attribute, make_module


def needs_tracing(module: GraphModule) -> bool:
    """Whether a graph has nodes that are no functional operators."""
    return any(_is_foreign(node) for node in module.graph.nodes)


def _is_foreign(node: Node) -> bool:
    if node.op in ("placeholder", "get_attr", "output"):
        return False
    if node.op != "call_function":
        return True
    target = node.target
    if isinstance(target, OpOverload):
        return target._schema.is_mutable
    return not (
        isinstance(target, HigherOrderOperator)
        or getattr(target, "__module__", "") in ("_operator", "math")
        or target is operator.getitem
        # Functions of symbolic numbers.
        or getattr(target, "__module__", "").startswith("torch.fx.experimental")
        or getattr(target, "__name__", "").startswith("sym_")
    )


def _functional_collectives(module: GraphModule) -> None:
    """Writes collectives into a tensor that nothing else reads as those that make one."""
    graph = module.graph
    for node in [*graph.nodes]:
        target = node.target
        if not isinstance(target, OpOverload) or not target._schema.name.endswith("_out"):
            continue
        if target.namespace != "_c10d_functional" or not isinstance(node.kwargs.get("out"), Node):
            continue
        name = target._schema.name.partition("::")[2].removesuffix("_out")
        packet = getattr(torch.ops._c10d_functional, name, None)
        if packet is None:
            continue
        out = node.kwargs["out"]
        if any(user is not node and _is_behind(user, node) for user in _readers(out)):
            continue
        with graph.inserting_before(node):
            kwargs = {key: value for key, value in node.kwargs.items() if key != "out"}
            new = graph.call_function(packet.default, node.args, kwargs)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        graph.erase_node(node)


def _aliases(node: Node) -> set[Node]:
    """The nodes whose tensors may share memory with that of a node, made from it."""
    found = {node}
    pending = [node]
    while pending:
        for user in pending.pop().users:
            if user in found or user.op == "output":
                continue
            returns = getattr(getattr(user.target, "_schema", None), "returns", None)
            if returns is None or any(one.alias_info is not None for one in returns):
                found.add(user)
                pending.append(user)
    return found


def _may_write(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target._schema.is_mutable


def _readers(node: Node) -> set[Node]:
    """The nodes that read a tensor's memory, by way of views as well."""
    return {user for alias in _aliases(node) for user in alias.users}


def _is_behind(user: Node, node: Node) -> bool:
    # What reads the collective's result reads the same memory, and means it.
    if node in _sources(user):
        return False
    return node < user


def _sources(node: Node) -> set[Node]:
    found: set[Node] = set()
    pending = [node]
    while pending:
        for read in pending.pop().all_input_nodes:
            if read not in found:
                found.add(read)
                pending.append(read)
    return found


def trace_functional(module: GraphModule, mode: FakeTensorMode | None) -> GraphModule:
    """A graph of functional operators that computes what a graph does, with the writes into
    inputs at its end. Raises CommuteError where PyTorch cannot trace it."""
    _functional_collectives(module)
    inputs = [*module.graph.find_nodes(op="placeholder")]
    # Functionalization sees writes into what it is called with.
    held = [node for node in module.graph.find_nodes(op="get_attr") if _holds_tensor(node, module)]
    values = [_example(node) for node in (*inputs, *held)]

    def call(*args: Any) -> Any:
        with preserve_node_meta():
            own, attributes = args[: len(inputs)], args[len(inputs) :]
            return _Interpreter(module, dict(zip(held, attributes))).run(*own)

    try:
        traced = trace_again(call, values, mode)
    except Exception as error:
        text = str(error).strip().partition("\n")[0]
        raise CommuteError(
            f"the graph cannot be traced again: {type(error).__name__}: {text}"
        ) from error
    attributes = {
        str(node.target): getattr(traced, str(node.target))
        for node in traced.graph.find_nodes(op="get_attr")
    }
    for node, own in zip(traced.graph.find_nodes(op="placeholder"), (*inputs, *held)):
        if own.op == "placeholder":
            node.name = own.name
            node.meta = {**own.meta, **node.meta}
            continue
        target = f"held.{own.target}"
        attributes[target] = find_attribute(module, str(own.target))
        with traced.graph.inserting_after(node):
            new = traced.graph.create_node("get_attr", target, name=own.name)
        new.meta = {**own.meta, **node.meta}
        node.replace_all_uses_with(new)
        traced.graph.erase_node(node)
    return make_module(attributes, traced.graph)


class _Interpreter(torch.fx.Interpreter):
    """Runs a graph, of which some attributes are given."""

    def __init__(self, module: GraphModule, attributes: dict[Node, Any]) -> None:
        super().__init__(module)
        self._attributes = attributes

    def run_node(self, n: Node) -> Any:
        return self._attributes[n] if n in self._attributes else super().run_node(n)


def _holds_tensor(node: Node, module: GraphModule) -> bool:
    return isinstance(find_attribute(module, str(node.target)), torch.Tensor)


def _example(node: Node) -> Any:
    value = get_value(node)
    if value is None and "val" not in node.meta and "example_value" not in node.meta:
        raise CommuteError(f"nothing is known of the input {node.name!r}")
    return value


def _as_tuples(returned: Any) -> Any:
    """What calls a graph takes lists and tuples alike."""
    if isinstance(returned, (list, tuple)):
        return tuple(_as_tuples(one) for one in returned)
    if isinstance(returned, dict):
        return {key: _as_tuples(one) for key, one in returned.items()}
    return returned


class Epilogue:
    """A functional graph whose writes into its inputs and constants became outputs."""

    def __init__(self, module: GraphModule) -> None:
        self.module = module
        graph = module.graph
        # By the written node: its value at the end.
        self.final: dict[Node, Any] = {}
        # By the nodes that write them.
        replaced: dict[Node, Any] = {}
        for node in reversed([*graph.nodes]):
            if node.target is not aten_operator("copy_.default"):
                continue
            written, value = node.args[0], node.args[1]
            if not isinstance(written, Node) or written.op not in ("placeholder", "get_attr"):
                continue
            if written in self.final or self._is_used_otherwise(written, node):
                continue
            self.final[written] = replaced[node] = self._converted(node, written, value)
        output = graph.output_node()

        def final_of(node: Node) -> Any:
            while node in replaced:
                node = replaced[node]
            # A returned input is the memory that was written.
            return self.final.get(node, node)

        self.returned = map_arg(output.args[0], final_of)
        for node, value in replaced.items():
            node.replace_all_uses_with(value)
        for written, value in self.final.items():
            while value in replaced:
                value = replaced[value]
            self.final[written] = value
        for node in replaced:
            graph.erase_node(node)

    @staticmethod
    def _is_used_otherwise(written: Node, write: Node) -> bool:
        """Whether something writes into the memory of an input before the last write, reads it
        behind that, or returns a part of it."""
        for alias in _aliases(written):
            for user in alias.users:
                if user.op == "output":
                    if alias is not written and alias is not write:
                        return True
                elif user is not write and (write < user or _may_write(user)):
                    return True
        return False

    def _converted(self, node: Node, written: Node, value: Any) -> Any:
        graph = self.module.graph
        mine, other = get_value(written), get_value(value) if isinstance(value, Node) else None
        is_same = (
            isinstance(mine, torch.Tensor)
            and isinstance(other, torch.Tensor)
            and mine.dtype == other.dtype
            and mine.shape == other.shape
            and mine.stride() == other.stride()
        )
        if is_same:
            return value
        with graph.inserting_before(node):
            new = graph.call_function(aten_operator("copy.default"), (written, value))
        new.meta = dict(node.meta)
        return new

    def finish(self, written: Sequence[Node]) -> None:
        """Makes the graph return what it returned, and the final values of some inputs."""
        graph = self.module.graph
        output = graph.output_node()
        flat, structure = pytree.tree_flatten(_as_tuples(self.returned))
        output.args = ((*flat, *(self.final.get(node, node) for node in written)),)
        self.structure = structure
