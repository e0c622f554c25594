# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Changes of a live fx.Graph that are made as a whole or not at all."""

from collections.abc import Collection, Iterable

from torch.fx import Graph, Node

from commute.errors import CommuteError


class GraphTransaction:
    """The changes that several edits make to one graph.

    Edits add nodes, move them and change their arguments; nodes that are no longer
    needed are only marked, and erased by `commit`, once nothing can fail any more:
    PyTorch cannot bring an erased node back.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        # Of a whole graph: properties take several times as long.
        self._before = [(node, node._args, node._kwargs, list(node.users)) for node in graph.nodes]
        self._dead: list[Node] = []

    def mark_dead(self, nodes: Iterable[Node]) -> None:
        """For nodes whose readers, if any, are dead as well; in the order of the graph."""
        self._dead += nodes

    def commit(self) -> None:
        """Checks the graph, then erases the dead nodes."""
        dead = set(self._dead)
        for node in self._dead:
            readers = ", ".join(user.name for user in node.users if user not in dead)
            if readers:
                raise CommuteError(
                    f"internal error: {node.name} is gone but for its readers {readers}"
                )
        self._check_order(dead)
        for node in reversed(self._dead):
            self._graph.erase_node(node)
        self._dead.clear()

    def _check_order(self, dead: Collection[Node]) -> None:
        """Every node that stays stands behind what it reads."""
        seen: set[Node] = set()
        for node in self._graph.nodes:
            if node in dead:
                continue
            if not seen.issuperset(node._input_nodes):
                late = ", ".join(read.name for read in node.all_input_nodes if read not in seen)
                raise CommuteError(
                    f"internal error: {node.name} stands before {late}, which it reads"
                )
            seen.add(node)

    def roll_back(self) -> None:
        """Brings the graph back to what it was."""
        known = {node for node, *_ in self._before}
        for node, args, kwargs, _ in self._before:
            if node.args is not args:
                node.args = args
            if node.kwargs is not kwargs:
                node.kwargs = kwargs
        for node in reversed(self._graph.nodes):
            if node not in known:
                self._graph.erase_node(node)
        for node, _, _, users in self._before:
            self._graph._root.prepend(node)
            node.users.clear()
            node.users.update(dict.fromkeys(users))
