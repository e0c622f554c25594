# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How the plain parameters of ranks are made of those of a single device, where nobody states
it: by what frameworks note at parameters, by names and shapes, and by the values that ranks
have at capture.

Every relation has a source, which the verdict prints. Where there is more than one reading,
there is no relation, but a sentence with the statement that would settle it.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch.distributed.tensor import Replicate, Shard

from commute.capture.axes import OF_TENSORS
from commute.capture.placements import AxisPlacements
from commute.capture.rank_records import RankRecord, TensorRecord

# What frameworks call the axes of experts.
_OF_EXPERT_TENSORS = re.compile(r"(?i)_?(etp|expert_tensor(_model)?_parallel(_group)?)")
_OF_EXPERTS = re.compile(r"(?i)_?(ep|ep_0|expert(_model)?_parallel(_group)?)")

BY_ATTRIBUTES = "by the attributes {} of the parameters"
BY_VALUES = "equal values at capture"
BY_SHAPE_AND_VALUES = "by shapes, and by equal values at capture"
BY_INDEX = "by the index in their names and the position of the rank"


@dataclasses.dataclass(frozen=True)
class Inferred:
    """What is known of one plain tensor of the ranks."""

    source: str
    relation: str | None = None
    of_rank: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """The relations of ranks, where they differ."""
    placements: AxisPlacements | None = None
    shape: tuple[int, ...] = ()
    """Of the whole tensor, where there are placements."""
    gradient: str | None = None
    """The relation of the gradient, if it is not that of the parameter."""


def _shard(text: str, dim: int, axis: str) -> str:
    return f"shard({text}, {dim}, {axis})"


def _packed(name: str, parts: Sequence[int], dim: int, axis: str) -> str:
    """Returns the relation of a tensor of several parts, each of which is sharded."""
    shards = [
        _shard(f"split({name}, {list(parts)}, {dim})[{index}]", dim, axis)
        for index in range(len(parts))
    ]
    return f"cat([{', '.join(shards)}], {dim})"


def _statement(key: str, name: str, relation: Any) -> str:
    return json.dumps({key: {name: relation}})


