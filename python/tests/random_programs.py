# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Random small programs over all operators that Commute's vocabulary reads.

    program = Program(seed=3, world_size=2)
    for name in ["add.Tensor", "softmax.int"]:
        OPERATORS[name](program)
    program.export("program.pt2")

A program is computed while it is built, on all its ranks, so that operands can
be chosen for what they hold: a logarithm takes positive numbers. Every value
that an operator gives is an output, which finds a wrong operator by its index.

A value is *exact* where any correct implementation gives the same bits: moves of
exact values, and functions of them that are rounded once. Whatever jumps (a
comparison, a rounding) reads exact values only. For all others `tolerances` runs
the program with the operands and results of every operator moved by an ulp or
so, as other orders of summation do, and takes what that makes of the results as
the error that they may have.
"""

import json
import random
from dataclasses import dataclass, field

import torch
import torch.distributed._functional_collectives  # registers _c10d_functional
from torch.nn import Module

aten = torch.ops.aten
c10d = torch.ops._c10d_functional
WORLD = "0"

FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
BOOLEAN = [torch.bool]
NUMBERS = FLOATS + INTEGERS
# Values beyond this are outputs, but no operands.
LARGEST = 100
PERTURBED_RUNS = 3


@dataclass(eq=False)
class Value:
    """A tensor on every rank; `index` is its place among the program's values."""

    index: int
    tensors: list
    exact: bool
    # Read by one operator, and no output.
    private: bool = False

    @property
    def dtype(self):
        return self.tensors[0].dtype

    @property
    def shape(self):
        return tuple(self.tensors[0].shape)

    @property
    def rank(self):
        return self.tensors[0].dim()


@dataclass(eq=False)
class Step:
    target: object
    arguments: tuple
    keywords: dict
    # None for a result that nobody may read.
    results: list = field(default_factory=list)


def _substitute(argument, replace):
    if isinstance(argument, Value):
        return replace(argument)
    if isinstance(argument, (list, tuple)):
        return [_substitute(element, replace) for element in argument]
    return argument


