# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What programs are run on: numbers for their inputs, by sample.

A sample is a number. The first are plain random ones; later ones tell near misses
apart: ties, numbers at both sides of every number of the programs, tiny and large
ones. The same sample gives both programs of a pair the same inputs.
"""

import math
import zlib

import torch

from pairs.programs import Size

LARGE = 1e6
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne", "clamp")
KINDS = ("normal", "numbers", "small integers", "wide", "tiny", "positions", "sparse")
# For what the others rarely show: an element unlike all others of its tensor, sums of the
# programs' numbers, and numbers as large as those that masks hold.
RARE_KINDS = ("one apart", "sums", "large")
LARGE_KINDS = ("one apart", "large")
# So many samples find nearly all differences of two programs.
SAMPLES = len(KINDS) + 1
# Where the prover sees a difference that these do not show; "missing" are inputs that are
# no numbers, to programs that ask about it.
LATE_KINDS = (*KINDS, *RARE_KINDS, "missing")
MANY_SAMPLES = SAMPLES + 20 * len(LATE_KINDS)


def get_kind(seed, sample):
    """What a program's inputs are on a sample."""
    if sample < len(KINDS):
        return KINDS[sample]
    if sample < SAMPLES:
        return RARE_KINDS[seed % len(RARE_KINDS)]
    return LATE_KINDS[(sample - SAMPLES) % len(LATE_KINDS)]


