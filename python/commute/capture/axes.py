# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The axes of the ranks, as plain data that one process can send to another."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from torch.distributed.device_mesh import DeviceMesh

from commute.capture.ranks import axis_names, groups_of_axis


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of a mesh in order, which is the order in which shards are nested, and the
    members of all process groups along each axis."""

    groups: Mapping[str, list[list[int]]]

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

    def in_order(self, placements: Mapping[str, Any]) -> dict[str, Any]:
        """Returns placements by axis in the order of the axes."""
        return {name: placements[name] for name in self.groups if name in placements}
