# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Expressions over integers, truth values and floats: what the oracles' programs are made of.

A term is written as calls of PyTorch's operators, and evaluated while it is written. Terms
are trees, so that one is easily respelled (respellings.py) or changed a little.
"""

from dataclasses import dataclass

import torch

from pairs.programs import Builder, InputSpec, Pool, Program, Value, aten

# One rank: integers are the same with many.
GROUPS = {"0": [[0]]}


@dataclass(frozen=True)
class Term:
    op: str
    operands: tuple = ()
    # What is no tensor: constants, dims, types.
    numbers: tuple = ()

    def __str__(self):
        inside = [*map(str, self.operands), *(str(n).removeprefix("torch.") for n in self.numbers)]
        return self.numbers[0] if self.op == "input" else f"{self.op}({', '.join(inside)})"

    def inner_terms(self):
        yield self
        for operand in self.operands:
            yield from operand.inner_terms()

    def with_operands(self, operands):
        return Term(self.op, tuple(operands), self.numbers)


def of_input(name):
    return Term("input", (), (name,))


def call(op, *arguments):
    """A term; its operands come first among the arguments."""
    operands = tuple(a for a in arguments if isinstance(a, Term))
    return Term(op, operands, tuple(arguments[len(operands) :]))


# Written as a call with all operands and then all numbers.
TARGETS = {
    "add": aten.add.Tensor,
    "add_k": aten.add.Scalar,
    "sub": aten.sub.Tensor,
    "sub_k": aten.sub.Scalar,
    "rsub_k": aten.rsub.Scalar,
    "mul": aten.mul.Tensor,
    "mul_k": aten.mul.Scalar,
    "div": aten.div.Tensor,
    "floor": aten.floor_divide.default,
    # As torch.export writes it, with a number for a tensor.
    "floor_k": aten.floor_divide.default,
    "mod": aten.remainder.Tensor,
    "mod_k": aten.remainder.Scalar,
    "fmod_k": aten.fmod.Scalar,
    "pow": aten.pow.Tensor_Tensor,
    "pow_k": aten.pow.Tensor_Scalar,
    "neg": aten.neg.default,
    "abs": aten.abs.default,
    "sign": aten.sign.default,
    "relu": aten.relu.default,
    "square": aten.square.default,
    "max": aten.maximum.default,
    "min": aten.minimum.default,
    "clamp": aten.clamp.default,
    "bits_and": aten.bitwise_and.Tensor,
    "bits_or": aten.bitwise_or.Tensor,
    "bits_xor": aten.bitwise_xor.Tensor,
    "bits_and_k": aten.bitwise_and.Scalar,
    "bits_or_k": aten.bitwise_or.Scalar,
    "bits_xor_k": aten.bitwise_xor.Scalar,
    "bits_not": aten.bitwise_not.default,
    "left_k": aten.__lshift__.Scalar,
    "right_k": aten.__rshift__.Scalar,
    "floor_of": aten.floor.default,
    "ceil": aten.ceil.default,
    "round": aten.round.default,
    "is_nan": aten.isnan.default,
    "and": aten.logical_and.default,
    "or": aten.logical_or.default,
    "not": aten.logical_not.default,
    "where": aten.where.self,
    "where_k": aten.where.ScalarOther,
    "mm": aten.mm.default,
    "any_dim": aten.any.dim,
    "softmax": aten._softmax.default,
    "log_softmax": aten._log_softmax.default,
    "masked_fill": aten.masked_fill.Scalar,
    "select": aten.select.int,
    "slice": aten.slice.Tensor,
    "flip": aten.flip.default,
    "cumsum": aten.cumsum.default,
    "sum": aten.sum.default,
    "prod": aten.prod.default,
    "largest": aten.amax.default,
    "least": aten.amin.default,
    "any": aten.any.default,
    "all": aten.all.default,
    "sum_dim": aten.sum.dim_IntList,
    "view": aten.view.default,
    "unsqueeze": aten.unsqueeze.default,
}
TARGETS |= {
    f"{name}{suffix}": getattr(getattr(aten, name), overload)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for suffix, overload in (("", "Tensor"), ("_k", "Scalar"))
}
# Of floats only: integers become floats first.
FLOAT_FUNCTIONS = (
    "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh", "erf", "sigmoid", "silu", "gelu",
)  # fmt: skip
TARGETS |= {name: getattr(aten, name).default for name in FLOAT_FUNCTIONS}


def _position(builder, operands, numbers):
    (count,) = numbers
    return builder.call(
        aten.arange.default, count, device=torch.device("cpu"), pin_memory=False, exact=True
    )


def _number(builder, operands, numbers):
    shape, number, dtype = numbers
    return builder.call(
        aten.full.default, list(shape), number, dtype=dtype, device=torch.device("cpu"),
        pin_memory=False, exact=True,
    )  # fmt: skip


# Written otherwise.
WRITERS = {
    "positions": _position,
    "number": _number,
    "cast": lambda b, operands, numbers: b.call(
        aten._to_copy.default, *operands, dtype=numbers[0], exact=True
    ),
    "sort": lambda b, operands, numbers: b.call(aten.sort.default, *operands)[0],
    # Of equal integers, the first comes first.
    "order": lambda b, operands, numbers: b.call(
        aten.sort.stable, *operands, stable=True, exact=True
    )[1],
    "gather": lambda b, operands, numbers: b.call(
        aten.gather.default, operands[0], *numbers, operands[1]
    ),
    "scatter_add": lambda b, operands, numbers: b.call(
        aten.scatter_add.default, operands[0], *numbers, *operands[1:]
    ),
    "take": lambda b, operands, numbers: b.call(aten.index.Tensor, operands[0], operands[1:]),
}


class Bench:
    """Inputs, and both programs over them, evaluated on sample 0 while they are made."""

    def __init__(self, draw, groups=GROUPS):
        self.pool = Pool(groups, draw)
        self.scratch = Builder(self.pool)
        self.known = {}

    def input(self, name, dtype, shape, low=None, high=None, placement="replicated"):
        placements = tuple((group, placement) for group in self.pool.groups)
        self.pool.input(InputSpec(name, dtype, tuple(shape), placements, low, high))
        return of_input(name)

    def value(self, term, builder=None, known=None) -> Value:
        """What the term is in a program; PyTorch may refuse it."""
        known = self.known if known is None else known
        value = known.get(term)
        if value is not None:
            return value
        builder = builder or self.scratch
        operands = [self.value(operand, builder, known) for operand in term.operands]
        if term.op == "input":
            value = self.pool.inputs[term.numbers[0]].values[0]
            builder.add(value.node)
        elif term.op == "shard":
            value = builder.call(aten.slice.Tensor, *operands, *shard_of(operands[0], term.numbers))
        elif term.op == "all_reduce":
            value = operands[0]
            for operand in operands[1:]:
                value = builder.call(aten.add.Tensor, value, operand)
        elif term.op in WRITERS:
            value = WRITERS[term.op](builder, operands, term.numbers)
        else:
            numbers = [list(n) if isinstance(n, tuple) else n for n in term.numbers]
            value = builder.call(TARGETS[term.op], *operands, *numbers, exact=True)
        known[term] = value
        return value

    def tensor(self, term):
        """The term on the inputs of sample 0."""
        return self.value(term).tensors[0]

    def program(self, *terms):
        builder, known = Builder(self.pool), {}
        for node in self.pool.inputs.values():
            builder.add(node)
        outputs = [self.value(term, builder, known) for term in terms]
        return Program(self.pool, builder.items, [builder.dense(value) for value in outputs])

    def outputs(self, program, sample):
        """The program's results on a sample, and nothing else kept of it."""
        results = [
            self.pool.compute(value.node, sample)[value.position][0] for value in program.outputs
        ]
        return results


