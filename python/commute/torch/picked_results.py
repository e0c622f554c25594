# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Which nodes pick the results of a node that gives several.

A node that gives a list or a tuple has a value for each tensor in it; `operator.getitem`
nodes pick them, in one step or, from a list in a tuple, in two.
"""

import dataclasses
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

from torch.fx import Node

Path = tuple[int, ...]


@dataclasses.dataclass
class Picks:
    """The nodes that pick results."""

    leaves: dict[Node, Path] = dataclasses.field(default_factory=dict)
    """Those that pick a tensor, with its place."""
    nodes: list[Node] = dataclasses.field(default_factory=list)
    """All, each behind what it picks from."""


def _position(user: Node, length: int) -> int | None:
    """The place that a node picks of so many; None if it does something else."""
    if user.op != "call_function" or user.target is not operator.getitem or len(user.args) != 2:
        return None
    index = user.args[1]
    if not isinstance(index, int) or not -length <= index < length:
        return None
    return index % length


def find_picks(
    node: Node,
    values: Sequence[Any],
    members: Collection[Node],
    is_tensor: Callable[[Any], bool],
) -> Picks | None:
    """The nodes that pick the results of a node, all of `members`; None if another node reads
    the results together, or if some result is no tensor, list of tensors or None."""
    picks = Picks()

    def visit(source: Node, parts: Sequence[Any], path: Path) -> bool:
        for user in source.users:
            place = _position(user, len(parts))
            if place is None or user not in members:
                return False
            picks.nodes.append(user)
            part, place_of_part = parts[place], (*path, place)
            if isinstance(part, (list, tuple)):
                if not visit(user, part, place_of_part):
                    return False
            elif is_tensor(part):
                picks.leaves[user] = place_of_part
            elif user.users:
                return False
        return True

    def is_known(part: Any, *, is_nested: bool) -> bool:
        if isinstance(part, (list, tuple)) and not is_nested:
            return bool(part) and all(is_tensor(one) for one in part)
        return is_tensor(part) or (part is None and not is_nested)

    if not values or not all(is_known(part, is_nested=False) for part in values):
        return None
    return picks if visit(node, values, ()) else None