class Program:
    def __init__(self, seed, world_size=1):
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.world_size = world_size
        self.inputs = []
        self.steps = []
        self.values = []

    # ------------------------------------------------------------------------
    # Operands
    # ------------------------------------------------------------------------

    def choice(self, elements):
        return self.random.choice(list(elements))

    def chance(self, probability):
        return self.random.random() < probability

    def sizes(self, least=0, most=4):
        return tuple(self.random.randint(1, 5) for _ in range(self.random.randint(least, most)))

    def _draw(self, dtype, shape, domain):
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.generator) < 0.5
        if not dtype.is_floating_point:
            low, high = (1, 7) if domain in ("positive", "nonzero") else (-6, 7)
            low = 0 if dtype == torch.uint8 and low < 0 else low
            return torch.randint(low, high, shape, generator=self.generator).to(dtype)
        if domain == "any":
            return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(dtype)
        number = 0.25 + 2 * torch.rand(shape, generator=self.generator, dtype=torch.float64)
        if domain == "nonzero":
            number *= 1 - 2 * torch.randint(2, shape, generator=self.generator)
        return number.to(dtype)

    def input(self, dtype, shape, domain="any", tensors=None):
        """A new input of the program."""
        if tensors is None:
            tensors = [self._draw(dtype, shape, domain) for _ in range(self.world_size)]
        value = Value(len(self.values), tensors, True)
        self.values.append(value)
        self.inputs.append(value)
        return value

    def indices(self, extent, shape, negative=False):
        """An input of integers that index an extent."""
        low = -extent if negative else 0
        dtype = self.choice([torch.int64, torch.int32])
        drawn = [
            torch.randint(low, extent, shape, generator=self.generator)
            for _ in range(self.world_size)
        ]
        return self.input(dtype, shape, tensors=[tensor.to(dtype) for tensor in drawn])

    def operand(
        self, dtypes=FLOATS, shape=None, least=0, most=4, domain="any", exact=False, fits=None
    ):
        """A value that there is already, or a new input."""

        def serves(value):
            return (
                not value.private
                and value.dtype in dtypes
                and (shape is None or value.shape == tuple(shape))
                and least <= value.rank <= most
                and (value.exact or not exact)
                and (fits is None or fits(value))
                and all(_is_in(tensor, domain) for tensor in value.tensors)
            )

        known = [value for value in self.values if serves(value)] if self.chance(0.7) else []
        if known:
            return self.choice(known)
        sizes = self.sizes(least, most) if shape is None else tuple(shape)
        return self.input(self.choice(dtypes), sizes, domain)

    def partner(self, value, domain="any", exact=False, dtypes=None):
        """A second operand that is broadcast against a first."""
        shape = list(value.shape)
        for dim in range(len(shape)):
            if self.chance(0.2):
                shape[dim] = 1
        if self.chance(0.2):
            shape = shape[self.random.randint(0, len(shape)) :]
        if dtypes is None:
            dtypes = NUMBERS if self.chance(0.2) else [value.dtype]
        return self.operand(dtypes, shape, domain=domain, exact=exact)

    def dim(self, value):
        """A dim of a value, sometimes counted from the end."""
        dim = self.random.randrange(value.rank)
        return dim - value.rank if self.chance(0.3) else dim

    # ------------------------------------------------------------------------
    # Computing
    # ------------------------------------------------------------------------

    def call(self, target, *arguments, exact=False, keeps=None, **keywords):
        """Calls an operator; `exact` says that it keeps exact what is exact.

        `keeps` is the number of results that may be read, if not all.
        """
        step = Step(target, arguments, keywords)
        given = []
        _substitute([arguments, list(keywords.values())], given.append)
        results = _compute(step, [value.tensors for value in self.values], self.world_size)
        is_exact = exact and all(value.exact for value in given)
        for position, tensors in enumerate(results):
            if keeps is not None and position >= keeps:
                step.results.append(None)
                continue
            # A value of its own: views are read as they are.
            value = Value(len(self.values), tensors, is_exact)
            self.values.append(value)
            step.results.append(value)
        self.steps.append(step)
        return step.results if len(results) > 1 else step.results[0]

    def run(self, perturbation=None):
        """All values, computed anew; moved by an ulp with a generator given."""
        values = [None] * len(self.values)
        for value in self.inputs:
            values[value.index] = value.tensors
        for step in self.steps:
            rounded = [v for v in step.results if v and _is_float(v.tensors[0]) and not v.exact]
            read = values
            if perturbation is not None and rounded:
                ulp = torch.finfo(rounded[0].dtype).eps
                read = [_perturb(tensors, ulp, perturbation) for tensors in values]
            results = _compute(step, read, self.world_size)
            for value, tensors in zip(step.results, results, strict=True):
                if value is not None:
                    is_moved = perturbation is not None and value in rounded
                    values[value.index] = (
                        _perturb(tensors, ulp, perturbation) if is_moved else tensors
                    )
        return values

    @property
    def outputs(self):
        results = [value for step in self.steps for value in step.results]
        return [value for value in results if value is not None and not value.private]

    def tolerances(self):
        """The greatest error that each output may have, an absolute number."""
        generator = torch.Generator().manual_seed(1)
        runs = [self.run(generator) for _ in range(PERTURBED_RUNS)]
        result = []
        for value in self.outputs:
            if value.exact or not value.dtype.is_floating_point:
                result.append(0.0)
                continue
            error = largest = 0.0
            for rank, tensor in enumerate(value.tensors):
                if tensor.numel() == 0:
                    continue
                known = tensor.double()
                largest = max(largest, _largest(known))
                for run in runs:
                    error = max(error, _largest(run[value.index][rank].double() - known))
            result.append(8 * error + 4 * torch.finfo(value.dtype).eps * largest)
        return result

    # ------------------------------------------------------------------------
    # Exporting
    # ------------------------------------------------------------------------

    def export(self, path):
        """Writes the archive; gives the exported program."""
        program = torch.export.export(_Replay(self), tuple(v.tensors[0] for v in self.inputs))
        groups = {WORLD: {"ranks": list(range(self.world_size))}} if self.world_size > 1 else {}
        sidecar = json.dumps({"version": 1, "groups": groups})
        torch.export.save(program, path, extra_files={"commute.json": sidecar})
        return program


class _Replay(Module):
    """The program as PyTorch traces it."""

    def __init__(self, program):
        super().__init__()
        self.program = program

    def forward(self, *inputs):
        values = dict(zip((value.index for value in self.program.inputs), inputs, strict=True))
        for step in self.program.steps:
            arguments, keywords = _resolve(step, lambda value: values[value.index])
            results = step.target(*arguments, **keywords)
            results = results if isinstance(results, (list, tuple)) else [results]
            for value, result in zip(step.results, results, strict=True):
                if value is not None:
                    values[value.index] = result
        return tuple(values[value.index] for value in self.program.outputs)


