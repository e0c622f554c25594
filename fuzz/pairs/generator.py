# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Random programs: single operators of the whole vocabulary, and themes.

The functions of python/tests/random_operators/ choose operands and numbers for
each operator that the vocabulary reads; they are called here with sizes up to
some hundreds. Themes (themes.py) are structures that chance would not find.
"""

import random

import torch

import random_operators
from pairs import symbolic_themes, themes
from pairs.collectives import c10d
from pairs.programs import Builder, InputSpec, Pool, Program, Size, aten
from pairs.samples import Sampler

GROUP = "0"
LARGEST_TENSOR = 12000

# In place, or with dtypes that float64 does not stand for.
LEFT_OUT = {
    "_c10d_functional.all_reduce_.default",
    "_c10d_functional.broadcast_.default",
    "aten._scaled_mm.default",
    "aten.view.dtype",
    "aten.scaled_dot_product_attention.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_attention_math.default",
    # Kernels that trust their offsets and counts, which samples do not keep.
    "aten._grouped_mm.default",
    "transformers.grouped_mm_fallback.default",
    "transformers.grouped_mm_fallback_backward.default",
    "aten.repeat_interleave.Tensor",
    "aten.repeat_interleave.self_Tensor",
    # Their operands are sorted or probabilities, which samples are not.
    "aten.bucketize.Tensor",
    "aten.searchsorted.Tensor",
    "aten.binary_cross_entropy.default",
    # Splits into hundreds.
    "aten.unbind.int",
    "aten.split.Tensor",
}

WORLDS = [
    {"0": [[0, 1]]},
    {"0": [[0, 1]]},
    {"0": [[0, 1, 2]]},
    {"0": [[0, 1, 2, 3]]},
    {"0": [[2, 0, 3, 1]]},
    {"0": [list(range(8))]},
    {"0": [[0, 1], [2, 3]], "dp": [[0, 2], [1, 3]]},
    {"0": [[1, 0], [3, 2]], "dp": [[0, 2], [1, 3]]},
    {"0": [[0, 1, 2, 3]], "other": [[3, 1, 0, 2]]},
]
SIZES = [2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 33, 48, 64, 96, 100, 128, 256, 500, 512]
# Values of s0, one a sample in turn.
SYMBOL_VALUES = (6, 16, 10, 24, 32)


class Generator(Builder):
    """A program under construction, as random_operators/ asks for it."""

    def __init__(self, seed):
        chosen = random.Random(seed)
        groups = {name: [list(m) for m in lists] for name, lists in chosen.choice(WORLDS).items()}
        self.is_symbolic = chosen.random() < 0.1
        pool = Pool(groups, Sampler(seed), SYMBOL_VALUES if self.is_symbolic else (0,))
        super().__init__(pool)
        self.random = chosen
        self.world_size = len(groups[GROUP][0])
        self.generator = torch.Generator().manual_seed(seed)
        self.floats = chosen.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16])
        self.visible = []
        self.themes = themes.THEMES
        self.parameters, self.buffers = {}, {}

    # What random_operators/ asks of a program.

    def choice(self, elements):
        return self.random.choice(list(elements))

    def chance(self, probability):
        return self.random.random() < probability

    def size(self, largest=512):
        """Real sizes, one in three of them odd; now and then the symbol's."""
        sizes = [size for size in SIZES if size <= largest]
        if self.chance(0.2):
            return self.random.randint(1, max(1, min(largest, 40)))
        return self.choice(sizes or [1])

    def sizes(self, least=0, most=4):
        rank = self.random.randint(least, min(most, max(least, 3)))
        sizes, room = [], LARGEST_TENSOR
        for _ in range(rank):
            sizes.append(self.size(room))
            room //= max(1, sizes[-1])
        self.random.shuffle(sizes)
        return tuple(sizes)

    def placements(self, shape, kinds=("replicated", "varying", "shard")):
        result = {}
        for name in self.pool.groups:
            kind = self.choice(kinds)
            # Two orders of one set of ranks: shards of both would contradict.
            fixed = kind == "shard" and (not shape or "other" in self.pool.groups)
            if kind == "shard" and not fixed:
                kind = f"shard({self.random.randrange(len(shape))})"
            result[name] = "varying" if fixed else kind
        if "other" in result:
            result["other"] = result[GROUP]
        return tuple(sorted(result.items()))

    def indices(self, extent, shape, negative=False):
        """An input of integers that index an extent."""
        dtype = self.choice([torch.int64, torch.int64, torch.int32])
        return self.input(dtype, shape, low=0, high=extent)

    def input(self, dtype, shape, domain="any", tensors=None, low=None, high=None, kinds=None):
        if dtype.is_floating_point:
            dtype = self.floats
        name = f"in{len(self.pool.inputs)}"
        shape = tuple(shape)
        placements = self.placements(shape, kinds or ("replicated", "varying", "shard"))
        value = self.pool.input(InputSpec(name, dtype, shape, placements, low, high))
        self.add(value.node)
        if (
            self.chance(0.1)
            and dtype.is_floating_point
            and not any(isinstance(s, Size) for s in shape)
        ):
            self.choice([self.parameters, self.buffers])[name] = f"state.{name}"
        self.visible.append(value)
        if domain in ("positive", "nonzero"):
            return self.positive(value)
        return value

    def positive(self, value):
        if not value.is_float:
            return self.call(
                aten.clamp.default, self.call(aten.abs.default, value), 1, 7, exact=True
            )
        square = self.call(aten.mul.Tensor, value, value)
        return self.call(aten.add.Tensor, square, 0.5)

    def operand(
        self, dtypes=None, shape=None, least=0, most=4, domain="any", exact=False, fits=None
    ):
        dtypes = [self.floats] if dtypes is None else list(dtypes)
        if any(dtype.is_floating_point for dtype in dtypes):
            dtypes = [self.floats] + [d for d in dtypes if not d.is_floating_point]
        found = [
            value
            for value in self.visible
            if not value.private
            and value.dtype in dtypes
            and (shape is None or value.shape == tuple(shape))
            and least <= value.rank <= most
            and (value.exact or not exact)
            and (fits is None or fits(value))
        ]
        if found and self.chance(0.8):
            value = self.choice(found[-6:])
        else:
            sizes = self.sizes(least, most) if shape is None else tuple(shape)
            weights = [4 if d.is_floating_point else 1 for d in dtypes]
            value = self.input(self.random.choices(dtypes, weights)[0], sizes)
        if domain in ("positive", "nonzero"):
            return self.positive(value)
        return value

    def partner(self, value, domain="any", exact=False, dtypes=None):
        shape = [1 if self.chance(0.15) else size for size in value.shape]
        if self.chance(0.15):
            shape = shape[self.random.randint(0, len(shape)) :]
        return self.operand(dtypes or [value.dtype], shape, domain=domain, exact=exact)

    def dim(self, value):
        dim = self.random.randrange(value.rank)
        return dim - value.rank if self.chance(0.3) else dim

    def publish(self, values):
        for value in values:
            numel = value.tensors[0].numel()
            if (
                0 < numel <= 4 * LARGEST_TENSOR
                and value.tensors[0].isfinite().all()
                and (not value.is_float or value.tensors[0].abs().max() < 1e4)
            ):
                self.visible.append(value)

    # Steps.

    def step(self):
        before = len(self.items)
        if self.is_symbolic:
            self.theme(self.choice(symbolic_themes.THEMES))
        elif self.chance(0.45 if self.themes is themes.THEMES else 0.85):
            self.theme(self.choice(self.themes))
        else:
            name = self.choice(OPERATORS)
            random_operators.OPERATORS[name](self)
        for item in self.items[before:]:
            if hasattr(item, "results"):
                self.publish(item.results)
            elif item.target is not None and item.target not in STARTED:
                self.publish(item.values)

    def theme(self, theme):
        drawn = theme.draw(self)
        if drawn is None:
            return
        operands, parameters = drawn
        self.macro(theme, parameters, operands, self.random.randrange(theme.spellings))

    def finish(self):
        """Outputs: what nobody reads, and some of what somebody does."""
        read = set()
        for item in self.items:
            for node in item.nodes if hasattr(item, "results") else [item]:
                read.update(value.index for value in node.operands)
        computed = [value for value in self.visible if value.node.target is not None]
        outputs = [
            value
            for value in computed
            if not value.private and (value.index not in read or self.chance(0.2))
        ]
        outputs = list(dict.fromkeys(outputs))[-5:]
        if not outputs:
            outputs = [self.call(aten.neg.default, self.operand([self.floats], least=1))]
        # Every group appears in both programs, whatever a mutation does.
        for name in self.pool.groups:
            anchor = self.operand([self.floats], shape=(3,))
            outputs.append(self.collective("all_reduce", anchor, "sum", name))
        outputs = [self.dense(value) for value in outputs]
        constants = [3, True, None][: self.random.choice([0, 0, 0, 1, 2])]
        mutations = {}
        if self.buffers and self.chance(0.5):
            name = self.choice(self.buffers)
            mutations = {
                index: self.buffers[name]
                for index, value in enumerate(outputs)
                if value.shape == self.pool.inputs[name].values[0].shape and value.is_float
            }
            mutations = dict(list(mutations.items())[:1])
        # PyTorch puts them first.
        order = sorted(range(len(outputs)), key=lambda index: index not in mutations)
        mutations = {order.index(index): buffer for index, buffer in mutations.items()}
        return Program(
            self.pool, self.items, [outputs[index] for index in order], constants,
            self.parameters, self.buffers, mutations, self.pool.groups,
        )  # fmt: skip


OPERATORS = [name for name in random_operators.OPERATORS if name not in LEFT_OUT]
# Read by the wait alone.
STARTED = {
    getattr(c10d, name).default
    for name in (
        "all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single",
        "broadcast", "all_reduce_coalesced", "all_gather_into_tensor_coalesced",
        "reduce_scatter_tensor_coalesced",
    )
}  # fmt: skip


# What passes work on.
COLLECTIVE_THEMES = {
    "all_reduce", "gather_along", "scatter_along", "sequence_parallel", "linear", "exchange_twice",
    "rms_norm", "piece",
}  # fmt: skip


def generate(seed, collectives=False):
    """The program of a seed; one with many collectives on demand."""
    p = Generator(seed)
    if collectives:
        chosen = [theme for theme in themes.THEMES if theme.name in COLLECTIVE_THEMES]
        p.themes = chosen + p.random.sample(themes.THEMES, 4)
    for _ in range(p.random.randint(2, 6)):
        try:
            p.step()
        except (RuntimeError, IndexError, NotImplementedError, ValueError, TypeError):
            # A choice that PyTorch refuses; what came of it is not read.
            p.items += p.macro_nodes or []
            p.macro_nodes = None
    return p.finish()
