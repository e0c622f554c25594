# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`capture`, which writes a parallel model as one archive per rank.

For example:

    mesh = commute.torch.fake_mesh({"tp": 8})
    commute.torch.capture(model, (tokens,), mesh=mesh, folder="out")
"""

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.export import ExportedProgram

from commute.capture import archives, plans, residue, transformers_models
from commute.capture.arguments import Arguments, named_arguments
from commute.capture.axes import Axes
from commute.capture.descriptions import (
    Descriptions,
    check_stated_inputs,
    check_stated_outputs,
    name_groups,
)
from commute.capture.errors import CaptureError, packages_of
from commute.capture.factory_capture import Settings
from commute.capture.local_model import LocalModel, is_parallel
from commute.capture.meshes import find_mesh
from commute.capture.own_models import capture_by_factory
from commute.capture.rank_records import gradient_names, record, shapes_of_outputs, tied_names
from commute.capture.ranks import (
    acting_as_rank,
    axis_names,
    check_groups,
    fake_mesh,
    wanted_ranks,
)
from commute.capture.results import Capture, CapturedProgram, write_descriptions
from commute.capture.tracing import trace


class FunctionModule(nn.Module):
    """A function as a module, whose forward it is."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["forward"] = function


def _mesh_of(mesh: DeviceMesh | Mapping[str, int] | None, model: nn.Module) -> DeviceMesh:
    if mesh is None:
        return find_mesh(model)
    if isinstance(mesh, DeviceMesh):
        return mesh
    if isinstance(mesh, Mapping):
        return fake_mesh(mesh)
    raise CaptureError(
        f"mesh is a {type(mesh).__name__}; pass a DeviceMesh, or axis sizes such as {{'tp': 8}}"
    )


def _ranks_of(mesh: DeviceMesh, ranks: Literal["all"] | Sequence[int]) -> list[int]:
    return wanted_ranks(ranks, sorted(int(rank) for rank in mesh.mesh.flatten().tolist()))


def _why_not_parallel(model: nn.Module, ranks: int) -> str:
    if missing := transformers_models.describe_missing_plan(model, ranks):
        return missing
    if isinstance(model, FunctionModule):
        return "the function calls no collective, so there is nothing to run on several ranks"
    return (
        f"{type(model).__name__} is not parallel: it has no DTensor parameters and no plan of its"
        " own, and it calls no collective; pass plan={module name: style}"
    )


