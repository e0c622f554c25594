# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor placements as spelled in a sidecar, and as relations to a single device.

A sidecar states, for each group, how values differ between ranks ("shard(0)"). A relation
states how a rank's tensor is cut from the reference's tensor ("shard(w, 0, tp)").
"""

from collections.abc import Sequence
from typing import Any

from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from commute.capture.errors import CaptureError
from commute.capture.ranks import axis_names
from commute.torch.compatibility import StridedShard

AxisPlacements = dict[str, Any]
"""The placement of a value along each axis of a mesh, by the axis's name."""


def of_dtensor(value: DTensor) -> AxisPlacements:
    return dict(zip(axis_names(value.device_mesh), value.placements))


def _dim(placement: Any, rank: int) -> int:
    dim = int(placement.dim)
    return dim + rank if dim < 0 else dim


def in_words(placement: Any, shape: Sequence[int], size: int) -> str:
    """Spells a placement as in a sidecar; `shape` is the shape of the whole value."""
    if isinstance(placement, Replicate):
        return "replicated"
    if isinstance(placement, Partial):
        return f"partial({placement.reduce_op})"
    if isinstance(placement, (Shard, StridedShard)):
        dim = _dim(placement, len(shape))
        # In a sidecar, all shards must have the same size.
        return f"shard({dim})" if int(shape[dim]) % size == 0 else "varying"
    return "varying"


def _cut(text: str, placement: Any, shape: list[int], size: int, axis: str) -> str:
    """Extends a relation by a cut along one more axis, and updates `shape` to that of the
    shard."""
    if isinstance(placement, Replicate):
        return text
    if isinstance(placement, Partial):
        return f"partial({text}, {axis})"
    if not isinstance(placement, (Shard, StridedShard)):
        raise CaptureError(f"the placement {placement} cannot be related to a single device")
    dim = _dim(placement, len(shape))
    parts = placement.split_factor if isinstance(placement, StridedShard) else 1
    if parts == 1:
        shape[dim] = -(-shape[dim] // size)
        return f"shard({text}, {dim}, {axis})"
    # Packed projections: each part of the dim is sharded separately.
    sizes = [shape[dim] // parts] * parts
    shards = [f"shard(split({text}, {sizes}, {dim})[{i}], {dim}, {axis})" for i in range(parts)]
    shape[dim] //= size
    return f"cat([{', '.join(shards)}], {dim})"


def relation(name: str, value: DTensor) -> str:
    """Returns the relation of a rank's shard to the whole tensor `name`."""
    shape = [int(size) for size in value.shape]
    mesh = value.device_mesh
    text = name
    for axis, (axis_name, placement) in enumerate(of_dtensor(value).items()):
        text = _cut(text, placement, shape, mesh.size(axis), axis_name)
    return text


def output_relation(placements: AxisPlacements, rank: int) -> str | None:
    """Returns the entry in `outputs` of relations.json for a DTensor that is returned, or None
    if its placements cannot be stated there."""
    stated = []
    for axis, placement in placements.items():
        if isinstance(placement, Shard):
            stated.append(f"shard({_dim(placement, rank)}, {axis})")
        elif isinstance(placement, Partial):
            stated.append(f"partial({axis})")
        elif not isinstance(placement, Replicate):
            return None
    if len(stated) > 1:
        return None
    return stated[0] if stated else "replicated"


def size_along(mesh: DeviceMesh, axis: str) -> int:
    return mesh.size(axis_names(mesh).index(axis))