class Sampler:
    """Draws inputs; `numbers` are those that the two programs hold."""

    def __init__(self, seed):
        self.seed = seed
        self.integers = [0, 1]
        self.floats = [0.0, 1.0]
        self.sums = [0, 1]
        self.large = [0.0, 1e9]
        # What floats are compared with.
        self.compared = [0.0]
        # Whether a program handles inputs that are no numbers.
        self.asks_for_nan = False

    def learn(self, programs):
        integers, floats = {0, 1}, {0.0, 1.0}

        def collect(argument):
            if isinstance(argument, bool):
                return
            if isinstance(argument, int):
                if abs(argument) < 2**31:
                    integers.add(argument)
            elif isinstance(argument, float):
                floats.add(argument)
            elif isinstance(argument, (list, tuple)):
                for element in argument:
                    collect(element)

        compared = {0.0}
        for program in programs:
            for node in program.nodes():
                collect([*node.args, *node.kwargs.values()])
                if node.target is not None and node.target.overloadpacket.__name__ in COMPARISONS:
                    compared |= {float(a) for a in node.args if isinstance(a, (int, float))}
        self.compared = sorted(compared)
        targets = {node.target for program in programs for node in program.nodes()}
        self.asks_for_nan = torch.ops.aten.isnan.default in targets
        # Programs compare multiples and quotients of what they are given.
        small = [number for number in sorted(integers) if 2 <= abs(number) < 1000][:12]
        computed = {n for a in small for b in small for n in (a * b, a // b) if abs(n) < 10000}
        self.integers = sorted(integers | computed)
        numbers = sorted(floats | set(map(float, integers)))
        self.floats = [number for number in numbers if abs(number) < LARGE]
        self.large = [number for number in numbers if abs(number) >= LARGE] or [-1e9, 1e9]
        few = sorted(self.floats, key=abs)[:40]
        self.sums = sorted({sum for a in few for b in few for sum in (a + b, a - b)})

    def __call__(self, pool, spec, sample):
        symbol = pool.symbol(sample)
        shape = [size.at(symbol) if isinstance(size, Size) else size for size in spec.shape]
        placements = dict(spec.placements)
        by_owner, tensors = {}, []
        for rank in pool.world:
            owner, cuts, whole = [], [], list(shape)
            for name, lists in pool.groups.items():
                members = next(members for members in lists if rank in members)
                place, placement = members.index(rank), placements.get(name, "varying")
                if placement.startswith("shard"):
                    dim = int(placement[6:-1])
                    whole[dim] *= len(members)
                    cuts.append((dim, len(members), place))
                elif placement != "replicated":
                    owner.append((name, place))
            key = (tuple(owner), tuple(whole))
            if key not in by_owner:
                by_owner[key] = self.tensor(spec, whole, owner, sample)
            cut_key = (key, tuple(cuts))
            if cut_key not in by_owner:
                tensor = by_owner[key]
                for dim, size, place in cuts:
                    tensor = tensor.chunk(size, dim)[place]
                by_owner[cut_key] = tensor.contiguous()
            tensors.append(by_owner[cut_key])
        return tensors

    def tensor(self, spec, shape, owner, sample):
        text = f"{self.seed} {spec.name} {owner} {sample}"
        generator = torch.Generator().manual_seed(zlib.crc32(text.encode()))
        kind = get_kind(self.seed, sample)
        if kind == "one apart" and math.prod(shape):
            return self.one_apart(spec, shape, generator)
        return self.tensor_of(kind, spec, shape, generator)

    def one_apart(self, spec, shape, generator):
        """All alike, at one side of a number, but one of the tensor, or of each row."""
        kinds = ("compared", "compared", "compared", "numbers", "sums", "large")
        kind = kinds[torch.randint(len(kinds), (), generator=generator)]
        first, other = self.tensor_of(kind, spec, [2], generator)
        if kind == "compared" and spec.dtype.is_floating_point:
            number = self.compared[torch.randint(len(self.compared), (), generator=generator)]
            sides = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)[
                torch.randperm(3, generator=generator)
            ]
            width = (1.0, 1e-3, max(1e-3, 1e-3 * abs(number)))[
                torch.randint(3, (), generator=generator)
            ]
            first, other = (number + width * sides[:2]).unbind()
        dim = torch.randint(len(shape) + 1, (), generator=generator).item()
        if dim == len(shape):
            is_other = torch.zeros(math.prod(shape), dtype=torch.bool)
            is_other[self.places([1], len(is_other), generator)] = True
        else:
            places = self.places([*shape[:dim], 1, *shape[dim + 1 :]], shape[dim], generator)
            is_other = torch.zeros(shape, dtype=torch.bool).scatter_(dim, places, True)
        return torch.where(is_other.reshape(shape), other, first)

    def places(self, shape, extent, generator):
        """Positions in a dim; half of the time where a program cuts it."""
        places = torch.randint(extent, shape, generator=generator)
        cuts = sorted({(n + d) % extent for n in self.integers for d in (-1, 0, 1)})
        if torch.rand((), generator=generator) < 0.5:
            return torch.tensor(cuts)[places % len(cuts)]
        return places

    def tensor_of(self, kind, spec, shape, generator):
        if spec.dtype == torch.bool:
            # All or none of many is to occur as well.
            density = {"sparse": 0.05, "wide": 0.9, "tiny": 1 - 2**-7, "positions": 2**-7}.get(
                kind, 0.5
            )
            return torch.rand(shape, generator=generator) < density
        if not spec.dtype.is_floating_point:
            return self.integer(spec, shape, kind, generator)
        if kind == "small integers":
            return torch.randint(-3, 4, shape, generator=generator).double()
        normal = torch.randn(shape, generator=generator, dtype=torch.float64)
        if kind in ("numbers", "sums", "large", "compared"):
            numbers = {"sums": self.sums, "large": self.large}.get(kind, self.floats)
            chosen = torch.tensor(numbers, dtype=torch.float64)
            index = torch.randint(len(chosen), shape, generator=generator)
            near = torch.randint(0, 3, shape, generator=generator)
            width = torch.tensor([0.0, 1e-3, 1.0], dtype=torch.float64)[near]
            # Scores, for example, are scaled before a mask with such numbers.
            factor = (
                2.0 ** torch.randint(-1, 6, (), generator=generator) if kind == "large" else 1.0
            )
            return factor * (chosen[index] + width * normal)
        if kind == "wide":
            return 20 * normal
        if kind == "tiny":
            return 1e-3 * normal
        if kind == "positions":
            count = torch.arange(normal.numel(), dtype=torch.float64).reshape(normal.shape)
            return torch.sin(count + 0.1 * normal) + 1
        if kind == "missing" and self.asks_for_nan:
            return normal.masked_fill_(torch.rand(shape, generator=generator) < 0.2, math.nan)
        if kind == "sparse":
            return normal * (torch.rand(shape, generator=generator) < 0.1)
        return normal

    def integer(self, spec, shape, kind, generator):
        info = torch.iinfo(spec.dtype)
        is_index = spec.low is not None
        low, high = (
            (spec.low, spec.high) if is_index else (max(info.min, -1000), min(info.max + 1, 1000))
        )
        if kind in ("numbers", "positions", "tiny", "sums", "compared"):
            # At both sides of each number of the programs, and far away.
            numbers = {int(n) for n in self.sums} if kind == "sums" else self.integers
            near = {n + d for n in numbers for d in (-1, 0, 1)} | {low, high - 1}
            least, most = (low, high - 1) if is_index else (info.min, info.max)
            pool = torch.tensor(sorted(n for n in near if least <= n <= most))
            drawn = pool[torch.randint(len(pool), shape, generator=generator)]
        elif kind == "small integers":
            low = max(low, -3)
            drawn = torch.randint(low, max(min(high, low + 7), low + 1), shape, generator=generator)
        else:
            drawn = torch.randint(low, high, shape, generator=generator)
        return drawn.to(spec.dtype)
