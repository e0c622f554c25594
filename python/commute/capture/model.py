# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`capture`: from a parallel model to the archives of its ranks.

    mesh = commute.torch.fake_mesh({"tp": 8})
    commute.torch.capture(model, (tokens,), mesh=mesh, folder="out")
"""

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.export import ExportedProgram

from commute.capture import archives, plans, rank_constants, residue
from commute.capture.errors import CaptureError
from commute.capture.local_model import (
    LocalModel,
    fake_like,
    is_parallel,
    local_shape,
    materialized,
    named_arguments,
    without_memory,
)
from commute.capture.placements import (
    AxisPlacements,
    in_words,
    of_dtensor,
    output_relation,
    relation,
)
from commute.capture.ranks import (
    acting_as_rank,
    axis_names,
    fake_mesh,
    groups_by_name,
    groups_of_axis,
)
from commute.capture.tracing import trace


@dataclasses.dataclass(frozen=True)
class CapturedProgram:
    """One archive that was written."""

    path: Path
    rank: int | None
    nodes: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Capture:
    """What `capture` wrote."""

    folder: Path
    ranks: tuple[CapturedProgram, ...]
    reference: CapturedProgram | None
    reference_refusal: str | None
    """Why there is no reference.pt2, if there is none."""
    relations: Path
    constants_of_rank: tuple[rank_constants.RankConstant, ...]
    """What differs between the programs, of the ranks that were captured."""


class _FunctionModule(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["forward"] = function


def _mesh_of(mesh: DeviceMesh | Mapping[str, int]) -> DeviceMesh:
    if isinstance(mesh, DeviceMesh):
        return mesh
    if isinstance(mesh, Mapping):
        return fake_mesh(mesh)
    raise CaptureError(
        f"mesh is a {type(mesh).__name__}; pass a DeviceMesh, or sizes by axis such as {{'tp': 8}}"
    )


def _ranks_of(mesh: DeviceMesh, ranks: Literal["all"] | Sequence[int]) -> list[int]:
    known = sorted(int(rank) for rank in mesh.mesh.flatten().tolist())
    if ranks == "all":
        return known
    if isinstance(ranks, (str, int)) or not ranks:
        raise CaptureError(f"ranks is {ranks!r}; pass 'all' or a list such as [0]")
    for rank in ranks:
        if rank not in known:
            raise CaptureError(f"rank {rank} is not in the mesh, whose ranks are {known}")
    return list(dict.fromkeys(ranks))


def _group_names(mesh: DeviceMesh) -> tuple[dict[str, str], dict[str, Any]]:
    """What to call each process group, and the ranks of all of that name.

    A group of all ranks keeps its name, by which every process of PyTorch knows it; groups
    along a mesh axis take the name of the axis.
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


def _stated_inputs(
    stated: Mapping[str, Mapping[str, Any]], arguments: Mapping[str, Any], mesh: DeviceMesh
) -> dict[str, AxisPlacements]:
    for name, axes in stated.items():
        if name not in arguments:
            raise CaptureError(
                f"input_placements names {name!r}, and the arguments are {', '.join(arguments)}"
            )
        for axis in axes:
            if axis not in axis_names(mesh):
                raise CaptureError(
                    f"input_placements: {name} has the axis {axis!r}, and the mesh has"
                    f" {', '.join(axis_names(mesh))}"
                )
    return {name: dict(axes) for name, axes in stated.items()}


