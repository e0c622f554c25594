# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The axes of the ranks, as plain data that one process can send to another."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from torch.distributed.device_mesh import DeviceMesh

from commute.capture.ranks import axis_names, groups_of_axis

# What frameworks call the axis of tensor parallelism.
OF_TENSORS = re.compile(r"(?i)_?(tp|tp_0|tensor_model_parallel(_group)?|tensor_parallel(_group)?)")


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of a mesh in order, which is the order in which shards are nested, and the
    members of all process groups along each axis."""

    groups: Mapping[str, list[list[int]]]
    aliases: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """By axis, further names of it: frameworks make several groups with equal members."""

    @staticmethod
    def of_mesh(mesh: DeviceMesh) -> "Axes":
        return Axes({name: groups_of_axis(mesh, i) for i, name in enumerate(axis_names(mesh))})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.groups)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of ranks along each axis."""
        return {name: len(groups[0]) for name, groups in self.groups.items()}

    @property
    def ranks(self) -> list[int]:
        first: list[list[int]] = next(iter(self.groups.values()))
        return sorted(rank for group in first for rank in group)

    def is_called(self, axis: str, pattern: re.Pattern[str]) -> bool:
        """Returns true if one of the names of an axis matches."""
        return any(pattern.fullmatch(name) for name in (axis, *self.aliases.get(axis, ())))

    def in_own_names(self, relation: str) -> str:
        """Returns a relation in which an axis may have any of its names, with the name by which
        relations.json knows it."""
        for axis, names in self.aliases.items():
            for name in names:
                relation = re.sub(rf"(?<![\w.]){re.escape(name)}(?=\s*\))", axis, relation)
        return relation

    def in_order(self, placements: Mapping[str, Any]) -> dict[str, Any]:
        """Returns placements by axis in the order of the axes."""
        return {name: placements[name] for name in self.groups if name in placements}
