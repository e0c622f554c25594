# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the graph that torch.compile traced says of the inputs of later graphs.

Dynamo's graph has DTensors, and the names by which users know parameters. AOTAutograd
replaces a DTensor by its local tensor, of which nothing states a placement, and numbers
the inputs. So Dynamo's graph is recorded when it is compiled, and the graphs that are
made of it (joint, forward and backward) are looked up through the descriptors that
AOTAutograd gives their inputs.
"""

import dataclasses
import re
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.fx import Graph, Node

from commute.torch.compatibility import (
    FakeTensor,
    TracingContext,
    is_from_local,
    unset_fake_temporarily,
)
from commute.torch.known_groups import Ranks, known_groups

# DTensor and AOTAutograd's descriptors are imported where they are met: they take seconds.
if TYPE_CHECKING:
    from commute.torch.compatibility import AOTInput


# Bytes of which a checksum is computed at once.
_CHECKSUM_PIECE = 1 << 24


@dataclasses.dataclass(frozen=True)
class Layout:
    """On which ranks the local tensors of a DTensor are equal.

    `parts` has the ranks that hold each distinct local tensor: ranks of one set have the
    same place on all mesh axes on which the DTensor is not replicated.
    """

    parts: tuple[frozenset[int], ...]

    def is_replicated(self, groups: Ranks) -> bool:
        """Whether all ranks of each group hold the same local tensor.

        A mesh may have some of the groups alone, such as one axis of a larger mesh. The
        others are in the meshes of other ranks, which run the same program.
        """
        ranks_of_mesh: frozenset[int] = frozenset().union(*self.parts)
        own = [ranks for ranks in groups if not ranks_of_mesh.isdisjoint(ranks)]
        return bool(own) and all(
            any(part.issuperset(ranks) for part in self.parts) for ranks in own
        )


def _layout_of(value: Any) -> Layout | None:
    """The layout of a DTensor, or of the fake one by which it was traced."""
    from torch.distributed.tensor import DTensor

    if not isinstance(value, DTensor):
        return None
    # Dynamo wraps a mesh that its graph reads.
    mesh = getattr(value._spec.mesh, "real_obj", value._spec.mesh)
    # It may be older than the import of this package.
    known_groups.note_mesh(mesh)
    with unset_fake_temporarily():
        ranks = mesh.mesh
        for axis, placement in reversed(list(enumerate(value._spec.placements))):
            if placement.is_replicate():
                ranks = ranks.movedim(axis, -1)
        replicas = 1
        for axis, placement in enumerate(value._spec.placements):
            if placement.is_replicate():
                replicas *= mesh.size(axis)
        parts = ranks.reshape(-1, replicas).tolist()
    return Layout(tuple(frozenset(part) for part in parts))


def _name_of(node: Node) -> str:
    """The name of a parameter in its model, or of an argument; "" if it has none."""
    text = _source_text(node)
    path = re.findall(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", text)
    if path:
        return ".".join(path)
    argument = re.fullmatch(r"L\['(\w+)'\]", text)
    return argument[1] if argument else ""


def _source_text(node: Node) -> str:
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", "")
    return str(name() if callable(name) else name)


def _is_of_module(node: Node) -> bool:
    """Whether an input is a parameter or a buffer."""
    return re.search(r"\._(?:parameters|buffers)\['[^']+'\]", _source_text(node)) is not None


def _checksum_of(node: Node) -> int | None:
    """A checksum of the bits of an input's value."""
    value = getattr(node.meta.get("grapharg"), "example", None)
    if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
        return None
    with unset_fake_temporarily(), torch.no_grad():
        data = value.detach().contiguous().reshape(-1).view(torch.uint8)
        checksum = len(data)
        # In pieces: parameters may fill most of the device.
        for piece in data.split(_CHECKSUM_PIECE):
            numbers = piece.to(torch.int64)
            places = torch.arange(1, len(piece) + 1, device=piece.device)
            # Products and sums wrap around.
            mixed = (numbers + 1) * (places * 0x1E3779B97F4A7C15 | 1)
            checksum = (checksum * 1000003 + int(mixed.sum())) % 2**64
    return checksum


def _wrapped_layout(node: Node) -> Layout | None:
    """The layout that a model gives a plain input which it makes a DTensor."""
    for user in node.users:
        if is_from_local(user.target) and user.args[:1] == (node,):
            return _layout_of(user.meta.get("example_value"))
    return None