class _Capturing:
    """One call of `capture`."""

    def __init__(
        self,
        model: nn.Module,
        arguments: dict[str, Any],
        mesh: DeviceMesh,
        backward: bool,
        dynamic_shapes: Any,
        folder: Path,
    ) -> None:
        self.model, self.arguments, self.mesh = model, arguments, mesh
        self.backward, self.dynamic_shapes, self.folder = backward, dynamic_shapes, folder
        self.inputs: dict[str, AxisPlacements] = {}
        self.relations: dict[str, str] = {}
        self.outputs: dict[str, Any] = {}
        self.stated_inputs: dict[str, AxisPlacements] = {}
        self.sidecars: dict[int, dict[str, Any]] = {}
        self.outlines: dict[int, rank_constants.Outline] = {}
        self.constants: set[str] = set()
        self.group_names, self.groups = _group_names(mesh)

    def _local_arguments(self) -> dict[str, Any]:
        """This rank's inputs: the shards of DTensors, everything else as it is."""

        def local(value: DTensor) -> torch.Tensor:
            return fake_like(self.mode, local_shape(value), value, self.mesh.device_type)

        shards = torch.utils._pytree.tree_map_only(DTensor, local, self.arguments)
        return without_memory(shards, self.mode, self.mesh.device_type)

    def rank(self, rank: int) -> CapturedProgram:
        start = time.perf_counter()
        with acting_as_rank(rank), LocalModel(self.model) as local:
            self.mode = local.mode
            program = trace(
                local,
                self._local_arguments(),
                backward=self.backward,
                dynamic_shapes=self.dynamic_shapes,
                what=f"rank {rank}",
                distributed=self._distributed_arguments,
            )
            used = residue.clean(program.graph_module, self.group_names)
            self._describe_inputs(local)
            self._describe_outputs(program, local)
            self.sidecars[rank] = self._sidecar(program, local, rank, used)
            self.outlines[rank] = rank_constants.outline(program)
            self.constants.update(rank_constants.constant_inputs(program))
            path = self.folder / f"rank{rank}.pt2"
            archives.save(program, path)
        nodes = len(program.graph.nodes)
        return CapturedProgram(path, rank, nodes, time.perf_counter() - start)

    def _distributed_arguments(self, local: Mapping[str, Any]) -> dict[str, Any]:
        """The DTensors that the caller passes, of this rank's shards."""
        leaves, spec = torch.utils._pytree.tree_flatten(self.arguments)
        parts = torch.utils._pytree.tree_leaves(dict(local))
        made = [
            materialized(leaf, part) if isinstance(leaf, DTensor) else part
            for leaf, part in zip(leaves, parts, strict=True)
        ]
        return torch.utils._pytree.tree_unflatten(made, spec)

    def _describe_inputs(self, local: LocalModel) -> None:
        for name, value in self.arguments.items():
            for path, leaf in torch.utils._pytree.tree_leaves_with_path(value):
                if not isinstance(leaf, torch.Tensor):
                    continue
                key = name + torch.utils._pytree.keystr(path)
                if isinstance(leaf, DTensor):
                    self.inputs[key] = of_dtensor(leaf)
                else:
                    self.inputs[key] = self._default_placements(local, key)

    def _default_placements(self, local: LocalModel, key: str) -> AxisPlacements:
        """What a model takes a plain input for: where it makes a DTensor of it, it says so.
        Ranks that shard data have a batch of their own; on other axes of a parallel model
        an input is the same everywhere."""
        stated = {**local.input_placements.get(key, {}), **self._stated_of(key)}
        is_function = isinstance(self.model, _FunctionModule)
        placements: AxisPlacements = {}
        for axis in axis_names(self.mesh):
            if axis in stated:
                placements[axis] = stated[axis]
            elif axis in local.data_axes:
                placements[axis] = Shard(0)
            elif not is_function:
                placements[axis] = Replicate()
        return placements

    def _stated_of(self, key: str) -> AxisPlacements:
        return next(
            (axes for name, axes in self.stated_inputs.items() if key.startswith(name)), {}
        )

    def _describe_outputs(self, program: ExportedProgram, local: LocalModel) -> None:
        values: list[Any] = [
            node.meta.get("val")
            for node in program.graph.output_node().args[0]
            if isinstance(node, torch.fx.Node)
        ]
        originals = local.parameters()
        for index, placements in enumerate(local.output_placements):
            if placements is None or index >= len(values):
                continue
            text = output_relation(placements, values[index].dim())
            if text:
                self.outputs[str(index)] = text
        if self.backward:
            self._describe_gradients(program, originals)

    def _describe_gradients(
        self, program: ExportedProgram, originals: Mapping[str, torch.Tensor]
    ) -> None:
        """The gradient of a shard is the shard of the gradient."""
        spec = program.call_spec.out_spec
        paths = [
            path for path, _ in torch.utils._pytree.tree_leaves_with_path(
                torch.utils._pytree.tree_unflatten([0] * spec.num_leaves, spec)
            )
        ]
        for index, path in enumerate(paths):
            name = str(getattr(path[-1], "key", ""))
            original = originals.get(name)
            if isinstance(original, DTensor):
                text = output_relation(of_dtensor(original), original.dim())
                if text:
                    self.outputs[str(index)] = text
            elif original is not None:
                self.outputs[str(index)] = "replicated"

    def _sidecar(
        self, program: ExportedProgram, local: LocalModel, rank: int, used: set[str]
    ) -> dict[str, Any]:
        placements: dict[str, tuple[AxisPlacements, Sequence[int]]] = {}
        originals = local.parameters()
        for name in archives.parameter_names(program):
            original = originals.get(name)
            if original is None:
                continue
            if isinstance(original, DTensor):
                placements[name] = of_dtensor(original), original.shape
                self.relations[name] = relation(name, original)
            else:
                placements[name] = {axis: Replicate() for axis in axis_names(self.mesh)}, original.shape
                self.relations[name] = name
        shapes = self._shapes_of_inputs()
        for name in archives.input_names(program):
            key = self._argument_of(name)
            if key is not None:
                placements[name] = self.inputs[key], shapes[key]
                self._relate_input(name, self.inputs[key], shapes[key])
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

    def _shapes_of_inputs(self) -> dict[str, Sequence[int]]:
        return {
            name + torch.utils._pytree.keystr(path): leaf.shape
            for name, value in self.arguments.items()
            for path, leaf in torch.utils._pytree.tree_leaves_with_path(value)
            if isinstance(leaf, torch.Tensor)
        }

    def _argument_of(self, graph_name: str) -> str | None:
        """The argument behind an input of the graph: names differ in punctuation only."""

        def plain(text: str) -> str:
            return "".join(c if c.isalnum() else "_" for c in text).replace("__", "_").strip("_")

        wanted = plain(graph_name)
        found = [key for key in self.inputs if plain(key) == wanted]
        return found[0] if len(found) == 1 else None

    def _relate_input(self, name: str, axes: AxisPlacements, shape: Sequence[int]) -> None:
        text = name
        for axis, placement in axes.items():
            if isinstance(placement, Shard):
                dim = placement.dim % len(shape)
                text = f"shard({text}, {dim}, {axis})"
            elif not isinstance(placement, Replicate):
                text = f"partial({text}, {axis})"
        if axes:
            self.relations[name] = text

    def _in_words(
        self, axes: AxisPlacements, shape: Sequence[int], used: set[str]
    ) -> dict[str, str]:
        """Placements by process group, of those that the program uses."""
        stated = {}
        for index, axis in enumerate(axis_names(self.mesh)):
            if axis not in axes:
                continue
            group = self._group_of_axis(index)
            if group in used:
                stated[group] = in_words(axes[axis], shape, self.mesh.size(index))
        return stated

    def _group_of_axis(self, axis: int) -> str:
        name = str(self.mesh.get_group(axis).group_name)
        return self.group_names.get(name, name)

    def write_sidecars(self) -> tuple[rank_constants.RankConstant, ...]:
        """Adds to every archive what is known now that all ranks are traced."""
        found = rank_constants.differences(self.outlines)
        differing = {constant.node for constant in found}
        whole = len(self.sidecars) == self.mesh.size()
        for rank, sidecar in self.sidecars.items():
            if whole:
                for name in self.constants:
                    placement = "varying" if name in differing else "replicated"
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
            archives.add_sidecar(self.folder / f"rank{rank}.pt2", sidecar)
        return tuple(found)

    def reference(self, model: nn.Module) -> CapturedProgram:
        start = time.perf_counter()
        with LocalModel(model, whole=True) as local:
            self.mode = local.mode
            program = trace(
                local,
                self._whole_arguments(),
                backward=self.backward,
                dynamic_shapes=self.dynamic_shapes,
                what="reference",
                distributed=dict,
            )
            used = residue.clean(program.graph_module, self.group_names)
            if used:
                raise CaptureError(
                    "reference: the model itself calls collectives, so that it has no form on one"
                    " device"
                )
            path = self.folder / "reference.pt2"
            archives.save(program, path)
        nodes = len(program.graph.nodes)
        return CapturedProgram(path, None, nodes, time.perf_counter() - start)

    def _whole_arguments(self) -> dict[str, Any]:
        """The inputs of one device: where ranks have shards, all of them."""

        def undivided(value: DTensor) -> torch.Tensor:
            return fake_like(self.mode, value.shape, value, self.mesh.device_type)

        whole = torch.utils._pytree.tree_map_only(DTensor, undivided, self.arguments)
        whole = without_memory(whole, self.mode, self.mesh.device_type)
        sizes = dict(zip(axis_names(self.mesh), self.mesh.mesh.shape))

        def widened(key: str, value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            for axis, placement in self.inputs.get(key, {}).items():
                if isinstance(placement, Shard) and not self._was_dtensor.get(key):
                    value = torch.cat([value] * int(sizes[axis]), placement.dim)
            return value

        self._was_dtensor = {
            name + torch.utils._pytree.keystr(path): isinstance(leaf, DTensor)
            for name, value in self.arguments.items()
            for path, leaf in torch.utils._pytree.tree_leaves_with_path(value)
        }
        return {
            name: torch.utils._pytree.tree_map_with_path(
                lambda path, leaf, name=name: widened(
                    name + torch.utils._pytree.keystr(path), leaf
                ),
                value,
            )
            for name, value in whole.items()
        }

    def write_relations(self) -> Path:
        path = self.folder / "relations.json"
        names = axis_names(self.mesh)
        relations: dict[str, Any] = {
            "version": 1,
            "mesh": {name: groups_of_axis(self.mesh, axis) for axis, name in enumerate(names)},
            "inputs": self.relations,
            "outputs": self.outputs,
        }
        path.write_text(json.dumps(relations, indent=1) + "\n", encoding="utf-8")
        return path


def capture(
    model: nn.Module | Callable[..., Any],
    example_args: Any,
    *,
    mesh: DeviceMesh | Mapping[str, int],
    plan: Any = None,
    backward: bool = False,
    dynamic_shapes: Any = None,
    ranks: Literal["all"] | Sequence[int] = "all",
    folder: str | Path = "out",
    input_placements: Mapping[str, Mapping[str, Any]] | None = None,
) -> Capture:
    """Writes the program of every rank, and of one device, as archives of torch.export.

    model: a module with DTensor parameters (parallelize_module, fully_shard); a module on
        one device with a plan; a model of transformers, whose own plan is applied; or a
        function that calls collectives. Weights may be on the meta device.
    example_args: a tuple of positional or a dict of keyword arguments, as this rank passes
        them.
    mesh: the DeviceMesh of the model, or sizes by axis, such as {"tp": 8}: then the ranks
        exist for the capture only.
    plan: {module name: parallel style}, as for parallelize_module, or rules of transformers.
    backward: loss and gradients of all parameters, in one program.
    dynamic_shapes: as torch.export.export takes them, by argument.
    ranks: which ranks to write.
    input_placements: {argument: {axis: placement}} of plain tensors that the model neither
        makes DTensors of nor takes whole, such as a cache of the rank's own heads.
    """
    mesh = _mesh_of(mesh)
    wanted = _ranks_of(mesh, ranks)
    folder = Path(folder)
    module = model if isinstance(model, nn.Module) else _FunctionModule(model)
    arguments = named_arguments(module.forward, example_args)
    whole, refusal = module, None
    if not isinstance(model, nn.Module):
        refusal = "a function of collectives has no form on one device"
    elif plan is not None or (not is_parallel(module) and plans.has_own_plan(module)):
        if is_parallel(module):
            raise CaptureError("the model has DTensor parameters already; pass it without a plan")
        module = plans.apply(module, mesh, plan)
    elif is_parallel(module):
        pass
    capturing = _Capturing(module, arguments, mesh, backward, dynamic_shapes, folder)
    capturing.stated_inputs = _stated_inputs(input_placements or {}, arguments, mesh)
    folder.mkdir(parents=True, exist_ok=True)
    programs = tuple(capturing.rank(rank) for rank in wanted)
    reference = None
    if refusal is None:
        try:
            reference = capturing.reference(whole)
        except CaptureError as error:
            refusal = str(error)
    constants = capturing.write_sidecars()
    return Capture(folder, programs, reference, refusal, capturing.write_relations(), constants)
