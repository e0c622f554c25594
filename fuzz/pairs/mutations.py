# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""One fault, planted into a program: a number, an operand, a function, a group...

A mutation changes one call, or the program's signature. It need not change what
the program computes: that is for the judge to say.
"""

import torch

from pairs.collectives import COLLECTIVES, c10d
from pairs.programs import FUNCTIONS, RANDOM, Program, Size, Value, aten, replay, substitute

COMPARISONS = {
    getattr(getattr(aten, name), overload)
    for name in ("lt", "le", "gt", "ge", "eq", "ne")
    for overload in ("Tensor", "Scalar")
}
NORMS = {
    aten.rms_norm.default, aten._fused_rms_norm.default, aten.layer_norm.default,
    aten.native_layer_norm.default,
}  # fmt: skip
# Kernels that read beyond operands of other shapes than they expect.
TRUSTING = {aten._scaled_dot_product_flash_attention_for_cpu_backward.default}
FAMILIES = [
    [aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor],
    [aten.add.Scalar, aten.sub.Scalar, aten.mul.Scalar, aten.rsub.Scalar],
    [aten.maximum.default, aten.minimum.default, aten.add.Tensor],
    [
        aten.lt.Tensor,
        aten.le.Tensor,
        aten.gt.Tensor,
        aten.ge.Tensor,
        aten.eq.Tensor,
        aten.ne.Tensor,
    ],
    [
        aten.lt.Scalar,
        aten.le.Scalar,
        aten.gt.Scalar,
        aten.ge.Scalar,
        aten.eq.Scalar,
        aten.ne.Scalar,
    ],
    [aten.tril.default, aten.triu.default],
    [aten.sum.dim_IntList, aten.mean.dim, aten.amax.default, aten.amin.default],
    [aten.sum.default, aten.mean.default],
    [aten.any.dim, aten.all.dim],
    [aten.logical_and.default, aten.logical_or.default],
    [aten.bitwise_and.Tensor, aten.bitwise_or.Tensor, aten.bitwise_xor.Tensor],
    [
        aten.bitwise_and.Scalar,
        aten.bitwise_or.Scalar,
        aten.remainder.Scalar,
        aten.floor_divide.default,
    ],
    [aten.floor.default, aten.ceil.default, aten.round.default],
    [aten.ones.default, aten.zeros.default],
    [aten.new_ones.default, aten.new_zeros.default],
    [aten.ones_like.default, aten.zeros_like.default],
    [aten.rand_like.default, aten.randn_like.default],
    [aten.softmax.int, aten.log_softmax.int],
    FUNCTIONS,
]
UNREAD = object()


def _others(target):
    return [other for family in FAMILIES if target in family for other in family if other != target]


class Mutator:
    """Plants one fault of a random kind at a random call."""

    def __init__(self, program, random):
        self.program = program
        self.random = random
        self.live = [node for node in program.live_nodes() if node.target is not None]
        self.values = [value for node in program.live_nodes() for value in node.values]

    def mutate(self, attempts=8):
        """The faulty program and what was done, or None."""
        for _ in range(attempts):
            if self.random.random() < 0.06:
                return self.signature()
            kind = self.random.choices(list(KINDS), [KINDS[kind] for kind in KINDS])[0]
            planted = self.plant(kind)
            if planted is not None:
                return planted
        return None

    def plant(self, kind):
        if not self.live:
            return None
        candidates = [node for node in self.live if getattr(self, f"fits_{kind}", bool)(node)]
        if not candidates:
            return None
        place = self.random.choice(candidates)
        said = []

        def on_node(builder, node, args, kwargs):
            if node is not place:
                return None
            results, text = getattr(self, kind)(builder, node, args, kwargs)
            if results is None:
                raise UnfitError(text)
            said.append(f"{kind}: {node.target}: {text}")
            return results

        try:
            result = replay(self.program, on_node)
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, UnfitError):
            return None
        if not said or [v.shape for v in result.outputs] != [v.shape for v in self.program.outputs]:
            return None
        if [v.dtype for v in result.outputs] != [v.dtype for v in self.program.outputs]:
            return None
        result.outputs = self.dense(result)
        return result, said[0]

    def dense(self, program):
        """Other strides would be a difference of their own."""
        from pairs.programs import Builder

        builder = Builder(program.pool)
        builder.known = set(program.nodes())
        builder.items = program.items
        return [builder.dense(value) for value in program.outputs]

    # Numbers.

    def fits_numbers(self, node):
        return node.target not in RANDOM and bool(_numbers(node))

    def numbers(self, builder, node, args, kwargs):
        place = self.random.choice(_numbers(node))
        old = _at(args, kwargs, place)
        new = self.other_number(old)
        if node.target in COMPARISONS and isinstance(old, float) and abs(new - old) < 1e-2:
            # Samples do not hit the numbers between.
            new = old + 1
        args, kwargs = _replace(args, kwargs, place, new)
        return builder.call(node.target, *args, **kwargs), f"{old} -> {new}"

    def other_number(self, old):
        if isinstance(old, bool):
            return not old
        if isinstance(old, Size):
            return self.random.choice([Size(old.factor, old.offset - 1), old.at(6)])
        if isinstance(old, int):
            near = [old + 1, old - 1, old + 1, old - 1, -old, 2 * old, old + 7, 0, old // 2]
            return self.random.choice([n for n in near if n != old])
        near = [-old, old * 2, old + 1, old * (1 + 2**-18), old + 1e-4, 0.0, old / 3, 1e30, -3.4e38]
        near += [2.0**61 * old, old + 2.0**61 - 1] if self.random.random() < 0.2 else []
        return self.random.choice([n for n in near if n != old])

    # Operands.

    def fits_operand(self, node):
        return any(isinstance(a, Value) for a in node.args)

    def operand(self, builder, node, args, kwargs):
        places = [i for i, a in enumerate(args) if isinstance(a, Value)]
        place = self.random.choice(places)
        old = args[place]
        earlier = [
            value
            for value in self.values
            if value.node.id < node.id
            and value.node in builder.known
            and value is not old
            and value.shape == old.shape
            and value.dtype == old.dtype
        ]
        if not earlier:
            return None, ""
        new = self.random.choice(earlier)
        args = list(args)
        args[place] = new
        return builder.call(
            node.target, *args, **kwargs
        ), f"operand {place}: {old.name} -> {new.name}"

    def fits_swap(self, node):
        return sum(isinstance(a, Value) for a in node.args) >= 2

    def swap(self, builder, node, args, kwargs):
        places = [i for i, a in enumerate(args) if isinstance(a, Value)]
        first, second = self.random.sample(places, 2)
        if node.target in TRUSTING and args[first].shape != args[second].shape:
            return None, ""
        args = list(args)
        args[first], args[second] = args[second], args[first]
        return builder.call(node.target, *args, **kwargs), f"operands {first} and {second} swapped"

    # Lists of operands: order of blocks.

    def fits_order(self, node):
        return bool(node.args) and isinstance(node.args[0], (list, tuple)) and len(node.args[0]) > 1 and all(
            isinstance(v, Value) for v in node.args[0]
        )  # fmt: skip

    def order(self, builder, node, args, kwargs):
        values = list(args[0])
        first, second = self.random.sample(range(len(values)), 2)
        if self.random.random() < 0.5:
            values[first], values[second] = values[second], values[first]
            text = f"{first} and {second} swapped"
        else:
            values[first] = values[second]
            text = f"{second} in place of {first}"
        return builder.call(node.target, values, *args[1:], **kwargs), text

    def fits_pick(self, node):
        return len(node.values) > 1

    def pick(self, builder, node, args, kwargs):
        """Another result of the same call."""
        results = builder.call(node.target, *args, **kwargs)
        results = list(results)
        first, second = self.random.sample(range(len(results)), 2)
        results[first], results[second] = results[second], results[first]
        return results, f"results {first} and {second} swapped"

    # Functions.

    def fits_function(self, node):
        return bool(_others(node.target))

    def function(self, builder, node, args, kwargs):
        other = self.random.choice(_others(node.target))
        return builder.call(other, *args, **kwargs), str(other)

    def fits_bypass(self, node):
        # What a fresh copy is for is the memory: detach_ raises an error for some inputs.
        if node.target in RANDOM or node.target is aten.lift_fresh_copy.default:
            return False
        return bool(node.args) and isinstance(node.args[0], Value)

    def bypass(self, builder, node, args, kwargs):
        """An operand in place of the result."""
        if args[0].shape != node.values[0].shape or args[0].dtype != node.values[0].dtype:
            return None, ""
        return args[0], "left out"

    def twice(self, builder, node, args, kwargs):
        if args[0].shape != node.values[0].shape or args[0].dtype != node.values[0].dtype:
            return None, ""
        once = builder.call(node.target, *args, **kwargs)
        if node.target in COLLECTIVES:
            once = builder.wait(once)
        return builder.call(node.target, once, *args[1:], **kwargs), "applied twice"

    fits_twice = fits_bypass

    def scale(self, builder, node, args, kwargs):
        """The result, and a little more."""
        result = builder.call(node.target, *args, **kwargs)
        if isinstance(result, list) or result.dtype == torch.bool or node.target in COLLECTIVES:
            return None, ""
        kind = self.random.choice(["neg", "plus", "times", "strided", "rolled", "reversed"])
        if kind == "neg":
            return builder.call(aten.neg.default, result), "negated"
        if kind == "plus":
            return builder.call(aten.add.Scalar, result, 1), "one more"
        if kind == "times":
            return builder.call(aten.mul.Scalar, result, 2), "doubled"
        dims = [d for d, size in enumerate(result.shape) if size >= 3]
        if not dims:
            return None, ""
        dim = self.random.choice(dims)
        size = result.shape[dim]
        if kind == "rolled" or size % 2:
            cut = self.random.choice([1, size // 2, size - 1])
            parts = [(cut, size, 1), (0, cut, 1)]
        elif kind == "strided":
            parts = [(0, size, 2), (1, size, 2)]
        else:
            parts = [(size // 2, size, 1), (0, size // 2, 1)]
        pieces = [builder.call(aten.slice.Tensor, result, dim, *part) for part in parts]
        return builder.dense(builder.call(aten.cat.default, pieces, dim)), f"{kind} along {dim}"

    # Places where one element differs.

    def element(self, builder, node, args, kwargs):
        """One row is another one."""
        result = builder.call(node.target, *args, **kwargs)
        if isinstance(result, list) or node.target in COLLECTIVES or not result.rank:
            return None, ""
        dim = self.random.randrange(result.rank)
        size = result.shape[dim]
        if size < 3:
            return None, ""
        place = self.random.choice([0, 1, size - 2, size - 1, self.random.randrange(size)])
        other = self.random.choice(
            [p for p in (place - 1, place + 1, 0) if 0 <= p < size and p != place]
        )
        parts = [(0, place), (other, other + 1), (place + 1, size)]
        pieces = [builder.call(aten.slice.Tensor, result, dim, *p) for p in parts if p[0] < p[1]]
        joined = builder.call(aten.cat.default, pieces, dim)
        return builder.dense(joined), f"row {place} of dim {dim} is row {other}"

    # Types.

    def fits_type(self, node):
        return any(
            isinstance(a, torch.dtype) and not a.is_floating_point
            for a in [*node.args, *node.kwargs.values()]
        )

    def type(self, builder, node, args, kwargs):
        """Through a narrower integer, or another type, and back."""
        result = builder.call(node.target, *args, **kwargs)
        narrow = self.random.choice([torch.uint8, torch.int8, torch.bool, torch.int32])
        if result.dtype == narrow:
            return None, ""
        changed = builder.call(aten.to.dtype, result, narrow, exact=True)
        return builder.call(aten.to.dtype, changed, result.dtype, exact=True), f"through {narrow}"

    # Collectives.

    def fits_collective(self, node):
        return node.target in COLLECTIVES

    def collective(self, builder, node, args, kwargs):
        strings = [i for i, a in enumerate(args) if isinstance(a, str)]
        place = self.random.choice(strings)
        args = list(args)
        old = args[place]
        if place == len(args) - 1:
            others = [name for name in builder.pool.groups if name != old]
        else:
            others = [name for name in ("sum", "avg", "max", "min") if name != old]
            if not args[0].is_float if isinstance(args[0], Value) else True:
                others = [name for name in others if name != "avg"]
        if not others:
            return None, ""
        args[place] = self.random.choice(others)
        return builder.call(node.target, *args, **kwargs), f"{old} -> {args[place]}"

    # Random operators.

    def fits_state(self, node):
        return node.target in RANDOM

    def state(self, builder, node, args, kwargs):
        same = [n for n in builder.known if n.target is node.target and n is not node]
        if self.random.random() < 0.5 and same:
            return same[0].values, "an earlier call's numbers"
        builder.call(aten.rand_like.default, args[0])
        return builder.call(node.target, *args, **kwargs), "one call more before"

    # The signature.

    def signature(self):
        program = replay(self.program)
        kinds = ["outputs"]
        if program.constants:
            kinds += ["constant", "constant dropped"]
        if program.mutations:
            kinds += ["no mutation"]
        if program.parameters or program.buffers:
            kinds += ["parameter name"]
        if len(program.buffers) > 1 and program.mutations:
            kinds += ["other buffer"]
        kind = self.random.choice(kinds)
        if kind == "outputs":
            same = [
                (i, j)
                for i, first in enumerate(program.outputs)
                for j, second in enumerate(program.outputs)
                if i < j and first.shape == second.shape and first.dtype == second.dtype
            ]
            if not same:
                return None
            i, j = self.random.choice(same)
            program.outputs[i], program.outputs[j] = program.outputs[j], program.outputs[i]
            return program, f"outputs {i} and {j} swapped"
        if kind == "constant":
            program.constants[0] = 4
        elif kind == "constant dropped":
            program.constants.pop()
        elif kind == "no mutation":
            program.mutations = {}
        elif kind == "parameter name":
            names = program.parameters or program.buffers
            name = self.random.choice(sorted(names))
            old = names[name]
            names[name] = f"{old}.other"
            program.mutations = {
                index: names[name] if buffer == old else buffer
                for index, buffer in program.mutations.items()
            }
        else:
            ((index, buffer),) = program.mutations.items()
            fits = [
                other
                for name, other in program.buffers.items()
                if other != buffer
                and program.pool.inputs[name].values[0].shape == program.outputs[index].shape
            ]
            if not fits:
                return None
            program.mutations[index] = self.random.choice(fits)
        return program, f"signature: {kind}"


class UnfitError(Exception):
    """The call has no place for such a fault."""


KINDS = {
    "numbers": 9,
    "operand": 4,
    "swap": 3,
    "order": 2,
    "pick": 1,
    "function": 5,
    "bypass": 3,
    "twice": 1,
    "scale": 3,
    "element": 4,
    "type": 1,
    "collective": 3,
    "state": 1,
}


def _numbers(node):
    """Where numbers stand among the arguments."""
    found = []
    for index, argument in enumerate(node.args):
        if isinstance(argument, (int, float, Size)):
            found.append((index, None))
        elif isinstance(argument, (list, tuple)):
            found += [
                (index, i) for i, a in enumerate(argument) if isinstance(a, (int, float, Size))
            ]
    for name, argument in node.kwargs.items():
        if isinstance(argument, (int, float)):
            found.append((name, None))
    if node.target in NORMS:
        # Kernels do not check which shape they are told to normalize.
        found = [place for place in found if place[1] is None]
    if node.target in COLLECTIVES:
        found = [place for place in found if node.target is c10d.broadcast.default]
    return found


def _at(args, kwargs, place):
    where, position = place
    argument = kwargs[where] if isinstance(where, str) else args[where]
    return argument if position is None else argument[position]


def _replace(args, kwargs, place, new):
    where, position = place
    args, kwargs = list(args), dict(kwargs)
    holder = kwargs if isinstance(where, str) else args
    if position is None:
        holder[where] = new
    else:
        holder[where] = [new if i == position else a for i, a in enumerate(holder[where])]
    return args, kwargs


__all__ = ["Mutator", "Program", "substitute"]
