# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Capture by a factory: each rank's model is built and traced in a process of its own.

capture(build, (x,), world=4)
"""

import dataclasses
import functools
import inspect
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from commute.capture import archives, residue, transformers_models
from commute.capture.arguments import Arguments, named_arguments
from commute.capture.descriptions import name_groups_of_process
from commute.capture.errors import CaptureError, explain, packages_of
from commute.capture.factories import Factory, call
from commute.capture.local_model import LocalModel
from commute.capture.meshes import find_axes
from commute.capture.rank_processes import RankProcesses
from commute.capture.rank_records import RankRecord, record
from commute.capture.ranks import fake_mesh, start_fake_processes
from commute.capture.stand_ins import standing_in
from commute.capture.tracing import trace


@dataclasses.dataclass(frozen=True)
class Settings:
    """What holds for all ranks of a capture."""

    arguments: Any
    mesh: Mapping[str, int] | None
    backward: bool
    dynamic_shapes: Any


@dataclasses.dataclass(frozen=True)
class CapturedRank:
    """What the process of a rank sends back."""

    record: RankRecord
    nodes: int
    seconds: float


def _become_rank(rank: int, world: int) -> None:
    """Makes this process look like one that a launcher has started for a rank.

    Generators get other seeds on each rank, as those of real ranks have unless the program
    sets them.
    """
    for name, value in (("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", world),
                        ("LOCAL_WORLD_SIZE", world)):  # fmt: skip
        os.environ[name] = str(value)
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29500")
    start_fake_processes(world, rank)
    torch.manual_seed(0x5EED0000 + rank)
    random.seed(0x5EED0000 + rank)


def _build(factory: Factory, rank: int, world: int, arguments: Any) -> Any:
    try:
        return call(factory, rank, world, arguments)
    except CaptureError:
        raise
    except Exception as error:
        place = getattr(factory, "__qualname__", "build")
        raise explain(nn.Module(), error, f"{place}({rank}, {world})", "the model") from error


def _traced(
    model: nn.Module,
    arguments: Any,
    forward: Callable[..., Any] | None,
    settings: Settings,
    path: Path,
    what: str,
    rank: int,
    mesh: Any,
    whole: bool,
) -> CapturedRank:
    start = time.perf_counter()
    axes = find_axes(model, mesh)
    names, members = name_groups_of_process(axes)
    call_model = model.forward if forward is None else functools.partial(forward, model)
    given = Arguments(named_arguments(call_model, arguments), axes, "cpu")
    seen = transformers_models.SeenTokens(given.named)
    with LocalModel(model, whole=whole) as local:
        of_rank = given.of_rank(local.mode)
        program = trace(
            local,
            of_rank,
            backward=settings.backward,
            dynamic_shapes=settings.dynamic_shapes,
            what=what,
            for_model=lambda values: seen.restore(given.for_model(values)),
            forward=None if forward is None else _with_names(call_model, of_rank),
        )
        used = residue.clean(program.graph_module, names, packages_of(model))
        archives.save(program, path)
        groups = {name: members[name] for name in used if name in members}
        found = record(
            program,
            local,
            given,
            rank=rank,
            axes=axes,
            groups=groups,
            backward=settings.backward,
            with_values=True,
        )
    return CapturedRank(found, len(program.graph.nodes), time.perf_counter() - start)


def _with_names(forward: Callable[..., Any], arguments: Mapping[str, Any]) -> Callable[..., Any]:
    """Wraps a forward such that arguments that it takes by position only have names."""
    parameters = inspect.signature(forward).parameters

    def named(**values: Any) -> Any:
        by_position = [
            values.pop(name)
            for name, parameter in parameters.items()
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and name in values
        ]
        return forward(*by_position, **values)

    return named


def capture_rank(
    factory: Factory, rank: int, world: int, settings: Settings, path: Path, what: str
) -> CapturedRank:
    """Writes the program of a rank. Call this in the process that stands for the rank."""
    _become_rank(rank, world)
    with standing_in():
        mesh = fake_mesh(settings.mesh) if settings.mesh and world > 1 else None
        built = _build(factory, rank, world, settings.arguments)
        transformers_models.register_caches()
        return _traced(
            built.model, built.arguments, built.forward, settings, path, what, rank, mesh, False
        )


def capture_module(model: nn.Module, settings: Settings, path: Path) -> CapturedRank:
    """Writes the program of a module on a single device, without its collectives."""
    if settings.arguments is None:
        raise CaptureError("reference= is a module, so the example arguments must be passed")
    _become_rank(0, 1)
    with standing_in():
        transformers_models.register_caches()
        return _traced(model, settings.arguments, None, settings, path, "reference", 0, None, True)


def capture_in_process(
    model: nn.Module, settings: Settings, path: Path, what: str, mesh: Any, *, whole: bool
) -> CapturedRank:
    """Writes the program of the rank that this process is, or with `whole` that of a model on a
    single device."""
    rank = torch.distributed.get_rank()
    return _traced(model, settings.arguments, None, settings, path, what, rank, mesh, whole)


def capture_processes(
    factory: Factory,
    world: int,
    ranks: Sequence[int],
    settings: Settings,
    folder: Path,
    reference: Factory | nn.Module,
) -> tuple[CapturedRank | CaptureError, list[CapturedRank], int]:
    """Captures the reference, then all ranks. Returns the reference, or why there is none, the
    ranks, and the most memory that a process took."""
    processes = RankProcesses()
    path = folder / "reference.pt2"
    whole: CapturedRank | CaptureError
    if isinstance(reference, nn.Module):
        task: Callable[[], CapturedRank] = functools.partial(
            capture_module, reference, settings, path
        )
    else:
        task = functools.partial(capture_rank, reference, 0, 1, settings, path, "reference")
    try:
        [whole] = processes.run([("reference", task)])
    except CaptureError as error:
        whole = error
    captured = processes.run(
        [
            (
                f"rank {rank}",
                functools.partial(
                    capture_rank, factory, rank, world, settings, folder / f"rank{rank}.pt2",
                    f"rank {rank}",
                ),
            )
            for rank in ranks
        ]
    )  # fmt: skip
    return whole, captured, processes.largest
