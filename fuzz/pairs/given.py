# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Inputs that are given: one that was chosen, and many others beside it."""

import random
import zlib

import torch

# How the integers of a chosen input look: none of it comes from a program.
PATTERNS = [
    "few", "few", "hundreds", "hundreds", "thousands", "thousands", "large", "negative", "positions",
    "positions", "line", "permutation", "constant", "palindrome", "increasing", "digits", "bytes", "huge",
]  # fmt: skip


def choose_integers(chosen: random.Random, dtype, shape, pattern=None):
    """The integers of one input; of a pattern, or of any."""
    count = torch.Size(shape).numel()
    if dtype == torch.bool:
        return torch.tensor([chosen.random() < 0.5 for _ in range(count)]).reshape(shape)
    info = torch.iinfo(dtype)
    if pattern == "edges":
        edges = [
            e for b in (7, 8, 15, 16, 31, 32, info.bits - 1) for e in (-(2**b), 2**b - 1, 2**b)
        ]
        numbers = [chosen.choice(edges) + chosen.randrange(-2, 3) for _ in range(count)]
    else:
        numbers = _numbers(chosen, pattern or chosen.choice(PATTERNS), count)
    width = info.max - info.min + 1
    # Into the type: wrapped where it is narrow.
    numbers = [(n - info.min) % width + info.min for n in numbers]
    return torch.tensor(numbers, dtype=dtype).reshape(shape)


def _numbers(chosen, pattern, count):
    def many(low, high):
        return [chosen.randrange(low, high) for _ in range(count)]

    if pattern == "few":
        return many(0, 12)
    if pattern == "hundreds":
        return many(0, 1000)
    if pattern == "thousands":
        return many(0, 100000)
    if pattern == "large":
        return many(0, 2**31)
    if pattern == "huge":
        return many(-(2**44), 2**44)
    if pattern == "negative":
        return many(-1000, 0)
    if pattern == "bytes":
        return many(0, 256)
    if pattern == "digits":
        return [31415926535897932384 // 10 ** (19 - i % 20) % 10 for i in range(count)]
    if pattern == "positions":
        return list(range(count))
    if pattern == "line":
        start, step = chosen.randrange(0, 500), chosen.choice([-3, -1, 1, 1, 2, 5, 16])
        return [start + step * i for i in range(count)]
    if pattern == "permutation":
        start = chosen.choice([0, 0, 1, 100])
        return chosen.sample(range(start, start + count), count)
    if pattern == "constant":
        return [chosen.randrange(0, 2000)] * count
    if pattern == "palindrome":
        numbers = many(0, 300)
        return [numbers[min(i, count - 1 - i)] for i in range(count)]
    return sorted(many(0, 5000))


class Given:
    """Draws inputs for a pool; sample 0 is the chosen one."""

    def __init__(self, seed):
        self.seed = seed
        self.chosen = {}

    def __call__(self, pool, spec, sample):
        tensor = self.tensor(spec, sample)
        return [tensor for _ in pool.world]

    def tensor(self, spec, sample):
        known = self.chosen[spec.name]
        if sample == 0:
            return known
        chosen = random.Random(zlib.crc32(f"{self.seed} {spec.name} {sample}".encode()))
        generator = torch.Generator().manual_seed(chosen.randrange(2**31))
        if known.is_floating_point():
            normal = torch.randn(known.shape, generator=generator, dtype=torch.float64)
            # As wide as the chosen one, which may be rounded to integers.
            wide = known.abs().max() if known.numel() and chosen.random() < 0.5 else 1.0
            return normal * wide
        if spec.high is not None:
            drawn = torch.randint(spec.low, spec.high, known.shape, generator=generator)
            is_known = torch.rand(known.shape, generator=generator) < chosen.choice([0.0, 0.5, 0.9])
            return torch.where(is_known, known, drawn)
        kind = chosen.choice(["anew", "near", "moved", "mixed", "any", "alike"])
        if known.dtype == torch.bool or kind == "anew":
            return choose_integers(chosen, known.dtype, known.shape)
        info = torch.iinfo(known.dtype)
        if kind == "near":
            delta = torch.randint(-1, 2, known.shape, generator=generator)
            return (known.long() + delta).clamp(info.min, info.max).to(known.dtype)
        if kind == "moved":
            moved = known.clone().flatten()
            place = chosen.randrange(max(1, moved.numel()))
            number = int(moved[place]) + chosen.choice([-1, 1, 7])
            moved[place] = max(info.min, min(info.max, number))
            return moved.reshape(known.shape)
        if kind == "mixed":
            index = torch.randint(known.numel(), known.shape, generator=generator)
            return known.flatten()[index]
        if kind == "alike":
            return torch.full_like(known, int(known.flatten()[chosen.randrange(known.numel())]))
        low, high = max(info.min, -(2**31)), min(info.max, 2**31 - 1)
        return torch.randint(low, high + 1, known.shape, generator=generator).to(known.dtype)

    def describe(self):
        return ", ".join(f"{name} = {tensor.tolist()}" for name, tensor in self.chosen.items())
