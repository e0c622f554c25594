# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Random numbers of Inductor, which draw from a seed, as those of eager operators.

`rand` draws numbers that nothing else draws. So does `inductor_random` of a seed that nothing
else reads. Two draws of one seed are the same numbers if their sizes are, and depend on each
other if they are not: then the calls stay what they are, operators without a meaning.
"""

from typing import Any

import torch
from torch.fx import Graph, Node

from commute.torch.compatibility import OpOverload

_MODES = {"rand": "rand.default", "randn": "randn.default"}


def _name(node: Node) -> str:
    return str(node.target) if isinstance(node.target, OpOverload) else ""


class RandomNumbers:
    """The draws of a graph."""

    def __init__(self, graph: Graph) -> None:
        draws: dict[Any, list[Node]] = {}
        opaque: set[Any] = set()
        for node in graph.nodes:
            if _name(node) == "prims.inductor_seed.default":
                self._note_readers(node, ("seed", node), draws, opaque)
            elif _name(node) == "prims.inductor_seeds.default":
                for user in node.users:
                    if _name(user) == "prims.inductor_lookup_seed.default":
                        self._note_readers(user, ("seeds", node, user.args[1]), draws, opaque)
        self._draws: dict[Node, tuple[Any, str, Node]] = {}
        self._seeds: set[Node] = set()
        for seed, nodes in draws.items():
            first = nodes[0]
            settings = [_settings(node) for node in nodes]
            # Of other sizes, or another law: the numbers depend on each other.
            if seed in opaque or settings[0] is None or any(one != settings[0] for one in settings):
                continue
            for node in nodes:
                self._draws[node] = (node.args[0], _MODES[str(node.args[2])], first)
                self._note_seed(node.args[1])

    @staticmethod
    def _note_readers(
        node: Node, seed: Any, draws: dict[Any, list[Node]], opaque: set[Any]
    ) -> None:
        for user in node.users:
            if _name(user) == "prims.inductor_random.default" and user.args[1] is node:
                draws.setdefault(seed, []).append(user)
            else:
                opaque.add(seed)

    def _note_seed(self, node: Any) -> None:
        """Notes a seed whose readers are all known."""
        if all(user in self._draws or user in self._seeds for user in node.users):
            self._seeds.add(node)
            if _name(node) == "prims.inductor_lookup_seed.default":
                self._note_seed(node.args[0])

    def is_seed(self, node: Node) -> bool:
        """Whether nothing reads a node but draws that `find` finds."""
        return node in self._seeds

    def find(self, node: Node) -> tuple[Any, str, Node] | None:
        """The sizes of a draw, the operator that draws as it does, and the first node that
        draws the same numbers. None for all other nodes."""
        return self._draws.get(node)


def _settings(node: Node) -> Any:
    mode = node.args[2] if len(node.args) == 3 else None
    value = node.meta.get("val")
    if mode not in _MODES or not isinstance(value, torch.Tensor) or node.kwargs:
        return None
    return node.args[0], mode, value.dtype, value.device
