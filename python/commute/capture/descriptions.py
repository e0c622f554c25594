# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Facts about captured programs that their graphs do not state: the sidecars of the ranks,
and the relations of their tensors to those of a single device."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.export import ExportedProgram

from commute.capture import archives, rank_constants
from commute.capture.arguments import Arguments
from commute.capture.errors import CaptureError
from commute.capture.local_model import LocalModel, ReturnedTensor
from commute.capture.placements import (
    AxisPlacements,
    dims_of_parts,
    in_words,
    of_dtensor,
    output_relation,
    relation,
    size_along,
    stated_placement,
)
from commute.capture.ranks import axis_names, groups_by_name, groups_of_axis
from commute.torch.compatibility import pytree
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


def _placements_of_axes(option: str, name: Any, axes: Any, mesh: DeviceMesh) -> AxisPlacements:
    """Returns the placements that an entry of an option states by axis. Raises CaptureError for
    an unknown axis, and for a value that is no placement."""
    if not isinstance(axes, Mapping):
        raise CaptureError(
            f"{option}: {name} is {axes!r}; expected a dict from axes to placements, such as"
            f" {{{axis_names(mesh)[0]!r}: Shard(0)}}"
        )
    found: AxisPlacements = {}
    for axis, value in axes.items():
        if axis not in axis_names(mesh):
            raise CaptureError(
                f"{option}: {name} has the axis {axis!r}, but the mesh has"
                f" {', '.join(axis_names(mesh))}"
            )
        try:
            found[axis] = stated_placement(value)
        except ValueError as error:
            raise CaptureError(f"{option}: {name} on axis {axis}: {error}") from None
    # In the order of the mesh, in which shards are nested.
    return {axis: found[axis] for axis in axis_names(mesh) if axis in found}


def check_stated_inputs(
    stated: Mapping[str, Mapping[str, Any]], arguments: Arguments, mesh: DeviceMesh
) -> dict[str, AxisPlacements]:
    """Returns the placements that the caller states, by argument and axis. Raises CaptureError
    for an unknown argument or axis, and for a value that is no placement of the argument."""
    result: dict[str, AxisPlacements] = {}
    for name, axes in stated.items():
        if name not in arguments.named:
            raise CaptureError(
                f"input_placements names {name!r}, but the arguments are"
                f" {', '.join(arguments.named)}"
            )
        result[name] = _placements_of_axes("input_placements", name, axes, mesh)
        for axis, placement in result[name].items():
            for path, tensor in arguments.tensors():
                if is_part_of(path, name):
                    _check_dim("input_placements", path, tensor.dim(), axis, placement)
    return result


def check_stated_outputs(
    stated: Mapping[str | int, Mapping[str, Any]], mesh: DeviceMesh
) -> dict[str, AxisPlacements]:
    """Returns the placements that the caller states, by name or index of an output, and axis."""
    return {
        str(key): _placements_of_axes("output_placements", key, axes, mesh)
        for key, axes in stated.items()
    }


def _check_dim(option: str, name: Any, rank: int, axis: str, placement: Any) -> None:
    if isinstance(placement, Shard) and not -rank <= placement.dim < rank:
        raise CaptureError(
            f"{option}: {name} has {rank} dims, but is placed {placement} on axis {axis}"
        )


def is_part_of(path: str, argument: str) -> bool:
    """Returns true if the path of a tensor begins with the name of an argument."""
    return path.startswith(argument) and path[len(argument) : len(argument) + 1] in ("", "[", ".")


def _hints(shape: Sequence[Any]) -> tuple[int, ...] | None:
    """Returns a shape with the sizes at capture for symbolic ones; None if one is unknown."""
    sizes = [size if isinstance(size, int) else size.node.hint for size in shape]
    return None if any(size is None for size in sizes) else tuple(int(size) for size in sizes)


def _gradient_names(program: ExportedProgram) -> dict[str, int]:
    """Returns the index of the gradient of each parameter among the outputs of a program that
    was captured with its backward."""
    spec = program.call_spec.out_spec
    if spec is None:
        return {}
    tree = pytree.tree_unflatten([0] * spec.num_leaves, spec)
    found = enumerate(pytree.tree_leaves_with_path(tree))
    return {str(path[-1].key): i for i, (path, _) in found if hasattr(path[-1], "key")}


@dataclasses.dataclass(frozen=True)
class _ReferenceOutputs:
    shapes: tuple[tuple[int, ...] | None, ...]
    gradients: Mapping[str, int]


