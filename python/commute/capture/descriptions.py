# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Facts about captured programs that their graphs do not state: the sidecars of the ranks,
and the relations of their tensors to those of a single device."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.export import ExportedProgram

from commute.capture import archives, rank_constants
from commute.capture.arguments import Arguments
from commute.capture.errors import CaptureError
from commute.capture.local_model import LocalModel
from commute.capture.placements import (
    AxisPlacements,
    in_words,
    of_dtensor,
    output_relation,
    relation,
)
from commute.capture.ranks import axis_names, groups_by_name, groups_of_axis
from commute.torch.compatibility import pytree


def _parameters_and_buffers(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def name_groups(mesh: DeviceMesh) -> tuple[dict[str, str], dict[str, Any]]:
    """Returns the new name of each process group, and the members of the groups with each
    new name.

    A group of all ranks keeps its name, which is the same in every PyTorch process. Groups
    along a mesh axis are named after the axis.
    """
    own: dict[str, str] = {}
    members: dict[str, Any] = {}
    everyone = sorted(mesh.mesh.flatten().tolist())
    axes = {}
    for axis, axis_name in enumerate(axis_names(mesh)):
        axes[str(groups_of_axis(mesh, axis))] = axis_name
    for name, groups in groups_by_name(mesh).items():
        is_world = len(groups) == 1 and groups[0] == everyone
        called = name if is_world else axes.get(str(groups), name)
        own[name] = called
        members[called] = {"ranks": groups[0] if len(groups) == 1 else groups}
    members.setdefault("0", {"ranks": everyone})
    return own, members


def check_stated_inputs(
    stated: Mapping[str, Mapping[str, Any]], arguments: Mapping[str, Any], mesh: DeviceMesh
) -> dict[str, AxisPlacements]:
    for name, axes in stated.items():
        if name not in arguments:
            raise CaptureError(
                f"input_placements names {name!r}, but the arguments are {', '.join(arguments)}"
            )
        for axis in axes:
            if axis not in axis_names(mesh):
                raise CaptureError(
                    f"input_placements: {name} has the axis {axis!r}, but the mesh has"
                    f" {', '.join(axis_names(mesh))}"
                )
    return {name: dict(axes) for name, axes in stated.items()}


class Descriptions:
    """The sidecars and relations of one capture, collected rank by rank."""

    def __init__(
        self,
        mesh: DeviceMesh,
        arguments: Arguments,
        stated_inputs: Mapping[str, AxisPlacements],
        is_function: bool,
    ) -> None:
        self.mesh, self.arguments = mesh, arguments
        self.stated_inputs, self.is_function = stated_inputs, is_function
        self.inputs: dict[str, AxisPlacements] = {}
        self.group_names, self.groups = name_groups(mesh)
        self._relations: dict[str, str] = {}
        self._outputs: dict[str, str] = {}
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
        self._add_outputs(program, local)
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
            if name not in whole or whole[name].shape != value.shape:
                self._local.add(name)

    #
    # Inputs and outputs
    #

    def _default_placements(self, local: LocalModel, path: str) -> AxisPlacements:
        """Returns the placements of a plain input along each axis. Placements that the caller
        states come first, then those of the DTensor that the model converts the input to. On
        axes of data parallelism, where every rank has its own batch, the default is a shard
        of dim 0; on other axes of a parallel model, it is replicated."""
        of_caller = next(
            (axes for name, axes in self.stated_inputs.items() if path.startswith(name)), {}
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

    def _add_outputs(self, program: ExportedProgram, local: LocalModel) -> None:
        values: list[Any] = [
            node.meta.get("val")
            for node in program.graph.output_node().args[0]
            if isinstance(node, torch.fx.Node)
        ]
        for index, placements in enumerate(local.output_placements[: len(values)]):
            if placements is not None:
                self._state_output(index, output_relation(placements, values[index].dim()))

    def _add_gradients(
        self, program: ExportedProgram, originals: Mapping[str, torch.Tensor]
    ) -> None:
        """States the placements of gradients: the gradient of a shard is a shard of the
        gradient."""
        spec = program.call_spec.out_spec
        if spec is None:
            return
        tree = pytree.tree_unflatten([0] * spec.num_leaves, spec)
        for index, (path, _) in enumerate(pytree.tree_leaves_with_path(tree)):
            original = originals.get(str(getattr(path[-1], "key", "")))
            if isinstance(original, DTensor):
                stated = output_relation(of_dtensor(original), original.dim())
                self._state_output(index, stated or relation("output", original))
            elif original is not None:
                self._state_output(index, "replicated")

    def _state_output(self, index: int, text: str | None) -> None:
        if text:
            self._outputs[str(index)] = text

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
            elif original is not None and name not in self._local:
                placements[name] = everywhere, original.shape
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
            name = str(self.mesh.get_group(index).group_name)
            group = self.group_names.get(name, name)
            if axis in axes and group in used:
                stated[group] = in_words(axes[axis], shape, self.mesh.size(index))
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
        return {
            "version": 1,
            "mesh": {name: groups_of_axis(self.mesh, axis) for axis, name in enumerate(names)},
            "inputs": self._relations,
            "outputs": self._outputs,
        }
