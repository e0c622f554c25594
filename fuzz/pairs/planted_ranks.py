# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs of ranks that compute what one device does, but at one input of many.

As in planted.py, the integers come first and a condition is made that holds there. What
the ranks compute together is computed in one program, in which a rank's block is a slice
and an all-reduce a sum.
"""

import torch

from pairs.given import Given
from pairs.planted import ERRORS, SAMPLES, Planter
from pairs.terms import Bench, RankBench, call
from pairs.verdicts import Pair, Skipped, get_difference

KINDS = ["vocabulary", "vocabulary", "not reduced", "scaled", "counted"]


class RankPlanter(Planter):
    def __init__(self, seed):
        super().__init__(seed)
        self.kind = self.pick(KINDS)
        self.count = self.pick([2, 2, 3, 4])
        # Input -> dim that is cut into blocks.
        self.shards = {}

    def ranks(self):
        return range(self.count)

    def block(self, term, rank):
        return call("shard", term, self.shards[term.numbers[0]], rank, self.count)

    def drawn(self, name, *sizes, dim):
        self.draw.chosen[name] = self.floats(sizes, self.generator)
        self.shards[name] = dim
        return self.bench.input(name, torch.float32, sizes)

    def make(self):
        self.tags.append(self.kind)
        return getattr(self, "make_" + self.kind.replace(" ", "_"))()

    def make_vocabulary(self):
        """A table in blocks; some integers are looked up on no rank, or another row is."""
        block = self.pick([5, 12, 50, 1000, 4096])
        size = block * self.count
        numbers = [self.random.randrange(size) for _ in range(self.size)]
        self.draw.chosen["ids"] = torch.tensor(numbers).reshape(self.shape)
        ids = self.bench.input("ids", torch.int64, self.shape, 0, size)
        self.ranges["ids"] = [0, size]
        table = self.drawn("t", size, dim=0)
        self.integers = [ids]
        atom = self.element_atom(self.pick([0, 1, 1, 2, 3]))
        fault = self.pick(["a number lost", "a number moved"])
        self.tags.append(fault)
        guilty = self.at_place(ids) // block

        def program(fault):
            parts = []
            for rank in self.ranks():
                low = rank * block
                is_here = call("and", call("ge_k", ids, low), call("lt_k", ids, low + block))
                local = call("where", is_here, call("sub_k", ids, low), call("mul_k", ids, 0))
                if fault == "a number lost":
                    is_here = call("and", is_here, call("not", atom))
                if fault == "a number moved" and rank == guilty:
                    moved = call("mod_k", call("add_k", local, 1), block)
                    local = call("where", atom, moved, local)
                row = call("take", self.block(table, rank), local)
                parts.append(call("where", is_here, row, call("mul_k", row, 0.0)))
            return [call("all_reduce", *parts)] * self.count

        return call("take", table, ids), program(""), program(fault)

    def product(self):
        """A product of matrices: of one device, and of the ranks before they add."""
        inner = self.count * self.pick([2, 4])
        a, b = self.drawn("a", 3, inner, dim=1), self.drawn("b", inner, 2, dim=0)
        parts = [call("mm", self.block(a, rank), self.block(b, rank)) for rank in self.ranks()]
        return call("mm", a, b), parts

    def decision(self):
        """A truth value of all integers that holds at the chosen ones."""
        atoms = [self.whole_atom() for _ in range(self.pick([1, 1, 2]))]
        return self.join(atoms, "and")

    def make_not_reduced(self):
        """Where the decision falls, a rank takes its own summand for the sum."""
        chosen = self.decision()
        whole, parts = self.product()
        total = call("all_reduce", *parts)
        factor = self.pick([0.0, 1.0, -1.0])
        other, others = call("mul_k", whole, factor), call("mul_k", total, factor)
        return (
            call("where", chosen, whole, other),
            [call("where", chosen, total, others)] * self.count,
            [call("where", chosen, part, others) for part in parts],
        )

    def make_scaled(self):
        """Where the decision falls, one rank's summand counts twice."""
        chosen = self.decision()
        whole, parts = self.product()
        guilty = self.pick(self.ranks())
        wrong = list(parts)
        wrong[guilty] = call("where", chosen, call("mul_k", parts[guilty], 2.0), parts[guilty])
        rights, wrongs = (call("all_reduce", *summands) for summands in (parts, wrong))
        return whole, [rights] * self.count, [wrongs] * self.count

    def make_counted(self):
        """Integers in blocks are counted together; the ranks then choose otherwise."""
        length = self.count * self.pick([1, 2, 4])
        numbers = [self.random.randrange(self.pick([4, 300])) for _ in range(length)]
        self.draw.chosen["ids"] = torch.tensor(numbers)
        ids = self.bench.input("ids", torch.int64, (length,))
        self.shards["ids"] = 0
        number = self.pick(numbers)
        count = numbers.count(number)
        blocks = [self.block(ids, rank) for rank in self.ranks()]
        if self.chance(0.5):
            whole = call("sum", call("eq_k", ids, number))
            total = call("all_reduce", *(call("sum", call("eq_k", b, number)) for b in blocks))
        else:
            count = sum(n * n for n in numbers)
            whole = call("sum", call("mul", ids, ids))
            total = call("all_reduce", *(call("sum", call("mul", b, b)) for b in blocks))
        first, second, other = self.payloads()
        return (
            call("where", call("eq_k", whole, count), first, other),
            [call("where", call("eq_k", total, count), first, other)] * self.count,
            [call("where", call("eq_k", total, count), second, other)] * self.count,
        )

    def rank_program(self, term, rank):
        """The rank's own program."""
        draw = Given(self.seed)
        for name, tensor in self.draw.chosen.items():
            dim = self.shards.get(name)
            draw.chosen[name] = tensor if dim is None else tensor.chunk(self.count, dim)[rank]
        bench = RankBench(draw, rank, self.count)
        for name, node in self.bench.pool.inputs.items():
            dim = self.shards.get(name)
            placement = "replicated" if dim is None else f"shard({dim})"
            shape = draw.chosen[name].shape
            bench.input(name, node.spec.dtype, shape, node.spec.low, node.spec.high, placement)
        return bench.program(term)


