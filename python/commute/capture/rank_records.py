# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What is known of the program of one rank, as plain data that one process can send to
another."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.export import ExportedProgram

from commute.capture import archives, rank_constants
from commute.capture.arguments import Arguments
from commute.capture.axes import Axes
from commute.capture.local_model import BelievedInput, LocalModel, ReturnedTensor
from commute.capture.placements import AxisPlacements, of_dtensor
from commute.torch.compatibility import is_traced_tensor, pytree, unset_fake_temporarily

ATTRIBUTES = (
    # Megatron
    "tensor_model_parallel",
    "partition_dim",
    "partition_stride",
    "sequence_parallel",
    "allreduce",
    # vLLM and SGLang
    "output_dim",
    "input_dim",
)


@dataclasses.dataclass(frozen=True)
class TensorRecord:
    """A parameter, a buffer or an argument of a rank."""

    shape: tuple[int, ...]
    """Of the whole tensor where it is a DTensor, else of the rank's own."""
    placements: AxisPlacements | None
    """Those of the DTensor that it is; None for a plain tensor."""
    sizes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """The sizes of the axes of the DTensor's mesh."""
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What a framework notes at a parameter: of ATTRIBUTES, those that it has."""
    digest: str | None = None
    """Equal for tensors with equal values; None if the values are not known."""


@dataclasses.dataclass(frozen=True)
class RankRecord:
    """What is known of the program of one rank."""

    rank: int
    axes: Axes
    groups: Mapping[str, Any]
    """The process groups that the program uses, with their members on all ranks."""
    parameters: Mapping[str, TensorRecord]
    """All parameters and buffers of the model, under all of their names."""
    tied: Mapping[str, str]
    """By name of a parameter, the first name of the same parameter, if it is another."""
    used_parameters: Sequence[str]
    """Those that the program takes."""
    arguments: Mapping[str, TensorRecord]
    """The tensors among the arguments, by path."""
    argument_names: Sequence[str]
    inputs: Mapping[str, str]
    """By input of the program, the path of its tensor."""
    input_placements: Mapping[str, AxisPlacements]
    """By path, the placements with which the model converts a plain input to a DTensor."""
    believed_inputs: Mapping[str, BelievedInput]
    data_axes: tuple[str, ...]
    returned: Sequence[ReturnedTensor]
    gradients: Mapping[str, int]
    """By parameter, the index of its gradient among the outputs."""
    outline: rank_constants.Outline
    constant_inputs: Sequence[str]
    shapes: Sequence[tuple[int, ...] | None]
    """Of the program's outputs."""


def hints(shape: Sequence[Any]) -> tuple[int, ...] | None:
    """Returns a shape with the sizes at capture for symbolic ones; None if one is unknown."""
    sizes = [size if isinstance(size, int) else size.node.hint for size in shape]
    return None if any(size is None for size in sizes) else tuple(int(size) for size in sizes)


def gradient_names(program: ExportedProgram) -> dict[str, int]:
    """Returns the index of the gradient of each parameter among the outputs of a program that
    was captured with its backward."""
    spec = program.call_spec.out_spec
    if spec is None:
        return {}
    tree = pytree.tree_unflatten([0] * spec.num_leaves, spec)
    found = enumerate(pytree.tree_leaves_with_path(tree))
    return {str(path[-1].key): i for i, (path, _) in found if hasattr(path[-1], "key")}


def shapes_of_outputs(program: ExportedProgram) -> tuple[tuple[int, ...] | None, ...]:
    """Returns the shapes of a program's outputs; None for one that is no tensor, or whose sizes
    are unknown."""
    values = [
        node.meta.get("val")
        for node in program.graph.output_node().args[0]
        if isinstance(node, torch.fx.Node)
    ]
    return tuple(hints(v.shape) if isinstance(v, torch.Tensor) else None for v in values)


def _digest(value: torch.Tensor) -> str | None:
    """Returns a digest of a tensor's values; None if it has none."""
    if value.is_meta or is_traced_tensor(value) or value.layout is not torch.strided:
        return None
    # Capture replaces the tensors of the model by fake ones, and makes new ones here.
    with unset_fake_temporarily():
        plain = value.detach().cpu().contiguous().view(-1).view(torch.uint8)
        return hashlib.sha256(plain.numpy().tobytes()).hexdigest()


def tied_names(local: LocalModel) -> dict[str, str]:
    """Returns, by name of a parameter, the first name of the same parameter, if it is another."""
    first: dict[int, str] = {}
    found: dict[str, str] = {}
    for name, value in local.parameters().items():
        known = first.setdefault(id(value), name)
        if known != name:
            found[name] = known
    return found


def _of_tensor(value: torch.Tensor, with_values: bool) -> TensorRecord:
    shape = tuple(int(size) for size in value.shape)
    if isinstance(value, DTensor):
        return TensorRecord(shape, of_dtensor(value), Axes.of_mesh(value.device_mesh).sizes)
    if not with_values:
        return TensorRecord(shape, None)
    found = {name: getattr(value, name) for name in ATTRIBUTES if hasattr(value, name)}
    plain = {k: v for k, v in found.items() if isinstance(v, (bool, int, str))}
    return TensorRecord(shape, None, attributes=plain, digest=_digest(value))


def _with_parts(record: TensorRecord, owner: Any) -> TensorRecord:
    """Adds the sizes of the parts of a packed parameter, which vLLM's layers state."""
    parts = getattr(owner, "output_sizes", None)
    if "output_dim" not in record.attributes or not isinstance(parts, (list, tuple)):
        return record
    if not parts or not all(isinstance(part, int) for part in parts):
        return record
    attributes = {**record.attributes, "output_sizes": tuple(parts)}
    return dataclasses.replace(record, attributes=attributes)


def _parameters(local: LocalModel, with_values: bool) -> dict[str, TensorRecord]:
    owners = dict(local.model.named_modules())
    return {
        name: _with_parts(_of_tensor(value, with_values), owners.get(name.rpartition(".")[0]))
        for name, value in local.parameters().items()
    }


def record(
    program: ExportedProgram,
    local: LocalModel,
    arguments: Arguments,
    *,
    rank: int,
    axes: Axes,
    groups: Mapping[str, Any],
    backward: bool,
    with_values: bool = False,
) -> RankRecord:
    """Returns what is known of a rank's program. Call this inside the context of `local`.

    groups: the process groups that the program uses.
    with_values: also records the values of plain tensors, by digest, and the attributes of
        parameters. It is of use where each rank has a model of its own.
    """
    paths = {
        name: path
        for name in archives.input_names(program)
        if (path := arguments.path_of(name)) is not None
    }
    returned = [
        dataclasses.replace(tensor, shape=None if tensor.shape is None else hints(tensor.shape))
        for tensor in local.returned_tensors
    ]
    return RankRecord(
        rank,
        axes,
        dict(groups),
        _parameters(local, with_values),
        tied_names(local),
        archives.parameter_names(program),
        {path: _of_tensor(value, with_values) for path, value in arguments.tensors()},
        tuple(arguments.named),
        paths,
        dict(local.input_placements),
        dict(local.believed_inputs),
        tuple(name for name in axes.names if name in local.data_axes),
        returned,
        gradient_names(program) if backward else {},
        rank_constants.outline(program),
        rank_constants.constant_inputs(program),
        shapes_of_outputs(program),
    )
