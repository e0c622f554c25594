# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The process groups that this process knows, and which nodes communicate in them."""

import functools
import sys
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.fx import Node

from commute.torch.compatibility import OpOverload, group_ranks_by_name
from commute.torch.known_groups import Ranks, known_groups, world_groups


def get_rank() -> int | None:
    """This process's rank, None outside of a distributed program."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else None


def lists_of(ranks: Any) -> Ranks:
    """The groups of an axis; a single one may be written as a list of its ranks."""
    lists: Ranks = ranks if all(isinstance(members, list) for members in ranks) else [ranks]
    return lists


# Process groups by the names that other systems use in their own collectives.
_registered: dict[str, dist.ProcessGroup] = {}


def register_group_name(name: str, group: dist.ProcessGroup | None) -> None:
    """Says which process group collectives of another system mean by a name, such as "tp:0";
    None forgets the name. The names of vLLM's groups are known."""
    if group is None:
        _registered.pop(name, None)
    else:
        _registered[name] = group


def _group_of_vllm(name: str) -> dist.ProcessGroup | None:
    state: Any = sys.modules.get("vllm.distributed.parallel_state")
    find = getattr(state, "_groups", {}).get(name)
    coordinator = find and find()
    return getattr(coordinator, "device_group", None)


def process_group_name(name: str) -> str:
    """The name by which torch.distributed knows a group."""
    group = _registered.get(name) or _group_of_vllm(name)
    return name if group is None else str(group.group_name)


def framework_name(name: str) -> str:
    """What the framework that made a group of torch.distributed calls it, such as "tp:0" of vLLM
    or "TENSOR_MODEL_PARALLEL_GROUP" of Megatron; "" if it has no name but the number."""
    others = getattr(sys.modules.get("vllm.distributed.parallel_state"), "_groups", {})
    for other in (*_registered, *others):
        if other != name and process_group_name(other) == name:
            return str(other)
    return known_groups.description(name).removeprefix("mesh_")


class ProcessGroups:
    """The groups of torch.distributed by name, and those that other systems name.

    A process knows the members of its own group. The members of the groups that have its
    name on other ranks follow for the group of all ranks, and for groups that were made for
    all ranks alike, as those of a DeviceMesh are.
    """

    def own_members(self, name: str) -> list[int] | None:
        """The ranks of this rank's group; None if the process has no such group."""
        return None if get_rank() is None else group_ranks_by_name(process_group_name(name))

    def find(self, name: str) -> Ranks | None:
        """The ranks of the groups of this name on all ranks; None if not known."""
        own = self.own_members(name)
        if own is None:
            return None
        if len(own) == dist.get_world_size():
            return [own]
        return world_groups(process_group_name(name))


@functools.cache
def _find_argument(target: OpOverload, names: tuple[str, ...]) -> tuple[int, str] | None:
    """The place and the name of the first argument in a schema that has one of some names."""
    for place, argument in enumerate(target._schema.arguments):
        if argument.name in names:
            return place, argument.name
    return None


def _argument(node: Node, *names: str) -> Any:
    """An argument of an operator by its name in the schema, None if it has none such."""
    if not isinstance(node.target, OpOverload):
        return None
    return _value_of(node, _find_argument(node.target, names))


def _value_of(node: Node, found: tuple[int, str] | None) -> Any:
    if found is None:
        return None
    place, name = found
    return node.args[place] if place < len(node.args) else node.kwargs.get(name)


# Their collectives name their groups.
_PYTORCHS_OWN = ("aten", "prims", "_c10d_functional", "_c10d_functional_autograd", "symm_mem")


@functools.cache
def implied_group(target: OpOverload) -> str | None:
    """The group of a collective of a serving engine that takes none as an argument."""
    if target.namespace in _PYTORCHS_OWN:
        return None
    try:
        from commute import _commute
    except ImportError:
        return None  # Reported where the module is needed.
    return _commute.implied_group(f"torch.ops.{target}") or None


class _GroupArgument(NamedTuple):
    """Where an operator has the name of its process group, or the group that it implies."""

    target: OpOverload
    found: tuple[int, str] | None
    implied: str | None


# By the identity of the operator: hashing one takes longer than all else here, and passes ask
# for every node of a graph, most of which do not communicate. An entry keeps its operator.
_group_arguments: dict[int, _GroupArgument] = {}


def _group_argument(target: OpOverload) -> _GroupArgument:
    known = _group_arguments.get(id(target))
    if known is None:
        found = _find_argument(target, ("group_name", "group"))
        known = _GroupArgument(target, found, implied_group(target))
        _group_arguments[id(target)] = known
    return known


def group_name_of(node: Node) -> str | None:
    """The name of the process group in which a node communicates."""
    if not isinstance(node.target, OpOverload):
        return None
    known = _group_argument(node.target)
    name = _value_of(node, known.found)
    if name is None:
        return known.implied
    return name if isinstance(name, str) else None


def _is_collective(target: OpOverload) -> bool:
    known = _group_argument(target)
    return known.found is not None or known.implied is not None


def collectives_among(nodes: Iterable[Node]) -> list[Node]:
    """The nodes that communicate in a process group, known or not."""
    return [
        node
        for node in nodes
        if isinstance(node.target, OpOverload) and _is_collective(node.target)
    ]


def has_computed_group(node: Node) -> bool:
    """Whether a node communicates in a process group that only a run tells."""
    return isinstance(node.target, OpOverload) and isinstance(
        _value_of(node, _group_argument(node.target).found), Node
    )


def group_names(nodes: Iterable[Node]) -> set[str]:
    """The process groups in which nodes communicate."""
    return {name for node in nodes if (name := group_name_of(node)) is not None}


def names_with_size(nodes: Iterable[Node]) -> set[str]:
    """The groups of which some node states the number of ranks."""
    return {
        name
        for node in nodes
        if isinstance(_argument(node, "group_size"), int)
        and (name := group_name_of(node)) is not None
    }


def waits_for(node: Node, started: Collection[Node]) -> bool:
    """Whether a node is the wait for one of some collectives."""
    return node.target is torch.ops._c10d_functional.wait_tensor.default and node.args[0] in started
