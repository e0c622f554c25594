# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs on all ranks, computed by PyTorch's kernels while they are built.

The two programs of a pair share a pool of nodes: calls of one operator with the
same arguments are one node, so that what both have in common is computed once.
Nothing here knows Commute: operators are PyTorch's own, collectives those of
collectives.py.

All floats are computed in float64. A value's declared type is what the archive
says of it; `commute verify` takes casts between float types for identities unless
told otherwise, and so does this.
"""

import random
from dataclasses import dataclass, field

import torch

from pairs.collectives import COLLECTIVES, c10d, run_collective

aten = torch.ops.aten
# Of one tensor, element by element; each may stand for any other.
FUNCTIONS = [
    getattr(aten, name).default
    for name in [
        "neg",
        "abs",
        "exp",
        "sin",
        "cos",
        "tanh",
        "erf",
        "sigmoid",
        "silu",
        "relu",
        "square",
    ]
]
UNINITIALIZED = {
    aten.empty.memory_format,
    aten.empty_like.default,
    aten.empty_permuted.default,
    aten.empty_strided.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
}


@dataclass(frozen=True)
class Size:
    """A size that depends on the symbol s0: factor * s0 + offset."""

    factor: int
    offset: int = 0

    def at(self, number):
        return self.factor * number + self.offset


@dataclass(eq=False, slots=True)
class Node:
    """A call of an operator, or an input where `target` is None."""

    id: int
    target: object
    args: tuple
    kwargs: dict
    # The place among the random operators of its program; None for others.
    counter: object = None
    values: list = field(default_factory=list)
    is_list: bool = False
    # By sample: for each result a list of tensors by rank.
    data: dict = field(default_factory=dict)
    spec: object = None
    # The values among the arguments.
    operands: list = field(default_factory=list)
    # Arguments as kernels take them, and the places of values among them; None
    # where values stand in lists, or sizes depend on the sample.
    template: object = None

    def __post_init__(self):
        substitute([self.args, list(self.kwargs.values())], self.operands.append)
        direct = [i for i, argument in enumerate(self.args) if isinstance(argument, Value)]
        nested = [self.args, list(self.kwargs.values())]
        if len(direct) == len(self.operands) and not _holds_size(nested):
            args = [
                _resolve(a, None, 0, 0) if i not in direct else a for i, a in enumerate(self.args)
            ]
            kwargs = {name: _resolve(a, None, 0, 0) for name, a in self.kwargs.items()}
            self.template = args, kwargs, direct


@dataclass(eq=False, slots=True)
class Value:
    node: Node
    position: int
    # The type that the archive states.
    dtype: object
    exact: bool = True
    private: bool = False

    @property
    def tensors(self):
        return self.node.data[0][self.position]

    @property
    def shape(self):
        return tuple(self.tensors[0].shape)

    @property
    def rank(self):
        return self.tensors[0].dim()

    @property
    def index(self):
        return (self.node.id, self.position)

    @property
    def is_float(self):
        return self.dtype.is_floating_point

    @property
    def name(self):
        if self.node.target is None:
            return self.node.spec.name
        return f"v{self.node.id}" + (f"_{self.position}" if len(self.node.values) > 1 else "")


@dataclass(frozen=True)
class InputSpec:
    name: str
    dtype: object
    # Of one rank's part; may hold Size.
    shape: tuple
    # Group name -> replicated, varying or shard(DIM).
    placements: tuple
    # Of integers that index something, half open; others may be any.
    low: object = None
    high: object = None


RANDOM = {
    aten.rand_like.default,
    aten.randn_like.default,
    aten.bernoulli.p,
    aten.native_dropout.default,
}


def substitute(argument, replace):
    if isinstance(argument, Value):
        return replace(argument)
    if isinstance(argument, (list, tuple)):
        return [substitute(element, replace) for element in argument]
    return argument


def _key(argument):
    if isinstance(argument, Value):
        return ("value", argument.node.id, argument.position)
    if isinstance(argument, (list, tuple)):
        return tuple(_key(element) for element in argument)
    # 1, 1.0 and True are different arguments.
    return (type(argument).__name__, repr(argument))


class Pool:
    """The nodes of both programs of a pair, and what they are computed on."""

    def __init__(self, groups, draw, symbol_values=(0,)):
        self.groups = groups
        self.world = sorted(
            {rank for lists in groups.values() for members in lists for rank in members}
        )
        self.draw = draw
        # The value of s0 in each sample, in turn.
        self.symbol_values = symbol_values
        self.nodes = {}
        self.inputs = {}

    def symbol(self, sample):
        return self.symbol_values[sample % len(self.symbol_values)]

    def forget(self, sample):
        for node in [*self.nodes.values(), *self.inputs.values()]:
            node.data.pop(sample, None)

    def input(self, spec):
        node = self.inputs.get(spec.name)
        if node is None:
            node = Node(len(self.nodes) + len(self.inputs), None, (), {}, spec=spec)
            node.values = [Value(node, 0, spec.dtype)]
            self.inputs[spec.name] = node
            self.compute(node, 0)
        return node.values[0]

    def make(self, target, args, kwargs, counter, exact):
        key = (target, _key(args), _key(sorted(kwargs.items())), counter)
        node = self.nodes.get(key)
        if node is not None:
            return node
        node = Node(len(self.nodes) + len(self.inputs), target, tuple(args), kwargs, counter)
        operands = node.operands
        results, node.is_list = self.evaluate(node, lambda value: value.tensors, 0)
        if any(tensor is None for tensors in results for tensor in tensors):
            raise TypeError(f"{target} leaves out a result, as its output_mask says")
        node.data[0] = results
        is_exact = exact and all(value.exact for value in operands)
        for position, tensors in enumerate(results):
            dtype = self._declared(node, operands, tensors[0])
            node.values.append(Value(node, position, dtype, is_exact))
        self.nodes[key] = node
        return node

    @staticmethod
    def _declared(node, operands, tensor):
        if not tensor.is_floating_point():
            return tensor.dtype
        for argument in [*node.args, *node.kwargs.values()]:
            if isinstance(argument, torch.dtype) and argument.is_floating_point:
                return argument
        floats = [value for value in operands if value.is_float]
        wide = [value for value in floats if value.rank] or floats
        if not wide:
            return torch.float32  # PyTorch's default, whatever this process has.
        dtype = wide[0].dtype
        for value in wide[1:]:
            dtype = torch.promote_types(dtype, value.dtype)
        return dtype

    def compute(self, node, sample):
        """The node's results on a sample, computing what they need."""

        def get(value):
            return value.node.data[sample][value.position]

        stack = [node]
        while stack:
            top = stack[-1]
            if sample in top.data:
                stack.pop()
            elif top.target is None:
                top.data[sample] = [self.draw(self, top.spec, sample)]
            else:
                missing = [v.node for v in top.operands if sample not in v.node.data]
                if missing:
                    stack.extend(missing)
                    continue
                top.data[sample] = self.evaluate(top, get, sample)[0]
        return node.data[sample]

    def evaluate(self, node, get, sample, kernel=None):
        """The results, each a list of tensors by rank, and whether they are a list."""
        if node.target is c10d.wait_tensor.default:
            return [get(node.args[0])], False
        if node.target in COLLECTIVES:
            first, *rest = node.args
            is_list = isinstance(first, (list, tuple))
            by_rank = [get(value) for value in (first if is_list else [first])]
            return run_collective(node.target, rest, by_rank, self.groups), is_list
        symbol = self.symbol(sample)
        kernel = kernel or node.target
        by_operand = [get(value) for value in node.operands]
        known, by_rank, is_list = {}, [], False
        for rank in self.world:
            key = tuple([id(tensors[rank]) for tensors in by_operand])
            if node.counter is not None:
                key += (rank,)
                # Of the CPU alone: torch.manual_seed looks for other devices.
                torch.default_generator.manual_seed(hash((sample, rank, node.counter)) & 0x7FFFFFFF)
            results = known.get(key)
            if results is None:
                if node.template is not None:
                    args, kwargs, places = node.template
                    args = list(args)
                    for place, tensors in zip(places, by_operand):
                        args[place] = tensors[rank]
                else:
                    args = _resolve(node.args, get, rank, symbol)
                    kwargs = {
                        name: _resolve(a, get, rank, symbol) for name, a in node.kwargs.items()
                    }
                results = kernel(*args, **kwargs)
                is_list = isinstance(results, (list, tuple))
                results = known[key] = list(results) if is_list else [results]
                if node.target in UNINITIALIZED:
                    _fill(results[0], hash((node.id, rank, sample)))
            by_rank.append(results)
        return [list(tensors) for tensors in zip(*by_rank, strict=True)], is_list


