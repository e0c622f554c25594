# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Facts about captured programs that their graphs do not state: the sidecars of the ranks,
and the relations of their tensors to those of a single device."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from commute.capture import rank_constants
from commute.capture.axes import Axes
from commute.capture.errors import CaptureError
from commute.capture.inferred_relations import Inferred, InferredRelations
from commute.capture.local_model import ReturnedTensor
from commute.capture.placements import (
    AxisPlacements,
    dims_of_parts,
    in_words,
    output_relation,
    relation,
    stated_placement,
)
from commute.capture.rank_records import (
    RankRecord,
    TensorRecord,
)
from commute.capture.ranks import axis_names, groups_by_name, groups_of_axis
from commute.torch.known_groups import known_groups
from commute.torch.process_groups import framework_name, lists_of


def _parameters_and_buffers(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def name_groups(mesh: DeviceMesh) -> tuple[dict[str, str], dict[str, Any]]:
    """Returns the new name of each process group, and the members of the groups with each
    new name.

    The default group keeps its name, which is the same in every PyTorch process. Groups along a
    mesh axis are named after the axis, and others as the framework names them that made them.
    """
    own: dict[str, str] = {}
    members: dict[str, Any] = {}
    everyone = sorted(mesh.mesh.flatten().tolist())
    default = str(dist.group.WORLD.group_name) if dist.group.WORLD else ""
    axes = {}
    for axis, axis_name in enumerate(axis_names(mesh)):
        axes[str(groups_of_axis(mesh, axis))] = axis_name
    for name, groups in groups_by_name(mesh).items():
        called = axes.get(str(groups)) or framework_name(name) or name
        ranks = {"ranks": groups[0] if len(groups) == 1 else groups}
        # Frameworks may give one name to several groups.
        if name == default or members.get(called, ranks) != ranks:
            called = name
        own[name] = called
        members[called] = ranks
    members.setdefault("0", {"ranks": everyone})
    return own, members


def name_groups_of_process(axes: Axes) -> tuple[dict[str, str], dict[str, Any]]:
    """As `name_groups`, for all groups of a process that stands for one rank. Ranks have one
    name for the groups that are made for all of them alike."""
    own: dict[str, str] = {}
    members: dict[str, Any] = {}
    default = str(dist.group.WORLD.group_name) if dist.group.WORLD else ""
    called_by_members = {str(groups): name for name, groups in axes.groups.items()}
    for name in known_groups.names():
        groups = known_groups.find(name)
        if groups is None:
            continue
        common = known_groups.common_name(name)
        called = called_by_members.get(str(groups)) or framework_name(name) or common
        ranks = {"ranks": groups[0] if len(groups) == 1 else groups}
        if name == default or members.get(called, ranks) != ranks:
            called = default if name == default else common
        own[name] = called
        members[called] = ranks
    members.setdefault(default or "0", {"ranks": axes.ranks})
    return own, members


def _placements_of_axes(option: str, name: Any, stated: Any, axes: Axes) -> AxisPlacements:
    """Returns the placements that an entry of an option states by axis. Raises CaptureError for
    an unknown axis, and for a value that is no placement."""
    if not isinstance(stated, Mapping):
        raise CaptureError(
            f"{option}: {name} is {stated!r}; expected a dict from axes to placements, such as"
            f" {{{axes.names[0]!r}: Shard(0)}}"
        )
    found: AxisPlacements = {}
    for axis, value in stated.items():
        if axis not in axes.names:
            raise CaptureError(
                f"{option}: {name} has the axis {axis!r}, but the mesh has {', '.join(axes.names)}"
            )
        try:
            found[axis] = stated_placement(value)
        except ValueError as error:
            raise CaptureError(f"{option}: {name} on axis {axis}: {error}") from None
    # In the order of the mesh, in which shards are nested.
    return axes.in_order(found)


def check_stated_inputs(
    stated: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    ranks: Mapping[str, int],
    axes: Axes,
) -> dict[str, AxisPlacements]:
    """Returns the placements that the caller states, by argument and axis. Raises CaptureError
    for an unknown argument or axis, and for a value that is no placement of the argument.

    names: of the arguments.
    ranks: by path of a tensor among the arguments, its number of dims.
    """
    result: dict[str, AxisPlacements] = {}
    for name, by_axis in stated.items():
        if name not in names:
            raise CaptureError(
                f"input_placements names {name!r}, but the arguments are {', '.join(names)}"
            )
        result[name] = _placements_of_axes("input_placements", name, by_axis, axes)
        for axis, placement in result[name].items():
            for path, dims in ranks.items():
                if is_part_of(path, name):
                    _check_dim("input_placements", path, dims, axis, placement)
    return result


def check_stated_outputs(
    stated: Mapping[str | int, Mapping[str, Any]], axes: Axes
) -> dict[str, AxisPlacements]:
    """Returns the placements that the caller states, by name or index of an output, and axis."""
    return {
        str(key): _placements_of_axes("output_placements", key, by_axis, axes)
        for key, by_axis in stated.items()
    }


def _check_dim(option: str, name: Any, rank: int, axis: str, placement: Any) -> None:
    if isinstance(placement, Shard) and not -rank <= placement.dim < rank:
        raise CaptureError(
            f"{option}: {name} has {rank} dims, but is placed {placement} on axis {axis}"
        )


def is_part_of(path: str, argument: str) -> bool:
    """Returns true if the path of a tensor begins with the name of an argument."""
    return path.startswith(argument) and path[len(argument) : len(argument) + 1] in ("", "[", ".")


class Descriptions:
    """The sidecars and relations of one capture, collected rank by rank."""

    def __init__(
        self,
        axes: Axes,
        stated_inputs: Mapping[str, AxisPlacements],
        is_function: bool,
        replicated: frozenset[str] = frozenset(),
        states_plain_parameters: bool = False,
        stated_outputs: Mapping[str, AxisPlacements] | None = None,
        inferred: InferredRelations | None = None,
    ) -> None:
        """
        inferred: what is known of plain tensors of ranks that have models of their own.
        stated_inputs, stated_outputs: by argument, and by name or index of an output.
        replicated: the plain parameters and buffers that are known to be equal on all ranks.
        states_plain_parameters: the user states that all others are, too.
        """
        self.axes = axes
        self.stated_inputs, self.is_function = stated_inputs, is_function
        self._stated_outputs = dict(stated_outputs or {})
        self._replicated, self._states_plain_parameters = replicated, states_plain_parameters
        self._inferred = inferred
        self._plain: Mapping[str, Inferred] = inferred.parameters if inferred else {}
        self.inputs: dict[str, AxisPlacements] = {}
        self._relations_of_rank: dict[int, dict[str, str]] = {}
        self._relations: dict[str, str] = {}
        self._returned: Sequence[ReturnedTensor] = ()
        # By parameter: the index of its gradient among the ranks' outputs, and the relation.
        self._gradients: dict[str, tuple[int, str]] = {}
        # Of the program on a single device: the shapes of its outputs, and by parameter the index
        # of its gradient among them.
        self._whole_shapes: Sequence[tuple[int, ...] | None] | None = None
        self._whole_gradients: Mapping[str, int] = {}
        # Further names of parameters, of the program on a single device and of the ranks.
        self._whole_tied: Mapping[str, str] = {}
        self._tied: Mapping[str, str] = {}
        self._data_axes: tuple[str, ...] = ()
        self._premises: dict[str, None] = {}
        self._sidecars: dict[int, dict[str, Any]] = {}
        self._outlines: dict[int, rank_constants.Outline] = {}
        self._constants: set[str] = set()
        self._local: set[str] = set()

    def add(self, record: RankRecord) -> None:
        """Adds what is known of the program of one more rank."""
        for path, tensor in record.arguments.items():
            if tensor.placements is not None:
                self.inputs[path] = tensor.placements
            else:
                self.inputs[path] = self._default_placements(record, path)
        self._returned, self._tied = record.returned, record.tied
        self._data_axes = record.data_axes
        self._note_beliefs(record)
        self._add_gradients(record)
        self._sidecars[record.rank] = self._sidecar(record)
        self._outlines[record.rank] = record.outline
        self._constants.update(record.constant_inputs)

    def forget_local(self, module: nn.Module, reference: nn.Module) -> None:
        """Leaves out plain parameters of the ranks that the reference lacks or has in another
        shape: how they are cut is not stated anywhere."""
        whole = dict(_parameters_and_buffers(reference))
        for name, value in _parameters_and_buffers(module):
            if isinstance(value, DTensor):
                continue
            if name in whole and whole[name].shape != value.shape:
                if self._states_plain_parameters:
                    raise CaptureError(
                        f"plain_parameters='replicated', but {name} is {list(value.shape)} on a"
                        f" rank and {list(whole[name].shape)} on a single device"
                    )
                self._local.add(name)
            elif name not in whole:
                self._local.add(name)

    def add_reference(
        self,
        shapes: Sequence[tuple[int, ...] | None],
        gradients: Mapping[str, int],
        tied: Mapping[str, str],
    ) -> None:
        """Records the outputs of the program on a single device: their shapes, and by parameter
        the index of its gradient among them. `tied` has the further names of parameters."""
        self._whole_shapes, self._whole_gradients = shapes, gradients
        self._whole_tied = tied

    #
    # Inputs and outputs
    #

    def _default_placements(self, record: RankRecord, path: str) -> AxisPlacements:
        """Returns the placements of a plain input along each axis. Placements that the caller
        states come first, then those of the DTensor that the model converts the input to. On
        axes of data parallelism, where every rank has its own batch, the default is a shard
        of dim 0; on other axes of a parallel model, it is replicated."""
        of_caller = next(
            (axes for name, axes in self.stated_inputs.items() if is_part_of(path, name)), {}
        )
        if self._inferred is not None and not of_caller and path not in record.input_placements:
            return self._inferred.placements_of_input(path)
        stated = {**record.input_placements.get(path, {}), **of_caller}
        placements: AxisPlacements = {}
        for axis in self.axes.names:
            if axis in stated:
                placements[axis] = stated[axis]
            elif axis in record.data_axes:
                placements[axis] = Shard(0)
            elif not self.is_function:
                placements[axis] = Replicate()
        return placements

    def _note_beliefs(self, record: RankRecord) -> None:
        """Adds a premise for each input that a parallel style takes for a shard. Nobody states
        that callers pass shards, so the input is taken to be what callers pass on one
        device."""
        for path, believed in record.believed_inputs.items():
            stated = next((a for n, a in self.stated_inputs.items() if is_part_of(path, n)), {})
            for axis, placement in believed.placements.items():
                if not isinstance(placement, Shard):
                    continue
                if axis in stated or axis in record.input_placements.get(path, {}):
                    continue
                argument = next((n for n in record.argument_names if is_part_of(path, n)), path)
                self._premises[
                    f"callers pass all of {path} on every rank of {axis}, but {believed.module}"
                    f" ({believed.style}) takes it for a shard along dim {placement.dim}; if"
                    f" callers pass shards, state input_placements={{{argument!r}:"
                    f" {{{axis!r}: Shard({placement.dim})}}}}"
                ] = None

    def _add_gradients(self, record: RankRecord) -> None:
        """States the placements of gradients: the gradient of a shard is a shard of the
        gradient."""
        for name, index in record.gradients.items():
            original = record.parameters.get(name)
            if original is None:
                continue
            if original.placements is None and name in self._plain:
                self._gradients[name] = index, self._plain[name].gradient or f"gradient({name})"
                continue
            if original.placements is None:
                is_known = self._is_replicated(name) and name not in self._local
                self._gradients[name] = index, "replicated" if is_known else f"gradient({name})"
                continue
            text = relation("output", original.placements, original.shape, original.sizes)
            sizes = self.axes.sizes
            if set(original.placements) <= set(sizes):
                text = output_relation({}, original.placements, original.shape, sizes) or text
            self._gradients[name] = index, text

    def _is_replicated(self, name: str) -> bool:
        """Returns true if a plain parameter or buffer is known or stated to be equal on all
        ranks."""
        return name in self._replicated or self._states_plain_parameters

    def _stated_placements(self, index: int, tensor: ReturnedTensor) -> AxisPlacements | None:
        """Returns the placements of an output: those of its DTensor, or those that are stated for
        it, or for the argument of its name, such as a cache that the model returns."""
        if tensor.placements is not None:
            return tensor.placements
        for key in (str(index), tensor.name):
            if key in self._stated_outputs:
                for axis, placement in self._stated_outputs[key].items():
                    if tensor.shape is not None:
                        _check_dim("output_placements", key, len(tensor.shape), axis, placement)
                return self._stated_outputs[key]
        return self.stated_inputs.get(tensor.name)

    def _check_stated_outputs(self) -> None:
        """Raises CaptureError if placements are stated for an output that the model lacks."""
        names = {tensor.name for tensor in self._returned if tensor.name}
        known = names | {str(index) for index in range(len(self._returned))}
        for key in self._stated_outputs:
            if key not in known:
                raise CaptureError(
                    f"output_placements names {key!r}, but the model returns"
                    f" {len(self._returned)} tensors"
                    + (f" under the names {', '.join(sorted(names))}" if names else "")
                )

    def _output_relation(self, index: int, tensor: ReturnedTensor, whole: Any) -> str | None:
        """Returns the relation of an output if it is known; `whole` is the shape of the
        reference's output."""
        sizes = self.axes.sizes
        placements = self._stated_placements(index, tensor)
        shape = tensor.shape
        if shape is None or not set(placements or ()) <= set(sizes):
            return None
        if tensor.placements is None:
            # A plain tensor is the rank's own.
            cut = list(shape)
            for axis, placement in (placements or {}).items():
                if isinstance(placement, Shard):
                    cut[placement.dim] *= sizes[axis]
            shape = tuple(cut)
        data = {
            a: sizes[a] for a in self._data_axes if sizes[a] > 1 and a not in (placements or {})
        }
        dims: dict[str, int] | None = {}
        is_cache = tensor.placements is None and placements == self.stated_inputs.get(tensor.name)
        if data or (is_cache and placements):
            # The shape tells along which dims the rank has its own part of the batch, and
            # that an output of the name of an argument is cut like it.
            dims = dims_of_parts(whole, shape, data) if whole is not None else None
        # Without a statement, the output must be the reference's.
        if dims is None or (placements is None and not dims):
            return None
        return output_relation(dims, placements or {}, shape, sizes)

    def _output_relations(self) -> dict[str, Any]:
        self._check_stated_outputs()
        found: dict[str, Any] = {}
        shapes = self._whole_shapes
        for index, tensor in enumerate(self._returned):
            if shapes is not None and index >= len(shapes):
                break
            whole = shapes[index] if shapes is not None else None
            text = self._output_relation(index, tensor, whole)
            if text is not None:
                found[str(index)] = text
        for name, (index, text) in self._gradients.items():
            of_reference = self._whole_gradients.get(name) if shapes is not None else index
            if of_reference is not None:
                found[str(of_reference)] = (
                    text if of_reference == index else {"output": index, "relation": text}
                )
        return found

    #
    # Sidecars
    #

    def _sidecar(self, record: RankRecord) -> dict[str, Any]:
        placements: dict[str, tuple[AxisPlacements, Sequence[int]]] = {}
        everywhere: AxisPlacements = {axis: Replicate() for axis in self.axes.names}
        for name in record.used_parameters:
            original = record.parameters.get(name)
            if original is not None and original.placements is not None:
                placements[name] = {**everywhere, **original.placements}, original.shape
                self._relations[name] = self._relation_of(name, original)
            elif original is not None and name in self._plain:
                self._add_inferred(record.rank, name, self._plain[name])
                if (known := self._plain[name].placements) is not None:
                    placements[name] = known, self._plain[name].shape
            elif original is not None and self._is_replicated(name):
                placements[name] = everywhere, original.shape
                if name not in self._local:
                    self._relations[name] = name
        for name, path in record.inputs.items():
            shape = record.arguments[path].shape
            placements[name] = self.inputs[path], shape
            self._relate_input(name, self.inputs[path], len(shape))
        return {
            "version": 1,
            "rank": record.rank,
            "groups": {name: record.groups[name] for name in sorted(record.groups)},
            "inputs": {
                name: stated
                for name, (axes, shape) in placements.items()
                if (stated := self._in_words(axes, shape, record.groups))
            },
        }

    def _add_inferred(self, rank: int, name: str, inferred: Inferred) -> None:
        if inferred.relation is not None:
            self._relations[name] = inferred.relation
        if rank in inferred.of_rank:
            self._relations_of_rank.setdefault(rank, {})[name] = inferred.of_rank[rank]

    @staticmethod
    def _relation_of(name: str, tensor: TensorRecord) -> str:
        return relation(name, tensor.placements or {}, tensor.shape, tensor.sizes)

    def _relate_input(self, name: str, axes: AxisPlacements, rank: int) -> None:
        text = name
        for axis, placement in axes.items():
            if isinstance(placement, Shard):
                text = f"shard({text}, {placement.dim % rank}, {axis})"
            elif not isinstance(placement, Replicate):
                text = f"partial({text}, {axis})"
        if axes:
            self._relations[name] = text

    def _in_words(
        self, placements: AxisPlacements, shape: Sequence[int], used: Mapping[str, Any]
    ) -> dict[str, str]:
        """Returns the placements for each process group that the program uses."""
        stated = {}
        for axis, groups in self.axes.groups.items():
            if axis not in placements:
                continue
            text = in_words(placements[axis], shape, len(groups[0]))
            # The program may use other groups of the same ranks.
            for group, members in used.items():
                if lists_of(members.get("ranks", [])) == groups:
                    stated[group] = text
        return stated

    def sidecars(self) -> tuple[dict[int, dict[str, Any]], tuple[rank_constants.RankConstant, ...]]:
        """Returns the sidecar of every rank, and the constants that differ between ranks. Call
        this after all ranks have been traced."""
        found = rank_constants.differences(self._outlines)
        differing = {constant.node for constant in found}
        is_complete = len(self._sidecars) == len(self.axes.ranks)
        for sidecar in self._sidecars.values():
            for name in self._constants if is_complete else ():
                placement = "varying" if name in differing else "replicated"
                if sidecar["groups"]:
                    sidecar["inputs"][name] = dict.fromkeys(sidecar["groups"], placement)
            if found:
                sidecar["constants_of_rank"] = [
                    {
                        "node": constant.node,
                        "argument": constant.argument,
                        "values": {str(rank): value for rank, value in constant.values.items()},
                    }
                    for constant in found
                ]
        return self._sidecars, tuple(found)

    def _relate_untied(self) -> None:
        """Relates parameters of the ranks that are one parameter of the reference to it. Raises
        CaptureError if their gradients are captured."""
        for name, first in self._whole_tied.items():
            if self._tied.get(name) == first or name not in self._relations:
                continue
            what = (
                f"{first} and {name} are one parameter of the model on one device, but two of the"
                " ranks'"
            )
            if self._gradients:
                raise CaptureError(
                    f"{what}: each has a gradient of its own there, and the sum of both is the"
                    " reference's. parallelize_module unties parameters; tie them again after it,"
                    f" and pass the parallel model ({name} = {first})"
                )
            self._relations[name] = re.sub(
                rf"(?<![\w.]){re.escape(name)}(?![\w.])", first, self._relations[name]
            )
            self._premises[f"{what}, which are taken to have equal values"] = None

    def relations(self) -> dict[str, Any]:
        self._relate_untied()
        premises = [*self._premises, *(self._inferred.premises() if self._inferred else ())]
        of_rank = [self._relations_of_rank.get(rank, {}) for rank in self.axes.ranks]
        if self._states_plain_parameters:
            premises.append(
                "plain parameters and buffers are equal on all ranks (plain_parameters)"
            )
        return {
            "version": 1,
            "mesh": dict(self.axes.groups),
            "inputs": self._relations,
            **({"inputs_of_rank": of_rank} if any(of_rank) else {}),
            "outputs": self._output_relations(),
            **({"premises": premises} if premises else {}),
        }
