# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What programs are run on: numbers for their inputs, by sample.

A sample is a number. The first are plain random ones; later ones tell near misses
apart: ties, numbers at both sides of every number of the programs, tiny and large
ones. The same sample gives both programs of a pair the same inputs.
"""

import zlib

import torch

from pairs.programs import Size

KINDS = ("normal", "numbers", "small integers", "wide", "tiny", "positions", "sparse")


class Sampler:
    """Draws inputs; `numbers` are those that the two programs hold."""

    def __init__(self, seed):
        self.seed = seed
        self.integers = [0, 1]
        self.floats = [0.0, 1.0]

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

        for program in programs:
            for node in program.nodes():
                collect([*node.args, *node.kwargs.values()])
        # Programs compare multiples and quotients of what they are given.
        small = [number for number in sorted(integers) if 2 <= abs(number) < 1000][:12]
        computed = {n for a in small for b in small for n in (a * b, a // b) if abs(n) < 10000}
        self.integers = sorted(integers | computed)
        self.floats = sorted(number for number in floats | set(map(float, integers)) if abs(number) < 1e6)

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
        kind = KINDS[sample % len(KINDS)]
        if spec.dtype == torch.bool:
            # All or none of many is to occur as well.
            density = {"sparse": 0.05, "wide": 0.9, "tiny": 1 - 2**-7, "positions": 2**-7}.get(kind, 0.5)
            return torch.rand(shape, generator=generator) < density
        if not spec.dtype.is_floating_point:
            return self.integer(spec, shape, kind, generator)
        if kind == "small integers":
            return torch.randint(-3, 4, shape, generator=generator).double()
        normal = torch.randn(shape, generator=generator, dtype=torch.float64)
        if kind == "numbers":
            chosen = torch.tensor(self.floats, dtype=torch.float64)
            index = torch.randint(len(chosen), shape, generator=generator)
            near = torch.randint(0, 3, shape, generator=generator)
            width = torch.tensor([0.0, 1e-3, 1.0], dtype=torch.float64)[near]
            return chosen[index] + width * normal
        if kind == "wide":
            return 20 * normal
        if kind == "tiny":
            return 1e-3 * normal
        if kind == "positions":
            count = torch.arange(normal.numel(), dtype=torch.float64).reshape(normal.shape)
            return torch.sin(count + 0.1 * normal) + 1
        if kind == "sparse":
            return normal * (torch.rand(shape, generator=generator) < 0.1)
        return normal

    def integer(self, spec, shape, kind, generator):
        info = torch.iinfo(spec.dtype)
        is_index = spec.low is not None
        low, high = (spec.low, spec.high) if is_index else (max(info.min, -1000), min(info.max + 1, 1000))
        if kind in ("numbers", "positions", "tiny"):
            # At both sides of each number of the programs, and far away.
            near = {n + d for n in self.integers for d in (-1, 0, 1)} | {low, high - 1}
            least, most = (low, high - 1) if is_index else (info.min, info.max)
            pool = torch.tensor(sorted(n for n in near if least <= n <= most))
            drawn = pool[torch.randint(len(pool), shape, generator=generator)]
        elif kind == "small integers":
            low = max(low, -3)
            drawn = torch.randint(low, max(min(high, low + 7), low + 1), shape, generator=generator)
        else:
            drawn = torch.randint(low, high, shape, generator=generator)
        return drawn.to(spec.dtype)
