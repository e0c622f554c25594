# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""DTensor placements as spelled in a sidecar, and as relations to a single device.

A sidecar states, for each group, how values differ between ranks ("shard(0)"). A relation
states how a rank's tensor is cut from the reference's tensor ("shard(w, 0, tp)").
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import Placement

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


def relation(
    name: str, placements: AxisPlacements, shape: Sequence[int], sizes: Mapping[str, int]
) -> str:
    """Returns the relation of a rank's shard to the whole tensor `name` of the given shape."""
    rest = [int(size) for size in shape]
    text = name
    for axis, placement in placements.items():
        text = _cut(text, placement, rest, sizes[axis], axis)
    return text


def stated_placement(value: Any) -> Placement:
    """Returns a placement that a user states: an object of PyTorch, or its spelling in a sidecar:
    "replicated", "shard(DIM)", "partial" or "partial(REDUCTION)". Raises ValueError for
    anything else."""
    if isinstance(value, Placement):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if text == "replicated":
        return Replicate()
    if match := re.fullmatch(r"shard\(\s*(-?\d+)\s*\)", text):
        return Shard(int(match[1]))
    if match := re.fullmatch(r"partial(?:\(\s*(sum|avg|max|min)\s*\))?", text):
        return Partial(match[1] or "sum")
    raise ValueError(
        f"{value!r} is not a placement; expected Replicate(), Shard(DIM) or Partial(), or one of"
        " the words 'replicated', 'shard(DIM)' and 'partial'"
    )


def output_relation(
    data_dims: Mapping[str, int],
    placements: AxisPlacements,
    shape: Sequence[int],
    sizes: Mapping[str, int],
) -> str | None:
    """Returns the entry in `outputs` of relations.json for an output, or None if it cannot be
    stated there.

    data_dims: by axis of data parallelism, the dim along which each rank has its own part.
    placements: along the other axes.
    shape: the shape before the cuts along `placements`.
    sizes: of the axes.
    """
    text = "output"
    for axis, dim in data_dims.items():
        text = f"shard({text}, {dim}, {axis})"
    cut = [int(size) for size in shape]
    for axis, placement in placements.items():
        if isinstance(placement, Partial) and placement.reduce_op != "sum":
            return None
        if not isinstance(placement, (Replicate, Partial, Shard, StridedShard)):
            return None
        text = _cut(text, placement, cut, sizes[axis], axis)
    if text == "output":
        return "replicated"
    # A single cut has a shorter spelling.
    if match := re.fullmatch(r"shard\(output, (\d+), (\w+)\)", text):
        return f"shard({match[1]}, {match[2]})"
    if match := re.fullmatch(r"partial\(output, (\w+)\)", text):
        return f"partial({match[1]})"
    return text


def dims_of_parts(
    whole: Sequence[int], part: Sequence[int], sizes: Mapping[str, int]
) -> dict[str, int] | None:
    """Returns, by axis, the dim along which a tensor is cut into equal parts such that a rank has
    a part of the given shape. Axes that do not cut are left out. None if there is no reading,
    or more than one."""
    if len(whole) != len(part):
        return None

    def readings(axes: Sequence[str], shape: list[int]) -> Iterator[dict[str, int]]:
        if not axes:
            if shape == list(part):
                yield {}
            return
        axis, *others = axes
        size = sizes[axis]
        yield from readings(others, shape)
        for dim, extent in enumerate(shape):
            if size > 1 and extent % size == 0 and extent > part[dim]:
                cut = [*shape[:dim], extent // size, *shape[dim + 1 :]]
                for reading in readings(others, cut):
                    yield {axis: dim, **reading}

    found = list(readings(list(sizes), list(whole)))
    return found[0] if len(found) == 1 else None
