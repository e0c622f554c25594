# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A forward and a backward graph as one graph, to compare it with the joint graph."""

from typing import Any

from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from commute.torch.validation.graph_states import find_attribute, make_module


def compose(
    joint: GraphModule, forward: GraphModule, backward: GraphModule, *, num_outputs: int | None
) -> GraphModule | None:
    """The forward graph, whose saved values the backward graph reads, in one graph with the
    inputs of the joint graph. None where the backward graph takes what neither of them has."""
    if num_outputs is None:
        return None
    graph = Graph()
    inputs = {}
    for node in joint.graph.find_nodes(op="placeholder"):
        inputs[node.name] = new = graph.create_node("placeholder", node.target, name=node.name)
        new.meta = dict(node.meta)
    attributes: dict[str, Any] = {}
    returned = _write(graph, forward, inputs, "forward.", attributes)
    if returned is None:
        return None
    made = {}
    originals: Any = forward.graph.output_node().args[0]
    for original, value in zip(originals, returned):
        if isinstance(original, Node):
            made[original.name] = value
    gradients = _write(graph, backward, {**inputs, **made}, "backward.", attributes)
    if gradients is None:
        return None
    graph.output((*returned[:num_outputs], *gradients))
    return make_module(attributes, graph)


def _write(
    graph: Graph,
    module: GraphModule,
    inputs: dict[str, Any],
    prefix: str,
    attributes: dict[str, Any],
) -> Any:
    made: dict[Node, Any] = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            if node.name not in inputs:
                return None
            made[node] = inputs[node.name]
            continue
        args, kwargs = (map_arg(part, made.__getitem__) for part in (node.args, node.kwargs))
        if node.op == "output":
            return args[0]
        target = node.target
        if node.op == "get_attr":
            target = prefix + str(target)
            attributes[target] = find_attribute(module, str(node.target))
        new = graph.create_node(node.op, target, args, kwargs, name=node.name)
        new.meta = dict(node.meta)
        made[node] = new
    return None