def _fill(tensor, seed):
    """Memory that nobody has written holds anything."""
    generator = torch.Generator().manual_seed(seed & 0x7FFFFFFF)
    tensor.copy_(
        torch.randint(
            0, 2 if tensor.dtype == torch.bool else 100, tensor.shape, generator=generator
        )
    )


def _holds_size(argument):
    if isinstance(argument, (list, tuple)):
        return any(map(_holds_size, argument))
    return isinstance(argument, Size)


def _resolve(argument, get, rank, symbol):
    if isinstance(argument, Value):
        return get(argument)[rank]
    if isinstance(argument, (list, tuple)):
        return [_resolve(element, get, rank, symbol) for element in argument]
    if isinstance(argument, Size):
        return argument.at(symbol)
    if isinstance(argument, torch.dtype) and argument.is_floating_point:
        return torch.float64
    return argument


@dataclass(eq=False)
class Macro:
    """Calls that belong together, and can be spelled in several ways."""

    theme: object
    spelling: int
    parameters: dict
    operands: list
    nodes: list
    results: list


@dataclass
class Program:
    pool: Pool
    # Nodes and macros in program order.
    items: list
    outputs: list
    # Outputs that are no tensors.
    constants: list = field(default_factory=list)
    # What the signature says of inputs: name -> parameter or buffer name.
    parameters: dict = field(default_factory=dict)
    buffers: dict = field(default_factory=dict)
    # Output -> buffer that it is the new value of.
    mutations: dict = field(default_factory=dict)
    groups: dict = field(default_factory=dict)

    def nodes(self):
        for item in self.items:
            yield from item.nodes if isinstance(item, Macro) else [item]

    def live_nodes(self):
        """Those that outputs need, in order, and random operators."""
        nodes = list(self.nodes())
        needed = {value.node for value in self.outputs}
        live = []
        for node in reversed(nodes):
            if node in needed or node.counter is not None:
                live.append(node)
                needed.update(value.node for value in node.operands)
        return live[::-1]