class Descriptions:
    """The sidecars and relations of one capture, collected rank by rank."""

    def __init__(
        self,
        mesh: DeviceMesh,
        arguments: Arguments,
        stated_inputs: Mapping[str, AxisPlacements],
        is_function: bool,
        replicated: frozenset[str] = frozenset(),
        states_plain_parameters: bool = False,
        stated_outputs: Mapping[str, AxisPlacements] | None = None,
    ) -> None:
        """
        stated_inputs, stated_outputs: by argument, and by name or index of an output.
        replicated: the plain parameters and buffers that are known to be equal on all ranks.
        states_plain_parameters: the user states that all others are, too.
        """
        self.mesh, self.arguments = mesh, arguments
        self.stated_inputs, self.is_function = stated_inputs, is_function
        self._stated_outputs = dict(stated_outputs or {})
        self._replicated, self._states_plain_parameters = replicated, states_plain_parameters
        self.inputs: dict[str, AxisPlacements] = {}
        self.group_names, self.groups = name_groups(mesh)
        self._relations: dict[str, str] = {}
        self._returned: list[ReturnedTensor] = []
        # By parameter: the index of its gradient among the ranks' outputs, and the relation.
        self._gradients: dict[str, tuple[int, str]] = {}
        self._reference: _ReferenceOutputs | None = None
        self._data_axes: tuple[str, ...] = ()
        self._premises: dict[str, None] = {}
        self._sidecars: dict[int, dict[str, Any]] = {}
        self._outlines: dict[int, rank_constants.Outline] = {}
        self._constants: set[str] = set()
        self._local: set[str] = set()

    def add(
        self, rank: int, program: ExportedProgram, local: LocalModel, used: set[str], backward: bool
    ) -> None:
        """Records the program of one more rank, which uses the process groups `used`."""
        for path, value in self.arguments.tensors():
            if isinstance(value, DTensor):
                self.inputs[path] = of_dtensor(value)
            else:
                self.inputs[path] = self._default_placements(local, path)
        self._returned = list(local.returned_tensors)
        self._data_axes = tuple(a for a in axis_names(self.mesh) if a in local.data_axes)
        self._note_beliefs(local)
        if backward:
            self._add_gradients(program, local.parameters())
        self._sidecars[rank] = self._sidecar(program, local, rank, used)
        self._outlines[rank] = rank_constants.outline(program)
        self._constants.update(rank_constants.constant_inputs(program))

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

    def add_reference(self, program: ExportedProgram, backward: bool) -> None:
        """Records the outputs of the program on a single device."""
        values = [
            node.meta.get("val")
            for node in program.graph.output_node().args[0]
            if isinstance(node, torch.fx.Node)
        ]
        shapes = (_hints(v.shape) if isinstance(v, torch.Tensor) else None for v in values)
        names = _gradient_names(program) if backward else {}
        self._reference = _ReferenceOutputs(tuple(shapes), names)

    #
    # Inputs and outputs
    #

    def _default_placements(self, local: LocalModel, path: str) -> AxisPlacements:
        """Returns the placements of a plain input along each axis. Placements that the caller
        states come first, then those of the DTensor that the model converts the input to. On
        axes of data parallelism, where every rank has its own batch, the default is a shard
        of dim 0; on other axes of a parallel model, it is replicated."""
        of_caller = next(
            (axes for name, axes in self.stated_inputs.items() if is_part_of(path, name)), {}
        )
        stated = {**local.input_placements.get(path, {}), **of_caller}
        placements: AxisPlacements = {}
        for axis in axis_names(self.mesh):
            if axis in stated:
                placements[axis] = stated[axis]
            elif axis in local.data_axes:
                placements[axis] = Shard(0)
            elif not self.is_function:
                placements[axis] = Replicate()
        return placements

    def _note_beliefs(self, local: LocalModel) -> None:
        """Adds a premise for each input that a parallel style takes for a shard. Nobody states
        that callers pass shards, so the input is taken to be what callers pass on one
        device."""
        for path, believed in local.believed_inputs.items():
            stated = next((a for n, a in self.stated_inputs.items() if is_part_of(path, n)), {})
            for axis, placement in believed.placements.items():
                if not isinstance(placement, Shard):
                    continue
                if axis in stated or axis in local.input_placements.get(path, {}):
                    continue
                argument = next((n for n in self.arguments.named if is_part_of(path, n)), path)
                self._premises[
                    f"callers pass all of {path} on every rank of {axis}, but {believed.module}"
                    f" ({believed.style}) takes it for a shard along dim {placement.dim}; if"
                    f" callers pass shards, state input_placements={{{argument!r}:"
                    f" {{{axis!r}: Shard({placement.dim})}}}}"
                ] = None

    def _add_gradients(
        self, program: ExportedProgram, originals: Mapping[str, torch.Tensor]
    ) -> None:
        """States the placements of gradients: the gradient of a shard is a shard of the
        gradient."""
        for name, index in _gradient_names(program).items():
            original = originals.get(name)
            if isinstance(original, DTensor):
                text = relation("output", original)
                sizes = {a: size_along(self.mesh, a) for a in axis_names(self.mesh)}
                if set(of_dtensor(original)) <= set(sizes):
                    text = output_relation({}, of_dtensor(original), original.shape, sizes) or text
                self._gradients[name] = index, text
            elif original is not None:
                is_known = self._is_replicated(name) and name not in self._local
                self._gradients[name] = index, "replicated" if is_known else f"gradient({name})"

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
        sizes = {axis: size_along(self.mesh, axis) for axis in axis_names(self.mesh)}
        placements = self._stated_placements(index, tensor)
        shape = _hints(tensor.shape)
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
        shapes = self._reference.shapes if self._reference else None
        for index, tensor in enumerate(self._returned):
            if shapes is not None and index >= len(shapes):
                break
            whole = shapes[index] if shapes is not None else None
            text = self._output_relation(index, tensor, whole)
            if text is not None:
                found[str(index)] = text
        for name, (index, text) in self._gradients.items():
            of_reference = self._reference.gradients.get(name) if self._reference else index
            if of_reference is not None:
                found[str(of_reference)] = (
                    text if of_reference == index else {"output": index, "relation": text}
                )
        return found

    #
    # Sidecars
    #

    def _sidecar(
        self, program: ExportedProgram, local: LocalModel, rank: int, used: set[str]
    ) -> dict[str, Any]:
        placements: dict[str, tuple[AxisPlacements, Sequence[int]]] = {}
        everywhere: AxisPlacements = {axis: Replicate() for axis in axis_names(self.mesh)}
        originals = local.parameters()
        for name in archives.parameter_names(program):
            original = originals.get(name)
            if isinstance(original, DTensor):
                placements[name] = {**everywhere, **of_dtensor(original)}, original.shape
                self._relations[name] = relation(name, original)
            elif original is not None and self._is_replicated(name):
                placements[name] = everywhere, original.shape
                if name not in self._local:
                    self._relations[name] = name
        shapes = {path: value.shape for path, value in self.arguments.tensors()}
        for name in archives.input_names(program):
            path = self.arguments.path_of(name)
            if path is not None:
                placements[name] = self.inputs[path], shapes[path]
                self._relate_input(name, self.inputs[path], len(shapes[path]))
        return {
            "version": 1,
            "rank": rank,
            "groups": {name: self.groups[name] for name in sorted(used) if name in self.groups},
            "inputs": {
                name: stated
                for name, (axes, shape) in placements.items()
                if (stated := self._in_words(axes, shape, used))
            },
        }

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
        self, axes: AxisPlacements, shape: Sequence[int], used: set[str]
    ) -> dict[str, str]:
        """Returns the placements for each process group that the program uses."""
        stated = {}
        for index, axis in enumerate(axis_names(self.mesh)):
            if axis not in axes:
                continue
            groups = groups_of_axis(self.mesh, index)
            text = in_words(axes[axis], shape, self.mesh.size(index))
            # The program may use other groups of the same ranks.
            for group in used:
                if lists_of(self.groups.get(group, {}).get("ranks", [])) == groups:
                    stated[group] = text
        return stated

    def sidecars(self) -> tuple[dict[int, dict[str, Any]], tuple[rank_constants.RankConstant, ...]]:
        """Returns the sidecar of every rank, and the constants that differ between ranks. Call
        this after all ranks have been traced."""
        found = rank_constants.differences(self._outlines)
        differing = {constant.node for constant in found}
        is_complete = len(self._sidecars) == self.mesh.size()
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

    def relations(self) -> dict[str, Any]:
        names = axis_names(self.mesh)
        premises = list(self._premises)
        if self._states_plain_parameters:
            premises.append(
                "plain parameters and buffers are equal on all ranks (plain_parameters)"
            )
        return {
            "version": 1,
            "mesh": {name: groups_of_axis(self.mesh, axis) for axis, name in enumerate(names)},
            "inputs": self._relations,
            "outputs": self._output_relations(),
            **({"premises": premises} if premises else {}),
        }
