# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What is known of a graph: groups, placements, assumptions.

Callers state it; what they do not state is taken from the process, if it knows. A graph
may be optimized as several programs, of which each is told what concerns it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from torch.fx import Node

from commute.errors import CommuteError
from commute.torch.graph_program import GraphProgram
from commute.torch.known_groups import Ranks
from commute.torch.process_groups import get_rank
from commute.torch.stated_groups import find_groups, ranks_of, with_own_names
from commute.torch.traced_inputs import TracedInputs


def _symbols_of(assumption: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", assumption))


class StatedContext:
    """A context in the form of a sidecar, for the programs of one graph.

    allow_unused  what is stated of groups, inputs or sizes that the graph does not have is
                  ignored: the context is of more than one graph
    compile_range the smallest and the largest value of the graph's only symbolic size
    plain_parameters  what is known of parameters and buffers of which neither the context nor
                  a DTensor says anything: as in `optimize_graph`
    completes_groups  of a group that is older than this package's import, this rank's members
                  are stated, from which those of other ranks may follow under a premise
    """

    def __init__(
        self,
        context: Mapping[str, Any] | None,
        programs: Sequence[GraphProgram],
        *,
        allow_unused: bool = False,
        compile_range: tuple[int, int] | None = None,
        plain_parameters: str | None = None,
        completes_groups: bool = False,
    ) -> None:
        self._compile_range = compile_range
        self._plain_parameters = plain_parameters
        self._names = {name for program in programs for name in program.group_names()}
        self._context: dict[str, Any] = (
            {"version": 1} if context is None else with_own_names(dict(context), self._names)
        )
        self._groups: dict[str, Any] = {}
        self._traced = TracedInputs.current()
        if self._is_readable():
            self._groups.update(self._context.get("groups", {}))
            if not allow_unused:
                self._check(programs)
            self._groups = find_groups(self._groups, self._names, completes=completes_groups)

    def _is_readable(self) -> bool:
        """What has another form is refused where it is read."""
        forms = {"groups": dict, "inputs": dict, "assumptions": list}
        return all(isinstance(self._context.get(key, form()), form) for key, form in forms.items())

    def _names_of(self, node: Node) -> tuple[str, ...]:
        """The names under which an input may be stated, the node's own first."""
        known = self._traced.name(node)
        return (node.name, known) if known else (node.name,)

    def _check(self, programs: Sequence[GraphProgram]) -> None:
        """That what is stated is stated of something in the graph."""

        def check(kind: str, stated: Iterable[str], known: Collection[str]) -> None:
            for name in stated:
                if name not in known:
                    raise CommuteError(
                        f"context: {kind} {name!r} is stated, but the graph has no such"
                        f" {kind}; it has {', '.join(sorted(known)) or 'none'}"
                    )

        nodes = [node for program in programs for node in program.input_nodes()]
        inputs = {name for node in nodes for name in self._names_of(node)}
        symbols = {name for program in programs for name in program.symbols()}
        check("input", self._context.get("inputs", {}), inputs)
        # A context may describe more of a mesh than the graph uses. While a group of
        # the graph is not stated, a name that it does not have is a mistake.
        if self._names - set(self._groups):
            check("group", self._groups, self._names)
        if not self._names and self._context.get("rank"):
            raise CommuteError("context: a rank is stated, but the graph has no groups")
        for assumption in self._context.get("assumptions", []):
            check("size", _symbols_of(str(assumption)), symbols)
        ranges = self._context.get("size_ranges", {})
        check("size", ranges if isinstance(ranges, dict) else (), symbols)

    @property
    def groups(self) -> Mapping[str, Any]:
        """What is stated or known of groups, by name."""
        return self._groups

    def know(self, groups: Mapping[str, Ranks]) -> None:
        """Takes groups as known that were not before."""
        self._groups.update((name, {"ranks": ranks}) for name, ranks in groups.items())

    def unknown_groups(self) -> set[str]:
        """The groups of the graph whose ranks nobody states."""
        return self._names - set(self._groups)

    def has_several_groups(self) -> bool:
        return len(self._names) > 1

    def has_other_groups(self, program: GraphProgram) -> bool:
        """Whether the graph has groups that this program does not name."""
        return bool(self._names - program.group_names())

    def _ranks(self, name: str) -> Ranks:
        """The groups of a name, none if they are not known."""
        return ranks_of(self._groups.get(name))

    def _rank(self, own: set[str]) -> int | None:
        """This process's rank, where all groups of a program are known and have it."""
        rank = get_rank()
        is_member = all(any(rank in members for members in self._ranks(name)) for name in own)
        return rank if is_member else None

    def _placements(self, node: Node, own: set[str]) -> dict[str, str]:
        """The groups on which a traced DTensor says that an input is replicated."""
        layout = self._traced.layout(node)
        if layout is None:
            return {}
        return {
            name: "replicated"
            for name in sorted(own)
            if (ranks := self._ranks(name)) and layout.is_replicated(ranks)
        }

    def _inputs_of(self, program: GraphProgram, own: set[str]) -> dict[str, Any]:
        stated_inputs = self._context.get("inputs", {})
        inputs: dict[str, Any] = {}
        for node in program.input_nodes():
            placements: Any = self._placements(node, own)
            for name in self._names_of(node):
                if name not in stated_inputs:
                    continue
                stated = stated_inputs[name]
                # What has another form is refused where it is read.
                if not isinstance(stated, dict):
                    placements = stated
                    break
                placements.update(
                    (group, placement)
                    for group, placement in stated.items()
                    if group not in self._names or group in own
                )
                break
            if isinstance(placements, dict) and self._is_taken_as_equal(node):
                placements = {**dict.fromkeys(sorted(own), "replicated"), **placements}
            if placements or node.name in stated_inputs:
                inputs[node.name] = placements
        return inputs

    def _is_taken_as_equal(self, node: Node) -> bool:
        return self._plain_parameters == "replicated" and self._traced.is_plain_parameter(node)

    def unknown_parameters(self, program: GraphProgram) -> dict[str, str]:
        """The plain parameters of which nothing is known, and the names that users know."""
        if self._plain_parameters != "unknown":
            return {}
        inputs = self._inputs_of(program, program.group_names())
        return {
            node.name: self._traced.name(node)
            for node in program.input_nodes()
            if node.name not in inputs and self._traced.is_plain_parameter(node)
        }

    def checksums_of(self, program: GraphProgram) -> dict[str, int]:
        """Checksums of the parameters that are taken as equal on all ranks because the caller
        states it, where their values are known, by name."""
        named = {
            self._traced.name(node): self._traced.checksum(node)
            for node in program.input_nodes()
            if self._is_taken_as_equal(node)
        }
        return {name: value for name, value in named.items() if value is not None}

    def _size_ranges(self, symbols: Collection[str]) -> dict[str, list[int]]:
        stated = self._context.get("size_ranges", {})
        # What has another form is refused where it is read.
        if not isinstance(stated, dict):
            return stated
        ranges = {name: ends for name, ends in stated.items() if name in symbols}
        # Of several sizes it is not known which the range is of.
        if self._compile_range is not None and len(symbols) == 1:
            ranges.setdefault(next(iter(symbols)), [*self._compile_range])
        return ranges

    def of(self, program: GraphProgram) -> dict[str, Any]:
        """The part of the context that concerns one program."""
        part = dict(self._context)
        if not self._is_readable():
            return part
        own = program.group_names()
        # The groups of other programs mean nothing to this one.
        part["groups"] = {
            name: stated
            for name, stated in self._groups.items()
            if name in own or (name not in self._names and own <= set(self._groups))
        }
        part["inputs"] = self._inputs_of(program, own)
        part["assumptions"] = [
            assumption
            for assumption in self._context.get("assumptions", [])
            if _symbols_of(str(assumption)) <= program.symbols()
        ]
        part["size_ranges"] = self._size_ranges(program.symbols())
        if not own:
            part.pop("rank", None)
        elif "rank" not in part and (rank := self._rank(own)) is not None:
            part["rank"] = rank
        return part
