# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What Commute changed, done to a live fx.Graph.

Nodes that were kept stay the same objects, new ones get the metadata of the node
that they were made for and the values that they give themselves, and nodes that
nothing needs any more are erased.
"""

import contextlib
import functools
import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node, map_arg

from commute.errors import CommuteError
from commute.torch.compatibility import (
    FakeTensor,
    FakeTensorMode,
    OpOverload,
    enable_python_dispatcher,
    replace_hooks,
)
from commute.torch.graph_program import VALUE_KEYS, GraphProgram, get_value
from commute.torch.graph_transaction import GraphTransaction
from commute.torch.schema_arguments import (
    MEMORY_FORMATS_BY_NUMBER,
    SCALAR_TYPES_BY_NUMBER,
    STRIDED,
    Argument,
)
from commute.torch.stated_values import (
    returns_fresh_memory,
    returns_view,
    stated_value,
    static_view,
)

# Facts about what a node gave, which are not those of another node.
_FACTS = (*VALUE_KEYS, "tensor_meta", "from_node", "unbacked_bindings", "grapharg", "tensor_dict")


# What Python has in the form of the schema.
_PLAIN = frozenset(
    f"as_{kind}{number}" for kind in ("int", "float", "bool", "string") for number in ("", "s")
)

# The export schema has no lists of element types: they come as their numbers.
_TYPE_LISTS = ("List[ScalarType]", "List[Optional[ScalarType]]")


@functools.cache
def _parameters(target: OpOverload) -> list[tuple[str, bool, bool]]:
    """Of each its name, whether it is keyword-only, and whether it is a list of element types."""
    return [
        (argument.name, argument.kwarg_only, str(argument.real_type) in _TYPE_LISTS)
        for argument in target._schema.arguments
    ]


@functools.cache
def _resolve(name: str) -> Any:
    """A function by the name that the program has for it."""
    if name.startswith("torch.Tensor."):
        return name.removeprefix("torch.Tensor.")
    if name.startswith("_operator."):
        return getattr(operator, name.removeprefix("_operator."))
    found: Any = torch
    for part in name.removeprefix("torch.").split("."):
        found = getattr(found, part)
    return found


def _describe_value(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return type(value).__name__


class GraphEdits:
    """Edits, in the form of the native module's LiveEdits.h, of the program of a graph."""

    def __init__(
        self,
        graph: Graph,
        program: GraphProgram,
        edits: dict[str, Any],
        transaction: GraphTransaction,
    ) -> None:
        self._graph = graph
        self._transaction = transaction
        self._program = program
        self._edits = edits
        # The nodes that hold each value that was asked for; the first stands for it.
        self._copies: dict[str, list[Node]] = {}
        self._fake_mode: FakeTensorMode | None = None
        self._added: list[Node] = []
        # (old, new, readers of the old one): the new node's value has the old one's name.
        self._replaced: list[tuple[Node, Node, list[Node]]] = []
        # What happens to the nodes that are there already, once all new ones are made.
        self._changes: list[Callable[[], None]] = []
        self._value_key = next(
            (key for node in graph.nodes for key in VALUE_KEYS if key in node.meta), VALUE_KEYS[0]
        )

    def apply(self) -> list[Node]:
        """Makes the edits, within the transaction; gives the new nodes."""
        is_kept = self._place_nodes()
        for change in self._changes:
            change()
        self._replace_outputs()
        dead = [
            node
            for index, kept in enumerate(is_kept)
            if not kept
            for node in self._program.group(index)
        ]
        self._check_readers(dead)
        self._transaction.mark_dead(dead)
        return self._added

    def _place_nodes(self) -> bytearray:
        """Makes the new nodes, and brings all of them in the order of the result;
        tells which program nodes are kept."""
        is_kept = bytearray(len(self._program))
        cursor = self._first_position()
        for index in self._program.scattered():
            self._gather_picks(self._program.group(index))
        last_kept = -1
        for item in self._edits["nodes"]:
            if isinstance(item, dict):
                cursor = self._add(item, cursor)
                continue
            if isinstance(item, tuple):
                index, values, results = item
                self._rename(self._program.group(index), values, results)
                indices = range(index, index + 1)
            else:
                indices = item
            is_kept[indices.start : indices.stop] = b"\1" * len(indices)
            if indices.start < last_kept:
                self._move(indices, cursor)
            last_kept = max(indices.stop - 1, last_kept)
            cursor = self._last_node(indices) or cursor
        return is_kept

    def _last_node(self, indices: range) -> Node | None:
        """The last FX node of the program nodes in a range."""
        for index in reversed(indices):
            if group := self._program.group(index):
                return group[-1]
        return None

    def _move(self, indices: range, cursor: Node) -> None:
        """Brings kept nodes behind `cursor`."""
        for index in indices:
            for node in self._program.group(index):
                cursor.append(node)
                cursor = node

    def _first_position(self) -> Node:
        """The node behind which the first node of the result goes.

        Inputs may stand behind nodes, parameters where they are first read; a new node
        may need them earlier.
        """
        groups = map(self._program.group, range(len(self._program)))
        first = next(group[0] for group in groups if group)
        for node in self._program.late_inputs:
            first.prepend(node)
        return first.prev

    @staticmethod
    def _gather_picks(group: Sequence[Node]) -> None:
        """Brings what picks the results of a node, which stands anywhere behind it,
        where new nodes may read it."""
        node = group[0]
        for picked in group[1:]:
            node.append(picked)
            node = picked

    #
    # Kept nodes
    #

    def _nodes(self, name: str) -> list[Node]:
        nodes = self._copies.get(name)
        if nodes is None:
            nodes = self._copies[name] = self._program.find_nodes(name)
        return nodes

    def _value(self, name: str) -> Node:
        nodes = self._nodes(name)
        if not nodes:
            raise CommuteError(f"internal error: no node gives the value {name!r}")
        return nodes[0]

    def _rename(
        self, group: Sequence[Node], names: dict[int, str], results: dict[str, str]
    ) -> None:
        node = group[0]
        for old, new in results.items():
            self._copies[new] = [self._value(old)]
        if not names:
            return
        values = {place: self._value(name) for place, name in names.items()}

        def change() -> None:
            place = -1

            def replace(read: Node) -> Node:
                nonlocal place
                place += 1
                return values.get(place, read)

            args = map_arg(node.args, replace)
            node.kwargs = map_arg(node.kwargs, replace)
            node.args = args

        self._changes.append(change)

    def _replace_outputs(self) -> None:
        """The graph returns, and readers outside the program's nodes read, what took the
        outputs' places."""
        returned: dict[Node, Node] = {}
        read: dict[Node, Node] = {}
        for place, name in self._edits["outputs"].items():
            old, new = self._program.outputs[place], self._value(name)
            assert old is not None, "a constant has no name"
            self._check_same(old, new)
            new_of = returned if place < self._program.num_returned else read
            new_of.update((copy, new) for copy in self._nodes(old.name) or [old])
        if returned and self._program.output_node is not None:
            self._change_reads(self._program.output_node, returned)
        added = set(self._added)
        # The output of a graph may read thousands of them: change each reader once.
        for user in {user: None for copy in read for user in copy.users}:
            is_output = user is self._program.output_node
            if not (is_output or user in added or self._program.contains(user)):
                self._change_reads(user, read)

    def _change_reads(self, user: Node, new_of: dict[Node, Node]) -> None:
        hooks = replace_hooks(self._graph)
        for node in user.all_input_nodes if hooks else ():
            if node in new_of:
                for hook in hooks:
                    hook(old=node, new=new_of[node].name, user=user)
        args = map_arg(user.args, lambda node: new_of.get(node, node))
        user.kwargs = map_arg(user.kwargs, lambda node: new_of.get(node, node))
        user.args = args

    #
    # New nodes
    #

    def _create(
        self,
        cursor: Node,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
    ) -> Node:
        node = self._graph.create_node(op, target, args, kwargs, name=name)
        cursor.append(node)
        self._added.append(node)
        return node

    def _add(self, description: dict[str, Any], cursor: Node) -> Node:
        """Gives the last of the nodes that it takes."""
        target = _resolve(description["target"])
        args, kwargs = self._arguments(target, description["inputs"])
        place = description["origin"]
        # A fact that stands for no node has no metadata.
        origin = None if place is None else next(iter(self._program.group(place)), None)
        op = "call_method" if isinstance(target, str) else "call_function"
        node = self._create(cursor, op, target, args, kwargs, description["name"])
        outputs = description["outputs"]
        value = self._value_of(node, origin, outputs)
        self._describe(node, origin, value)
        if len(outputs) == 1:
            tag, payload = next(iter(outputs[0].items()))
            if tag in ("as_tensor", "as_sym_int"):
                self._take_place(payload["name" if tag == "as_tensor" else "as_name"], node)
                return node
        return self._pick(node, origin, value, outputs)

    def _pick(
        self, node: Node, origin: Node | None, value: Any, outputs: Sequence[Argument]
    ) -> Node:
        """getitem nodes for the results of an operator that gives several."""
        cursor = node

        def pick(source: Node, place: int, part: Any) -> Node:
            nonlocal cursor
            cursor = self._create(cursor, "call_function", operator.getitem, (source, place), {})
            self._describe(cursor, origin, part)
            return cursor

        for place, output in enumerate(outputs):
            tag, payload = next(iter(output.items()))
            if tag == "as_tensor":
                self._take_place(payload["name"], pick(node, place, value[place]))
            elif tag == "as_tensors":
                # The only result may be the list itself.
                source, parts = node, value
                if len(outputs) > 1:
                    source, parts = pick(node, place, value[place]), value[place]
                for position, item in enumerate(payload):
                    self._take_place(item["name"], pick(source, position, parts[position]))
        return cursor

    def _take_place(self, name: str, node: Node) -> None:
        """The value of this name is `node` from here on."""
        old_nodes = self._nodes(name)
        self._copies[name] = [node]

        def change() -> None:
            for old in old_nodes:
                self._replaced.append((old, node, [*old.users]))
                old.replace_all_uses_with(node)

        if old_nodes:
            self._changes.append(change)

    def _check_readers(self, dead: Collection[Node]) -> None:
        """A node that is kept reads a tensor like the one that it read before, unless it was
        given another value to read, or asserts only the type of the elements."""
        others = {*self._added, *dead}
        for old, new, readers in self._replaced:
            if any(
                reader in new.users
                and reader not in others
                # An assertion about sizes keeps the value that it reads.
                and reader.target is not torch.ops.aten._assert_tensor_metadata.default
                for reader in readers
            ):
                self._check_same(old, new)

    @staticmethod
    def _check_same(old: Node, new: Node) -> None:
        """A node that takes another one's place gives a tensor like it."""
        before, now = get_value(old), get_value(new)
        if not isinstance(before, torch.Tensor) or old is new:
            return
        fits = (
            isinstance(now, torch.Tensor)
            and (before.dtype, before.device, before.dim()) == (now.dtype, now.device, now.dim())
            and not any(
                isinstance(size, int) and isinstance(other, int) and size != other
                for size, other in zip(before.shape, now.shape)
            )
        )
        if not fits:
            raise CommuteError(
                f"internal error: {new.name} ({new.target}) gives {_describe_value(now)} in place"
                f" of {old.name}, which gives {_describe_value(before)}"
            )

    def _describe(self, node: Node, origin: Node | None, value: Any) -> None:
        if origin is not None:
            node.meta.update({key: fact for key, fact in origin.meta.items() if key not in _FACTS})
        node.meta[self._value_key] = value

    def _value_of(self, node: Node, origin: Node | None, outputs: Sequence[Argument]) -> Any:
        """What a node gives: by its stated types if these say all, or else computed."""
        # Not the mode of the tracing that is under way, which may be another one.
        modes = (
            value.fake_mode
            for read in node.all_input_nodes
            if isinstance(value := get_value(read), FakeTensor)
        )
        mode = next(modes, None)
        # Before functionalization, results belong to autograd's graph.
        if mode and self._program.is_functional_graph:
            stated = None
            if returns_fresh_memory(node.target):
                stated = stated_value(outputs, self._edits["values"], mode)
            elif returns_view(node.target):
                stated = static_view(node, mode)
            if stated is not None:
                return stated
        return self._compute(node, origin, mode or self._own_mode())

    def _compute(self, node: Node, origin: Node | None, mode: FakeTensorMode) -> Any:
        """The node's operator, run on the values that it reads."""
        operands = [get_value(read) for read in node.all_input_nodes]
        origin_value = None if origin is None else get_value(origin)
        records = any(getattr(value, "requires_grad", False) for value in operands) and (
            getattr(origin_value, "requires_grad", True)
        )

        def fake(read: Node) -> Any:
            value = get_value(read)
            is_real = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
            return mode.from_tensor(value) if is_real else value

        args, kwargs = map_arg(node.args, fake), map_arg(node.kwargs, fake)
        with mode, torch.set_grad_enabled(records), self._symbolic(mode):
            try:
                if isinstance(node.target, str):
                    return getattr(args[0], node.target)(*args[1:], **kwargs)
                return node.target(*args, **kwargs)
            except Exception as error:
                raise CommuteError(
                    f"internal error: PyTorch refuses the new node {node.format_node()}: {error}"
                ) from error

    def _own_mode(self) -> FakeTensorMode:
        """For nodes that read no fake tensor: the mode of the graph's, for other nodes read
        what these give."""
        if self._fake_mode is None:
            values = (get_value(node) for node in self._graph.nodes)
            modes = (value.fake_mode for value in values if isinstance(value, FakeTensor))
            self._fake_mode = next(modes, None) or FakeTensorMode(allow_non_fake_inputs=True)
        return self._fake_mode

    @staticmethod
    @contextlib.contextmanager
    def _symbolic(mode: FakeTensorMode) -> Iterator[None]:
        """Operators take symbolic sizes, and sizes that Commute has proven get no guard."""
        if mode.shape_env is None:
            yield
            return
        with mode.shape_env.suppress_guards(), enable_python_dispatcher():
            yield

    def _arguments(
        self, target: Any, inputs: Sequence[dict[str, Any]]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        if isinstance(target, OpOverload):
            return self._operator_arguments(target, inputs)
        for described in inputs:
            value = self._argument(described["arg"])
            # Python's operators take their operands by place.
            if described["name"] and getattr(target, "__module__", None) != "_operator":
                kwargs[described["name"]] = value
            else:
                args.append(value)
        return tuple(args), kwargs

    def _operator_arguments(
        self, target: OpOverload, inputs: Sequence[dict[str, Any]]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """By place as far as they come without a gap, else by keyword."""
        given = {described["name"]: self._argument(described["arg"]) for described in inputs}
        args = []
        by_place = True
        for name, is_keyword_only, has_types in _parameters(target):
            if name not in given:
                by_place = False
                continue
            if has_types and given[name]:
                given[name] = [SCALAR_TYPES_BY_NUMBER.get(number) for number in given[name]]
            by_place = by_place and not is_keyword_only
            if by_place:
                args.append(given.pop(name))
        return tuple(args), given

    def _argument(self, argument: Argument) -> Any:
        tag, payload = next(iter(argument.items()))
        if tag == "as_none":
            return None
        if tag == "as_tensor":
            return self._value(payload["name"])
        if tag == "as_tensors":
            return [self._value(item["name"]) for item in payload]
        if tag == "as_optional_tensors":
            return [self._argument(item) for item in payload]
        if tag == "as_sym_int":
            return self._size(payload)
        if tag == "as_sym_ints":
            return [self._size(item) for item in payload]
        if tag in _PLAIN:
            return payload
        if tag == "as_scalar_type":
            return SCALAR_TYPES_BY_NUMBER[payload]
        if tag == "as_memory_format":
            return MEMORY_FORMATS_BY_NUMBER[payload]
        if tag == "as_device":
            place = () if payload["index"] is None else (payload["index"],)
            return torch.device(payload["type"], *place)
        if tag == "as_layout" and payload == STRIDED:
            return torch.strided
        if tag == "as_operator":
            return _resolve(payload)
        raise CommuteError(f"internal error: a new node has an argument of kind {tag}")

    def _size(self, payload: dict[str, Any]) -> Any:
        return self._value(payload["as_name"]) if "as_name" in payload else payload["as_int"]
