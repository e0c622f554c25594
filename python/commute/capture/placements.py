# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor placements in the words of a sidecar, and as relations to one device.

A sidecar says of each group how the ranks' values differ ("shard(0)"). A relation says
how a rank's tensor is cut from the reference's ("shard(w, 0, tp)").
"""

from collections.abc import Sequence
from typing import Any

from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

from commute.capture.errors import CaptureError
from commute.capture.ranks import axis_names

AxisPlacements = dict[str, Any]
"""The placement of a value along each axis of a mesh, by the axis's name."""


def of_dtensor(value: DTensor) -> AxisPlacements:
    return dict(zip(axis_names(value.device_mesh), value.placements))


def _dim(placement: Any, rank: int) -> int:
    dim = int(placement.dim)
    return dim + rank if dim < 0 else dim


def in_words(placement: Any, shape: Sequence[int], size: int) -> str:
    """A placement as a sidecar states it; `shape` is that of the whole value."""
    if isinstance(placement, Replicate):
        return "replicated"
    if isinstance(placement, Partial):
        return f"partial({placement.reduce_op})"
    if isinstance(placement, (Shard, _StridedShard)):
        dim = _dim(placement, len(shape))
        # A shard of a sidecar is one of equal shards.
        return f"shard({dim})" if int(shape[dim]) % size == 0 else "varying"
    return "varying"


def _cut(text: str, placement: Any, shape: list[int], size: int, axis: str) -> str:
    """A relation's expression, cut along one more axis; `shape` becomes the shard's."""
    if isinstance(placement, Replicate):
        return text
    if isinstance(placement, Partial):
        return f"partial({text}, {axis})"
    if not isinstance(placement, (Shard, _StridedShard)):
        raise CaptureError(f"the placement {placement} has no relation to one device")
    dim = _dim(placement, len(shape))
    parts = placement.split_factor if isinstance(placement, _StridedShard) else 1
    if parts == 1:
        shape[dim] = -(-shape[dim] // size)
        return f"shard({text}, {dim}, {axis})"
    # Packed projections: every part of the dim is sharded on its own.
    sizes = [shape[dim] // parts] * parts
    shards = [f"shard(split({text}, {sizes}, {dim})[{i}], {dim}, {axis})" for i in range(parts)]
    shape[dim] //= size
    return f"cat([{', '.join(shards)}], {dim})"


def relation(name: str, value: DTensor) -> str:
    """How a rank's shard of a DTensor is cut from the whole of that name."""
    shape = [int(size) for size in value.shape]
    mesh = value.device_mesh
    text = name
    for axis, (axis_name, placement) in enumerate(of_dtensor(value).items()):
        text = _cut(text, placement, shape, mesh.size(axis), axis_name)
    return text


def output_relation(placements: AxisPlacements, rank: int) -> str | None:
    """What `outputs` of relations.json says of a DTensor that is returned."""
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