@contextlib.contextmanager
def _one_garbage_collection() -> Iterator[None]:
    """Collects garbage once, at the end. Python would do it whenever many objects have been
    made, and walk all those of a large model each time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
            gc.collect()


class _Capturing:
    """The state of one call of `capture`, which traces, cleans up and writes programs."""

    def __init__(
        self,
        descriptions: Descriptions,
        arguments: Arguments,
        mesh: DeviceMesh,
        backward: bool,
        dynamic_shapes: Any,
        folder: Path,
    ) -> None:
        self.descriptions, self.arguments = descriptions, arguments
        self.group_names, self.groups = name_groups(mesh)
        self.backward, self.dynamic_shapes, self.folder = backward, dynamic_shapes, folder
        self.seen = transformers_models.SeenTokens(arguments.named)

    def _trace(
        self,
        local: LocalModel,
        arguments: Mapping[str, Any],
        for_model: Callable[[Mapping[str, Any]], dict[str, Any]],
        what: str,
    ) -> tuple[ExportedProgram, set[str]]:
        """Returns a program and the process groups that it uses."""
        program = trace(
            local,
            arguments,
            backward=self.backward,
            dynamic_shapes=self.dynamic_shapes,
            what=what,
            for_model=lambda given: self.seen.restore(for_model(given)),
        )
        return program, residue.clean(
            program.graph_module, self.group_names, packages_of(local.model)
        )

    def rank(self, model: nn.Module, rank: int) -> CapturedProgram:
        start = time.perf_counter()
        with _one_garbage_collection(), acting_as_rank(rank), LocalModel(model) as local:
            given = self.arguments.of_rank(local.mode)
            program, used = self._trace(local, given, self.arguments.for_model, f"rank {rank}")
            check_groups(rank, used, self.group_names)
            if not used and not is_parallel(model) and len(self.descriptions.axes.ranks) > 1:
                raise CaptureError(_why_not_parallel(model, len(self.descriptions.axes.ranks)))
            self.descriptions.add(
                record(
                    program,
                    local,
                    self.arguments,
                    rank=rank,
                    axes=self.descriptions.axes,
                    groups={name: self.groups[name] for name in used if name in self.groups},
                    backward=self.backward,
                )
            )
            path = self.folder / f"rank{rank}.pt2"
            archives.save(program, path)
        nodes = archives.count_nodes(path)
        return CapturedProgram(path, rank, nodes, time.perf_counter() - start)

    def reference(self, model: nn.Module) -> CapturedProgram:
        start = time.perf_counter()
        with _one_garbage_collection(), LocalModel(model, whole=True) as local:
            given = self.arguments.of_one_device(local.mode, self.descriptions.inputs)
            program, used = self._trace(local, given, dict, "reference")
            if used:
                raise CaptureError(
                    "reference: the model calls collectives itself, so it cannot run on a single"
                    " device"
                )
            self.descriptions.add_reference(
                shapes_of_outputs(program),
                gradient_names(program) if self.backward else {},
                tied_names(local),
            )
            path = self.folder / "reference.pt2"
            archives.save(program, path)
        nodes = archives.count_nodes(path)
        return CapturedProgram(path, None, nodes, time.perf_counter() - start)


def capture(
    model: nn.Module | Callable[..., Any] | str,
    example_args: Any = None,
    *,
    world: int | None = None,
    mesh: DeviceMesh | Mapping[str, int] | None = None,
    plan: Any = None,
    backward: bool = False,
    dynamic_shapes: Any = None,
    ranks: Literal["all"] | Sequence[int] = "all",
    folder: str | Path = "out",
    input_placements: Mapping[str, Mapping[str, Any]] | None = None,
    output_placements: Mapping[str | int, Mapping[str, Any]] | None = None,
    reference: nn.Module | Callable[..., Any] | str | None = None,
    plain_parameters: Literal["unknown", "replicated"] = "unknown",
) -> Capture:
    """Writes the program of every rank, and of a single device, as torch.export archives.

    model: a module with DTensor parameters (parallelize_module, fully_shard); a module on
        a single device, together with `plan`; a model of transformers, whose own plan is
        applied; or a function that calls collectives. Weights may be on the meta device.
        With `world`: a factory build(rank, world), or its name "package.module:function",
        which returns the module of a rank, (module, args) or (module, args, forward), where
        forward(module, *args) calls the module.
    example_args: a tuple of positional or a dict of keyword arguments, as passed on this
        rank.
    world: the number of ranks that have models of their own. The factory is called in a process
        for each, forked from this one, and for the reference as build(0, 1).
    mesh: the DeviceMesh of the model, or axis sizes such as {"tp": 8}. With axis sizes, the
        ranks exist only during the capture. None: the mesh of the model's DTensors or, if it has
        none, the mesh whose axes have the process groups, named as the framework that made
        the groups names them.
    plan: {module name: parallel style} as in parallelize_module, or {module name: rule} as in
        transformers.
    backward: capture the loss and the gradients of all parameters in one program.
    dynamic_shapes: as in torch.export.export, keyed by argument.
    ranks: the ranks to write.
    input_placements: {argument: {axis: placement}} for plain tensors that are not whole and
        that the model does not convert to DTensors, such as a cache of the rank's own heads.
        Placements are objects of torch.distributed.tensor, or "replicated", "shard(DIM)" and
        "partial". An output that the model returns under the name of such an argument has its
        placements.
    output_placements: {name or index of an output: {axis: placement}} for plain outputs that
        are not whole, such as a new cache of the rank's own heads.
    reference: the model on a single device, if that is not `model` without its collectives. With
        `world`: another factory, or a module.
    plain_parameters: whether the plain parameters and buffers of a model that is parallel
        already are equal on all ranks. Nothing says so by default: the ranks' modules may
        each have their own. A plan leaves them as they are, so they are known then.

    Raises CaptureError if a rank's program cannot be captured. If only the program of the
    single device cannot be captured, `reference_refusal` of the result states why.
    """
    if world is not None:
        if plan is not None or isinstance(mesh, DeviceMesh):
            raise CaptureError(
                "with world=, the factory applies the plan and makes the mesh; leave plan out, and"
                " pass axis sizes as mesh if the axes need names"
            )
        return capture_by_factory(
            model,
            world,
            Settings(example_args, mesh, backward, dynamic_shapes),
            ranks=ranks,
            folder=Path(folder),
            input_placements=input_placements or {},
            output_placements=output_placements or {},
            reference=reference,
            plain_parameters=plain_parameters,
        )
    if isinstance(model, str) or isinstance(reference, str):
        raise CaptureError("a factory is named; pass world=, the number of ranks")
    if example_args is None:
        raise CaptureError("no example arguments are passed")
    transformers_models.register_caches()
    module = model if isinstance(model, nn.Module) else FunctionModule(model)
    mesh = _mesh_of(mesh, module)
    wanted = _ranks_of(mesh, ranks)
    folder = Path(folder)
    axes = Axes.of_mesh(mesh)
    arguments = Arguments(named_arguments(module.forward, example_args), axes, mesh.device_type)
    ranks_of_tensors = {path: value.dim() for path, value in arguments.tensors()}
    stated = check_stated_inputs(
        input_placements or {}, tuple(arguments.named), ranks_of_tensors, axes
    )
    stated_outputs = check_stated_outputs(output_placements or {}, axes)
    if plain_parameters not in ("unknown", "replicated"):
        raise CaptureError(
            f"plain_parameters is {plain_parameters!r}; pass 'unknown' or 'replicated'"
        )
    whole, refusal = module, None
    replicated: frozenset[str] = frozenset()
    if reference is not None:
        whole = reference if isinstance(reference, nn.Module) else FunctionModule(reference)
    elif not isinstance(model, nn.Module):
        refusal = "a function that calls collectives cannot run on a single device"
    notes: tuple[str, ...] = ()
    if is_parallel(module):
        if plan is not None:
            raise CaptureError("the model already has DTensor parameters; pass it without a plan")
    elif refusal is None and (plan is not None or plans.has_own_plan(module)):
        if plan is None and "ep" not in axis_names(mesh):
            missing = transformers_models.describe_missing_plan(module, mesh.size())
            notes = (missing,) if missing else ()
        parallel = plans.apply(module, mesh, plan)
        replicated = plans.untouched(module, parallel)
        module = parallel
    descriptions = Descriptions(
        axes,
        stated,
        is_function=not isinstance(model, nn.Module),
        replicated=replicated,
        states_plain_parameters=plain_parameters == "replicated",
        stated_outputs=stated_outputs,
    )
    if reference is not None:
        descriptions.forget_local(module, whole)
    capturing = _Capturing(descriptions, arguments, mesh, backward, dynamic_shapes, folder)
    folder.mkdir(parents=True, exist_ok=True)
    programs = tuple(capturing.rank(module, rank) for rank in wanted)
    captured_reference = None
    if refusal is None:
        try:
            captured_reference = capturing.reference(whole)
        except CaptureError as error:
            refusal = str(error)
    constants = write_descriptions(descriptions, folder, notes)
    relations = folder / "relations.json"
    return Capture(folder, programs, captured_reference, refusal, relations, constants, notes=notes)
