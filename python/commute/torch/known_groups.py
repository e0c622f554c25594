# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The process groups of all ranks, noted when they are made.

torch.distributed keeps the groups of this rank alone. But every process takes part when a
group is made, of other ranks as well, and a DeviceMesh has the groups of all ranks. So
both are noted from the moment that this module is imported, and stay known for as long as
the groups exist, whatever becomes of the mesh.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import torch.distributed as dist

from commute.torch.compatibility import (
    flattened_meshes,
    group_names_of_mesh,
    group_ranks_by_name,
    root_of_mesh,
    unset_fake_temporarily,
    watch_groups,
)

Ranks = list[list[int]]

# What PyTorch calls groups that nobody describes.
_UNDESCRIBED = ("", "undefined")


@dataclasses.dataclass(frozen=True)
class _Group:
    """A group of which this rank need not be a member."""

    name: str
    ranks: tuple[int, ...]
    description: str


class KnownGroups:
    """The groups that were made for the default group of this process.

    Groups go by the name that torch.distributed has for this rank's group. Of the groups of
    an axis, each rank has one, which all use in the same place.
    """

    def __init__(self) -> None:
        # In the order in which they were made, which is the same in all processes.
        self._made: list[_Group] = []
        # Groups along axes of meshes.
        self._axes: dict[str, Ranks] = {}

    def forget(self) -> None:
        """Names may be given again to other groups."""
        self._made.clear()
        self._axes.clear()

    def note_group(self, name: str, ranks: Sequence[int], description: str) -> None:
        self._made.append(_Group(name, tuple(ranks), description))

    def note_axis(self, name: str, groups: Ranks) -> None:
        # A submesh has fewer groups than the mesh that it is cut from.
        if len(groups) >= len(self._axes.get(name, ())):
            self._axes[name] = groups

    def note_mesh(self, mesh: Any) -> None:
        """Notes the groups along all axes of a DeviceMesh, and of those that have its ranks."""
        root = root_of_mesh(mesh)
        # Meshes may be made, and met, while PyTorch traces.
        with unset_fake_temporarily():
            for other in (mesh, root, *flattened_meshes(root)):
                ranks = other.mesh
                for axis, name in enumerate(group_names_of_mesh(other)):
                    groups = ranks.movedim(axis, -1).reshape(-1, ranks.shape[axis]).tolist()
                    self.note_axis(name, cast("Ranks", groups))

    def find(self, name: str) -> Ranks | None:
        """The groups of all ranks that have a group with this name, this rank's among them;
        None if they are not known. Some ranks may have none."""
        own = group_ranks_by_name(name)
        if own is None:
            return None
        # A mesh may be older than the groups that have its names now.
        axis = self._axes.get(name)
        if axis is not None and own in axis:
            return axis
        alike = self._find_alike(name, own)
        return [[*group.ranks] for group in alike] if alike else None

    def common_name(self, name: str) -> str:
        """A name that all ranks have for their groups of an axis: that of the first one that was
        made. Each rank's own group may have another."""
        own = group_ranks_by_name(name)
        alike = self._find_alike(name, own) if own is not None else []
        return alike[0].name if alike else name

    def _find_alike(self, name: str, own: list[int]) -> list[_Group]:
        """The groups that were made for other ranks as this one was for its members: each
        rank is in as many groups of this size and description before. Empty if not known."""
        group = self._made_group(name, own)
        if group is None:
            return []
        alike = [
            other
            for other in self._made
            if (len(other.ranks), other.description) == (len(own), group.description)
        ]
        # How many of these groups each rank, and each group's members, are in before.
        counts: dict[int, int] = {}
        places: list[set[int]] = []
        for other in alike:
            places.append({counts.get(rank, 0) for rank in other.ranks})
            for rank in other.ranks:
                counts[rank] = counts.get(rank, 0) + 1
        place = places[alike.index(group)]
        if len(place) > 1:
            return []
        return [other for other, its in zip(alike, places) if its == place]

    def _made_group(self, name: str, own: list[int]) -> _Group | None:
        return next((g for g in self._made if g.name == name and [*g.ranks] == own), None)

    def is_older(self, name: str, own: list[int]) -> bool:
        """Whether a group was made before groups were noted: the other ranks may have some that
        belong to it."""
        return self._made_group(name, own) is None

    def description(self, name: str) -> str:
        """What the maker of a group calls it, such as "TENSOR_MODEL_PARALLEL_GROUP"; "" if
        nothing."""
        for group in self._made:
            if group.name == name and group.description not in _UNDESCRIBED:
                return group.description
        return ""

    def names(self) -> list[str]:
        """The names of this rank's groups, in the order in which they were made."""
        made = [group.name for group in self._made]
        return [*dict.fromkeys([*made, *self._axes])]


known_groups = KnownGroups()
"""Those of this process."""

watch_groups(known_groups)


def world_groups(name: str) -> Ranks | None:
    """The groups of this name on all ranks of the default group; None if not known."""
    groups = known_groups.find(name)
    if groups is None or sum(map(len, groups)) != dist.get_world_size():
        return None
    return groups
