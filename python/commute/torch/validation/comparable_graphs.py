# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Two graphs in a form in which they can be compared.

Both take the same inputs: their placeholders, by position, and the constants and subgraphs
that their attributes hold, by value. Both return what they returned, and the values of the
inputs that one of them writes into.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from commute.errors import CommuteError
from commute.torch.compatibility import FakeTensor, unset_fake_temporarily
from commute.torch.graph_program import get_value
from commute.torch.validation.functional_graphs import Epilogue, needs_tracing, trace_functional
from commute.torch.validation.graph_states import find_attribute, make_module, set_attribute
from commute.torch.validation.operator_forms import OperatorForms, find_fake_mode

# Constants with more elements are inputs of both graphs, or of a graph that has no proof.
_LARGEST_WRITTEN = 1024


def _content_key(value: Any, names: Callable[[Any], str]) -> str:
    """A name for what an attribute holds: equal for equal tensors and subgraphs."""
    if isinstance(value, GraphModule):
        return "subgraph_" + _digest(_structure(value, names))
    if isinstance(value, torch.Tensor):
        return names(value)
    return f"object_{id(value)}"


def _digest(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=8).hexdigest()


class _Tensors:
    """Names of tensors by their content.

    Tensors that both graphs hold have names by identity: parameters may be large.
    """

    def __init__(self, shared: Collection[int]) -> None:
        self._shared = shared
        self._names: dict[int, str] = {}
        self._kept: list[torch.Tensor] = []

    def name(self, tensor: torch.Tensor) -> str:
        known = self._names.get(id(tensor))
        if known is None:
            is_shared = id(tensor) in self._shared and not is_small(tensor)
            described = f"object_{id(tensor)}" if is_shared else self._describe(tensor)
            known = self._names[id(tensor)] = f"constant_{described}"
            self._kept.append(tensor)
        return known

    @staticmethod
    def _describe(tensor: torch.Tensor) -> str:
        if isinstance(tensor, FakeTensor) or type(tensor) not in (
            torch.Tensor,
            torch.nn.Parameter,
        ):
            return f"object_{id(tensor)}"
        layout = f"{tensor.dtype} {tuple(tensor.shape)} {tensor.stride()} {tensor.device}"
        try:
            with unset_fake_temporarily(), torch.no_grad():
                data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
                content = _digest(data.numpy().tobytes())
        except (RuntimeError, NotImplementedError, TypeError):
            return f"object_{id(tensor)}"
        return f"{_digest(layout)}_{content}"


def _structure(module: GraphModule, names: Callable[[Any], str]) -> str:
    """The text of a subgraph, without the names of its nodes."""
    numbers: dict[Node, str] = {}
    lines = []
    for node in module.graph.nodes:
        numbers[node] = f"%{len(numbers)}"
        target = str(node.target)
        if node.op == "get_attr":
            target = _content_key(find_attribute(module, target), names)
        elif node.op in ("placeholder", "output"):
            target = ""
        args = map_arg((node.args, node.kwargs), lambda read: _Text(numbers[read]))
        lines.append(f"{node.op} {target} {args}")
    return "\n".join(lines)


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ComparablePair:
    """Two graphs that take the same inputs and return the same number of values.

    retraces  trace both to functional operators
    Raises CommuteError for graphs that cannot be compared.
    """

    def __init__(self, first: GraphModule, second: GraphModule, *, retraces: bool) -> None:
        self.retraced = retraces
        modules = [self._functional(module, retraces) for module in (first, second)]
        epilogues = [Epilogue(module) for module in modules]
        self._unite_placeholders(modules)
        self._unite_writes(modules, epilogues)
        held = [{id(value) for value in _attributes(module).values()} for module in modules]
        self._tensors = _Tensors(held[0] & held[1])
        self._unite_attributes(modules, epilogues)
        self.first, self.second = (make_module(_attributes(own), own.graph) for own in modules)

    @staticmethod
    def _functional(module: GraphModule, retraces: bool) -> GraphModule:
        mode = find_fake_mode(module.graph)
        own = OperatorForms(module, mode).write()
        if not retraces:
            return own
        traced = trace_functional(own, mode or find_fake_mode(own.graph))
        return OperatorForms(traced, find_fake_mode(traced.graph)).write()

    @staticmethod
    def _unite_placeholders(modules: list[GraphModule]) -> None:
        first, second = (module.graph.find_nodes(op="placeholder") for module in modules)
        if len(first) != len(second):
            raise CommuteError(f"the graphs take {len(first)} and {len(second)} inputs")
        taken = {node.name for module in modules for node in module.graph.nodes}
        for index, (a, b) in enumerate(zip(first, second)):
            if a.name == b.name:
                continue
            name = f"input_{index}"
            while name in taken:
                name += "_"
            a.name = b.name = a.target = b.target = name

    def _unite_writes(self, modules: list[GraphModule], epilogues: list[Epilogue]) -> None:
        def position(module: GraphModule, node: Node) -> Any:
            if node.op == "placeholder":
                return module.graph.find_nodes(op="placeholder").index(node)
            return str(node.target)

        written = {
            position(module, node)
            for module, epilogue in zip(modules, epilogues)
            for node in epilogue.final
        }
        self.num_written = len(written)
        self.mutated = {one for one in written if isinstance(one, str)}
        for module, epilogue in zip(modules, epilogues):
            inputs = module.graph.find_nodes(op="placeholder")
            attributes = {str(node.target): node for node in module.graph.find_nodes(op="get_attr")}
            nodes = []
            for one in sorted(written, key=str):
                node = inputs[one] if isinstance(one, int) else attributes.get(one)
                if node is None:
                    # The other graph writes into a tensor that this one does not even read.
                    node = _add_attribute(module, str(one), modules)
                nodes.append(node)
            epilogue.finish(nodes)
        if epilogues[0].structure != epilogues[1].structure:
            # What is returned in another structure is another result.
            self.structures = [str(epilogue.structure) for epilogue in epilogues]
        else:
            self.structures = []

    def _unite_attributes(self, modules: list[GraphModule], epilogues: list[Epilogue]) -> None:
        found: list[dict[str, list[Node]]] = []
        values: dict[str, Any] = {}
        for module in modules:
            own: dict[str, list[Node]] = {}
            for node in module.graph.find_nodes(op="get_attr"):
                value = node.meta.get("attribute", find_attribute(module, str(node.target)))
                key = _content_key(value, self._tensors.name)
                if str(node.target) in self.mutated:
                    key = f"state_{_digest(str(node.target))}_{key}"
                own.setdefault(key, []).append(node)
                values[key] = value
            found.append(own)
        common = {*found[0]} & {*found[1]}
        differing = ({*found[0]} | {*found[1]}) - common
        written = {key for key in values if is_uniform(values[key])}
        if differing:
            written |= {key for key in values if is_small(values[key])}
        # A write that is no result might go to a constant, which has to stay memory then.
        if any(needs_tracing(module) for module in modules):
            written.clear()
        written = {key for key in written if not key.startswith("state_")}
        kept = sorted({*values} - written)
        for module, own in zip(modules, found):
            graph = module.graph
            begin = next(node for node in graph.nodes if node.op != "placeholder")
            for key in sorted(own):
                if key in written:
                    with graph.inserting_before(begin):
                        new = write_constant(graph, values[key], own[key][0])
                    for node in own[key]:
                        node.replace_all_uses_with(new)
                        graph.erase_node(node)
            for key in kept:
                example = next(one[key][0] for one in found if key in one)
                with graph.inserting_before(begin):
                    new = graph.create_node("placeholder", key, name=key)
                new.meta = {
                    name: value for name, value in example.meta.items() if name != "attribute"
                }
                for node in own.get(key, ()):
                    node.replace_all_uses_with(new)
                    graph.erase_node(node)
        self.constants = {key: values[key] for key in kept}


