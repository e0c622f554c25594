# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""States of a graph that passes change in place.

A state holds references to what the nodes are made of. The arguments of a node are immutable
and replaced as a whole, so that a pass that changed nothing is recognized by identity, without
a copy of the graph and without looking into arguments.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from commute.errors import CommuteError
from commute.torch.compatibility import set_graph
from commute.torch.graph_program import VALUE_KEYS

# What the metadata of a node says to the reader: values and the user's lines.
_META_KEYS = (*VALUE_KEYS, "stack_trace", "nn_module_stack", "desc")


def find_attribute(module: Any, target: str) -> Any:
    """What a get_attr node of a module reads; None if it is not there."""
    found = module
    for name in target.split("."):
        found = getattr(found, name, None)
    return found


@dataclasses.dataclass(frozen=True)
class _NodeState:
    node: Node
    op: str
    name: str
    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    meta: dict[str, Any]
    # Of get_attr: what it reads, which a pass may replace or delete.
    attribute: Any = None

    @classmethod
    def take(cls, node: Node, module: Any) -> "_NodeState":
        meta = node.meta
        return cls(
            node,
            node.op,
            node.name,
            node.target,
            node.args,
            node.kwargs,
            {key: meta[key] for key in _META_KEYS if key in meta},
            find_attribute(module, str(node.target)) if node.op == "get_attr" else None,
        )

    def is_current(self, node: Node, module: Any) -> bool:
        return (
            self.node is node
            and self.target is node.target
            and self.args is node.args
            and self.kwargs is node.kwargs
            and (
                self.op != "get_attr" or self.attribute is find_attribute(module, str(node.target))
            )
        )


class GraphState:
    """The nodes of a graph at one time."""

    def __init__(self, graph: Graph, module: Any = None) -> None:
        self.module = graph.owning_module if module is None else module
        self._nodes = [_NodeState.take(node, self.module) for node in graph.nodes]

    def __len__(self) -> int:
        return len(self._nodes)

    def is_current(self, graph: Graph, module: Any = None) -> bool:
        """Whether the graph is still what it was."""
        module = graph.owning_module if module is None else module
        nodes = graph.nodes
        return len(nodes) == len(self._nodes) and all(
            state.is_current(node, module) for state, node in zip(self._nodes, nodes)
        )

    def attributes(self) -> dict[str, Any]:
        """What the get_attr nodes read, by target."""
        return {str(one.target): one.attribute for one in self._nodes if one.op == "get_attr"}

    def build(self) -> GraphModule:
        """The graph as it was, in an order in which values are defined before they are read.

        It is a GraphModule of its own, which shares tensors and submodules with the original.
        Raises CommuteError for a graph with a cycle.
        """
        graph = Graph()
        made: dict[Node, Node] = {}
        for state in self._sorted():
            made[state.node] = node = graph.create_node(
                state.op,
                state.target,
                map_arg(state.args, made.__getitem__),
                map_arg(state.kwargs, made.__getitem__),
                name=state.name,
            )
            node.meta = dict(state.meta)
        root: Any = self.module
        attributes = self.attributes()
        if not any(state.op == "call_module" for state in self._nodes):
            root = attributes
        elif not isinstance(root, GraphModule) and not hasattr(root, "named_modules"):
            raise CommuteError("the graph calls modules, and belongs to no module")
        return make_module(root, graph)

    def _sorted(self) -> list[_NodeState]:
        states = {state.node: state for state in self._nodes}
        reads = {state.node: _reads(state, states) for state in self._nodes}
        done: set[Node] = set()
        result: list[_NodeState] = []
        # Most graphs are sorted; in the others, values are defined where they are first read.
        for state in self._nodes:
            stack = [state.node]
            entered: set[Node] = set()
            while stack:
                node = stack[-1]
                if node in done:
                    stack.pop()
                    continue
                missing = [read for read in reads[node] if read not in done]
                if not missing:
                    stack.pop()
                    done.add(node)
                    result.append(states[node])
                    continue
                if node in entered:
                    raise CommuteError(f"the graph has a cycle through {node.name!r}")
                entered.add(node)
                stack.extend(reversed(missing))
        placeholders = [state for state in result if state.op == "placeholder"]
        outputs = [state for state in result if state.op == "output"]
        others = [state for state in result if state.op not in ("placeholder", "output")]
        return [*placeholders, *others, *outputs]


def _reads(state: _NodeState, states: Mapping[Node, _NodeState]) -> list[Node]:
    found: list[Node] = []

    def note(node: Node) -> Node:
        if node not in states:
            raise CommuteError(f"{state.name!r} reads {node.name!r}, which is not in its graph")
        found.append(node)
        return node

    map_arg(state.args, note)
    map_arg(state.kwargs, note)
    return found


def make_module(root: Any, graph: Graph) -> GraphModule:
    """A GraphModule whose code is not generated: it is read and interpreted, not called."""
    module = GraphModule({}, Graph())
    if isinstance(root, Mapping):
        for target, value in root.items():
            set_attribute(module, target, value)
    else:
        for name, child in root.named_children():
            module.add_module(name, child)
        for node in graph.find_nodes(op="get_attr"):
            set_attribute(module, str(node.target), find_attribute(root, str(node.target)))
    set_graph(module, graph)
    return module


class _Holder:
    """Parts of a name with dots."""


def set_attribute(module: Any, target: str, value: Any) -> None:
    *path, last = target.split(".")
    holder = module
    for name in path:
        child = getattr(holder, name, None)
        if child is None:
            child = _Holder()
            object.__setattr__(holder, name, child)
        holder = child
    if not hasattr(holder, last):
        object.__setattr__(holder, last, value)
