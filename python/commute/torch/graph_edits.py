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
)
from commute.torch.graph_program import VALUE_KEYS, GraphProgram, get_value
from commute.torch.graph_transaction import GraphTransaction
from commute.torch.schema_arguments import (
    MEMORY_FORMATS_BY_NUMBER,
    SCALAR_TYPES_BY_NUMBER,
    STRIDED,
    Argument,
)
from commute.torch.stated_values import returns_fresh_memory, stated_value

# Facts about what a node gave, which are not those of another node.
_FACTS = (*VALUE_KEYS, "tensor_meta", "from_node", "unbacked_bindings", "grapharg", "tensor_dict")


# The export schema has no lists of element types: they come as their numbers.
_TYPE_LISTS = ("List[ScalarType]", "List[Optional[ScalarType]]")


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


def _float(value: str | float) -> float:
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else float(value)


def _describe_value(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return type(value).__name__


class GraphEdits:
    """Edits, as ProgramEdits::describe writes them, of the program of a graph."""

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
        self._values = {name: nodes[0] for name, nodes in program.nodes_by_name().items()}
        self._copies = dict(program.nodes_by_name())
        self._by_node_name = {
            node.name: node for group in program.groups for node in group
        }
        self._fake_mode: FakeTensorMode | None = None
        self._added: list[Node] = []
        # (old, new): the new node's value has the old one's name.
        self._replaced: list[tuple[Node, Node]] = []
        # What happens to the nodes that are there already, once all new ones are made.
        self._changes: list[Callable[[], None]] = []
        self._value_key = next(
            (key for node in graph.nodes for key in VALUE_KEYS if key in node.meta), VALUE_KEYS[0]
        )

    def apply(self) -> list[Node]:
        """Makes the edits, within the transaction; gives the new nodes."""
        kept = self._place_nodes()
        for change in self._changes:
            change()
        self._replace_outputs()
        self._check_readers(kept)
        for index, group in enumerate(self._program.groups):
            if index not in kept:
                self._transaction.mark_dead(group)
        return self._added

    def _place_nodes(self) -> set[int]:
        """Makes the new nodes, and brings all of them in the order of the result;
        gives the program nodes that are kept."""
        kept: set[int] = set()
        cursor = self._first_position()
        last_kept = -1
        for item in self._edits["nodes"]:
            if isinstance(item, dict) and "add" in item:
                cursor = self._add(item["add"], cursor)
                continue
            index = item["keep"] if isinstance(item, dict) else item
            kept.add(index)
            group = self._program.groups[index]
            if not group:
                continue
            if index < last_kept:
                cursor.append(group[0])
            last_kept = max(index, last_kept)
            cursor = self._gather_picks(group)
            if isinstance(item, dict):
                self._rename(index, item["values"])
        return kept

    def _first_position(self) -> Node:
        """The node behind which the first node of the result goes.

        Inputs may stand behind nodes, parameters where they are first read; a new node
        may need them earlier.
        """
        first = next(group[0] for group in self._program.groups if group)
        for node in self._program.late_inputs:
            first.prepend(node)
        return first.prev

    @staticmethod
    def _gather_picks(group: Sequence[Node]) -> Node:
        """Brings what picks the results of a node, which stands anywhere behind it,
        where new nodes may read it; gives the last."""
        node = group[0]
        for picked in group[1:]:
            node.append(picked)
            node = picked
        return node

    #
    # Kept nodes
    #

    def _value(self, name: str) -> Node:
        try:
            return self._values[name]
        except KeyError:
            raise CommuteError(f"internal error: no node gives the value {name!r}") from None

    def _rename(self, index: int, renames: dict[str, str]) -> None:
        node = self._program.groups[index][0]
        names = {int(place): name for place, name in renames.items()}
        num_reads = self._program.num_reads(node)
        results = self._program.result_names(index)
        for place, name in names.items():
            if place >= num_reads:
                self._values[name] = self._value(results[place - num_reads])
        values = {place: self._value(name) for place, name in names.items() if place < num_reads}

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
        """Readers outside the program's nodes read what took the outputs' places."""
        inside = {node for group in self._program.groups for node in group}
        inside.update(self._added)
        for place, name in self._edits["outputs"].items():
            old, new = self._program.outputs[int(place)], self._value(name)
            self._check_same(old, new)
            for copy in self._copies.get(old.name, [old]):
                copy.replace_all_uses_with(new, delete_user_cb=lambda user: user not in inside)

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
        with self._graph.inserting_after(cursor):
            node = self._graph.create_node(op, target, args, kwargs, name=name)
        self._added.append(node)
        return node

    def _add(self, description: dict[str, Any], cursor: Node) -> Node:
        """Gives the last of the nodes that it takes."""
        target = _resolve(description["target"])
        args, kwargs = self._arguments(target, description["inputs"])
        origin = self._by_node_name.get(description["metadata"].get("node"))
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
        self._values[name] = node
        old_nodes = self._copies.pop(name, ())
        self._replaced += [(old, node) for old in old_nodes]
        self._copies[name] = [node]

        def change() -> None:
            for old in old_nodes:
                old.replace_all_uses_with(node)

        if old_nodes:
            self._changes.append(change)

    def _check_readers(self, kept: Collection[int]) -> None:
        """A node that is kept reads a tensor like the one that it read before."""
        nodes = {node for index in kept for node in self._program.groups[index]}
        for old, new in self._replaced:
            if not nodes.isdisjoint(new.users):
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
            node.meta.update(
                {key: fact for key, fact in origin.meta.items() if key not in _FACTS}
            )
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
        if mode and self._program.is_functional_graph and returns_fresh_memory(node.target):
            stated = stated_value(outputs, self._edits["values"], mode)
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
        for argument in target._schema.arguments:
            if str(argument.real_type) in _TYPE_LISTS and given.get(argument.name):
                given[argument.name] = [
                    SCALAR_TYPES_BY_NUMBER.get(number) for number in given[argument.name]
                ]
            if argument.kwarg_only or argument.name not in given:
                break
            args.append(given.pop(argument.name))
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
        if tag in ("as_int", "as_ints", "as_bool", "as_bools", "as_string", "as_strings"):
            return payload
        if tag == "as_float":
            return _float(payload)
        if tag == "as_floats":
            return [_float(item) for item in payload]
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
