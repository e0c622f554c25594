# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The mesh of a model, where the caller names none."""

import itertools
import re
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from commute.capture.axes import OF_TENSORS, Axes
from commute.capture.errors import CaptureError
from commute.torch.compatibility import root_of_mesh
from commute.torch.known_groups import Ranks, known_groups, world_groups
from commute.torch.process_groups import framework_name

_PASS = "pass mesh=, a DeviceMesh or axis sizes such as {'tp': 8}"


def _meshes_of(model: nn.Module) -> list[DeviceMesh]:
    """The meshes, as they were before axes were cut from them, of a model's DTensors."""
    from torch.distributed.tensor import DTensor

    found: dict[Any, DeviceMesh] = {}
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        if isinstance(tensor, DTensor):
            root = root_of_mesh(tensor.device_mesh)
            found.setdefault(root, root)
    return [*found.values()]


def _cells(axes: Sequence[Ranks]) -> torch.Tensor | None:
    """The ranks of the mesh that has groups along its axes; None if no mesh has."""
    ranks = torch.full([len(axis[0]) for axis in axes], -1)
    for rank in range(dist.get_world_size()):
        rows = [next(row for row in axis if rank in row) for axis in axes]
        ranks[tuple(row.index(rank) for row in rows)] = rank
    for index, axis in enumerate(axes):
        rows = ranks.movedim(index, -1).reshape(-1, ranks.shape[index]).tolist()
        if sorted(rows) != sorted(axis):
            return None
    return ranks


def _has_groups(ranks: torch.Tensor, groups: Ranks) -> bool:
    """Whether each of some groups extends along whole axes of a mesh."""
    for row in groups:
        places = [(ranks == rank).nonzero()[0].tolist() for rank in row]
        sizes = [len({*along}) for along in zip(*places)]
        if any(size not in (1, whole) for size, whole in zip(sizes, ranks.shape)):
            return False
        if torch.Size(sizes).numel() != len(row):
            return False
    return True


def _distance(axis: Ranks) -> int:
    """How far neighbours along an axis are from each other. The outermost axis is the first."""
    row = next(row for row in axis if 0 in row)
    return abs(row[1] - row[0]) if len(row) > 1 else 0


def _axes_of_groups() -> dict[str, tuple[str, Ranks]]:
    """The groups of all ranks with several members; of those with equal members, one that a
    framework has a name for. By members: the name in torch.distributed, and the members."""
    found: dict[str, tuple[str, Ranks]] = {}
    for name in known_groups.names():
        groups = world_groups(name)
        if groups is None or len(groups[0]) == 1:
            continue
        known = found.get(str(groups))
        if known is None or (framework_name(name) and not framework_name(known[0])):
            found[str(groups)] = name, groups
    return found


def _mesh_of_groups() -> DeviceMesh:
    """The mesh whose axes have the process groups. Raises CaptureError if they are not those
    of one mesh."""
    size = dist.get_world_size()
    known = [*_axes_of_groups().values()]
    if not any(len(groups[0]) == size for _, groups in known) and dist.group.WORLD is not None:
        known.append((str(dist.group.WORLD.group_name), [[*range(size)]]))
    # A mesh with more axes also has the groups of those with fewer.
    for count in range(len(known), 0, -1):
        for chosen in itertools.combinations(known, count):
            axes = sorted(chosen, key=lambda axis: -_distance(axis[1]))
            if torch.Size([len(groups[0]) for _, groups in axes]).numel() != size:
                continue
            ranks = _cells([groups for _, groups in axes])
            if ranks is not None and all(_has_groups(ranks, groups) for _, groups in known):
                return _make([name for name, _ in axes], ranks)
    raise CaptureError(f"the process groups are not the axes of one mesh of all ranks; {_PASS}")


def _make(groups: Sequence[str], ranks: torch.Tensor) -> DeviceMesh:
    from commute.torch.compatibility import process_group_by_name

    names: list[str] = []
    for index, group in enumerate(groups):
        name = framework_name(group)
        names.append(name if name and name not in names else f"axis{index}")
    return DeviceMesh.from_group(
        [process_group_by_name(group) for group in groups],
        "cpu",
        mesh=ranks,
        mesh_dim_names=tuple(names),
    )


def find_axes(model: nn.Module, mesh: DeviceMesh | None) -> Axes:
    """The axes of the process, whether or not they are those of one mesh: those of `mesh` and
    of the meshes of a model's DTensors, and the process groups of all ranks with other
    members. There is one with all ranks, named "world" if nobody else names it."""
    found: dict[str, Ranks] = {}

    aliases: dict[str, list[str]] = {}

    def add(name: str, groups: Ranks) -> None:
        known = next((axis for axis, other in found.items() if other == groups), None)
        if known is not None and name != known:
            aliases[known].append(name)
        elif name not in found:
            found[name] = groups
            aliases[name] = []

    for one in [*([mesh] if mesh else []), *_meshes_of(model)]:
        for name, groups in Axes.of_mesh(one).groups.items():
            add(name, groups)
    named = _named_groups()
    for name, groups in sorted(named, key=lambda item: not OF_TENSORS.fullmatch(item[0])):
        add(name, groups)
    add("world", [[*range(dist.get_world_size())]])
    return Axes(found, {name: tuple(dict.fromkeys(others)) for name, others in aliases.items()})


def _named_groups() -> list[tuple[str, Ranks]]:
    """The groups of all ranks with several members, by names that all ranks have for them."""
    world = dist.group.WORLD
    default = str(world.group_name) if world else ""
    found: list[tuple[str, Ranks]] = []
    for name in known_groups.names():
        groups = world_groups(name)
        if groups is None or len(groups[0]) == 1 or name == default:
            continue
        # Relations name axes by words.
        called = re.sub(r"\W", "_", framework_name(name))
        called = called or f"group{known_groups.common_name(name)}"
        if all(called != other or groups == members for other, members in found):
            found.append((called, groups))
    return found


def find_mesh(model: nn.Module) -> DeviceMesh:
    """The mesh of a model's DTensors or else of the process groups, whose axes have the names
    that frameworks give the groups. Raises CaptureError if there is not exactly one."""
    if not dist.is_initialized():
        raise CaptureError(f"no mesh is named, and there is no process group; {_PASS}")
    meshes = _meshes_of(model)
    if len(meshes) > 1:
        described = ", ".join(str(mesh) for mesh in meshes[:3])
        raise CaptureError(f"the model's DTensors have several meshes: {described}; {_PASS}")
    return meshes[0] if meshes else _mesh_of_groups()
