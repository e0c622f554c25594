# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Tiny programs over few integers, which PyTorch evaluates on all inputs there are.

"equivalent" must then be right, and "different" too. Either the inputs are narrow (two
of 8 bits, one of 16, some truth values), or wide and reduced to four values each where
they are read, or, in pairs for `commute verify --reference`, of a stated range.
Elements are independent of each other in most programs, so one evaluation of a long
tensor covers all inputs.
"""

import random

import torch

from pairs import verdicts
from pairs.respellings import miss, respell
from pairs.terms import (
    FLOAT_FUNCTIONS,
    Bench,
    call,
    is_truth,
)
from pairs.verdicts import Pair, Skipped, compare_tensors

ERRORS = (RuntimeError, IndexError, ValueError, TypeError, OverflowError, NotImplementedError)
BYTES = (torch.int8, torch.uint8)
WIDE = (torch.int64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
SPACES = ["two bytes", "two bytes", "one byte", "sixteen bits", "truth values", "four values",
          "four values", "four in tensors", "truths in tensors", "stated"]  # fmt: skip
# Of a stated range.
STATED = {"i": (0, 4), "j": (0, 4), "k": (-2, 3)}


class Grid:
    """Draws inputs: sample 0 has the shapes of the programs, the others are all there is."""

    def __init__(self, seed):
        self.seed = seed
        self.samples = [{}]

    def __call__(self, pool, spec, sample):
        return [self.samples[sample][spec.name] for _ in pool.world]


class Maker:
    def __init__(self, seed, space=None):
        self.random = random.Random(f"exhaustive {seed}")
        self.space = space or self.random.choice(SPACES)
        self.inputs = self.declare()
        # What is left to reduce is what the programs read.
        self.bench = self.make_bench(self.inputs)
        self.integers, self.truths = [], []
        for term in self.leaves():
            (self.truths if is_truth(self.bench.tensor(term)) else self.integers).append(term)
        self.has_floats = False

    def pick(self, elements):
        return self.random.choice(list(elements))

    def chance(self, probability):
        return self.random.random() < probability

    def declare(self):
        """Name -> type, shape and all values of one element."""

        def all_of(dtype):
            info = torch.iinfo(dtype)
            return torch.arange(info.min, info.max + 1).to(dtype)

        def four_of(dtype):
            return torch.arange(4).to(dtype)

        truths = torch.tensor([False, True])
        if self.space == "two bytes":
            types = [self.pick(BYTES), self.pick(BYTES)]
            return {name: (dtype, (), all_of(dtype)) for name, dtype in zip("ij", types)}
        if self.space == "one byte":
            dtype = self.pick(BYTES)
            return {"i": (dtype, (), all_of(dtype)), "p": (torch.bool, (), truths)}
        if self.space == "sixteen bits":
            return {"i": (torch.int16, (), all_of(torch.int16))}
        if self.space == "truth values":
            names = "pqrs"[: self.random.randint(2, 4)]
            return dict.fromkeys(names, (torch.bool, (), truths))
        if self.space == "four values":
            types = [self.pick(WIDE) for _ in range(self.random.randint(2, 3))]
            return {name: (dtype, (), four_of(dtype)) for name, dtype in zip("ijk", types)}
        if self.space == "four in tensors":
            dtype = self.pick(WIDE)
            return {"i": (dtype, (self.random.randint(2, 3),), four_of(dtype))}
        if self.space == "truths in tensors":
            return {"p": (torch.bool, (self.random.randint(3, 6),), truths)}
        names = "ijk"[: self.random.randint(2, 3)]
        return {name: (torch.int64, (), torch.arange(*STATED[name])) for name in names}

    @property
    def is_elementwise(self):
        return "tensors" not in self.space

    def make_bench(self, inputs):
        grid = Grid(0)
        bench = Bench(grid)
        values, names = [], []
        for name, (_, shape, all_values) in inputs.items():
            for _ in range(torch.Size(shape).numel()):
                values.append(all_values.long())
                names.append(name)
        columns = torch.meshgrid(*values, indexing="ij")
        columns = [column.flatten() for column in columns]
        count = len(columns[0])
        generator = torch.Generator().manual_seed(1)
        tables = {}
        for name, (dtype, shape, _) in inputs.items():
            own = [column for column, owner in zip(columns, names) if owner == name]
            tables[name] = torch.stack(own, 1).reshape(count, *shape).to(dtype)
        shape = next(iter(inputs.values()))[1]
        tables["x"] = torch.randn((count, *shape), generator=generator, dtype=torch.float64)
        # Of both signs beside all integers: a near miss of `neg` is `abs`.
        tables = {name: torch.cat([table, table]) for name, table in tables.items()}
        tables["x"][count:] *= -1.7
        grid.samples[0] = {name: table[count // 3] for name, table in tables.items()}
        if self.is_elementwise:
            grid.samples.append(tables)
        else:
            grid.samples += [
                {name: table[i] for name, table in tables.items()} for i in range(2 * count)
            ]
        for name, (dtype, shape, _) in inputs.items():
            bench.input(name, dtype, shape)
        bench.input("x", torch.float32, shape)
        return bench

    def leaves(self):
        """What programs read of the inputs: no more than what is evaluated."""
        for name in self.inputs:
            term = call("input", name)
            if "four" in self.space:
                yield self.pick(
                    [call("bits_and_k", term, 3), call("mod_k", term, 4), call("clamp", term, 0, 3)]
                )
            else:
                yield term

    # Terms.

    def attempt(self, make):
        for _ in range(30):
            try:
                term = make()
                if term is None:
                    continue
                tensor = self.bench.tensor(term)
            except ERRORS:
                continue
            if tensor.is_floating_point() and not tensor.isfinite().all():
                continue
            return term
        raise Skipped("no term came about")

    def integer(self, depth):
        if depth <= 0 and self.integers:
            return self.pick(self.integers)
        return self.attempt(lambda: self.try_integer(depth))

    def number_of(self, a):
        """A constant that fits beside an integer."""
        info = torch.iinfo(self.bench.tensor(a).dtype)
        n = self.pick([0, 1, 2, 3, 4, 5, 7, 8, 10, 16, 31, 64, 100, 127, -1, -2, -5, -128, 200])
        return n if info.min <= n <= info.max else self.pick([1, 2, 3])

    def try_integer(self, depth):
        if not self.integers or self.chance(0.12):
            truth = self.truth(depth - 1)
            if self.chance(0.4) and not self.is_elementwise:
                return call(self.pick(["sum", "sum"]), truth)
            return call("cast", truth, self.pick(WIDE))
        a = self.integer(depth - 1)
        kind = self.random.random()
        if not self.is_elementwise and self.chance(0.35) and self.bench.tensor(a).dim() == 1:
            return self.pick(
                [call("sum", a), call("largest", a), call("least", a), call("sort", a),
                 call("flip", a, (0,)), call("cumsum", a, 0), call("select", a, 0, 0),
                 call("mul", a, call("positions", self.bench.tensor(a).shape[0])), call("prod", a)]
            )  # fmt: skip
        if kind < 0.5:
            k = self.number_of(a)
            op = self.pick(
                ["neg", "abs", "sign", "relu", "square", "bits_not", "floor_of", "ceil", "round",
                 "add_k", "sub_k", "rsub_k", "mul_k", "floor_k", "mod_k", "fmod_k", "pow_k",
                 "bits_and_k", "bits_or_k", "bits_xor_k", "left_k", "right_k", "clamp", "cast"]
            )  # fmt: skip
            if op in ("floor_k", "mod_k", "fmod_k"):
                return call(op, a, k or 3)
            if op == "pow_k":
                return call(op, a, self.pick([2, 3]))
            if op in ("left_k", "right_k"):
                return call(op, a, self.pick([1, 2, 3, 5]))
            if op == "clamp":
                return call(op, a, min(k, 2), max(k, 2))
            if op == "cast":
                return call(op, a, self.pick(WIDE))
            return call(op, a, k) if op.endswith("_k") else call(op, a)
        b = self.integer(self.pick(range(max(1, depth))))
        op = self.pick(
            ["add", "sub", "mul", "max", "min", "bits_and", "bits_or", "bits_xor", "floor", "mod",
             "pow", "where"]
        )  # fmt: skip
        if op in ("floor", "mod"):
            # Nothing is divided by zero: that is an error.
            return call(op, a, call("bits_or_k", b, 1))
        if op == "pow":
            return call(op, a, call("bits_and_k", b, 3))
        if op == "where":
            return call(op, self.truth(depth - 1), a, b)
        return call(op, a, b)

    def truth(self, depth):
        if depth <= 0 and self.truths:
            return self.pick(self.truths)
        return self.attempt(lambda: self.try_truth(depth))

    def try_truth(self, depth):
        kind = self.random.random()
        if self.integers and (kind < 0.6 or depth <= 0):
            a = self.integer(depth - 1)
            op = self.pick(["eq", "ne", "lt", "le", "gt", "ge"])
            if self.chance(0.08):
                return call(op + "_k", self.float_of(a), self.pick([0.0, 0.5, 1.0, 2.0, -1.5]))
            if self.chance(0.1):
                return call("is_nan", a)
            if self.chance(0.5):
                value = int(self.pick(self.bench.tensor(a).flatten().tolist() or [0]))
                return call(op + "_k", a, self.pick([value, value, self.number_of(a)]))
            return call(op, a, self.integer(self.pick(range(max(1, depth)))))
        a, b = self.truth(depth - 1), self.truth(self.pick(range(max(1, depth))))
        if not self.is_elementwise and self.chance(0.4):
            return call(self.pick(["any", "all"]), a)
        op = self.pick(
            ["and", "or", "not", "bits_and", "bits_or", "bits_xor", "bits_not", "eq", "ne", "lt",
             "le", "max", "min", "where"]
        )  # fmt: skip
        if op in ("not", "bits_not"):
            return call(op, a)
        if op == "where":
            return call(op, a, b, self.truth(0))
        return call(op, a, b)

    def float_of(self, a):
        """A float that is made of integers."""
        b = self.integer(0)
        kind = self.pick(["cast", "cast", "div", "div_k", "function"])
        if kind == "cast":
            return call("cast", a, torch.float32)
        if kind == "div":
            return call("div", a, call("bits_or_k", b, 1))
        if kind == "div_k":
            return call("mul_k", call("cast", a, torch.float32), self.pick([0.5, 0.25, 3.0]))
        self.has_floats = True
        return call(self.pick(FLOAT_FUNCTIONS[:-1]), call("add_k", call("bits_and_k", a, 3), 1))

    def output(self):
        depth = self.pick([1, 2, 2, 3])
        kind = self.random.random()
        if not self.integers and kind < 0.5:
            kind += 0.4
        if kind < 0.35:
            return self.integer(depth)
        if kind < 0.45:
            return self.attempt(lambda: self.float_of(self.integer(depth)))
        if kind < 0.65:
            return self.truth(depth)
        x = call("input", "x")
        if kind < 0.85:
            other = self.pick([call("mul_k", x, 0.0), call("mul_k", x, 2.0), call("neg", x)])
            return call("where", self.truth(depth), x, other)
        weight = self.truth(depth) if self.chance(0.5) else self.integer(depth)
        return call("mul", call("cast", weight, torch.float32), x)

    def decided(self):
        """Programs that decide alike, and choose otherwise; or one decides more often."""
        depth = self.pick([1, 2, 2, 3])
        x = call("input", "x")
        double, none = call("mul_k", x, 2.0), call("mul_k", x, 0.0)
        chosen, other = self.truth(depth), self.truth(self.pick(range(depth)))
        both = call("and", chosen, other)
        kind = self.pick(["shared", "masked", "product"])
        if kind == "shared":
            return call("where", both, x, none), call("where", both, double, none)
        if kind == "masked":
            return call("where", both, x, none), call("where", chosen, x, none)
        weights = [call("cast", truth, torch.float32) for truth in (chosen, other)]
        return call("mul", x, call("mul", *weights)), call("where", both, x, none)

    def make(self):
        if self.chance(0.25):
            first, second = (self.attempt(lambda term=term: term) for term in self.decided())
            return "decided", first, respell(self.bench, second, self.random, 0.2)
        first = self.attempt(self.output)
        kind = self.pick(["respelled", "respelled", "near miss", "near miss", "near miss", "both"])
        second = first
        if kind != "near miss":
            second = respell(self.bench, second, self.random, self.pick([0.3, 0.8]))
        if kind != "respelled":
            second = self.attempt(lambda: miss(self.bench, second, self.random))
        return kind, first, second

    def get_difference(self, terms, bench=None):
        """Where the programs differ, over all inputs."""
        bench = bench or self.bench
        programs = [bench.program(term) for term in terms]
        for sample in range(1, len(bench.pool.draw.samples)):
            a, b = (bench.outputs(program, sample)[0] for program in programs)
            if not all(is_finite(program, sample) for program in programs):
                # A verdict does not cover them, nor what is compared with them.
                raise Skipped("a number is not finite")
            a, b = torch.broadcast_tensors(a, b)
            seen = compare_tensors(a, b)
            if seen:
                return f"{seen}, {self.describe(bench, sample, seen)}"
        return None

    def describe(self, bench, sample, seen):
        inputs = bench.pool.draw.samples[sample]
        if self.is_elementwise:
            place = int(seen[seen.index("[") + 1 : seen.index("]")] or 0)
            inputs = {name: table[place] for name, table in inputs.items()}
        return ", ".join(f"{name} = {table.tolist()}" for name, table in inputs.items())

    def is_equal_without_wrapping(self, terms):
        """Whether the programs are equal if the inputs' type is so wide that nothing wraps."""
        inputs = {
            name: (dtype if dtype == torch.bool else torch.int64, shape, values)
            for name, (dtype, shape, values) in self.inputs.items()
        }
        try:
            return self.get_difference(terms, self.make_bench(inputs)) is None
        except (Skipped, *ERRORS):
            return False


