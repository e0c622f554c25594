# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The program of a graph as all ranks see it: names that they share, facts that they state.

Each process names the groups of a mesh axis in its own way, and knows its own device. What
it publishes has names that follow from the members of groups, so ranks that run the same
program publish the same text.
"""

import atexit
import dataclasses
import functools
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from commute.torch.graph_program import GraphProgram
from commute.torch.process_groups import (
    ProcessGroups,
    group_names,
    process_group_name,
)
from commute.torch.rank_exchange import PublishedProgram, RankExchange, RanksDisagree
from commute.torch.stated_groups import ranks_of

# The parts of a context that each rank states for itself.
_OF_RANK = ("inputs", "assumptions", "size_ranges")


def add_own_groups(context: dict[str, Any], names: Collection[str]) -> None:
    """States this rank's own groups where those of other ranks are not known: the ranks of
    an exchange have no others."""
    process = ProcessGroups()
    for name in sorted(names):
        if not ranks_of(context["groups"].get(name)):
            own = process.own_members(name)
            if own is not None:
                context["groups"][name] = {"ranks": [own]}


def members_of(context: Mapping[str, Any], names: Collection[str], rank: int) -> set[int]:
    """The ranks that a rank communicates with in groups of these names."""
    return {
        member
        for name in names
        for group in ranks_of(context["groups"].get(name))
        if rank in group
        for member in group
    }


def offered_target(target: str) -> dict[str, str]:
    """What is priced for: a built-in target, or what a file says, which other ranks may not
    have."""
    path = Path(split_target(target)[0])
    return {"target": target, "text": path.read_text() if path.is_file() else ""}


def compiled_target(target: str) -> str:
    """A target for what Inductor compiles, unless it says how its programs run."""
    return target if split_target(target)[1] else f"{target}:compiled"


def split_target(target: str) -> tuple[str, str]:
    """The machine, and the suffix that says how its programs run: ":compiled", ":eager" or
    nothing."""
    for suffix in (":compiled", ":eager"):
        if target.endswith(suffix):
            return target.removesuffix(suffix), suffix
    return target, ""


def chosen_target(exchange: RankExchange, own: str) -> str:
    """The target of the lowest rank of an exchange, in a file if it is one of a file."""
    chosen = exchange.offers
    if not chosen["text"]:
        return chosen["target"]
    if chosen == offered_target(own):
        return own
    return _target_file(chosen["text"]) + split_target(chosen["target"])[1]


@functools.cache
def _target_file(text: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        file.write(text)
    atexit.register(os.unlink, file.name)
    return file.name


class CommonGroups:
    """Names of groups that all ranks have in common: the members and, among groups with equal
    members, the order in which the graph uses them.

    names  the common names, by those of this process
    own    the name in torch.distributed and the members of this rank's group, by a name that
           all members have for it, in the order in which the graph uses them
    """

    def __init__(
        self, context: Mapping[str, Any], nodes: Iterable[Any], names: Collection[str], rank: int
    ) -> None:
        self.names: dict[str, str] = {}
        self.own: dict[str, tuple[str, Sequence[int]]] = {}
        numbers: dict[str, int] = {}
        for name in dict.fromkeys(name for node in nodes for name in sorted(group_names([node]))):
            if name not in names:
                continue
            groups = ranks_of(context["groups"].get(name))
            members = json.dumps(groups)
            numbers[members] = numbers.get(members, 0) + 1
            self.names[name] = f"{members} {numbers[members]}"
            for group in groups:
                if rank in group:
                    self.own[f"{group} {len(self.own)}"] = process_group_name(name), group


@dataclasses.dataclass
class OtherPrograms:
    """The programs of the other ranks, for the native module; none if all are the same."""

    context: dict[str, Any]
    """This rank's context, with the ranks of the exchange alone."""
    ranks: Sequence[tuple[int, str, str]] = ()
    """Rank, program and context."""
    group_names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """This process's names of groups by those of the programs."""


class RankPrograms:
    """The programs of one graph, which are exchanged one by one."""

    def __init__(self, exchange: RankExchange, rank: int, groups: "CommonGroups") -> None:
        self._exchange = exchange
        self._rank = rank
        self._common = groups.names

    def exchange(
        self,
        name: str,
        program: GraphProgram,
        context: dict[str, Any],
        checksums: Mapping[str, int],
    ) -> OtherPrograms:
        """Gives a program to the other ranks, and takes theirs.

        checksums  of the parameters that are stated to be equal on all ranks, by name
        """
        facts = {key: self._renamed(context.get(key), self._common) for key in _OF_RANK}
        # The common names also say that devices go without their index.
        text = program.native.to_json(self._common)
        others = self._exchange.collect(
            name, PublishedProgram(text, {**facts, "checksums": checksums})
        )
        for rank, other in others.items():
            self._check_equal(checksums, other.facts["checksums"], rank)
        groups = self._restricted(context["groups"])
        own = {**context, "groups": groups, "rank": self._rank}
        own_names = {common: own for own, common in self._common.items()}
        return OtherPrograms(
            own,
            [
                (rank, other.text, json.dumps(self._context_of(rank, other, own, own_names)))
                for rank, other in sorted(others.items())
            ],
            own_names,
        )

    def _check_equal(self, own: Mapping[str, int], others: Mapping[str, int], rank: int) -> None:
        differing = sorted(name for name in own if others.get(name, own[name]) != own[name])
        if differing:
            raise RanksDisagree(
                'plain_parameters="replicated" states that parameters are equal on all ranks, but'
                f" {', '.join(map(repr, differing))} differ between ranks {self._rank} and {rank}"
            )

    def common_text(self, text: str) -> str:
        """A remark with the common names of groups."""
        for own, common in self._common.items():
            text = text.replace(f"'{own}'", f"'{common}'")
        return text

    def _restricted(self, groups: Mapping[str, Any]) -> dict[str, Any]:
        """Groups of ranks that take no part say nothing about the programs."""
        restricted = {}
        for name, stated in groups.items():
            known = [group for group in ranks_of(stated) if set(group) <= set(self._exchange.ranks)]
            if known:
                restricted[name] = {**stated, "ranks": known}
        return restricted

    def _context_of(
        self,
        rank: int,
        other: PublishedProgram,
        own: Mapping[str, Any],
        own_names: Mapping[str, str],
    ) -> dict[str, Any]:
        stated = {key: self._renamed(other.facts[key], own_names) for key in _OF_RANK}
        return {**own, **stated, "rank": rank}

    @staticmethod
    def _renamed(stated: Any, names: Mapping[str, str]) -> Any:
        """Placements by group, with other names of groups."""
        if not isinstance(stated, dict):
            return stated
        return {
            name: {names.get(group, group): placement for group, placement in one.items()}
            if isinstance(one, dict)
            else one
            for name, one in stated.items()
        }
