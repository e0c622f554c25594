# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Faults that passes make: a wrong dim, a lost operand, a slice that is off by one."""

import torch
from torch.fx import Graph, Node

from commute.torch.graph_program import get_value
from commute.torch.validation.graph_states import GraphState

aten = torch.ops.aten


def _value(node):
    value = get_value(node)
    return value if isinstance(value, torch.Tensor) else None


def _same_type(a, b):
    a, b = _value(a), _value(b)
    return (
        a is not None
        and b is not None
        and (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride())
    )


def swapped_operands(node, graph, rng):
    if (
        node.target in (aten.sub.Tensor, aten.div.Tensor)
        and all(isinstance(one, Node) for one in node.args[:2])
        and _same_type(*node.args[:2])
    ):
        node.args = (node.args[1], node.args[0], *node.args[2:])
        return True
    return False


def dropped_operand(node, graph, rng):
    has_operands = node.target in (aten.add.Tensor, aten.mul.Tensor) and all(
        isinstance(operand, Node) for operand in node.args[:2]
    )
    if not has_operands or not _same_type(node, node.args[0]):
        return False
    node.replace_all_uses_with(node.args[0])
    return True


def other_operator(node, graph, rng):
    others = {
        aten.add.Tensor: aten.sub.Tensor,
        aten.mul.Tensor: aten.add.Tensor,
        aten.tanh.default: aten.sigmoid.default,
        aten.exp.default: aten.sin.default,
        aten.relu.default: aten.neg.default,
    }
    if node.target in others and len(node.args) <= 2 and not node.kwargs:
        node.target = others[node.target]
        return True
    return False


def wrong_number(node, graph, rng):
    has_number = node.target in (aten.mul.Tensor, aten.add.Tensor, aten.div.Tensor) and isinstance(
        node.args[1], float
    )
    if not has_number or node.args[1] == 0:
        return False
    node.args = (node.args[0], node.args[1] * (1 + 1e-5), *node.args[2:])
    return True


def shifted_slice(node, graph, rng):
    if node.target is aten.slice.Tensor and len(node.args) >= 4:
        source, dim, start, end = node.args[:4]
        value = _value(source)
        if isinstance(start, int) and isinstance(end, int) and value is not None:
            size = int(value.shape[dim])
            if start >= 0 and end < size:
                node.args = (source, dim, start + 1, end + 1, *node.args[4:])
                return True
            if 0 < start <= size and end >= size:
                node.args = (source, dim, start - 1, size - 1, *node.args[4:])
                return True
    return False


def wrong_dim(node, graph, rng):
    value = _value(node)
    if node.target in (aten.sum.dim_IntList, aten.mean.dim, aten.amax.default):
        source = _value(node.args[0])
        if (
            source is not None
            and len(node.args) > 1
            and len(node.args[1]) == 1
            and source.dim() > 1
        ):
            dim = node.args[1][0] % source.dim()
            other = (dim + 1) % source.dim()
            if source.shape[dim] == source.shape[other]:
                node.args = (node.args[0], [other], *node.args[2:])
                return True
    if node.target is aten.permute.default and value is not None:
        order = list(node.args[1])
        for a in range(len(order)):
            for b in range(a):
                if value.shape[a] == value.shape[b] and value.shape[a] > 1:
                    order[a], order[b] = order[b], order[a]
                    node.args = (node.args[0], order)
                    return True
    if node.target is aten._softmax.default and value is not None and value.dim() > 1:
        node.args = (node.args[0], (node.args[1] + 1) % value.dim(), node.args[2])
        return True
    return False


def swapped_parts(node, graph, rng):
    if node.target is aten.cat.default and len(node.args[0]) > 1:
        parts = list(node.args[0])
        if _same_type(parts[0], parts[1]) and parts[0] is not parts[1]:
            parts[0], parts[1] = parts[1], parts[0]
            node.args = (parts, *node.args[1:])
            return True
    return False


def other_value(node, graph, rng):
    """A reused buffer: another value of the same type is read."""
    if node.op != "call_function" or not node.all_input_nodes:
        return False
    read = rng.choice(node.all_input_nodes)
    before = []
    for one in graph.nodes:
        if one is node:
            break
        if one is not read and _same_type(one, read):
            before.append(one)
    if not before:
        return False
    node.replace_input_with(read, rng.choice(before))
    return True


def swapped_outputs(node, graph, rng):
    if node.op != "output" or not isinstance(node.args[0], (list, tuple)):
        return False
    values = list(node.args[0])
    for a in range(len(values)):
        for b in range(a):
            pair = values[a], values[b]
            if not all(isinstance(one, Node) for one in pair) or pair[0] is pair[1]:
                continue
            if _same_type(*pair):
                values[b], values[a] = pair
                node.args = (tuple(values),)
                return True
    return False


def lost_negation(node, graph, rng):
    if node.target in (aten.neg.default, aten.tanh.default, aten.relu.default, aten.rsqrt.default):
        node.replace_all_uses_with(node.args[0])
        return True
    return False


FAULTS = [
    swapped_operands,
    dropped_operand,
    other_operator,
    wrong_number,
    shifted_slice,
    wrong_dim,
    swapped_parts,
    other_value,
    swapped_outputs,
    lost_negation,
]


def make(module, rng):
    """A kind of fault, the name of a node, and a graph with that fault; None if no fault fits."""
    wrong = GraphState(module.graph, module).build()
    graph: Graph = wrong.graph
    kinds = [*FAULTS]
    rng.shuffle(kinds)
    nodes = [*graph.nodes]
    rng.shuffle(nodes)
    for kind in kinds:
        for node in nodes:
            if kind(node, graph, rng):
                return kind.__name__, node.name, wrong
    return None