class InferredRelations:
    """The relations of the plain parameters of ranks, of which each has a model of its own."""

    def __init__(self, records: Sequence[RankRecord], reference: RankRecord) -> None:
        self._records, self._reference = records, reference
        self.axes = records[0].axes
        self.parameters: dict[str, Inferred] = {}
        self.ambiguities: list[str] = []
        """What nobody has stated and has several readings, each as a sentence with the entry
        of relations.json that would settle it."""
        names = dict.fromkeys(
            name
            for record in records
            for name in record.used_parameters
            if name in record.parameters and record.parameters[name].placements is None
        )
        for name in names:
            self._infer(name)
        self._inputs: dict[str, AxisPlacements] = {}
        for path in records[0].arguments:
            self._inputs[path] = self._placements_of_argument(path)

    #
    # Facts
    #

    def _of_ranks(self, name: str) -> list[TensorRecord] | None:
        """Returns the tensors of all ranks that have this name; None if their shapes differ."""
        found = [r.parameters[name] for r in self._records if name in r.parameters]
        return found if len({tensor.shape for tensor in found}) == 1 else None

    def _axes_of(self, size: int) -> list[str]:
        return [axis for axis, length in self.axes.sizes.items() if length == size]

    def _axis(self, size: int, preferred: re.Pattern[str]) -> str | None:
        """Returns the axis of a size that a framework means; None if several may be meant."""
        candidates = self._axes_of(size)
        if len(candidates) > 1:
            candidates = [axis for axis in candidates if self.axes.is_called(axis, preferred)]
        return candidates[0] if len(candidates) == 1 else None

    def _cuts(self, tensor: TensorRecord, whole: TensorRecord) -> Iterator[tuple[int, int]]:
        """Yields the dim and the number of parts, if exactly one dim is cut into equal parts."""
        if len(tensor.shape) != len(whole.shape):
            return
        cut = [d for d, (a, b) in enumerate(zip(tensor.shape, whole.shape)) if a != b]
        if (
            len(cut) == 1
            and tensor.shape[cut[0]]
            and not whole.shape[cut[0]] % tensor.shape[cut[0]]
        ):
            yield cut[0], whole.shape[cut[0]] // tensor.shape[cut[0]]

    def _has_equal_values(self, name: str, axis: str | None) -> bool | None:
        """Returns true if the ranks have equal values, those on the same position of `axis` if it
        is given and only those; None if the values are not known."""
        by_position: dict[int, set[str | None]] = {}
        for record in self._records:
            tensor = record.parameters.get(name)
            if tensor is None:
                return None
            place = 0
            if axis is not None:
                group = next(g for g in self.axes.groups[axis] if record.rank in g)
                place = group.index(record.rank)
            by_position.setdefault(place, set()).add(tensor.digest)
        values = [value for found in by_position.values() for value in found]
        if None in values or len(self._records) != len(self.axes.ranks):
            return None
        return len(values) == len(by_position) == len(set(values))

    #
    # Readings, the most certain first
    #

    def _infer(self, name: str) -> None:
        tensors, whole = self._of_ranks(name), self._reference.parameters.get(name)
        found = None
        if whole is None or (tensors is None and whole is not None):
            found = self._by_index(name)
        if found is None and tensors is not None and whole is not None:
            found = self._by_attributes(name, tensors[0], whole)
            if found is None and tensors[0].shape == whole.shape:
                found = self._by_values(name, tensors[0])
            elif found is None:
                found = self._by_shape(name, tensors[0], whole)
        if found is not None:
            self.parameters[name] = found

    def _by_attributes(
        self, name: str, tensor: TensorRecord, whole: TensorRecord
    ) -> Inferred | None:
        """By what Megatron, vLLM and SGLang note at parameters, if the shapes agree."""
        noted = tensor.attributes
        cut = next(self._cuts(tensor, whole), None)
        if cut is None:
            return None
        dim, size = cut
        if noted.get("tensor_model_parallel") is True and "partition_dim" in noted:
            used = ["tensor_model_parallel", "partition_dim", "partition_stride"]
            preferred, stated = OF_TENSORS, noted["partition_dim"]
            if noted.get("allreduce") is False:
                used, preferred = [*used, "allreduce"], _OF_EXPERT_TENSORS
            stride = max(int(noted.get("partition_stride", 1)), 1)
            parts = [whole.shape[dim] // stride] * stride
        elif "output_dim" in noted or "input_dim" in noted:
            stated = next(
                (noted[key] for key in ("output_dim", "input_dim") if noted.get(key) == dim), None
            )
            used, preferred = ["output_dim", "input_dim"], OF_TENSORS
            parts = list(noted.get("output_sizes", ())) if stated == noted.get("output_dim") else []
            if parts:
                used = ["output_dim", "output_sizes"]
            parts = parts or [whole.shape[dim]]
        else:
            return None
        axis = self._axis(size, preferred)
        if stated != dim or sum(parts) != whole.shape[dim] or any(p % size for p in parts):
            return None
        if axis is None:
            self._note_axes(name, [_packed(name, parts, dim, a) for a in self._axes_of(size)])
            return None
        source = BY_ATTRIBUTES.format(", ".join(used))
        if len(parts) > 1:
            return Inferred(source, _packed(name, parts, dim, axis))
        return Inferred(
            source,
            _shard(name, dim, axis),
            placements=self._everywhere({axis: Shard(dim)}),
            shape=whole.shape,
        )

    def _everywhere(self, placements: AxisPlacements) -> AxisPlacements | None:
        """Returns placements that hold along all axes; None if axes overlap, as then nobody says
        how a shard along one of them lies along another."""
        if len(self.axes.groups) == 1:
            return placements
        return None

    def _by_values(self, name: str, tensor: TensorRecord) -> Inferred | None:
        """A tensor of the reference's shape is the whole one if all ranks have equal values."""
        are_equal = self._has_equal_values(name, None)
        if are_equal is None:
            return None
        if not are_equal:
            self.ambiguities.append(
                f"{name} has the reference's shape, but other values on each rank at capture;"
                f" if it is one parameter, state {_statement('inputs', name, name)}"
            )
            return None
        gradient = None
        if tensor.attributes.get("sequence_parallel") is True:
            # Megatron reduces these gradients after the backward.
            axis = self._axis(self._size_of_tensors(), OF_TENSORS)
            gradient = f"partial({axis})" if axis else None
        placements: AxisPlacements = {axis: Replicate() for axis in self.axes.names}
        return Inferred(
            BY_VALUES, name, placements=placements, shape=tensor.shape, gradient=gradient
        )

    def _size_of_tensors(self) -> int:
        return next(
            (
                size
                for axis, size in self.axes.sizes.items()
                if self.axes.is_called(axis, OF_TENSORS)
            ),
            len(self.axes.ranks),
        )

    def _by_shape(self, name: str, tensor: TensorRecord, whole: TensorRecord) -> Inferred | None:
        """A tensor that is smaller along one dim is a shard of it. If only one axis has the size,
        verification infers it; else the values of ranks may tell which axis."""
        cut = next(self._cuts(tensor, whole), None)
        if cut is None:
            return None
        dim, size = cut
        candidates = self._axes_of(size)
        if len(candidates) < 2:
            return None
        equal = [axis for axis in candidates if self._has_equal_values(name, axis)]
        if len(equal) == 1:
            return Inferred(BY_SHAPE_AND_VALUES, _shard(name, dim, equal[0]))
        self._note_axes(name, [_shard(name, dim, axis) for axis in candidates])
        return None

    def _note_axes(self, name: str, readings: Sequence[str]) -> None:
        statements = " or ".join(_statement("inputs", name, reading) for reading in readings)
        self.ambiguities.append(f"{name} may be cut along several axes; state {statements}")

    #
    # Arguments
    #

    def placements_of_input(self, path: str) -> AxisPlacements:
        """Returns the placements of a plain argument; none if it is not known to be whole."""
        return self._inputs.get(path, {})

    def _placements_of_argument(self, path: str) -> AxisPlacements:
        whole = self._reference.arguments.get(path)
        found = [record.arguments.get(path) for record in self._records]
        if whole is None or any(t is None or t.shape != whole.shape for t in found):
            return {}
        digests = {tensor.digest for tensor in found if tensor is not None}
        if len(digests) > 1:
            self.ambiguities.append(
                f"the argument {path} has the reference's shape, but other values on each rank; if"
                f" callers pass the same on all ranks, state {_statement('inputs', path, path)}"
            )
            return {}
        return {axis: Replicate() for axis in self.axes.names}

    #
    # Experts and stages
    #

    def _by_index(self, name: str) -> Inferred | None:
        """A module of a list, such as expert 1 of a rank, is one of the reference's list that is
        as many times longer as there are ranks along an axis."""
        parts = name.split(".")
        for place, part in enumerate(parts):
            if not part.isdigit():
                continue
            own = self._count(self._records[0], parts, place)
            whole = self._count(self._reference, parts, place)
            if not own or whole % own or whole == own:
                continue
            axis = self._axis(whole // own, _OF_EXPERTS)
            if axis is None:
                continue
            of_rank = {}
            for record in self._records:
                group = next(g for g in self.axes.groups[axis] if record.rank in g)
                index = group.index(record.rank) * own + int(part)
                target = ".".join([*parts[:place], str(index), *parts[place + 1 :]])
                if target not in self._reference.parameters:
                    return None
                of_rank[record.rank] = target
            return Inferred(BY_INDEX, of_rank=of_rank)
        return None

    @staticmethod
    def _count(record: RankRecord, parts: Sequence[str], place: int) -> int:
        """Returns the number of modules in the list at a place of a name."""
        prefix = [*parts[:place]]
        indices = {
            other[place]
            for name in record.parameters
            if (other := name.split("."))[:place] == prefix
            and len(other) > place
            and other[place].isdigit()
        }
        return len(indices)

    #
    # The report
    #

    def premises(self) -> list[str]:
        """Returns a sentence for each source, with the parameters that rest on it, and the
        ambiguities."""
        by_source: dict[str, list[str]] = {}
        for name, found in self.parameters.items():
            by_source.setdefault(found.source, []).append(name)
        sentences = [f"{_some(names)}: {source}" for source, names in by_source.items()]
        return [*sentences, *(f"not stated: {text}" for text in self.ambiguities)]


def _some(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} other parameters"
