# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Faults planted by machine into the programs of ranks, one at a time.

A fault changes one op of the captured graph: on all ranks, or on one. It need not change
what the ranks compute: that is for the judge to say.
"""

import dataclasses
import logging
import operator

import torch
from torch._subclasses import FakeTensorMode

from zoo.common.capture import outline
from zoo.common.fault_kinds import KINDS, ON_ALL_RANKS, Context, Planter, UnfitError, value_of

c10d = torch.ops._c10d_functional


@dataclasses.dataclass
class Fault:
    kind: str
    text: str
    # The ranks that have it; None for all.
    rank: int | None
    modules: list
    # For each rank, the names of the nodes that were changed or stand at the place.
    sites: list

    def __str__(self):
        where = "all ranks" if self.rank is None else f"rank {self.rank}"
        return f"{self.kind} at {self.text} on {where}"


def copy_graph(module):
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    return graph


def propagate(graph):
    """Computes what every node gives, on fake tensors; raises where shapes do not fit."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    values = {}

    def load(argument):
        return torch.fx.map_arg(argument, values.__getitem__)

    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL + 1)
    with mode:
        for node in graph.nodes:
            if node.op == "placeholder":
                old = node.meta["val"]
                values[node] = torch.empty_strided(old.shape, old.stride(), dtype=old.dtype)
            elif node.op == "call_function":
                values[node] = node.target(*load(node.args), **load(node.kwargs))
            elif node.op != "output":
                raise UnfitError(f"a {node.op}")
            if node.op != "output":
                node.meta["val"] = values[node]


def _plant_on(captured, rank, name, kind, choice):
    """The graph of one rank with the fault, what it is, and the names of its places."""
    graph = copy_graph(captured.modules[rank])
    (node,) = [node for node in graph.nodes if node.name == name] or [None]
    if node is None:
        raise UnfitError("no such node")
    planter = Planter(graph, node, choice, Context(captured, rank))
    if not getattr(planter, f"fits_{kind}")():
        raise UnfitError("does not fit")
    text = getattr(planter, kind)()
    planter.sites += _merge_items(graph)
    graph.eliminate_dead_code()
    propagate(graph)
    _check_outputs(captured.modules[rank].graph, graph)
    kept = set(graph.nodes)
    sites = [site for site in [node, *planter.sites] if site in kept and site.op != "output"]
    return graph, text, {site.name for site in sites}


def _merge_items(graph):
    """Leaves one node for each result of an op, as archives have it; returns who then reads
    another node."""
    first, moved = {}, []
    for node in list(graph.nodes):
        if node.target is not operator.getitem:
            continue
        kept = first.setdefault(node.args, node)
        if kept is not node:
            moved += [kept, *node.users]
            node.replace_all_uses_with(kept)
            graph.erase_node(node)
    return moved


def _check_outputs(before, after):
    def shapes(graph):
        (output,) = graph.find_nodes(op="output")
        return [(value_of(node).shape, value_of(node).dtype) for node in output.args[0]]

    if shapes(before) != shapes(after):
        raise UnfitError("other outputs")


def plant(captured, random):
    """One fault at random, or None where the draw fits nowhere."""
    kind = random.choices(list(KINDS), list(KINDS.values()))[0]
    ranks = range(captured.case.world_size)
    on_one = kind not in ON_ALL_RANKS and random.random() < 0.3
    rank = random.choice(ranks) if on_one else None
    base = captured.modules[0 if rank is None else rank]
    probe = Context(captured, 0 if rank is None else rank)
    fitting = [
        node.name
        for node in base.graph.nodes
        if node.op == "call_function" and node.target is not c10d.wait_tensor.default
        and getattr(Planter(base.graph, node, 0, probe), f"fits_{kind}")()
    ]  # fmt: skip
    if not fitting:
        return None
    name, choice = random.choice(fitting), random.randrange(1000)
    modules, sites, texts, known = list(captured.modules), [set() for _ in ranks], [], {}
    for place in ranks if rank is None else [rank]:
        key = (id(captured.modules[place]), kind == "other_rank" and place)
        if key not in known:
            try:
                graph, text, names = _plant_on(captured, place, name, kind, choice)
            except UnfitError:
                return None
            except Exception:
                # An op refuses the shapes, numbers or types.
                return None
            known[key] = torch.fx.GraphModule(torch.nn.Module(), graph), text, names
        modules[place], text, sites[place] = known[key]
        texts.append(text)
    for place in ranks:
        # Where one rank differs from the others, the same op of theirs names it as well.
        sites[place] = sites[place] or {name}
    if all(outline(a) == outline(b) for a, b in zip(modules, captured.modules)):
        return None
    return Fault(kind, f"{name}: {texts[0]}", rank, modules, sites)


def near(module, sites):
    """The names of the ops within one op of a fault.

    A collective and its wait are one op, and so are an op and the choice of one of its
    results.
    """
    nodes = {node.name: node for node in module.graph.nodes}
    found = _merged(nodes, sites)
    for name in list(found):
        node = nodes[name]
        found |= _merged(nodes, {n.name for n in [*node.all_input_nodes, *node.users]})
    return found


def _merged(nodes, names):
    """Adds what counts as one op with one of these."""
    found = set()
    for name in names:
        node = nodes.get(name)
        if node is None:
            continue
        chain = {node}
        while node.target in (c10d.wait_tensor.default, operator.getitem):
            node = node.args[0]
            chain.add(node)
        for user in node.users:
            if user.target in (c10d.wait_tensor.default, operator.getitem):
                chain.add(user)
        found |= {member.name for member in chain}
    return found
