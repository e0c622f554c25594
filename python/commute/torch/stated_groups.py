# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The groups of a graph: those that a caller states, and those that the process knows."""

from collections.abc import Collection, Mapping
from typing import Any

from commute.native import native, native_errors
from commute.torch.known_groups import Ranks, known_groups
from commute.torch.process_groups import (
    ProcessGroups,
    framework_name,
    get_rank,
    lists_of,
    process_group_name,
)


def ranks_of(stated: Any) -> Ranks:
    """The groups of which an entry of a context states the ranks; none if it has another form."""
    ranks = stated.get("ranks") if isinstance(stated, dict) else None
    return lists_of(ranks) if isinstance(ranks, list) else []


def with_own_names(context: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A context whose groups have their names in the graph, where it calls them as the framework
    does that made them: the axis of a mesh, such as "tp"."""
    called = {name: framework_name(name) for name in names}
    own = {other: name for name, other in called.items() if other and other not in names}
    # Of several groups with one name it is not known which is meant.
    own = {other: name for other, name in own.items() if [*called.values()].count(other) == 1}

    def renamed(stated: Any) -> Any:
        if not isinstance(stated, Mapping):
            return stated
        return {own.get(name, name): entry for name, entry in stated.items()}

    inputs = context.get("inputs")
    if own and "groups" in context:
        context = {**context, "groups": renamed(context["groups"])}
    if own and isinstance(inputs, Mapping):
        context = {**context, "inputs": {name: renamed(of) for name, of in inputs.items()}}
    return context


def find_groups(
    stated: Mapping[str, Any], names: Collection[str], *, completes: bool = False
) -> dict[str, Any]:
    """The entries of a context for groups: those that are stated, and those of `names` that the
    process knows. Groups of which too little is known have none.

    completes  of a group that is older than the import of this package, this rank's ranks are
               stated, from which those of other ranks may follow under a premise
    """
    found = dict(stated)
    process = ProcessGroups()
    for name in sorted(names):
        # The group around this rank says less than the whole axis does.
        if name not in found or ranks_of(found[name]) == [process.own_members(name)]:
            known = process.find(name) or (_own_group(process, name) if completes else None)
            if known is not None:
                found[name] = {"ranks": known}
    _forget_incomplete(found, names)
    for name in names:
        entry, torch_name = found.get(name), process_group_name(name)
        if isinstance(entry, dict) and torch_name != name:
            found[name] = {"process_group": torch_name, **entry}
    return found


def _own_group(process: ProcessGroups, name: str) -> Ranks | None:
    own = process.own_members(name)
    is_older = own is not None and known_groups.is_older(process_group_name(name), own)
    return [own] if own is not None and is_older else None


def _forget_incomplete(found: dict[str, Any], names: Collection[str]) -> None:
    """Removes groups of which only this rank's is known, if those of the other ranks do not
    follow: a rank outside would have to communicate in a group that it is not in."""
    ranks = {name: groups for name in sorted(names) if (groups := ranks_of(found.get(name)))}
    numbers = [rank for groups in ranks.values() for row in groups for rank in row]
    # What has another form is refused where it is read.
    if any(type(rank) is not int for rank in numbers):
        return
    rank = get_rank()
    is_in_all = all(any(rank in row for row in groups) for groups in ranks.values())
    with native_errors():
        if native().complete_groups([*ranks.values()], rank if is_in_all else None) is not None:
            return
    for name, groups in ranks.items():
        if len(groups) == 1 and not {*numbers} <= {*groups[0]}:
            del found[name]