def is_finite(program, sample):
    """Whether all floats are, on the way as well."""
    return all(
        tensor.isfinite().all()
        for node in program.live_nodes()
        for ranks in node.data[sample]
        for tensor in ranks[:1]
    )


def reads_beyond(maker, term):
    """Whether it reads an input that is not reduced to the values which are evaluated."""
    if "four" not in maker.space:
        return False
    if term in maker.integers:
        return False
    if term.op == "input":
        return term.numbers[0] != "x"
    return any(reads_beyond(maker, operand) for operand in term.operands)


def make_pair(seed, space=None):
    """The pair of a seed."""
    for attempt in range(30):
        maker = Maker(f"{seed} {attempt}", space)
        try:
            kind, first, second = maker.make()
            terms = (first, second)
            if any(reads_beyond(maker, term) for term in terms):
                continue
            if maker.bench.tensor(first).dtype != maker.bench.tensor(second).dtype:
                continue
            if maker.bench.tensor(first).shape != maker.bench.tensor(second).shape:
                continue
            difference = maker.get_difference(terms)
            programs = [maker.bench.program(term) for term in terms]
        except (Skipped, *ERRORS):
            continue
        tags = [kind]
        if maker.has_floats or any(
            inner.op in FLOAT_FUNCTIONS for term in terms for inner in term.inner_terms()
        ):
            tags.append(verdicts.FLOAT_FUNCTIONS)
        if difference is not None and maker.is_equal_without_wrapping(terms):
            tags.append("by wrapping around alone")
        types = [f"{name} {dtype}" for name, (dtype, *_) in maker.inputs.items()]
        changes = [f"A: {first}", f"B: {second}", f"inputs: {', '.join(types)}"]
        pair = Pair(
            seed, *programs, changes, difference is None, difference or "", maker.space, tags
        )
        if maker.space == "stated":
            pair.is_refinement = True
            pair.ranges = {name: list(STATED[name]) for name in maker.inputs}
        return pair
    raise Skipped("no pair came about")