@dataclasses.dataclass(frozen=True)
class TracedInputs:
    """The inputs and outputs of one graph of Dynamo, by position."""

    names: Sequence[str] = ()
    layouts: Sequence[Layout | None] = ()
    # Whether an input is a parameter or buffer that is no DTensor.
    are_plain: Sequence[bool] = ()
    # Of the values of such inputs, if they were asked for.
    checksums: Sequence[int | None] = ()
    # Of the outputs. A gradient has the layout of the output that it is of.
    outputs: Sequence[Layout | None] = ()

    @staticmethod
    def record(graph: Graph, *, with_checksums: bool = False) -> None:
        """Keeps what a graph of Dynamo says for the graphs that are made of it.

        with_checksums  also reads the values of plain parameters
        """
        context = TracingContext.try_get()
        if context is None:
            return
        inputs = graph.find_nodes(op="placeholder")
        values = [node.meta.get("example_value") for node in inputs]
        # Nested inputs are numbered otherwise, and a context with several graphs (such as
        # the buckets of DDP) does not say which of them is asked for.
        if context in _recorded or any(
            value is None or isinstance(value, (list, tuple, dict)) for value in values
        ):
            _recorded[context] = TracedInputs()
            return
        layouts = [
            _layout_of(value) or _wrapped_layout(node) for node, value in zip(inputs, values)
        ]
        are_plain = [
            layout is None and _is_of_module(node) for node, layout in zip(inputs, layouts)
        ]
        returned = graph.output_node().args[0]
        outputs = returned if isinstance(returned, (list, tuple)) else (returned,)
        _recorded[context] = TracedInputs(
            [_name_of(node) for node in inputs],
            layouts,
            are_plain,
            [
                _checksum_of(node) if is_plain and with_checksums else None
                for node, is_plain in zip(inputs, are_plain)
            ],
            [
                _layout_of(node.meta.get("example_value")) if isinstance(node, Node) else None
                for node in outputs
            ],
        )

    @staticmethod
    def current() -> "TracedInputs":
        """What is recorded for the compilation that is under way."""
        context = TracingContext.try_get()
        return TracedInputs() if context is None else _recorded.get(context, TracedInputs())

    def name(self, node: Node) -> str:
        """The name by which the user knows an input; "" if that is not known."""
        if "desc" not in node.meta:
            return _name_of(node)
        from commute.torch.compatibility import aot_descriptors as descriptors

        described = _described(node)
        if isinstance(described, (descriptors.ParamAOTInput, descriptors.BufferAOTInput)):
            return described.target
        if isinstance(described, descriptors.PlainAOTInput) and described.idx < len(self.names):
            return self.names[described.idx]
        return ""

    def is_plain_parameter(self, node: Node) -> bool:
        """Whether an input is a parameter or a buffer that is no DTensor."""
        position = self._position(node)
        return position is not None and bool(_at(self.are_plain, position))

    def checksum(self, node: Node) -> int | None:
        """A checksum of the values of a plain parameter; None if they are not known."""
        position = self._position(node)
        return None if position is None else _at(self.checksums, position)

    @staticmethod
    def _position(node: Node) -> int | None:
        """The position of an input of a later graph among those of Dynamo's graph."""
        if "desc" not in node.meta:
            return None
        from commute.torch.compatibility import aot_descriptors as descriptors

        described = _described(node)
        return described.idx if isinstance(described, descriptors.PlainAOTInput) else None

    def layout(self, node: Node) -> Layout | None:
        """The layout of an input of a graph after AOTAutograd."""
        if "desc" not in node.meta:
            return None
        from commute.torch.compatibility import aot_descriptors as descriptors

        described = _described(node)
        if isinstance(described, descriptors.PlainAOTInput):
            return _at(self.layouts, described.idx)
        if isinstance(described, descriptors.TangentAOTInput) and isinstance(
            described.output, descriptors.PlainAOTOutput
        ):
            return _at(self.outputs, described.output.idx)
        return None


# Dynamo's contexts live as long as a compilation and its backward graph.
_recorded: "weakref.WeakKeyDictionary[TracingContext, TracedInputs]" = weakref.WeakKeyDictionary()


_Fact = TypeVar("_Fact")


def _at(facts: Sequence[_Fact], position: int) -> _Fact | None:
    return facts[position] if position < len(facts) else None


def _described(node: Node) -> "AOTInput | None":
    """What AOTAutograd says an input is: of a DTensor's parts, only the tensor."""
    from commute.torch.compatibility import aot_descriptors as descriptors

    described = node.meta.get("desc")
    if isinstance(described, descriptors.SubclassGetAttrAOTInput):
        return described.base if described.attr == "_local_tensor" else None
    return described if isinstance(described, descriptors.AOTInput) else None
