# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`check`: capture of a parallel model and verification in one call."""

import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh

from commute.capture import Capture, CaptureError, capture
from commute.capture.factory_capture import Settings
from commute.capture.local_model import is_parallel
from commute.capture.model import FunctionModule
from commute.capture.own_models import capture_on_ranks
from commute.errors import CommuteError
from commute.native import native
from commute.verification import Verification, verify


def check(
    model: nn.Module | Callable[..., Any] | str,
    parallel_model: Any = None,
    args: Any = None,
    mesh: DeviceMesh | Mapping[str, int] | None = None,
    *,
    world: int | None = None,
    reference: nn.Module | Callable[..., Any] | str | None = None,
    plan: Any = None,
    backward: bool = False,
    relations: Mapping[str, Any] | None = None,
    input_placements: Mapping[str, Mapping[str, Any]] | None = None,
    output_placements: Mapping[str | int, Mapping[str, Any]] | None = None,
    plain_parameters: Literal["unknown", "replicated"] = "unknown",
    folder: str | Path | None = None,
    show_relations: bool = False,
    proof_time: float = 60.0,
    proof_memory: int | None = None,
) -> Verification:
    """Checks that a parallel model computes what the model on one device computes.

    model: the model on one device.
    parallel_model: the model as the ranks run it: with DTensor parameters, with collectives
        of its own, or `model` itself together with a `plan`.
    args: the example arguments on one device, as for `capture`.
    world: the number of ranks that have models of their own. `model` is then a factory
        build(rank, world), or its name "package.module:function", and the second argument is
        that of the example arguments, as for `capture`.
    reference: with `world`, another factory or a module for the model on one device.
    mesh: the DeviceMesh, or axis sizes such as {"tp": 8}; None where the model's DTensors or
        the process groups say it, as for `capture`.
    backward: also check the gradients of all parameters.
    relations: entries of relations.json that replace captured ones: "inputs",
        "inputs_of_rank", "outputs", "ranges". An entry that is None removes the captured one.
    input_placements, output_placements, plain_parameters: as for `capture`.
    folder: where to keep the captured programs.

        assert commute.torch.check(model, parallel, (x,), {"tp": 2})
        assert commute.torch.check(build, (x,), world=2)

    In a process group of several real processes, as torchrun starts them, every rank calls this
    with its own parallel model, unless that has DTensor parameters: each rank captures its own,
    rank 0 proves, and all return the verdict.

    Raises CaptureError if a program cannot be captured.
    """
    if world is None and (parallel_model is None or reference is not None):
        raise CaptureError(
            "pass the model on one device and the parallel model; or a factory, with world= and"
            " perhaps reference="
        )
    settings = _ProofSettings(relations or {}, show_relations, proof_time, proof_memory)
    # Capture does without the compiled module; its absence is known before minutes are spent.
    native()
    with tempfile.TemporaryDirectory() as temporary:
        if world is None and plan is None and _are_ranks_real(parallel_model):
            return _check_on_ranks(
                model,
                parallel_model,
                Settings(args, None, backward, None),
                settings,
                mesh=mesh if isinstance(mesh, DeviceMesh) else None,
                folder=Path(folder or temporary),
                input_placements=input_placements or {},
                output_placements=output_placements or {},
                plain_parameters=plain_parameters,
            )
        captured = capture(
            parallel_model if world is None else model,
            args if world is None or args is not None else parallel_model,
            world=world,
            mesh=mesh,
            plan=plan,
            backward=backward,
            folder=folder or temporary,
            input_placements=input_placements,
            output_placements=output_placements,
            reference=model if world is None else reference,
            plain_parameters=plain_parameters,
        )
        return _prove(captured, settings)


@dataclasses.dataclass(frozen=True)
class _ProofSettings:
    relations: Mapping[str, Any]
    show_relations: bool
    proof_time: float
    proof_memory: int | None


def _prove(captured: Capture, settings: _ProofSettings) -> Verification:
    if captured.reference is None:
        raise CaptureError(f"the model on one device: {captured.reference_refusal}")
    return verify(
        captured.reference.path,
        [program.path for program in captured.ranks],
        captured.relations_with(settings.relations),
        show_relations=settings.show_relations,
        proof_time=settings.proof_time,
        proof_memory=settings.proof_memory,
    )


def _are_ranks_real(model: Any) -> bool:
    """Returns true if each rank is a process, with a model that only this process has: a model of
    DTensors is the same on all ranks."""
    if not dist.is_initialized() or dist.get_backend() == "fake" or dist.get_world_size() == 1:
        return False
    return not (isinstance(model, nn.Module) and is_parallel(model))


def _as_module(model: Any) -> nn.Module:
    return model if isinstance(model, nn.Module) else FunctionModule(model)


def _check_on_ranks(
    model: Any, parallel_model: Any, capturing: Settings, proving: _ProofSettings, **options: Any
) -> Verification:
    """Captures on all ranks and proves on rank 0. Every rank returns the verdict, or raises the
    error."""
    captured = capture_on_ranks(_as_module(parallel_model), _as_module(model), capturing, **options)
    answer: list[Any] = [None]
    if captured is not None:
        try:
            answer = [_prove(captured, proving)]
        except CommuteError as error:
            answer = [str(error)]
    dist.broadcast_object_list(answer, 0)
    if isinstance(answer[0], str):
        raise CommuteError(answer[0])
    return answer[0]