def _add_attribute(module: GraphModule, target: str, modules: list[GraphModule]) -> Node:
    """Adds a node that reads an attribute of another graph."""
    graph = module.graph
    other, owner = next(
        (node, one)
        for one in modules
        for node in one.graph.find_nodes(op="get_attr")
        if str(node.target) == target
    )
    value = other.meta.get("attribute", find_attribute(owner, target))
    set_attribute(module, target, value)
    begin = next(node for node in graph.nodes if node.op != "placeholder")
    with graph.inserting_before(begin):
        new = graph.create_node("get_attr", target)
    new.meta = {**other.meta, "attribute": value}
    return new


def _attributes(module: GraphModule) -> Mapping[str, Any]:
    return {
        str(node.target): find_attribute(module, str(node.target))
        for node in module.graph.find_nodes(op="get_attr")
    }


def is_small(value: Any) -> bool:
    """Whether a constant is written as an expression of its numbers."""
    return (
        isinstance(value, torch.Tensor)
        and not isinstance(value, FakeTensor)
        and type(value) is torch.Tensor
        and not value.dtype.is_complex
        and value.layout is torch.strided
        and value.numel() <= _LARGEST_WRITTEN
        and value.is_contiguous()
    )


def is_uniform(value: Any) -> bool:
    """Whether a constant holds one number."""
    if not is_small(value) or value.numel() == 0:
        return False
    with unset_fake_temporarily(), torch.no_grad():
        return bool((value == value.reshape(-1)[0]).all())


def write_constant(graph: Graph, value: torch.Tensor, like: Node) -> Node:
    """Writes the numbers of a constant, in runs of equal ones."""
    aten = torch.ops.aten
    example = get_value(like)
    with unset_fake_temporarily(), torch.no_grad():
        numbers = value.detach().cpu().reshape(-1).tolist()
    options = {"dtype": value.dtype, "device": value.device, "pin_memory": False}

    def call(target: Any, args: Any, kwargs: Any, result: Any) -> Node:
        node = graph.call_function(target, args, kwargs)
        node.meta["val"] = result
        return node

    def empty(sizes: Any) -> Any:
        if isinstance(example, FakeTensor):
            with example.fake_mode:
                return torch.empty(sizes, dtype=value.dtype, device=value.device)
        return torch.empty(sizes, dtype=value.dtype, device=value.device)

    runs: list[tuple[Any, int]] = []
    for number in numbers:
        if runs and runs[-1][0] == number:
            runs[-1] = (number, runs[-1][1] + 1)
        else:
            runs.append((number, 1))
    if len(runs) == 1:
        sizes = [*value.shape]
        return call(aten.full.default, (sizes, runs[0][0]), options, empty(sizes))
    parts = [
        call(aten.full.default, ([count], number), options, empty([count]))
        for number, count in runs
    ]
    if not parts:
        sizes = [*value.shape]
        return call(aten.full.default, (sizes, 0), options, empty(sizes))
    joined = call(aten.cat.default, (parts,), {}, empty([len(numbers)]))
    return call(aten.reshape.default, (joined, [*value.shape]), {}, empty([*value.shape]))