class Builder:
    """Appends calls to a program."""

    def __init__(self, pool, seed=0):
        self.pool = pool
        self.random = random.Random(seed)
        self.items = []
        self.known = set()
        self.macro_nodes = None
        self.counter = 0

    def call(self, target, *args, exact=False, keeps=None, **kwargs):
        """Calls an operator: a value, or a list where it gives several."""
        counter = None
        if target in RANDOM:
            counter = self.counter
            self.counter += 1
        node = self.pool.make(target, args, kwargs, counter, exact)
        self.add(node)
        results = node.values if keeps is None else node.values[:keeps]
        return (
            results
            if (node.is_list and len(node.values) > 1) or (node.is_list and keeps is None)
            else results[0]
        )

    def add(self, node):
        if node in self.known:
            return
        self.known.add(node)
        # A theme that is spelled otherwise may have dropped what others share.
        for value in node.operands:
            self.add(value.node)
        (self.items if self.macro_nodes is None else self.macro_nodes).append(node)

    def macro(self, theme, parameters, operands, spelling):
        """Adds a theme in one of its spellings; returns its results."""
        self.macro_nodes = []
        results = theme.build(self, spelling, *operands, **parameters)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        self.items.append(
            Macro(theme, spelling, parameters, list(operands), self.macro_nodes, results)
        )
        self.macro_nodes = None
        return results

    def wait(self, value):
        return self.call(c10d.wait_tensor.default, value, exact=True)

    def collective(self, name, *args, exact=False):
        started = self.call(getattr(c10d, name).default, *args, exact=exact)
        return self.wait(started)

    def dense(self, value):
        if all(tensor.is_contiguous() for tensor in value.tensors):
            return value
        return self.call(
            aten.clone.default, value, memory_format=torch.contiguous_format, exact=True
        )


def replay(program, on_node=None, on_macro=None):
    """A program again, with nodes and macros replaced.

    `on_node(builder, node, args, kwargs)` and `on_macro(builder, macro, operands)`
    return the new results, or None to keep what there is.
    """
    builder = Builder(program.pool)
    mapped = {}

    def get(value):
        return mapped.get(value, value)

    def copy(node):
        if node.target is None:
            return builder.add(node)
        args = tuple(substitute(argument, get) for argument in node.args)
        kwargs = {name: substitute(argument, get) for name, argument in node.kwargs.items()}
        results = on_node(builder, node, args, kwargs) if on_node else None
        if results is None:
            exact = all(value.exact for value in node.values)
            results = builder.call(node.target, *args, exact=exact, **kwargs)
        results = results if isinstance(results, (list, tuple)) else [results]
        for old, new in zip(node.values, results):
            mapped[old] = new

    for item in program.items:
        if not isinstance(item, Macro):
            copy(item)
            continue
        operands = [get(value) for value in item.operands]
        results = on_macro(builder, item, operands) if on_macro else None
        if results is not None:
            mapped.update(zip(item.results, results, strict=True))
            continue
        builder.macro_nodes = []
        for node in item.nodes:
            copy(node)
        results = [get(value) for value in item.results]
        builder.items.append(
            Macro(
                item.theme, item.spelling, item.parameters, operands, builder.macro_nodes, results
            )
        )
        builder.macro_nodes = None
    for value in program.outputs:
        # Of a call that was replaced by one with fewer results.
        builder.add(get(value).node)
    return Program(
        program.pool, builder.items, [get(value) for value in program.outputs],
        list(program.constants), dict(program.parameters), dict(program.buffers),
        dict(program.mutations), dict(program.groups),
    )  # fmt: skip
