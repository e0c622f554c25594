# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Prices of a target for Inductor's overlap scheduling.

For example:

    options = torch._inductor.config.aten_distributed_optimizations
    options.custom_runtime_estimation = commute.torch.runtime_estimation
    options.custom_runtime_estimation = functools.partial(
        commute.torch.runtime_estimation, target="local.json")
"""

import dataclasses
import json
import weakref
from typing import Any

import torch
from torch.fx import Graph, Node, map_arg

from commute.native import native, native_errors
from commute.programs import PathName
from commute.torch.containment import contained
from commute.torch.graph_program import GraphProgram, get_value
from commute.torch.process_groups import group_name_of, names_with_size
from commute.torch.stated_context import StatedContext


@dataclasses.dataclass
class _Prices:
    """What is known of a graph on a target, for collectives that move a share of their bytes."""

    milliseconds: dict[str, float] = dataclasses.field(default_factory=dict)
    """By node, of those that have a price."""
    priced: set[str] = dataclasses.field(default_factory=set)
    """The nodes that the graph had when it was priced."""

    def update(self, graph: Graph, target: str, share: float) -> None:
        nodes = list(graph.nodes)
        program = GraphProgram(nodes, is_functional_graph=True)
        stated = StatedContext(None, [program])
        unknown = stated.unknown_groups() - names_with_size(nodes)
        if unknown:
            # How long such a collective takes is not known; all else is.
            known = [node for node in nodes if group_name_of(node) not in unknown]
            program = GraphProgram(known, is_functional_graph=True)
        context = stated.of(program)
        with native_errors():
            handle = native().Program.take(program.native, context=json.dumps(context))
            prices = handle.price_nodes(target=target, communication_scale=share)
        self.milliseconds = {name: 1e3 * seconds for name, seconds in prices.items()}
        self.priced = {node.name for node in nodes}


# Inductor asks for one node after the other, and adds nodes while it schedules.
_prices: "weakref.WeakKeyDictionary[Graph, dict[tuple[str, float], _Prices]]" = (
    weakref.WeakKeyDictionary()
)


def _size(number: int | torch.SymInt) -> int:
    if isinstance(number, int):
        return number
    return int(number.node.hint) if number.node.has_hint() else 0


def _num_bytes(node: Node) -> int:
    """The bytes of a collective's inputs and outputs, which is how Inductor counts them."""
    total = 0

    def add(value: Any) -> None:
        nonlocal total
        if isinstance(value, torch.Tensor):
            elements = 1
            for size in value.shape:
                elements *= _size(size)
            total += elements * value.dtype.itemsize
        elif isinstance(value, (list, tuple)):
            for part in value:
                add(part)

    read = {name: value for name, value in node.kwargs.items() if name != "out"}
    map_arg((node.args, read), lambda operand: add(get_value(operand)))
    add(get_value(node))
    return total


def _price(node: Node, override_size: int | None, target: str) -> float | None:
    share = 1.0
    if override_size is not None and group_name_of(node) is not None:
        total = _num_bytes(node)
        if total == 0:
            return None
        share = override_size / total
    by_choice = _prices.setdefault(node.graph, {})
    prices = by_choice.setdefault((target, share), _Prices())
    if node.name not in prices.priced:
        prices.update(node.graph, target, share)
    return prices.milliseconds.get(node.name)


def runtime_estimation(
    node: Node, override_size: int | None = None, *, target: PathName = "h100x8"
) -> float | None:
    """The time of a node on a target in milliseconds, for
    `torch._inductor.config.aten_distributed_optimizations.custom_runtime_estimation`.

    override_size  of a collective, the bytes of its inputs and outputs together instead of
                   its own; 0 for its latency
    target         a name of `commute targets`, or a file, such as `commute calibrate` writes

    None for nodes that take no time, such as views, and for operators that Commute does not
    know: Inductor then estimates those that it knows itself. Errors are logged as warnings
    of the logger "commute", once for each cause, and give None.
    """
    return contained(
        "runtime_estimation",
        lambda: _price(node, override_size, str(target)),
        None,
        fatal=False,
    )
