# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What callers state of a graph: groups, placements, assumptions.

A graph may be optimized as several programs, of which each is told what concerns it.
"""

import gc
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from commute.errors import CommuteError
from commute.torch.graph_program import GraphProgram

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import GroupName


def _symbols_of(assumption: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", assumption))


def _input_names(program: GraphProgram) -> set[str]:
    return {node.name for node in program.input_nodes()}


def _axis_of_mesh(name: str) -> list[list[int]] | None:
    """All groups of the mesh axis whose group around this rank has a name.

    A mesh is what knows them all. PyTorch keeps no list of its meshes, so they are looked
    for among all objects, which takes about a tenth of a second.
    """
    for mesh in gc.get_objects():
        if type(mesh) is not DeviceMesh or mesh.mesh.numel() != dist.get_world_size():
            continue
        try:
            axes = {str(mesh.get_group(axis).group_name): axis for axis in range(mesh.ndim)}
        except (RuntimeError, LookupError, ValueError):
            continue  # Of groups that were destroyed, or never made.
        if name in axes:
            axis = axes[name]
            groups = mesh.mesh.movedim(axis, -1).reshape(-1, mesh.size(axis))
            return cast("list[list[int]]", groups.tolist())
    return None


def _members_in_process(name: str) -> list[int] | list[list[int]] | None:
    """The ranks of a process group, and of those of its name on all other ranks.

    A process knows its own group; what the others are, a mesh says.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return None
    try:
        group = dist.distributed_c10d._resolve_process_group(cast("GroupName", name))
    except (RuntimeError, LookupError, ValueError):
        return None
    ranks = dist.get_process_group_ranks(group)
    return ranks if len(ranks) == dist.get_world_size() else _axis_of_mesh(name)


class StatedContext:
    """A context in the form of a sidecar, for the programs of one graph."""

    def __init__(
        self, context: Mapping[str, Any] | None, programs: Sequence[GraphProgram]
    ) -> None:
        self._context: dict[str, Any] = {"version": 1} if context is None else dict(context)
        self._names = {name for program in programs for name in program.group_names()}
        self._groups: dict[str, Any] = {}
        if self._is_readable():
            self._groups.update(self._context.get("groups", {}))
            self._check(programs)
            for name in sorted(self._names - set(self._groups)):
                ranks = _members_in_process(name)
                if ranks is not None:
                    self._groups[name] = {"ranks": ranks}

    def _is_readable(self) -> bool:
        """What has another form is refused where it is read."""
        forms = {"groups": dict, "inputs": dict, "assumptions": list}
        return all(
            isinstance(self._context.get(key, form()), form) for key, form in forms.items()
        )

    def _check(self, programs: Sequence[GraphProgram]) -> None:
        """That what is stated is stated of something in the graph."""

        def check(kind: str, stated: Iterable[str], known: Collection[str]) -> None:
            for name in stated:
                if name not in known:
                    raise CommuteError(
                        f"context: {kind} {name!r} is stated, but the graph has no such"
                        f" {kind}; it has {', '.join(sorted(known)) or 'none'}"
                    )

        inputs = {name for program in programs for name in _input_names(program)}
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

    def has_other_groups(self, program: GraphProgram) -> bool:
        """Whether the graph has groups that this program does not name."""
        return bool(self._names - program.group_names())

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
        names = _input_names(program)
        part["inputs"] = {
            name: {
                group: placement
                for group, placement in stated.items()
                if group not in self._names or group in own
            }
            if isinstance(stated, dict)
            else stated
            for name, stated in self._context.get("inputs", {}).items()
            if name in names
        }
        part["assumptions"] = [
            assumption
            for assumption in self._context.get("assumptions", [])
            if _symbols_of(str(assumption)) <= program.symbols()
        ]
        if not own:
            part.pop("rank", None)
        return part
