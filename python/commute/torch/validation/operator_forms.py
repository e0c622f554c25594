# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Forms of operators that graph passes write, in terms of the operators that they stand for.

Each form is recognized by PyTorch's own schemas and naming rules: the copy of a view, an
operator on lists of tensors, an overload packet. Nothing here changes what a graph computes.
"""

import itertools
import operator
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from commute.torch.compatibility import (
    FakeTensor,
    FakeTensorMode,
    HigherOrderOperator,
    OpOverload,
    OpOverloadPacket,
    aten_operator,
    enable_python_dispatcher,
    resolve_packet,
)
from commute.torch.graph_program import get_value
from commute.torch.validation.attention_kernels import known_kernel
from commute.torch.validation.graph_states import find_attribute, make_module, set_attribute
from commute.torch.validation.random_numbers import RandomNumbers

Value = Any
"""A node, or a list of values in place of one."""


def find_fake_mode(graph: Graph) -> FakeTensorMode | None:
    """The mode that a graph was traced in."""
    for node in graph.nodes:
        value = get_value(node)
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, FakeTensor):
                return one.fake_mode
    return None


class OperatorForms:
    """Writes a graph anew, in a graph of its own."""

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None) -> None:
        self.module = module
        self.mode = mode
        self.graph = Graph()
        self._made: dict[Node, Value] = {}
        self._attributes: dict[str, Node] = {}
        self._random = RandomNumbers(module.graph)

    def write(self) -> GraphModule:
        self._write(self.module, self.module.graph, "")
        result = make_module({}, self.graph)
        for node in self.graph.find_nodes(op="get_attr"):
            target = str(node.target)
            value = node.meta.pop("attribute", None)
            set_attribute(result, target, value)
        for name, child in self.module.named_children():
            if any(node.op == "call_module" for node in self.graph.nodes):
                result.add_module(name, child)
        return result

    def _write(self, module: Any, graph: Graph, prefix: str) -> Value:
        """Writes the nodes of a graph; returns what its output node returns."""
        for node in graph.nodes:
            if self._random.is_seed(node):
                continue
            if node.op == "output":
                returned = self._map(node.args[0])
                if not prefix:
                    self._made[node] = self._copy(node, (returned,), {})
                return returned
            self._made[node] = self._write_node(node, module, prefix)
        return None

    def _map(self, arguments: Any) -> Any:
        return map_arg(arguments, lambda node: self._made[node])

    def _copy(self, node: Node, args: Any, kwargs: Any) -> Node:
        new = self.graph.create_node(node.op, node.target, args, kwargs, name=node.name)
        new.meta = dict(node.meta)
        return new

    def _write_node(self, node: Node, module: Any, prefix: str) -> Value:
        target = node.target
        if (random := self._random.find(node)) is not None:
            size, name, source = random
            if source is not node:
                return self._made[source]
            draw = aten_operator(name)
            args, kwargs = _as_stated(draw, (self._map(size),), {}, get_value(node))
            return self._call(draw, args, kwargs, node)
        args, kwargs = self._map(node.args), self._map(node.kwargs)
        if node.op == "get_attr":
            if (known := self._attributes.get(prefix + str(target))) is not None:
                return known
            new = self.graph.create_node("get_attr", prefix + str(target), name=node.name)
            new.meta = dict(node.meta)
            value = find_attribute(module, str(target))
            new.meta["attribute"] = value
            if isinstance(value, torch.Tensor) and get_value(new) is None:
                new.meta["val"] = self._fake(value) if self.mode else value
            self._attributes[prefix + str(target)] = new
            return new
        if node.op != "call_function":
            return self._copy(node, args, kwargs)
        if target is operator.getitem and isinstance(args[0], (list, tuple)):
            return args[0][args[1]]
        if _is_control(target):
            inlined = self._inline(args, kwargs, prefix)
            if inlined is not None:
                return inlined
        if isinstance(target, OpOverloadPacket):
            target = _resolve(target, args, kwargs) or target
        if isinstance(target, OpOverload):
            forms = (self._copy_of_view, self._of_lists, self._of_strides, self._of_attention)
            for form in forms:
                if (value := form(target, args, kwargs, node)) is not None:
                    return value
            if torch.Tag.nondeterministic_seeded in target.tags:
                args, kwargs = _as_stated(target, args, kwargs, get_value(node))
        new = self._copy(node, args, kwargs)
        new.target = target
        if get_value(new) is None:
            self._state_value(new)
        return new

    #
    # New nodes
    #

    def _fake(self, value: torch.Tensor) -> Any:
        assert self.mode is not None
        if isinstance(value, FakeTensor):
            return value
        # A parameter would be a fake parameter.
        return self.mode.from_tensor(value.detach(), static_shapes=True)

    def _call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], like: Node) -> Node:
        new = self.graph.call_function(target, args, kwargs)
        if "stack_trace" in like.meta:
            new.meta["stack_trace"] = like.meta["stack_trace"]
        self._state_value(new)
        return new

    def _state_value(self, node: Node) -> None:
        """States what a node gives that a pass has made without saying so."""
        value = self._evaluate(node.target, node.args, node.kwargs)
        if value is not None:
            node.meta["val"] = value

    def _evaluate(self, target: Any, args: Any, kwargs: Any) -> Any:
        if self.mode is None:
            return None
        missing = False

        def value_of(node: Node) -> Any:
            nonlocal missing
            value = get_value(node)
            if value is None:
                value = node.meta.get("attribute")
                missing = missing or value is None
            return value

        args, kwargs = map_arg(args, value_of), map_arg(kwargs, value_of)
        is_operator = isinstance(target, (OpOverload, HigherOrderOperator))
        if missing or not (is_operator or getattr(target, "__module__", "") == "_operator"):
            return None
        try:
            with self.mode, enable_python_dispatcher():
                return target(*args, **kwargs)
        except Exception:
            # The reader then knows no type of it, and says so.
            return None

    #
    # Forms
    #

    def _inline(self, args: Any, kwargs: Any, prefix: str) -> Value | None:
        """control_deps(dependencies, subgraph, *args): the subgraph's operators."""
        if len(args) < 2 or not isinstance(args[1], Node) or args[1].op != "get_attr":
            return None
        holder = args[1]
        subgraph = holder.meta.get("attribute")
        if not isinstance(subgraph, GraphModule) or kwargs:
            return None
        inputs = subgraph.graph.find_nodes(op="placeholder")
        if len(inputs) != len(args) - 2:
            return None
        outer = self._made
        self._made = dict(zip(inputs, args[2:]))
        try:
            for node in subgraph.graph.nodes:
                if node.op == "placeholder":
                    continue
                if node.op == "output":
                    return self._map(node.args[0])
                self._made[node] = self._write_node(node, subgraph, f"{prefix}{holder.target}.")
        finally:
            self._made = outer
        return None

    def _copy_of_view(self, target: OpOverload, args: Any, kwargs: Any, node: Node) -> Value | None:
        """`aten.permute_copy`, which functionalization writes: a dense copy of the view."""
        view = _view_of_copy(target)
        if view is None or kwargs.get("out") is not None:
            return None
        viewed = self._call(view, args, kwargs, node)
        values = get_value(viewed)
        if values is None:
            return None
        parts: list[Node] = []
        if isinstance(values, torch.Tensor):
            parts = [viewed]
        else:
            parts = [
                self._call(operator.getitem, (viewed, index), {}, node)
                for index in range(len(values))
            ]
        options = {"memory_format": torch.contiguous_format}
        copies = [
            self._call(torch.ops.aten.clone.default, (part,), options, node) for part in parts
        ]
        return copies[0] if isinstance(values, torch.Tensor) else copies

    def _of_lists(self, target: OpOverload, args: Any, kwargs: Any, node: Node) -> Value | None:
        """`aten._foreach_add`: the operator on each tensor of its lists."""
        calls = _calls_of_lists(target, args, kwargs)
        if calls is None:
            return None
        return [self._call(overload, own, options, node) for overload, own, options in calls]

    def _of_attention(self, target: OpOverload, args: Any, kwargs: Any, node: Node) -> Value | None:
        """A kernel of attention for GPUs: as that for CPUs, where only what both return is
        read, and that by the backward kernel."""
        known = known_kernel(target, args, kwargs)
        if known is None:
            return None
        (kernel, own, options), count = known
        for user in node.users:
            if user.target is not operator.getitem:
                return None
            index: Any = user.args[1]
            only_passed_on = all(_is_kernel(reader) for reader in user.users)
            if index >= count and not only_passed_on:
                return None
            # The logarithms have another layout there.
            if count == 2 and index == 1 and not only_passed_on:
                return None
        made = self._call(kernel, own, options, node)
        results: list[Value] = [
            self._call(operator.getitem, (made, index), {}, node) for index in range(count)
        ]
        return [*results, *[None] * (len(target._schema.returns) - count)]

    def _of_strides(self, target: OpOverload, args: Any, kwargs: Any, node: Node) -> Value | None:
        """`aten.as_strided` of a dense tensor: slices and reshapes of its elements in the order
        of memory."""
        if target is not torch.ops.aten.as_strided.default or kwargs:
            return None
        value = get_value(args[0]) if isinstance(args[0], Node) else None
        if not isinstance(value, torch.Tensor):
            return None
        plan = plan_strides(value, *args[1:])
        if plan is None:
            return None
        result = args[0]
        for overload, own in plan:
            result = self._call(overload, (result, *own), {}, node)
        return result


