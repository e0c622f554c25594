# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Pairs of programs that differ at an input which was there before the programs.

The input comes first. Conditions are then made that hold there: an expression of the
integers is compared with what it is at that input. Nothing is drawn near the numbers that
programs hold, as samples.py and the prover do, so what those draws cannot find shows here.
"""

import random
import zlib

import torch

from pairs.given import Given, choose_integers
from pairs.planted_models import MODELS
from pairs.planted_tables import TABLES
from pairs.respellings import miss, respell
from pairs.terms import Bench, call, is_integer, is_truth, wraps
from pairs.verdicts import Pair, Skipped, get_difference

SAMPLES = 40
SHAPES = [(), (1,), (2,), (2,), (3,), (4,), (5,), (6,), (8,), (16,), (2, 3)]
DTYPES = [torch.int64] * 10 + [torch.int32] * 4 + [torch.int8, torch.uint8] * 2 + [torch.bool] * 2
ERRORS = (RuntimeError, IndexError, ValueError, TypeError, OverflowError, NotImplementedError)
LARGEST = 2**52
OTHERS = TABLES | MODELS
KINDS = [
    "shared", "shared", "shared", "second alone", "second alone", "masked", "near number",
    "near miss", "near miss", "integer", "index", "counted", "narrowed", "truth", "scaled",
    *OTHERS,
]  # fmt: skip
# Of tables that computed integers index.
ROWS = (3, 4, 7, 10, 16, 40)


class Planter:
    """One pair: its inputs, conditions that hold at sample 0, and two programs."""

    def __init__(self, seed):
        self.random = random.Random(f"planted {seed}")
        self.seed = seed
        # Integers that wrap around are a gap of their own.
        self.may_wrap = self.random.random() < 0.05
        self.has_wrapped = False
        self.kind = self.random.choice(KINDS)
        self.tags = []
        # Of integers that index, which programs of one device do not state.
        self.ranges = {}
        self.draw = Given(seed)
        self.bench = Bench(self.draw)
        self.shape = self.random.choice(SHAPES)
        self.size = torch.Size(self.shape).numel()
        self.integers = []
        for name in "ijk"[: self.random.choice([1, 1, 1, 1, 2, 2, 2, 2, 3])]:
            dtype = self.random.choice(DTYPES)
            pattern = None
            if self.may_wrap or self.kind == "narrowed":
                # At what a type, or a narrower one, just holds.
                dtype = torch.int64 if self.kind == "narrowed" else dtype
                pattern = self.random.choice(["edges", "edges", "huge", "large"])
            self.draw.chosen[name] = choose_integers(self.random, dtype, self.shape, pattern)
            self.integers.append(self.bench.input(name, dtype, self.shape))
        generator = torch.Generator().manual_seed(zlib.crc32(f"floats {seed}".encode()))
        self.draw.chosen["x"] = self.floats(self.shape, generator)
        self.x = self.bench.input("x", torch.float32, self.shape)
        if self.random.random() < 0.15:
            # An input that is rounded, and an integer from then on.
            self.draw.chosen["y"] = 300 * self.floats(self.shape, generator)
            y = self.bench.input("y", torch.float32, self.shape)
            self.integers.append(call("cast", y, torch.int64))
        self.generator = generator
        # The element at which conditions of elements hold.
        self.place = tuple(self.random.randrange(size) for size in self.shape)

    @staticmethod
    def floats(shape, generator):
        normal = torch.randn(shape, generator=generator, dtype=torch.float64)
        return torch.where(normal.abs() < 0.01, 0.5, normal)

    def pick(self, elements):
        return self.random.choice(list(elements))

    def chance(self, probability):
        return self.random.random() < probability

    def tensor(self, term):
        return self.bench.tensor(term)

    def attempt(self, make):
        """What `make` gives, if PyTorch computes it and it does not wrap around."""
        for _ in range(20):
            try:
                term = make()
                if term is None:
                    continue
                tensor = self.tensor(term)
            except ERRORS:
                continue
            if is_integer(tensor) and tensor.numel() and int(tensor.abs().max()) > LARGEST:
                continue
            wrapped = any(wraps(self.bench, inner) for inner in term.inner_terms())
            if wrapped and not self.may_wrap:
                continue
            self.has_wrapped |= wrapped
            return term
        raise Skipped("no term came about")

    # Integers.

    def leaf(self):
        """An input, as an integer."""
        term = self.pick(self.integers)
        if is_truth(self.tensor(term)):
            return call("cast", term, self.pick([torch.int64, torch.int32]))
        return term

    def integer(self, depth=None):
        """An integer of the inputs' shape."""
        depth = self.pick([0, 1, 1, 2, 2, 3]) if depth is None else depth
        return self.attempt(lambda: self.try_integer(depth))

    def try_integer(self, depth):
        if depth == 0:
            return self.leaf()
        kind = self.random.random()
        if kind < 0.65:
            return self.unary(self.integer(depth - 1))
        if kind < 0.93:
            return self.binary(self.integer(depth - 1), self.integer(self.pick(range(depth))))
        chosen = self.comparison(depth - 1)
        return call("where", chosen, self.integer(depth - 1), self.integer(0))

    def unary(self, a):
        tensor = self.tensor(a)
        small = [2, 3, 4, 5, 7, 8, 10, 16, 17, 33, 64, 100, 101, 103, 127]
        large = [128, 256, 1000, 1009, 4096, 65536, 65521, 99991]
        info = torch.iinfo(tensor.dtype)
        numbers = [n for n in small + large if n < info.max]
        k = self.pick(numbers[:9] if self.chance(0.4) else numbers)
        shifts = [s for s in (1, 2, 3, 5, 8, 16) if s + 1 < info.bits]
        bits = self.random.randrange(1, min(info.max, 2**14))
        made = {
            "add_k": lambda: call("add_k", a, self.pick([1, -1, k, 17])),
            "mul_k": lambda: call("mul_k", a, self.pick([2, 3, -1, 7, k, 40503])),
            "floor_k": lambda: call("floor_k", a, k),
            "mod_k": lambda: call("mod_k", a, k),
            "fmod_k": lambda: call("fmod_k", a, k),
            "bits_xor_k": lambda: call("bits_xor_k", a, bits),
            "bits_or_k": lambda: call("bits_or_k", a, bits),
            "bits_and_k": lambda: call("bits_and_k", a, self.pick([1, 3, 15, info.max // 2, bits])),
            "left_k": lambda: call("left_k", a, self.pick(shifts)),
            "right_k": lambda: call("right_k", a, self.pick(shifts)),
            "neg": lambda: call("neg", a),
            "abs": lambda: call("abs", a),
            "bits_not": lambda: call("bits_not", a),
            "square": lambda: self.pick([call("square", a), call("mul", a, a)]),
            "cube": lambda: call("mul", call("mul", a, a), a),
            "triangle": lambda: call("floor_k", call("mul", a, call("add_k", a, 1)), 2),
            "narrow": lambda: self.narrow(a),
            "clamp": lambda: call("clamp", a, self.pick([-5, 0]), self.pick([k, 100])),
            "relu": lambda: call("relu", a),
            "sign": lambda: call("sign", call("sub_k", a, self.pick(tensor.flatten().tolist()))),
        }
        along = {
            "flip": lambda: call("flip", a, (len(self.shape) - 1,)),
            "cumsum": lambda: call("cumsum", a, len(self.shape) - 1),
            "sort": lambda: call("sort", a),
            "from positions": lambda: call("sub", a, call("positions", self.shape[-1])),
            "weighted": lambda: call("mul", a, call("positions", self.shape[-1])),
            "from the largest": lambda: call("sub", call("largest", a), a),
            "from the sum": lambda: call("sub", call("sum", a), a),
        }
        return self.pick((along if self.shape and self.chance(0.25) else made).values())()

    def narrow(self, a):
        """Cast to a narrower type and perhaps back."""
        cast = call("cast", a, self.pick([torch.int32, torch.int32, torch.int8, torch.uint8]))
        return call("cast", cast, torch.int64) if self.chance(0.6) else cast

    def binary(self, a, b):
        op = self.pick(
            ["add", "add", "sub", "sub", "mul", "max", "min", "bits_xor", "bits_and", "bits_or",
             "mod", "floor", "lookup"]
        )  # fmt: skip
        if op in ("mod", "floor"):
            return call(op, a, call("add_k", call("abs", b), 1))
        if op == "lookup":
            if len(self.shape) != 1:
                return None
            return call("take", a, call("cast", call("mod_k", b, self.shape[0]), torch.int64))
        return call(op, a, b)

    # Truth values.

    def comparison(self, depth):
        """One that need not hold at the chosen input."""
        a = self.integer(depth)
        value = int(self.pick(self.tensor(a).flatten().tolist()))
        op = self.pick(["eq_k", "lt_k", "ge_k", "ne_k"])
        return call(op, a, value + self.pick([0, 0, 1, -1, 5]))

    def at_place(self, term):
        return self.tensor(term)[self.place].item()

    def element_atom(self, depth=None):
        """A truth value that holds at the chosen input, at one element at least."""
        return self.attempt(lambda: self.try_element_atom(depth))

    def try_element_atom(self, depth):
        a = self.integer(depth)
        value = self.at_place(a)
        kind = self.random.random()
        if kind < 0.5:
            return call("eq_k", a, value)
        if kind < 0.6:
            width = self.pick([0, 1, 3])
            return call("and", call("ge_k", a, value), call("le_k", a, value + width))
        if kind < 0.66:
            return call(self.pick(["ge_k", "le_k"]), a, value)
        if kind < 0.72:
            return call("ne_k", a, value + self.pick([1, -1, 2]))
        if kind < 0.78:
            truths = [term for term in self.integers if is_truth(self.tensor(term))]
            if truths:
                truth = self.pick(truths)
                return truth if self.at_place(truth) else call("not", truth)
        b = self.integer(depth)
        distance = value - self.at_place(b)
        if distance == 0 or self.chance(0.15):
            op = "eq" if distance == 0 else ("lt" if distance < 0 else "gt")
            return call(op, a, b)
        return call("eq", a, call("add_k", b, distance))

    def whole_atom(self):
        """A truth value of all elements that holds at the chosen input."""
        return self.attempt(self.try_whole_atom)

    def try_whole_atom(self):
        a = self.integer(self.pick([0, 0, 1, 1, 2]))
        if not self.shape:
            return call("eq_k", a, self.at_place(a))
        tensor = self.tensor(a)
        if tensor.shape != self.shape:
            return None
        kinds = ["sum", "each", "far", "extreme", "any", "count", "last sum"]
        steps = tensor.diff() if len(self.shape) == 1 else torch.tensor([])
        if len(self.shape) == 1 and self.size > 1:
            kinds += ["order"]
            if bool((steps == steps[0]).all()):
                kinds += ["steps", "positions", "positions"] * 3
            ordered = tensor.sort().values
            if ordered[0] + self.size - 1 == ordered[-1] and bool((ordered.diff() == 1).all()):
                kinds += ["permutation"] * 4
            if torch.equal(tensor, tensor.flip(0)):
                kinds += ["palindrome"] * 3
        kind = self.pick(kinds)
        if kind == "sum":
            return call("eq_k", call("sum", a), int(tensor.sum()))
        if kind == "each":
            return self.each_element(a)
        if kind == "far":
            squares = call("square", call("sub", a, call("positions", self.shape[-1])))
            total = self.attempt(lambda: call("sum", squares))
            return call("eq_k", total, int(self.tensor(total)))
        if kind == "extreme":
            op = self.pick(["largest", "least"])
            return call("eq_k", call(op, a), int(tensor.max() if op == "largest" else tensor.min()))
        if kind == "any":
            return call("any", call("eq_k", a, self.at_place(a)))
        if kind == "count":
            is_equal = call("eq_k", a, self.at_place(a))
            return call("eq_k", call("sum", is_equal), int((tensor == self.at_place(a)).sum()))
        if kind == "last sum":
            total = self.attempt(lambda: call("sum", call("mul", a, self.pick([a, self.leaf()]))))
            return call("eq_k", total, int(self.tensor(total)))
        if kind == "order":
            if not bool((steps > 0).all()):
                return None
            later, sooner = call("slice", a, 0, 1, self.size), call("slice", a, 0, 0, self.size - 1)
            return call("all", call("gt", later, sooner))
        if kind == "steps":
            later, sooner = call("slice", a, 0, 1, self.size), call("slice", a, 0, 0, self.size - 1)
            return call("all", call("eq_k", call("sub", later, sooner), int(steps[0])))
        if kind == "positions":
            return call("all", call("eq", a, self.line(int(steps[0]), int(tensor[0]))))
        if kind == "permutation":
            return call("all", call("eq", call("sort", a), self.line(1, int(ordered[0]))))
        return call("all", call("eq", a, call("flip", a, (0,))))

    def line(self, slope, offset):
        """Positions, times a number, plus a number."""
        line = call("positions", self.shape[0])
        line = line if slope == 1 else call("mul_k", line, slope)
        return line if offset == 0 else call("add_k", line, offset)

    def each_element(self, a):
        """That some elements, or all, are what they are."""
        places = list(range(self.size))
        self.random.shuffle(places)
        flat = a if len(self.shape) == 1 else call("view", a, (self.size,))
        numbers = self.tensor(a).flatten().tolist()
        joined = None
        for place in places[: self.pick([1, 2, 3, 3, 4])]:
            atom = call("eq_k", call("select", flat, 0, place), numbers[place])
            joined = atom if joined is None else call("and", joined, atom)
        return joined

    def atoms(self):
        """Some that hold together at the chosen input."""
        count = self.pick([1, 1, 1, 2, 2, 3, 4])
        is_whole = self.chance(0.4)
        self.tags.append("of all elements" if is_whole else "of one element")
        if not is_whole:
            self.tags.append(f"{min(count, 3)} conditions")
            return [self.element_atom(self.pick([0, 1, 1, 2, 3])) for _ in range(count)]
        count = min(count, 2)
        self.tags.append(f"{count} conditions")
        return [self.whole_atom() for _ in range(count)]

    # Programs.

    def floats_of(self):
        """A float tensor of the inputs' shape."""
        kind = self.random.random()
        if kind < 0.6:
            return self.x
        if kind < 0.8:
            return call("mul_k", self.x, self.pick([0.5, 3.0]))
        return self.attempt(self.lookup)

    def table(self):
        """A table that integers index, and its number of rows."""
        if "t" not in self.draw.chosen:
            self.rows = self.pick(ROWS)
            self.draw.chosen["t"] = self.floats((self.rows,), self.generator)
            self.bench.input("t", torch.float32, (self.rows,))
        return call("input", "t")

    def lookup(self):
        table = self.table()
        index = call("cast", call("mod_k", self.integer(), self.rows), torch.int64)
        return call("take", table, index)

    def choose(self, atoms, chosen, other, join):
        """`chosen` where all atoms hold."""
        if join == "nested":
            for atom in atoms[::-1]:
                chosen = call("where", atom, chosen, other)
            return chosen
        if join == "product":
            weight = None
            for atom in atoms:
                factor = call("cast", atom, torch.float32)
                weight = factor if weight is None else call("mul", weight, factor)
            return call("add", other, call("mul", weight, call("sub", chosen, other)))
        return call("where", self.join(atoms, join), chosen, other)

    def join(self, atoms, join):
        joined = atoms[0]
        for atom in atoms[1:]:
            joined = call("bits_and" if join == "bits" else "and", joined, atom)
        return joined

    def make(self):
        kind = self.kind
        self.tags.append(kind)
        if kind in OTHERS:
            return OTHERS[kind](self)
        return getattr(self, "make_" + kind.replace(" ", "_"))()

    def payloads(self):
        """What is chosen where the conditions hold, twice, and what else."""
        base = self.floats_of()
        other = self.pick([call("mul_k", base, 0.0), base, call("mul_k", base, -1.0)])
        return call("mul_k", base, 2.0), call("mul_k", base, 3.0), other

    def draw_join(self):
        join = self.pick(["and", "and", "bits", "product", "product", "nested"])
        self.tags.append(f"joined by {join}")
        return join

    def make_shared(self):
        """Both programs decide; what they choose differs."""
        atoms, join = self.atoms(), self.draw_join()
        first, second, other = self.payloads()
        joins = ["and", "bits", "product", "nested"]
        return (
            self.choose(atoms, first, other, join),
            self.choose(atoms, first, other, self.pick(joins)),
            self.choose(atoms, second, other, join),
        )

    def make_second_alone(self):
        atoms, join = self.atoms(), self.draw_join()
        first, _, other = self.payloads()
        return call("mul_k", other, 1.0), self.choose(atoms, first, other, join)

    def make_masked(self):
        """One condition beside others, in the second program alone."""
        *atoms, last = [*self.atoms(), self.element_atom()]
        join = self.draw_join()
        first, _, other = self.payloads()
        both = [*atoms, call("not", last)]
        return self.choose(atoms, first, other, join), self.choose(both, first, other, join)

    def make_near_number(self):
        """One of the numbers that are compared is another."""
        *atoms, last = self.atoms()
        join = self.draw_join()
        first, _, other = self.payloads()
        changed = self.attempt(lambda: miss(self.bench, last, self.random))
        return (
            self.choose([*atoms, last], first, other, join),
            self.choose([*atoms, changed], first, other, join),
        )

    def make_near_miss(self):
        """An operator or a number of an integer is another."""
        a = self.integer(self.pick([1, 2, 3]))
        changed = self.attempt(lambda: miss(self.bench, a, self.random))
        if self.chance(0.3):
            return a, changed
        value = self.at_place(a)
        first, _, other = self.payloads()
        return (
            call("where", call("eq_k", a, value), first, other),
            call("where", call("eq_k", changed, value), first, other),
        )

    def make_integer(self):
        atoms = self.atoms()
        a, joined = self.integer(), self.join(atoms, "and")
        moved = call("add", a, call("cast", joined, torch.int64))
        return call("add_k", call("cast", a, torch.int64), 0), moved

    def make_index(self):
        table = self.table()
        index = call("cast", call("mod_k", self.integer(), self.rows), torch.int64)
        joined = self.join(self.atoms(), "and")
        moved = call("add", index, call("cast", joined, torch.int64))
        if self.chance(0.5):
            moved = call("where", joined, call("mod_k", call("add_k", index, 1), self.rows), index)
        else:
            moved = call("mod_k", moved, self.rows)
        return call("take", table, index), call("take", table, moved)

    def make_counted(self):
        atoms = self.atoms()
        last = call("not", self.element_atom())
        first, second = self.join(atoms, "and"), self.join([*atoms, last], "and")
        return call("sum", first), call("sum", second)

    def make_narrowed(self):
        """A cast to a narrower type, and back, of a number that it does not hold."""
        a = call("cast", self.attempt(lambda: self.try_integer(self.pick([0, 0, 1]))), torch.int64)
        narrow = call(
            "cast", call("cast", a, self.pick([torch.int32, torch.int8, torch.uint8])), torch.int64
        )
        if self.chance(0.5):
            return a, narrow
        first, _, other = self.payloads()
        value = self.at_place(narrow) if self.chance(0.5) else self.at_place(a)
        return tuple(
            call("where", call("eq_k", number, value), first, other) for number in (a, narrow)
        )

    def make_truth(self):
        """The outputs are truth values."""
        atoms = self.atoms()
        first = self.join(atoms[:-1], "and") if len(atoms) > 1 else self.element_atom()
        return first, self.join([first, call("not", atoms[-1])], "and")

    def make_scaled(self):
        atom = self.join(self.atoms(), "and")
        weight = call("cast", atom, torch.float32)
        first, second = (
            call("add_k", weight if k == 1 else call("mul_k", weight, k), 1) for k in (1, 2)
        )
        return call("mul", self.x, first), call("mul", self.x, second)


def make_pair(seed):
    """The pair of a seed."""
    for attempt in range(30):
        planter = Planter(f"{seed} {attempt}")
        is_equal = planter.chance(0.35)
        try:
            first, *equal, second = planter.make()
            if is_equal:
                if equal and planter.chance(0.7):
                    second = equal[0]
                else:
                    # The same twice, or spelled otherwise.
                    first = second = planter.pick([first, second])
                second = respell(
                    planter.bench, second, planter.random, planter.pick([0.0, 0.3, 0.8])
                )
            elif planter.chance(0.3):
                second = respell(planter.bench, second, planter.random)
            programs = [planter.bench.program(term) for term in (first, second)]
        except (Skipped, *ERRORS):
            continue
        outputs = [program.outputs[0] for program in programs]
        if outputs[0].dtype != outputs[1].dtype or outputs[0].shape != outputs[1].shape:
            continue
        if wraps_somewhere(planter, first, second) and not planter.may_wrap:
            continue
        try:
            samples = range(SAMPLES) if is_equal else [0]
            seen = get_difference(planter.bench, programs, samples)
        except Skipped:
            continue
        if not is_equal and seen is None:
            continue
        tags = list(planter.tags)
        count = sum(not t.is_floating_point() for t in planter.draw.chosen.values())
        tags.append(f"{count} integer inputs" if count > 1 else "1 integer input")
        if planter.has_wrapped:
            tags.append("wraps around")
        changes = [f"A: {first}", f"B: {second}", f"input: {planter.draw.describe()}"]
        kind = f"{planter.tags[0]}, equal" if is_equal else planter.tags[0]
        pair = Pair(seed, *programs, changes, seen is None, seen or "", kind, tags)
        pair.ranges = planter.ranges
        # The other checker as well, which compares the programs of ranks with one of one device.
        pair.is_refinement = bool(pair.ranges) or planter.chance(0.1)
        if pair.is_refinement:
            tags.append("as a reference and a rank")
        return pair
    raise Skipped("no pair came about")


def wraps_somewhere(planter, first, second):
    found = any(
        wraps(planter.bench, inner) for term in (first, second) for inner in term.inner_terms()
    )
    planter.has_wrapped |= found
    return found