def shard_of(value, numbers):
    """The dim, the start and the end of a rank's block."""
    dim, rank, count = numbers
    size = value.shape[dim] // count
    return dim, rank * size, (rank + 1) * size


class RankBench(Bench):
    """The program of one rank: its blocks of inputs, and collectives.

    Where Bench computes what all ranks do together, "shard" is an input here, and
    "all_reduce", whose operands are those of all ranks, reads the rank's own.
    """

    def __init__(self, draw, rank, count):
        super().__init__(draw, {"0": [list(range(count))]})
        self.rank = rank

    def value(self, term, builder=None, known=None):
        builder = builder or self.scratch
        known = self.known if known is None else known
        if term.op == "shard":
            return super().value(term.operands[0], builder, known)
        if term.op == "all_reduce":
            if term not in known:
                operand = self.value(term.operands[self.rank], builder, known)
                known[term] = builder.collective("all_reduce", operand, "sum", "0")
            return known[term]
        return super().value(term, builder, known)


def is_truth(tensor):
    return tensor.dtype == torch.bool


def is_integer(tensor):
    return not tensor.is_floating_point() and not is_truth(tensor)


# Sums, differences and products, in floats: where they are other ones, integers wrapped around.
_EXACT = {
    "add": lambda a, b: a + b,
    "add_k": lambda a, k: a + k,
    "sub": lambda a, b: a - b,
    "sub_k": lambda a, k: a - k,
    "rsub_k": lambda a, k: k - a,
    "mul": lambda a, b: a * b,
    "mul_k": lambda a, k: a * k,
    "neg": lambda a: -a,
    "abs": lambda a: a.abs(),
    "square": lambda a: a * a,
    "pow_k": lambda a, k: a**k,
    "left_k": lambda a, k: a * 2**k,
    "sum": lambda a: a.sum(),
    "prod": lambda a: a.prod(),
    "cumsum": lambda a, dim: a.cumsum(dim),
}


def wraps(bench, term):
    """Whether the outermost operator wraps around on sample 0."""
    result = bench.tensor(term)
    if term.op not in _EXACT or not is_integer(result):
        return False
    exact = _EXACT[term.op](*(bench.tensor(o).double() for o in term.operands), *term.numbers)
    return bool(((exact - result.double()).abs() > 1e-9 * exact.abs()).any())