def make_pair(seed):
    """The pair of a seed: a program of one device, and those of ranks."""
    for attempt in range(30):
        planter = RankPlanter(f"ranks {seed} {attempt}")
        is_equal = planter.chance(0.35)
        try:
            first, right, wrong = planter.make()
            ranks = right if is_equal else wrong
            together = [planter.bench.program(first), planter.bench.program(*ranks)]
            # Each rank's output is that of the reference.
            together[0].outputs *= planter.count
            seen = get_difference(planter.bench, together, [0])
            if not is_equal and seen is None:
                continue
            if is_equal:
                seen = get_difference(planter.bench, together, range(SAMPLES))
            programs = [planter.rank_program(term, rank) for rank, term in enumerate(ranks)]
        except (Skipped, *ERRORS):
            continue
        if planter.has_wrapped and not planter.may_wrap:
            continue
        kind = f"{planter.tags[0]}, equal" if is_equal else planter.tags[0]
        changes = [f"reference: {first}"]
        changes += [f"rank {rank}: {term}" for rank, term in enumerate(ranks)]
        changes.append(f"input: {planter.draw.describe()}")
        reference = Bench(planter.draw)
        for name, node in planter.bench.pool.inputs.items():
            reference.input(name, node.spec.dtype, planter.draw.chosen[name].shape)
        pair = Pair(
            seed, reference.program(first), programs[0], changes, seen is None, seen or "", kind,
            planter.tags[1:],
        )  # fmt: skip
        pair.is_refinement, pair.ranges = True, planter.ranges
        pair.others, pair.shards = programs[1:], planter.shards
        return pair
    raise Skipped("no pair came about")
