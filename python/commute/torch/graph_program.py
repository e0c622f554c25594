# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Nodes of a live fx.Graph as a program of the export schema.

The same schema as in a .pt2 archive, so that one translation serves both. Nodes
that call Python functions or methods go under the name that they have in Python;
their arguments have a name where they were given by keyword, and none where by
place.
"""

import functools
import json
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node, map_arg

from commute.torch.compatibility import (
    FakeTensor,
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    nn_functions,
)
from commute.torch.effects import is_functional, written_arguments
from commute.torch.picked_results import Path, find_picks
from commute.torch.process_groups import implied_group
from commute.torch.schema_arguments import (
    SCALAR_TYPES,
    STRIDED,
    Argument,
    ArgumentWriter,
    fits,
)
from commute.torch.source_lines import user_frame

_POSITIONAL, _KEYWORD = 1, 2
_SCHEMA_VERSION = {"major": 8, "minor": 20}

# Where a node that stands for a tracing library keeps what it gave.
VALUE_KEYS = ("example_value", "val")

def get_value(node: Node) -> Any:
    """What a node gave when it was traced; None where that is not known."""
    for key in VALUE_KEYS:
        if key in node.meta:
            return node.meta[key]
    return None


def is_plain_tensor(value: Any) -> bool:
    """A strided tensor of a known type: subclasses have rules of their own."""
    return (
        isinstance(value, torch.Tensor)
        and type(value) in (torch.Tensor, torch.nn.Parameter, FakeTensor)
        and value.layout == torch.strided
        and value.dtype in SCALAR_TYPES
        and not value.is_nested
    )


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


@functools.cache
def _name_of_operator(target: OpOverload) -> str:
    name = f"torch.ops.{target}"
    known = name.startswith(("torch.ops.aten.", "torch.ops._c10d_functional."))
    if target._schema.is_mutable and not known:
        # Its name need not say that it writes.
        return f"mutating.{target}"
    return name


@functools.cache
def _argument_names(target: OpOverload) -> list[str]:
    return [argument.name for argument in target._schema.arguments]


@functools.cache
def _writes(target: OpOverload) -> str:
    return " ".join(written_arguments(target))


class _Names:
    """The names of the values that the program has, by FX node."""

    def __init__(self) -> None:
        self.arguments: dict[Node, tuple[str, str]] = {}
        self.nodes: dict[str, list[Node]] = {}

    def define(self, node: Node, tag: str, name: str) -> None:
        self.arguments[node] = (tag, name)
        self.nodes.setdefault(name, []).append(node)


class GraphProgram:
    """A run of nodes of one graph as a program.

    `nodes` are consecutive in their graph; what they read of other nodes becomes
    the program's inputs, what others read of them its outputs. `is_functional_graph`
    says that the graph comes after functionalization, where operators write into
    nothing but what their schemas say.
    """

    def __init__(self, nodes: Sequence[Node], *, is_functional_graph: bool = False) -> None:
        self.is_functional_graph = is_functional_graph
        # A graph's own output node reads what its program gives.
        self._members = {node for node in nodes if node.op != "output"}
        self._names = _Names()
        self._arguments = ArgumentWriter(self._value_argument)
        self._tensor_values: dict[str, Any] = {}
        # Most tensors of a graph have one of few static types.
        self._metas: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._sym_ints: dict[str, Any] = {}
        self._sym_bools: dict[str, Any] = {}
        self._sym_floats: dict[str, Any] = {}
        self._ranges: dict[str, Any] = {}
        self._inputs: list[Node] = []
        # Placeholders and attributes that stand behind other nodes.
        self.late_inputs: list[Node] = []
        # FX nodes of each program node, its own first; () for one that states
        # something and stands for none.
        self.groups: list[tuple[Node, ...]] = []
        # FX nodes of the values that others read, in the order of the outputs.
        self.outputs: list[Node] = []
        self._program_nodes: list[dict[str, Any]] = []
        self._collapsed: dict[Node, Node] = {}
        self._operators: set[torch._ops.OpOverload] = set()
        self._add_inputs(nodes)
        self._add_shared_memory()
        for node in nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                self._add_node(node)
        self._add_outputs(nodes)

    def nodes_by_name(self) -> dict[str, list[Node]]:
        """The FX nodes that hold each value; several where one was picked twice."""
        return self._names.nodes

    def input_nodes(self) -> list[Node]:
        return self._inputs

    def group_names(self) -> set[str]:
        """The process groups that the nodes name."""
        names = {
            argument["arg"]["as_string"]
            for node in self._program_nodes
            for argument in node["inputs"]
            if argument["name"] in ("group_name", "group") and "as_string" in argument["arg"]
        }
        # Some collectives take no group, and have one nevertheless.
        return names | {name for target in self._operators if (name := implied_group(target))}

    def symbols(self) -> set[str]:
        """The symbols of the sizes."""
        return set(self._ranges)

    def result_names(self, index: int) -> list[str]:
        """The values that a program node gives, in order."""
        names = []
        for output in self._program_nodes[index]["outputs"]:
            tag, payload = next(iter(output.items()))
            if tag == "as_none":
                continue
            for item in payload if isinstance(payload, list) else [payload]:
                names.append(item["name"] if "name" in item else item["as_name"])
        return names

    def num_reads(self, node: Node) -> int:
        """How many values a node's arguments name."""
        return len(self._reads_of(node))

    def to_json(self) -> str:
        inputs = [self._value_argument(node) for node in self._inputs]
        outputs = [self._value_argument(node) for node in self.outputs]
        return json.dumps(
            {
                "graph_module": {
                    "graph": {
                        "inputs": inputs,
                        "outputs": outputs,
                        "nodes": self._program_nodes,
                        "tensor_values": self._tensor_values,
                        "sym_int_values": self._sym_ints,
                        "sym_bool_values": self._sym_bools,
                        "sym_float_values": self._sym_floats,
                    },
                    "signature": {
                        "input_specs": [{"user_input": {"arg": arg}} for arg in inputs],
                        "output_specs": [{"user_output": {"arg": arg}} for arg in outputs],
                    },
                    "module_call_graph": [],
                },
                "opset_version": {},
                "range_constraints": self._ranges,
                "schema_version": _SCHEMA_VERSION,
                "verifiers": ["ATEN" if self.is_functional_graph else "PYTHON"],
            }
        )

    #
    # Values
    #

    def _size(self, number: int | torch.SymInt) -> Argument:
        if type(number) is int:
            return {"as_int": number}
        if isinstance(number, torch.SymInt):
            expression = number.node.expr
            if expression.is_number:
                return {"as_int": int(expression)}
            self._add_ranges(number.node)
            hint = number.node.maybe_as_int()
            if hint is None and number.node.has_hint():
                hint = number.node.hint
            return {
                "as_expr": {
                    "expr_str": str(expression),
                    "hint": None if hint is None else {"as_int": int(hint)},
                }
            }
        return {"as_int": int(number)}

    def _add_ranges(self, node: Any) -> None:
        for symbol in node.expr.free_symbols:
            if str(symbol) in self._ranges:
                continue
            known = node.shape_env.var_to_range.get(symbol)
            bounds = (None, None) if known is None else (known.lower, known.upper)
            lower, upper = (
                int(bound) if bound is not None and bound.is_Integer and fits(int(bound)) else None
                for bound in bounds
            )
            self._ranges[str(symbol)] = {"min_val": lower, "max_val": upper}

    def _tensor_meta(self, tensor: torch.Tensor) -> dict[str, Any]:
        shape, strides = tuple(tensor.shape), tensor.stride()
        kind = (shape, strides, tensor.dtype, tensor.requires_grad, tensor.device)
        is_static = all(type(number) is int for number in (*shape, *strides))
        if is_static and kind in self._metas:
            return self._metas[kind]
        meta = {
            "dtype": SCALAR_TYPES[tensor.dtype],
            "sizes": [self._size(size) for size in shape],
            "requires_grad": tensor.requires_grad,
            "device": {"type": tensor.device.type, "index": tensor.device.index},
            "strides": [self._size(stride) for stride in strides],
            "storage_offset": {"as_int": 0},
            "layout": STRIDED,
        }
        if is_static:
            self._metas[kind] = meta
        return meta

    def _define(self, node: Node | None, name: str, value: Any) -> Argument:
        """Gives a value of the graph its name, and states what is known of it."""
        if is_plain_tensor(value):
            self._tensor_values[name] = self._tensor_meta(value)
            tag = "as_tensor"
        elif isinstance(value, (torch.SymBool, bool)):
            self._sym_bools[name] = {"as_expr": {"expr_str": str(value)}}
            tag = "as_sym_bool"
        elif isinstance(value, (torch.SymInt, int)) and (
            isinstance(value, torch.SymInt) or fits(value)
        ):
            self._sym_ints[name] = self._size(value)
            tag = "as_sym_int"
        elif isinstance(value, (torch.SymFloat, float)):
            self._sym_floats[name] = {"as_expr": {"expr_str": str(value)}}
            tag = "as_sym_float"
        else:
            tag = "as_custom_obj"
        if node is not None:
            self._names.define(node, tag, name)
        return self._named(tag, name)

    @staticmethod
    def _named(tag: str, name: str) -> Argument:
        if tag == "as_tensor":
            return {tag: {"name": name}}
        if tag == "as_custom_obj":
            return {tag: {"name": name, "class_fqn": "object"}}
        return {tag: {"as_name": name}}

    def _value_argument(self, node: Node) -> Argument:
        return self._named(*self._names.arguments[node])

    def _add_inputs(self, nodes: Sequence[Node]) -> None:
        def add(node: Node) -> None:
            if node not in self._names.arguments:
                self._inputs.append(node)
                self._define(node, node.name, get_value(node))

        has_call = False
        for node in nodes:
            if node.op in ("placeholder", "get_attr") and has_call:
                self.late_inputs.append(node)
            has_call |= node.op not in ("placeholder", "get_attr")
            # Parameters stand where they are first read, and are known from the start.
            if node.op in ("placeholder", "get_attr"):
                add(node)
            if node.op == "output":
                continue
            for read in node.all_input_nodes:
                if read not in self._members:
                    add(read)

    def _add_shared_memory(self) -> None:
        """States which inputs lie in one memory: a write into one is seen in all."""
        storages: dict[int, list[Node]] = {}
        for node in self._inputs:
            value = get_value(node)
            if not is_plain_tensor(value):
                continue
            try:
                key = value.untyped_storage()._cdata
            except (NotImplementedError, RuntimeError):
                continue
            storages.setdefault(key, []).append(node)
        for sharing in storages.values():
            if len(sharing) < 2:
                continue
            arguments = [self._value_argument(node)["as_tensor"] for node in sharing]
            self._append(
                "commute.share_memory", [self._input("", {"as_tensors": arguments}, _POSITIONAL)],
                [], {"effects": "none"}, f"share_memory_{len(self.groups)}", (),
            )  # fmt: skip

    def _add_outputs(self, nodes: Sequence[Node]) -> None:
        inputs = set(self._inputs)
        for node in nodes:
            # Of a node that gives several values only these have a name.
            if node not in self._names.arguments or node in inputs:
                continue
            if any(user not in self._members for user in node.users):
                self.outputs.append(node)

    #
    # Nodes
    #

    def _append(
        self,
        target: str,
        inputs: list[dict[str, Any]],
        outputs: list[Argument],
        metadata: dict[str, str],
        name: str,
        group: tuple[Node, ...],
    ) -> None:
        self._program_nodes.append(
            {
                "target": target,
                "inputs": inputs,
                "outputs": outputs,
                "metadata": metadata,
                "name": name,
            }
        )
        self.groups.append(group)

    @staticmethod
    def _input(name: str, argument: Argument, kind: int) -> dict[str, Any]:
        return {"name": name, "arg": argument, "kind": kind}

    def _add_node(self, node: Node) -> None:
        if node in self._collapsed:
            return
        metadata = {"node": node.name}
        if frame := user_frame(node.meta.get("stack_trace") or ""):
            metadata["stack_trace"] = frame
        target = self._target(node)
        if isinstance(node.target, OpOverload):
            metadata["writes"] = _writes(node.target)
            self._operators.add(node.target)
        if not target.startswith("torch.ops."):
            metadata["effects"] = "none" if is_functional(node) else "any"
        if self._nests_objects(node):
            # The schema has no lists of them. Nothing but what it reads matters of a
            # call that no vocabulary knows.
            target = f"opaque.{target}"
            if "out" in node.kwargs:
                metadata["effects"] = "any"
            inputs = [
                self._input("", self._value_argument(read), _POSITIONAL)
                for read in self._reads_of(node)
            ]
        else:
            inputs = self._inputs_of(node)
        value = get_value(node)
        group = [node]
        if isinstance(value, (list, tuple)):
            outputs = self._add_picked(node, value, group)
        elif value is None and not node.users:
            outputs = []
        else:
            outputs = [self._define(node, node.name, value)]
        self._append(target, inputs, outputs, metadata, node.name, tuple(group))

    def _target(self, node: Node) -> str:
        target = node.target
        if node.op == "call_method":
            return f"torch.Tensor.{target}"
        if node.op != "call_function":
            return f"{node.op}.{target}"
        if isinstance(target, OpOverload):
            return self._operator_name(target)
        if isinstance(target, HigherOrderOperator):
            # What its graphs write into is seen only after functionalization.
            prefix = "torch.ops.higher_order" if self.is_functional_graph else "higher_order"
            return f"{prefix}.{target.name()}"
        if isinstance(target, OpOverloadPacket):
            return f"packet.{target._qualified_op_name.replace('::', '.')}"
        if target is getattr:
            return "builtins.getattr"
        return _function_name(target)

    def _operator_name(self, target: OpOverload) -> str:
        if not self.is_functional_graph and target is torch.ops.aten.detach.default:
            # Not its operand's value to autograd.
            return "torch.Tensor.detach"
        return _name_of_operator(target)

    def _add_picked(
        self, node: Node, values: Sequence[Any], group: list[Node]
    ) -> list[Argument]:
        """The results of a node that gives several, which getitem picks."""
        picks = find_picks(node, values, self._members, is_plain_tensor)
        if picks is None:
            return [self._define(node, node.name, None)]
        names: dict[Path, str] = {}
        for user, path in picks.leaves.items():
            names.setdefault(path, user.name)
        for user in picks.nodes:
            self._collapsed[user] = node
            group.append(user)

        def define(path: Path, value: Any) -> Argument:
            name = names.get(path) or f"{node.name}_unused_{'_'.join(map(str, path))}"
            return self._define(None, name, value)

        def define_list(path: Path, parts: Sequence[Any]) -> Argument:
            values = [define((*path, place), part) for place, part in enumerate(parts)]
            return {"as_tensors": [value["as_tensor"] for value in values]}

        outputs: list[Argument] = []
        if all(is_plain_tensor(value) for value in values):
            outputs.append(define_list((), values))
        else:
            for place, value in enumerate(values):
                if value is None:
                    outputs.append({"as_none": True})
                elif isinstance(value, (list, tuple)):
                    outputs.append(define_list((place,), value))
                else:
                    outputs.append(define((place,), value))
        for user, path in picks.leaves.items():
            self._names.define(user, "as_tensor", names[path])
        return outputs

    #
    # Arguments
    #

    def _nests_objects(self, node: Node) -> bool:
        """Whether lists among the arguments hold what is neither tensor nor number."""
        nested: list[Node] = []
        for value in (*node.args, *node.kwargs.values()):
            if not isinstance(value, Node):
                map_arg(value, nested.append)
        return any(self._names.arguments[read][0] == "as_custom_obj" for read in nested)

    @staticmethod
    def _reads_of(node: Node) -> list[Node]:
        """Every node that the arguments name, as often as they do, in order."""
        reads: list[Node] = []
        map_arg((node.args, node.kwargs), reads.append)
        return reads

    def _inputs_of(self, node: Node) -> list[dict[str, Any]]:
        is_index = node.target in (operator.getitem, operator.setitem)
        convert = self._arguments.write_index if is_index else self._arguments.write
        names = [""] * len(node.args)
        if isinstance(node.target, OpOverload):
            names = _argument_names(node.target)
        inputs = [
            self._input(name, convert(value), _POSITIONAL)
            for name, value in zip(names, node.args)
        ]
        inputs += [
            self._input(name, convert(value), _KEYWORD) for name, value in node.kwargs.items()
        ]
        return inputs
