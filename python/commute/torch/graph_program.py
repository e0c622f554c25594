# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Nodes of a live fx.Graph as a program of the export schema.

The same schema as in a .pt2 archive, so that one translation serves both. Nodes
that call Python functions or methods go under the name that they have in Python;
their arguments have a name where they were given by keyword, and none where by
place.
"""

import json
import math
import operator

import torch
from torch.fx import Node, map_arg

from commute.torch.effects import is_functional

# The numbers of the export schema.
_SCALAR_TYPES = {
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
SCALAR_TYPES_BY_NUMBER = {number: dtype for dtype, number in _SCALAR_TYPES.items()}
_MEMORY_FORMATS = {
    torch.contiguous_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
    torch.preserve_format: 4,
}
MEMORY_FORMATS_BY_NUMBER = {number: form for form, number in _MEMORY_FORMATS.items()}
STRIDED = 7
_POSITIONAL, _KEYWORD = 1, 2
_SCHEMA_VERSION = {"major": 8, "minor": 20}

# Where a node that stands for a tracing library keeps what it gave.
VALUE_KEYS = ("example_value", "val")

_MISSING = object()


def get_value(node):
    """What a node gave when it was traced; None where that is not known."""
    for key in VALUE_KEYS:
        if key in node.meta:
            return node.meta[key]
    return None


def is_plain_tensor(value):
    """A strided tensor of a known type: subclasses have rules of their own."""
    return (
        isinstance(value, torch.Tensor)
        and type(value) in (torch.Tensor, torch.nn.Parameter, torch._subclasses.FakeTensor)
        and value.layout == torch.strided
        and value.dtype in _SCALAR_TYPES
        and not value.is_nested
    )


def _fits(number):
    return -(2**63) <= number < 2**63


def _function_name(function):
    """The name by which a user calls a function: torch.cat, not torch._C....cat."""
    name = getattr(function, "__name__", None) or type(function).__name__
    for prefix, holder in (
        ("torch", torch),
        ("torch._C._nn", torch._C._nn),
        ("torch.nn.functional", torch.nn.functional),
        ("_operator", operator),
    ):
        if getattr(holder, name, None) is function:
            return f"{prefix}.{name}"
    module = getattr(function, "__module__", None) or "unknown"
    return f"{module}.{name}"


class _Names:
    """The names of the values that the program has, by FX node."""

    def __init__(self):
        self.arguments = {}
        self.nodes = {}

    def define(self, node, tag, name):
        self.arguments[node] = (tag, name)
        self.nodes.setdefault(name, []).append(node)


class GraphProgram:
    """A run of nodes of one graph as a program.

    `nodes` are consecutive in their graph; what they read of other nodes becomes
    the program's inputs, what others read of them its outputs. `is_functional_graph`
    says that the graph comes after functionalization, where operators write into
    nothing but what their schemas say.
    """

    def __init__(self, nodes, *, is_functional_graph=False):
        self._is_functional_graph = is_functional_graph
        # A graph's own output node reads what its program gives.
        self._members = {node for node in nodes if node.op != "output"}
        self._names = _Names()
        self._tensor_values = {}
        self._sym_ints, self._sym_bools, self._sym_floats = {}, {}, {}
        self._ranges = {}
        self._inputs = []
        # FX nodes of each program node, its own first; () for one that states
        # something and stands for none.
        self.groups = []
        # FX nodes of the values that others read, in the order of the outputs.
        self.outputs = []
        self._program_nodes = []
        self._collapsed = {}
        self._add_inputs(nodes)
        self._add_shared_memory()
        for node in nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                self._add_node(node)
        self._add_outputs(nodes)

    def nodes_by_name(self):
        """The FX nodes that hold each value; several where one was picked twice."""
        return self._names.nodes

    def input_nodes(self):
        return self._inputs

    def result_names(self, index):
        """The values that a program node gives, in order."""
        names = []
        for output in self._program_nodes[index]["outputs"]:
            payload = next(iter(output.values()))
            for item in payload if isinstance(payload, list) else [payload]:
                names.append(item["name"] if "name" in item else item["as_name"])
        return names

    def num_reads(self, node):
        """How many values a node's arguments name."""
        return len(self._reads_of(node))

    def to_json(self):
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
                "verifiers": ["ATEN" if self._is_functional_graph else "PYTHON"],
            }
        )

    #
    # Values
    #

    def _size(self, number):
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

    def _add_ranges(self, node):
        for symbol in node.expr.free_symbols:
            if str(symbol) in self._ranges:
                continue
            known = node.shape_env.var_to_range.get(symbol)
            bounds = (None, None) if known is None else (known.lower, known.upper)
            lower, upper = (
                int(bound) if bound is not None and bound.is_Integer and _fits(int(bound)) else None
                for bound in bounds
            )
            self._ranges[str(symbol)] = {"min_val": lower, "max_val": upper}

    def _tensor_meta(self, tensor):
        device = {"type": tensor.device.type, "index": tensor.device.index}
        return {
            "dtype": _SCALAR_TYPES[tensor.dtype],
            "sizes": [self._size(size) for size in tensor.shape],
            "requires_grad": tensor.requires_grad,
            "device": device,
            "strides": [self._size(stride) for stride in tensor.stride()],
            "storage_offset": {"as_int": 0},
            "layout": STRIDED,
        }

    def _define(self, node, name, value):
        """Gives a value of the graph its name, and states what is known of it."""
        if is_plain_tensor(value):
            self._tensor_values[name] = self._tensor_meta(value)
            tag = "as_tensor"
        elif isinstance(value, (torch.SymBool, bool)):
            self._sym_bools[name] = {"as_expr": {"expr_str": str(value)}}
            tag = "as_sym_bool"
        elif isinstance(value, (torch.SymInt, int)) and (
            isinstance(value, torch.SymInt) or _fits(value)
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
    def _named(tag, name):
        if tag == "as_tensor":
            return {tag: {"name": name}}
        if tag == "as_custom_obj":
            return {tag: {"name": name, "class_fqn": "object"}}
        return {tag: {"as_name": name}}

    def _value_argument(self, node):
        return self._named(*self._names.arguments[node])

    def _add_inputs(self, nodes):
        def add(node):
            if node not in self._names.arguments:
                self._inputs.append(node)
                self._define(node, node.name, get_value(node))

        for node in nodes:
            # Parameters stand where they are first read, and are known from the start.
            if node.op in ("placeholder", "get_attr"):
                add(node)
            if node.op == "output":
                continue
            for read in node.all_input_nodes:
                if read not in self._members:
                    add(read)

    def _add_shared_memory(self):
        """States which inputs lie in one memory: a write into one is seen in all."""
        storages = {}
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

    def _add_outputs(self, nodes):
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

    def _append(self, target, inputs, outputs, metadata, name, group):
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
    def _input(name, argument, kind):
        return {"name": name, "arg": argument, "kind": kind}

    def _add_node(self, node):
        if node in self._collapsed:
            return
        metadata = {"node": node.name}
        if node.meta.get("stack_trace"):
            metadata["stack_trace"] = node.meta["stack_trace"]
        target = self._target(node)
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

    def _target(self, node):
        target = node.target
        if node.op == "call_method":
            return f"torch.Tensor.{target}"
        if node.op != "call_function":
            return f"{node.op}.{target}"
        if isinstance(target, torch._ops.OpOverload):
            return self._operator_name(target)
        if isinstance(target, torch._ops.HigherOrderOperator):
            # What its graphs write into is seen only after functionalization.
            prefix = "torch.ops.higher_order" if self._is_functional_graph else "higher_order"
            return f"{prefix}.{target.name()}"
        if isinstance(target, torch._ops.OpOverloadPacket):
            return f"packet.{target._qualified_op_name.replace('::', '.')}"
        if target is getattr:
            return "builtins.getattr"
        return _function_name(target)

    def _operator_name(self, target):
        name = f"torch.ops.{target}"
        if not self._is_functional_graph and name == "torch.ops.aten.detach.default":
            # Not its operand's value to autograd.
            return "torch.Tensor.detach"
        known = name.startswith(("torch.ops.aten.", "torch.ops._c10d_functional."))
        if target._schema.is_mutable and not known:
            # Its name need not say that it writes.
            return f"mutating.{target}"
        return name

    def _add_picked(self, node, values, group):
        """The results of a node that gives several, which getitem picks."""
        users = list(node.users)
        are_picked = values and all(
            user in self._members
            and user.op == "call_function"
            and user.target is operator.getitem
            and len(user.args) == 2
            and isinstance(user.args[1], int)
            and -len(values) <= user.args[1] < len(values)
            for user in users
        )
        if not are_picked or not all(is_plain_tensor(value) for value in values):
            return [self._define(node, node.name, None)]
        names = {}
        for user in users:
            position = user.args[1] % len(values)
            names.setdefault(position, user.name)
            self._collapsed[user] = node
            group.append(user)
        outputs = []
        for position, value in enumerate(values):
            name = names.get(position, f"{node.name}_unused_{position}")
            outputs.append(self._define(None, name, value)["as_tensor"])
        for user in users:
            self._names.define(user, "as_tensor", names[user.args[1] % len(values)])
        return [{"as_tensors": outputs}]

    #
    # Arguments
    #

    def _nests_objects(self, node):
        """Whether lists among the arguments hold what is neither tensor nor number."""
        nested = []
        for value in (*node.args, *node.kwargs.values()):
            if not isinstance(value, Node):
                map_arg(value, nested.append)
        return any(self._names.arguments[read][0] == "as_custom_obj" for read in nested)

    @staticmethod
    def _reads_of(node):
        """Every node that the arguments name, as often as they do, in order."""
        reads = []
        map_arg((node.args, node.kwargs), reads.append)
        return reads

    def _inputs_of(self, node):
        is_index = node.target in (operator.getitem, operator.setitem)
        convert = self._index_argument if is_index else self._argument
        names = [""] * len(node.args)
        if isinstance(node.target, torch._ops.OpOverload):
            schema = node.target._schema.arguments
            names = [schema[place].name for place in range(len(node.args))]
        inputs = [
            self._input(name, convert(value), _POSITIONAL)
            for name, value in zip(names, node.args)
        ]
        inputs += [
            self._input(name, convert(value), _KEYWORD) for name, value in node.kwargs.items()
        ]
        return inputs

    def _index_argument(self, value):
        # A list gathers, and a tuple counts dims.
        if isinstance(value, list):
            return {"as_string_to_argument": {"list": self._argument(value)}}
        return self._argument(value)

    def _argument(self, value):
        if isinstance(value, Node):
            return self._value_argument(value)
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
    def _constant(value):
        if value is None:
            return {"as_none": True}
        if value is Ellipsis:
            return {"as_string": "..."}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int) and _fits(value):
            return {"as_int": int(value)}
        if isinstance(value, float):
            if math.isfinite(value):
                return {"as_float": value}
            return {"as_float": "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, torch.dtype) and value in _SCALAR_TYPES:
            return {"as_scalar_type": _SCALAR_TYPES[value]}
        if isinstance(value, torch.memory_format):
            return {"as_memory_format": _MEMORY_FORMATS[value]}
        if isinstance(value, torch.device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if value is torch.strided:
            return {"as_layout": STRIDED}
        return None

    def _dictionary(self, parts):
        return {
            "as_string_to_argument": {key: self._argument(part) for key, part in parts.items()}
        }

    def _sequence(self, values):
        if not values:
            return {"as_ints": []}
        parts = [self._argument(value) for value in values]
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