def _resolve(step, replace):
    arguments = _substitute(step.arguments, replace)
    return arguments, {name: _substitute(a, replace) for name, a in step.keywords.items()}


def _compute(step, values, world_size):
    """The results of a step, each a list of tensors by rank."""
    if step.target in COLLECTIVES:
        arguments = _substitute(
            step.arguments, lambda value: [t.clone() for t in values[value.index]]
        )
        return COLLECTIVES[step.target](*arguments)
    by_rank = []
    for rank in range(world_size):
        arguments, keywords = _resolve(step, lambda value, rank=rank: values[value.index][rank])
        results = step.target(*arguments, **keywords)
        by_rank.append(results if isinstance(results, (list, tuple)) else [results])
    return [list(tensors) for tensors in zip(*by_rank, strict=True)]


def _is_in(tensor, domain):
    if tensor.dtype == torch.bool:
        return True
    number = tensor.double()
    if not torch.isfinite(number).all() or (number.numel() and number.abs().max() > LARGEST):
        return False
    if domain == "any" or not number.numel():
        return True
    if domain == "nonzero":
        return bool(number.abs().min() > 0.2)
    return bool(number.min() > 0.2 and number.max() < 10)


def _is_float(tensor):
    return tensor.is_floating_point() and tensor.dtype.itemsize > 1


def _perturb(tensors, ulp, generator):
    """The tensors of all ranks, each number moved by an ulp."""
    if tensors is None or not _is_float(tensors[0]):
        return tensors
    result = []
    for tensor in tensors:
        direction = 1 - 2 * torch.randint(2, tensor.shape, generator=generator)
        moved = (tensor.double() * (1 + ulp * direction.double())).to(tensor.dtype)
        # Views keep their strides, which some operators ask about.
        result.append(torch.empty_like(tensor).copy_(moved))
    return result


def _largest(tensor):
    finite = tensor[torch.isfinite(tensor)].abs()
    return finite.max().item() if finite.numel() else 0.0


# ----------------------------------------------------------------------------
# Collectives, as all ranks at once compute them
# ----------------------------------------------------------------------------

_REDUCTIONS = {
    "sum": lambda stacked: _sum(stacked),
    "avg": lambda stacked: _sum(stacked) / stacked.shape[0],
    "max": lambda stacked: stacked.amax(0),
    "min": lambda stacked: stacked.amin(0),
    "product": lambda stacked: stacked.prod(0),
}


def _sum(stacked):
    total = stacked[0]
    for summand in stacked[1:]:
        total = total + summand
    return total


def _all_reduce(tensors, reduction, group):
    result = _REDUCTIONS[reduction](torch.stack(tensors)).to(tensors[0].dtype)
    return [[result.clone() for _ in tensors]]


def _all_gather(tensors, size, group):
    return [[torch.cat(tensors) for _ in tensors]]


def _reduce_scatter(tensors, reduction, size, group):
    ((result, *_),) = _all_reduce(tensors, reduction, group)
    return [list(result.chunk(size))]


def _all_to_all(tensors, outputs, inputs, group):
    pieces = [tensor.split(inputs) for tensor in tensors]
    return [[torch.cat([sent[rank] for sent in pieces]) for rank in range(len(tensors))]]


def _broadcast(tensors, source, group):
    return [[tensors[source].clone() for _ in tensors]]


def _coalesced(collective):
    return lambda lists, *rest: [collective(tensors, *rest)[0] for tensors in lists]


COLLECTIVES = {
    c10d.all_reduce.default: _all_reduce,
    c10d.all_reduce_.default: _all_reduce,
    c10d.all_reduce_coalesced.default: _coalesced(_all_reduce),
    c10d.all_gather_into_tensor.default: _all_gather,
    c10d.all_gather_into_tensor_coalesced.default: _coalesced(_all_gather),
    c10d.reduce_scatter_tensor.default: _reduce_scatter,
    c10d.reduce_scatter_tensor_coalesced.default: _coalesced(_reduce_scatter),
    c10d.all_to_all_single.default: _all_to_all,
    c10d.broadcast.default: _broadcast,
    c10d.broadcast_.default: _broadcast,
    c10d.wait_tensor.default: lambda tensors: [tensors],
}
