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
from typing import TYPE_CHECKING, Any

from torch.fx import Graph, Node

from commute.torch.compatibility import (
    TracingContext,
    is_from_local,
    unset_fake_temporarily,
)
from commute.torch.process_groups import Ranks

# DTensor and AOTAutograd's descriptors are imported where they are met: they take seconds.
if TYPE_CHECKING:
    from commute.torch.compatibility import AOTInput


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
    source = getattr(node.meta.get("grapharg"), "source", None)
    name = getattr(source, "name", "")
    text = str(name() if callable(name) else name)
    path = re.findall(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", text)
    if path:
        return ".".join(path)
    argument = re.fullmatch(r"L\['(\w+)'\]", text)
    return argument[1] if argument else ""


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
    # Of the outputs. A gradient has the layout of the output that it is of.
    outputs: Sequence[Layout | None] = ()

    @staticmethod
    def record(graph: Graph) -> None:
        """Keeps what a graph of Dynamo says for the graphs that are made of it."""
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
        returned = graph.output_node().args[0]
        outputs = returned if isinstance(returned, (list, tuple)) else (returned,)
        _recorded[context] = TracedInputs(
            [_name_of(node) for node in inputs],
            [_layout_of(value) or _wrapped_layout(node) for node, value in zip(inputs, values)],
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


def _at(layouts: Sequence[Layout | None], position: int) -> Layout | None:
    return layouts[position] if position < len(layouts) else None


def _described(node: Node) -> "AOTInput | None":
    """What AOTAutograd says an input is: of a DTensor's parts, only the tensor."""
    from commute.torch.compatibility import aot_descriptors as descriptors

    described = node.meta.get("desc")
    if isinstance(described, descriptors.SubclassGetAttrAOTInput):
        return described.base if described.attr == "_local_tensor" else None
    return described if isinstance(described, descriptors.AOTInput) else None
