# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Capture of ranks that have models of their own: by a factory, or in real processes."""

import dataclasses
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from commute.capture import archives, transformers_models
from commute.capture.descriptions import Descriptions, check_stated_inputs, check_stated_outputs
from commute.capture.errors import CaptureError
from commute.capture.factories import find_factory
from commute.capture.factory_capture import (
    CapturedRank,
    Settings,
    capture_in_process,
    capture_processes,
)
from commute.capture.inferred_relations import InferredRelations
from commute.capture.ranks import wanted_ranks
from commute.capture.results import Capture, CapturedProgram, write_descriptions


def capture_by_factory(
    model: Any,
    world: int,
    settings: Settings,
    *,
    ranks: Literal["all"] | Sequence[int],
    folder: Path,
    input_placements: Mapping[str, Mapping[str, Any]],
    output_placements: Mapping[str | int, Mapping[str, Any]],
    reference: Any,
    plain_parameters: str,
) -> Capture:
    if not isinstance(world, int) or world < 1:
        raise CaptureError(f"world is {world!r}; expected the number of ranks")
    if settings.mesh and math.prod(settings.mesh.values()) != world:
        raise CaptureError(f"mesh={dict(settings.mesh)} does not have world={world} ranks")
    factory = find_factory(model)
    wanted = wanted_ranks(ranks, [*range(world)])
    if reference is None:
        reference = factory
    elif not isinstance(reference, nn.Module):
        reference = find_factory(reference)
    folder.mkdir(parents=True, exist_ok=True)
    whole, captured, memory = capture_processes(factory, world, wanted, settings, folder, reference)
    merged = merge(
        captured,
        whole,
        folder=folder,
        input_placements=input_placements,
        output_placements=output_placements,
        plain_parameters=plain_parameters,
    )
    return dataclasses.replace(merged, memory=memory)


def merge(
    captured: Sequence[CapturedRank],
    whole: CapturedRank | CaptureError,
    *,
    folder: Path,
    input_placements: Mapping[str, Mapping[str, Any]],
    output_placements: Mapping[str | int, Mapping[str, Any]],
    plain_parameters: str,
) -> Capture:
    """Writes what depends on all ranks, whose archives are in the folder.

    whole: the program on a single device, or why there is none.
    """
    records = [rank.record for rank in captured]
    first = records[0]
    for other in records:
        if other.axes != first.axes:
            raise CaptureError(
                f"ranks {first.rank} and {other.rank} have other process groups:"
                f" {', '.join(first.axes.names)}, and {', '.join(other.axes.names)}"
            )
    inferred = None
    if isinstance(whole, CapturedRank) and plain_parameters == "unknown":
        inferred = InferredRelations(records, whole.record)
    dims = {path: len(tensor.shape) for path, tensor in first.arguments.items()}
    descriptions = Descriptions(
        first.axes,
        check_stated_inputs(input_placements, first.argument_names, dims, first.axes),
        is_function=False,
        states_plain_parameters=plain_parameters == "replicated",
        stated_outputs=check_stated_outputs(output_placements, first.axes),
        inferred=inferred,
    )
    if isinstance(whole, CapturedRank):
        descriptions.add_reference(whole.record.shapes, whole.record.gradients, whole.record.tied)
    for one in records:
        descriptions.add(one)
    constants = write_descriptions(descriptions, folder)
    refusal, program = None, None
    if isinstance(whole, CapturedRank):
        archives.add_sidecar(
            folder / "reference.pt2",
            {"version": 1, "rank": 0, "groups": dict(whole.record.groups), "inputs": {}},
        )
        program = CapturedProgram(folder / "reference.pt2", None, whole.nodes, whole.seconds)
    else:
        refusal = str(whole)
    programs = tuple(
        CapturedProgram(
            folder / f"rank{rank.record.rank}.pt2", rank.record.rank, rank.nodes, rank.seconds
        )
        for rank in captured
    )
    return Capture(
        folder,
        programs,
        program,
        refusal,
        folder / "relations.json",
        constants,
        tuple(inferred.ambiguities) if inferred else (),
        first.axes,
    )


def capture_on_ranks(
    model: nn.Module,
    reference: nn.Module,
    settings: Settings,
    *,
    mesh: DeviceMesh | None,
    folder: Path,
    input_placements: Mapping[str, Mapping[str, Any]],
    output_placements: Mapping[str | int, Mapping[str, Any]],
    plain_parameters: str,
) -> Capture | None:
    """Captures the model of each rank in its own process, and the reference in that of rank 0.
    All ranks of the default process group call this. Returns the result on rank 0, None on the
    others. Raises CaptureError on all ranks if one of them fails.
    """
    transformers_models.register_caches()
    rank, world = dist.get_rank(), dist.get_world_size()
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / f"rank{rank}.pt2"
        own: Any
        try:
            found = capture_in_process(model, settings, path, f"rank {rank}", mesh, whole=False)
            own = found, path.read_bytes()
        except CaptureError as error:
            own = str(error), b""
    # The ranks may be on several machines.
    parts: list[Any] = [None] * world
    dist.all_gather_object(parts, own)
    refusals = [found for found, _ in parts if isinstance(found, str)]
    if refusals:
        raise CaptureError(refusals[0])
    if rank != 0:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    for index, (_, content) in enumerate(parts):
        (folder / f"rank{index}.pt2").write_bytes(content)
    whole: CapturedRank | CaptureError
    try:
        path = folder / "reference.pt2"
        whole = capture_in_process(reference, settings, path, "reference", mesh, whole=True)
    except CaptureError as error:
        whole = error
    return merge(
        [found for found, _ in parts],
        whole,
        folder=folder,
        input_placements=input_placements,
        output_placements=output_placements,
        plain_parameters=plain_parameters,
    )