def _is_kernel(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and "_scaled_dot_product" in node.target.name()


def _value_of(node: Node) -> Any:
    value = get_value(node)
    return node.meta.get("attribute") if value is None else value


def _is_control(target: Any) -> bool:
    return isinstance(target, HigherOrderOperator) and target.name() == "control_deps"


def _as_stated(target: OpOverload, args: Any, kwargs: Any, value: Any) -> tuple[Any, Any]:
    """The arguments of a draw of random numbers, which no other call may have in another
    spelling: options that the result has are stated, and defaults are left out."""
    schema = target._schema.arguments
    named = {**dict(zip((argument.name for argument in schema), args)), **kwargs}
    if isinstance(value, torch.Tensor):
        stated = {"dtype": value.dtype, "device": value.device, "layout": value.layout}
        names = {argument.name for argument in schema}
        named.update({name: one for name, one in stated.items() if name in names})
        if not named.get("pin_memory"):
            named.pop("pin_memory", None)
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for argument in schema:
        if argument.name not in named:
            continue
        given = named[argument.name]
        if not argument.kwarg_only and len(positional) == schema.index(argument):
            positional.append(given)
        elif not argument.has_default_value() or given != argument.default_value:
            options[argument.name] = given
    return tuple(positional), options


def _view_of_copy(target: OpOverload) -> OpOverload | None:
    """The view of which an operator is the copy, by its name and schema."""
    namespace, _, name = target._schema.name.partition("::")
    if namespace != "aten" or not name.endswith("_copy") or target._schema.is_mutable:
        return None
    packet = getattr(torch.ops.aten, name.removesuffix("_copy"), None)
    view = getattr(packet, target._overloadname, None)
    if not isinstance(view, OpOverload):
        return None
    is_view = any(
        argument.alias_info is not None and not argument.alias_info.is_write
        for argument in view._schema.arguments
    )

    def signature(overload: OpOverload) -> list[tuple[str, str]]:
        return [(one.name, str(one.type)) for one in overload._schema.arguments]

    return view if is_view and signature(view) == signature(target) else None


Call = tuple[OpOverload, tuple[Any, ...], dict[str, Any]]


def _calls_of_lists(target: OpOverload, args: Any, kwargs: Any) -> list[Call] | None:
    """The calls that a functional operator on lists of tensors stands for."""
    name = target._schema.name
    if not name.startswith("aten::_foreach_") or target._schema.is_mutable:
        return None
    packet = getattr(torch.ops.aten, name.removeprefix("aten::_foreach_"), None)
    if (
        not isinstance(packet, OpOverloadPacket)
        or not args
        or not isinstance(args[0], list | tuple)
    ):
        return None
    calls: list[Call] = []
    own_names = [argument.name for argument in target._schema.arguments]
    for index in range(len(args[0])):
        own = []
        for argument in args:
            if isinstance(argument, (list, tuple)):
                if len(argument) != len(args[0]):
                    return None
                argument = argument[index]
            own.append(argument)
        options = dict(kwargs)
        overload = _resolve(packet, own, options)
        if overload is None:
            # What the operator on lists takes by place, the other may take by name.
            options[own_names[len(own) - 1]] = own.pop()
            overload = _resolve(packet, own, options)
        if overload is None:
            return None
        calls.append((overload, tuple(own), options))
    return calls


def _resolve(packet: OpOverloadPacket, args: Any, kwargs: Any) -> OpOverload | None:
    """The overload that a call of a packet takes."""
    return resolve_packet(packet, map_arg(tuple(args), _value_of), map_arg(kwargs, _value_of))


def plan_strides(
    value: torch.Tensor, sizes: Any, strides: Any, offset: Any = None
) -> list[tuple[OpOverload, tuple[Any, ...]]] | None:
    """The views that read memory at some sizes and strides; None where they are not known.

    The memory is that of a dense tensor at its beginning. Strides must nest: each is a multiple
    of the next smaller one, which spans no more than it.
    """
    aten = torch.ops.aten
    offset = value.storage_offset() if offset is None else offset
    numbers = [*value.shape, *value.stride(), value.storage_offset(), *sizes, *strides, offset]
    if not all(isinstance(number, int) for number in numbers):
        return None
    if value.storage_offset() != 0 or offset < 0 or value.numel() == 0 or 0 in sizes:
        return None
    order = sorted(range(value.dim()), key=lambda dim: (-value.stride()[dim], dim))
    expected = 1
    for dim in reversed(order):
        if value.shape[dim] != 1 and value.stride(dim) != expected:
            return None
        expected *= value.shape[dim]
    # Elements behind the tensor are those of other tensors in its memory.
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if last >= value.numel():
        return None
    plan: list[tuple[OpOverload, tuple[Any, ...]]] = []
    plan.append((aten.permute.default, (order,)))
    plan.append((aten.reshape.default, ([value.numel()],)))
    moving = [dim for dim in range(len(sizes)) if sizes[dim] > 1 and strides[dim] > 0]
    moving.sort(key=lambda dim: -strides[dim])
    for outer, inner in itertools.pairwise(moving):
        if strides[outer] % strides[inner] or strides[inner] * sizes[inner] > strides[outer]:
            return None
    span = sizes[moving[0]] * strides[moving[0]] if moving else 1
    # The last row of the outermost dim need not be whole.
    missing = offset + span - value.numel()
    if missing > 0:
        plan.append((aten.constant_pad_nd.default, ([0, missing],)))
    plan.append((aten.slice.Tensor, (0, offset, offset + span)))
    rest = span
    made: list[int] = []
    for dim in moving:
        kept = sizes[dim] * strides[dim]
        if kept != rest:
            plan.append((aten.slice.Tensor, (len(made), 0, kept)))
        made.append(sizes[dim])
        rest = strides[dim]
        plan.append((aten.reshape.default, ([*made, rest],)))
    if moving and rest != 1:
        plan.append((aten.slice.Tensor, (len(made), 0, 1)))
    plan.append((aten.reshape.default, ([sizes[dim] for dim in moving],)))
    inverse = [moving.index(dim) for dim in sorted(moving)]
    plan.append((aten.permute.default, (inverse,)))
    plan.append(
        (aten.reshape.default, ([sizes[dim] if dim in moving else 1 for dim in range(len(sizes))],))
    )
    if any(size > 1 and dim not in moving for dim, size in enumerate(sizes)):
        plan.append((aten.expand.default, ([*sizes],)))
    return plan
