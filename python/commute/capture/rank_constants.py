# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Constants that depend on the rank and so differ between the programs of the ranks.

A vocabulary-parallel embedding compares tokens with the first row of the rank's shard:
`lt 0` on rank 0, `lt 128` on rank 1. Such a program is valid for one rank only; running it
on all ranks would be wrong.
"""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node


@dataclasses.dataclass(frozen=True)
class RankConstant:
    """An argument of a node, or a constant tensor, that differs between ranks."""

    node: str
    argument: str
    values: Mapping[int, Any]

    def __str__(self) -> str:
        values = ", ".join(f"{value} on rank {rank}" for rank, value in self.values.items())
        return f"{self.node} {self.argument}: {values}"


Outline = dict[tuple[str, str], Any]
"""The constants of a program, by node and argument."""


def _is_item(node: Node) -> bool:
    """Returns true if a node selects one of the results of another node."""
    return node.target is operator.getitem


def _plain(value: Any) -> Any:
    """Converts a constant to a value that can be compared and printed. All nodes compare
    equal, except for different results of one node, such as the parts of a split."""
    if isinstance(value, Node):
        return f"{value.args[0]}[{value.args[1]}]" if _is_item(value) else None
    if isinstance(value, (list, tuple)):
        return tuple(_plain(part) for part in value)
    if isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def outline(program: ExportedProgram) -> Outline:
    found: Outline = {}
    for node in program.graph.nodes:
        if node.op != "call_function" or _is_item(node):
            continue
        found[node.name, ""] = str(node.target)
        names = (
            [argument.name for argument in node.target._schema.arguments]
            if hasattr(node.target, "_schema")
            else []
        )
        for index, argument in enumerate(node.args):
            name = names[index] if index < len(names) else str(index)
            found[node.name, name] = _plain(argument)
        for name, argument in node.kwargs.items():
            found[node.name, name] = _plain(argument)
    signature = program.graph_signature
    for name, target in signature.inputs_to_lifted_tensor_constants.items():
        value = program.constants.get(target)
        if isinstance(value, torch.Tensor):
            found[name, "value"] = value.tolist() if value.numel() <= 64 else hash(str(value))
    return found


def differences(outlines: Mapping[int, Outline]) -> list[RankConstant]:
    """Returns the constants that differ, in the order of the first rank's program."""
    ranks = list(outlines)
    places = {place: None for rank in ranks for place in outlines[rank]}
    found = []
    for place in places:
        values = {rank: outlines[rank].get(place, "absent") for rank in ranks}
        if any(value != values[ranks[0]] for value in values.values()):
            found.append(RankConstant(place[0], place[1] or "operator", values))
    return found


def constant_inputs(program: ExportedProgram) -> Sequence[str]:
    """Returns the graph names of constant tensors."""
    return list(program.graph_signature.inputs_to_lifted_tensor_constants)
