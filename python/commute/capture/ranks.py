# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Ranks that exist only during a trace.

    mesh = fake_mesh({"dp": 2, "tp": 4})     # rank 0 of 8, without processes
    with acting_as_rank(5):
        ...                                  # PyTorch reports rank 5 everywhere

A trace on fake tensors never communicates, so one process can stand in for every rank. Only
PyTorch's notion of "this rank" has to change.
"""

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, cast
from unittest import mock

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from commute.capture.errors import CaptureError
from commute.torch.compatibility import (
    clear_sharding_cache,
    coordinates_of_rank,
    group_names_and_ranks,
    group_registry,
)
from commute.torch.known_groups import known_groups


def start_fake_processes(world_size: int, rank: int = 0) -> None:
    """Creates a default process group whose ranks exist only in this process, which stands for
    one of them."""
    from commute.torch.compatibility import FakeStore

    if dist.is_initialized():
        if dist.get_world_size() != world_size:
            raise CaptureError(
                f"the process group has {dist.get_world_size()} ranks, but the mesh has"
                f" {world_size}; call torch.distributed.destroy_process_group() first"
            )
        return
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world_size)


def fake_mesh(axes: Mapping[str, int], device_type: str = "cpu") -> DeviceMesh:
    """Returns a mesh whose ranks exist only during the trace, such as {"dp": 2, "tp": 4}."""
    if not axes or any(size < 1 for size in axes.values()):
        raise CaptureError(
            f"a mesh needs at least one axis and axes of at least one rank, not {dict(axes)}"
        )
    start_fake_processes(math.prod(axes.values()))
    return init_device_mesh(device_type, tuple(axes.values()), mesh_dim_names=tuple(axes))


def wanted_ranks(ranks: Literal["all"] | Sequence[int], known: list[int]) -> list[int]:
    """Returns the ranks that an option names, of the known ones."""
    if ranks == "all":
        return known
    if isinstance(ranks, (str, int)) or not ranks:
        raise CaptureError(f"ranks is {ranks!r}; pass 'all' or a list such as [0]")
    for rank in ranks:
        if rank not in known:
            raise CaptureError(f"rank {rank} is not in the mesh; its ranks are {known}")
    return list(dict.fromkeys(ranks))


def axis_names(mesh: DeviceMesh) -> tuple[str, ...]:
    """Returns the names of the axes, or axis0, axis1, ... for a mesh without names."""
    return mesh.mesh_dim_names or tuple(f"axis{index}" for index in range(mesh.ndim))


def groups_of_axis(mesh: DeviceMesh, axis: int) -> list[list[int]]:
    """Returns the members of all process groups along an axis, in order."""
    return cast(
        "list[list[int]]", mesh.mesh.movedim(axis, -1).reshape(-1, mesh.size(axis)).tolist()
    )


def groups_by_name(mesh: DeviceMesh) -> dict[str, list[list[int]]]:
    """Returns all groups of the process over ranks of a mesh, keyed by the name of this
    rank's group: those along axes of meshes, and those that were made for all ranks alike."""
    known_groups.note_mesh(mesh)
    ranks = set(mesh.mesh.flatten().tolist())
    found = {name: known_groups.find(name) for name in known_groups.names()}
    return {
        name: groups
        for name, groups in found.items()
        if groups is not None and {rank for group in groups for rank in group} <= ranks
    }


def _forget_propagated_shards() -> None:
    """Clears DTensor's cache of local sizes, which depend on the rank if shards are uneven."""
    clear_sharding_cache()


@contextlib.contextmanager
def acting_as_rank(rank: int) -> Iterator[None]:
    """Makes PyTorch behave as on another rank."""
    if rank == dist.get_rank():
        yield
        return
    world: Any = group_registry()
    rows = {name: known_groups.find(name) for name in known_groups.names()}
    members = dict(world.pg_group_ranks)
    try:
        for group, name in list(world.pg_names.items()):
            row = next((ranks for ranks in rows.get(str(name)) or () if rank in ranks), None)
            if row is not None:
                world.pg_group_ranks[group] = {member: i for i, member in enumerate(row)}
        _forget_propagated_shards()

        def rank_in(group: Any) -> int:
            ranks = world.pg_group_ranks.get(group)
            return rank if ranks is None else ranks.get(rank, -1)

        with mock.patch.object(dist.ProcessGroup, "rank", rank_in), coordinates_of_rank(rank):
            yield
    finally:
        world.pg_group_ranks.clear()
        world.pg_group_ranks.update(members)
        _forget_propagated_shards()


def check_groups(rank: int, used: Collection[str], called: Mapping[str, str]) -> None:
    """Raises CaptureError if a program has been traced with groups of another rank, because
    those of its own are not known. Call this while acting as the rank.

    used    the groups of the program, as the sidecar calls them
    called  what the sidecar calls groups of torch.distributed
    """
    for name, ranks in group_names_and_ranks():
        if called.get(name, name) in used and rank not in ranks:
            raise CaptureError(
                f"the program of rank {rank} communicates in process group {name!r}, of which"
                f" only one group is known, with the ranks {ranks}; import commute.torch before"
                " groups are made, or pass the DeviceMesh that has this one"
            )
