# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Builds tp programs as text, and computes them on all ranks on the way.

    program = Program([Group("0", [0, 1])])
    x = program.input("x", [4, 8], {"0": "replicated"})
    program.returns(program.all_reduce("sum", x, program.groups[0]))
    program.text()      # the .mlir module
    x.shards            # its value on every rank, a torch tensor each

PyTorch computes the values, so shapes, strides and element types in the text
are PyTorch's. On the device "meta" nothing is computed and programs of any size
can be written.
"""

import hashlib
from dataclasses import dataclass

import torch
import torch.nn.functional as F

ELEMENT_TYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.bool: "i1",
    torch.float8_e4m3fn: "f8E4M3FN",
}

MAP_FUNCTIONS = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "neg": torch.neg,
    "rsqrt": torch.rsqrt,
    "silu": F.silu,
    "gelu": F.gelu,
    "select": torch.where,
    "less_equal": torch.le,
}

REDUCTIONS = {
    "sum": lambda parts: torch.stack(parts).sum(0, dtype=parts[0].dtype),
    "avg": lambda parts: torch.stack(parts).sum(0, dtype=parts[0].dtype) / len(parts),
    "max": lambda parts: torch.stack(parts).amax(0),
}


@dataclass(frozen=True)
class Group:
    """A list of ranks, or the list of all groups of a mesh axis."""

    name: str
    ranks: tuple

    def __init__(self, name, ranks):
        nested = [ranks] if isinstance(ranks[0], int) else ranks
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "ranks", tuple(tuple(members) for members in nested))

    @property
    def size(self):
        return len(self.ranks[0])

    def members(self, rank):
        return next(members for members in self.ranks if rank in members)

    def position(self, rank):
        return self.members(rank).index(rank)

    def __str__(self):
        lists = [str(list(members)) for members in self.ranks]
        text = lists[0] if len(lists) == 1 else "[" + ", ".join(lists) + "]"
        return f'<"{self.name}", {text}>'


def format_float(value):
    """MLIR wants a point in every floating-point literal."""
    return f"{value:.17e}"


def format_type(tensor):
    shape = "".join(f"{size}x" for size in tensor.shape)
    layout = ""
    if not tensor.is_contiguous():
        layout = f", #tp.layout<strides = {list(tensor.stride())}>"
    return f"tensor<{shape}{ELEMENT_TYPES[tensor.dtype]}{layout}>"


class Value:
    """A value of a program: its name in the text and its tensor on every rank."""

    def __init__(self, name, shards):
        self.name = name
        self.shards = shards

    @property
    def shape(self):
        return list(self.shards[0].shape)

    @property
    def type(self):
        return format_type(self.shards[0])


class Program:
    def __init__(self, groups, device="cpu"):
        self.groups = groups
        self.device = device
        self.world = sorted({rank for g in groups for members in g.ranks for rank in members})
        if device == "meta":
            # All ranks look the same.
            self.world = self.world[:1]
        self.arguments = []
        self.lines = []
        self.results = []

    def text(self):
        groups = ", ".join(f"#tp.group{group}" for group in self.groups)
        types = ", ".join(value.type for value in self.results)
        names = ", ".join(value.name for value in self.results)
        return "\n".join(
            [
                f"module attributes {{tp.groups = [{groups}]}} {{",
                f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{",
                *self.lines,
                f"return {names} : {types}",
                "}",
                "}",
                "",
            ]
        )

    def returns(self, *values):
        self.results = list(values)
        return self

    # ---------------------------------------------------------------- inputs

    def input(self, name, shape, placements, dtype=torch.float32, std=1.0, mean=0.0):
        """A random input: `shape` is what one rank holds."""
        shards = [
            self._make_input(name, shape, placements, dtype, std, mean, rank) for rank in self.world
        ]
        value = Value(f"%{name}", shards)
        texts = ", ".join(
            f'"{group}" = #tp.placement<{placement}>' for group, placement in placements.items()
        )
        self.arguments.append(
            f'{value.name}: {value.type} {{tp.name = "{name}", tp.placements = {{{texts}}}}}'
        )
        return value

    def _make_input(self, name, shape, placements, dtype, std, mean, rank):
        if self.device == "meta":
            return torch.empty(shape, dtype=dtype, device="meta")
        whole = list(shape)
        owner = []
        for group in self.groups:
            placement = placements.get(group.name, "varying")
            if placement.startswith("shard"):
                whole[int(placement[6:-1])] *= group.size
            elif placement != "replicated":
                owner.append(group.position(rank))
        seed = hashlib.sha256(f"{name} {owner}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(seed[:7], "little"))
        if dtype == torch.int64:
            return torch.randint(0, 8, whole, generator=generator)
        tensor = torch.randn(whole, generator=generator) * std + mean
        for group in self.groups:
            placement = placements.get(group.name, "varying")
            if placement.startswith("shard"):
                dim = int(placement[6:-1])
                tensor = tensor.chunk(group.size, dim)[group.position(rank)]
        return tensor.contiguous().to(dtype)

    # ------------------------------------------------------------------- ops

    def _add(self, text, operands, compute, style="functional", count=1):
        """Adds an op; `compute` maps the tensors of one rank to its results."""
        shards = [compute(*tensors) for tensors in zip(*(value.shards for value in operands))]
        return self._record(text, operands, shards, style, count)

    def _record(self, text, operands, shards, style, count=1):
        if not operands and not shards:
            raise AssertionError("an op without operands states its values")
        name = f"%v{len(self.lines)}"
        if count == 1:
            results = [Value(name, list(shards))]
        else:
            results = [
                Value(f"{name}#{index}", [outputs[index] for outputs in shards])
                for index in range(count)
            ]
        sources = ", ".join(value.type for value in operands)
        targets = ", ".join(value.type for value in results)
        if style == "functional":
            signature = f": ({sources}) -> ({targets})"
        elif style == "arrow":
            signature = f": {operands[0].type} -> {targets}"
        else:
            signature = f"-> {targets}"
        prefix = f"{name}:{count}" if count > 1 else name
        self.lines.append(f"{prefix} = tp.{text} {signature}")
        return results[0] if count == 1 else results

    def map(self, function, *values):
        names = ", ".join(value.name for value in values)
        return self._add(f"map {function}({names})", values, MAP_FUNCTIONS[function])

    def add(self, a, b):
        return self.map("add", a, b)

    def mul(self, a, b):
        return self.map("mul", a, b)

    def constant(self, value, dtype=torch.float32, shape=()):
        shards = [torch.full(shape, value, dtype=dtype, device=self.device) for _ in self.world]
        text = f"{value} : i64" if isinstance(value, int) else f"{format_float(value)} : f64"
        return self._record(f"constant {text}", [], shards, "result")

    def iota(self, start, size):
        shards = [torch.arange(start, start + size, device=self.device) for _ in self.world]
        return self._record(f"iota {start} : i64 step 1 : i64", [], shards, "result")

    def cast(self, x, dtype):
        return self._add(f"cast {x.name}", [x], lambda t: t.to(dtype), "arrow")

    def copy(self, x):
        return self._add(
            f"copy {x.name}",
            [x],
            lambda t: t.clone(memory_format=torch.contiguous_format),
            "arrow",
        )

    def reduce(self, kind, x, dims):
        functions = {"sum": torch.sum, "avg": torch.mean, "max": torch.amax}
        return self._add(
            f"reduce {kind} {x.name} dims {list(dims)} keep_dims",
            [x],
            lambda t: functions[kind](t, dims, keepdim=True),
            "arrow",
        )

    def softmax(self, x, dim):
        return self._add(
            f"rowwise softmax {x.name} dim {dim}", [x], lambda t: t.softmax(dim), "arrow"
        )

    def rms_norm(self, x, weight, epsilon, dims=1):
        text = f"rms_norm {x.name}"
        operands = [x]
        if weight is not None:
            text += f" weight {weight.name}"
            operands.append(weight)
        if epsilon is not None:
            text += f" epsilon {format_float(epsilon)}"
        return self._add(
            f"{text} dims {dims}",
            operands,
            lambda t, w=None: F.rms_norm(t, t.shape[-dims:], w, epsilon),
        )

    def layer_norm(self, x, weight, bias, epsilon):
        text = f"layer_norm {x.name} weight {weight.name} bias {bias.name}"
        return self._add(
            f"{text} epsilon {format_float(epsilon)} dims 1",
            [x, weight, bias],
            lambda t, w, b: F.layer_norm(t, t.shape[-1:], w, b, epsilon),
        )

    def add_rms_norm(self, x, residual, weight, epsilon):
        def compute(t, r, w):
            return F.rms_norm(t + r, t.shape[-1:], w, epsilon), t + r

        text = f"add_rms_norm {x.name}, {residual.name} weight {weight.name}"
        return self._add(
            f"{text} epsilon {format_float(epsilon)}",
            [x, residual, weight],
            compute,
            count=2,
        )

    def matmul(self, lhs, rhs, transpose=False, bias=None, scales=None):
        """With `transpose` the right-hand side is [N, K], as in a linear."""
        text = f"matmul {lhs.name}, {rhs.name}"
        operands = [lhs, rhs]
        if transpose:
            text += " transpose_rhs"
        if bias is not None:
            text += f" bias {bias.name}"
            operands.append(bias)
        if scales is not None:
            text += f" lhs_scale {scales[0].name} rhs_scale {scales[1].name}"
            operands.extend(scales)

        def compute(a, b, *rest):
            rest = list(rest)
            added = rest.pop(0) if bias is not None else None
            if scales is not None:
                a = a.float() * rest[0]
                b = b.float() * rest[1]
            product = a @ (b.mT if transpose else b)
            return product if added is None else product + added

        return self._add(text, operands, compute)

    def linear(self, x, weight, bias=None):
        return self.matmul(x, weight, transpose=True, bias=bias)

    def attention(self, q, k, v, causal=True, grouped=False, scale=None):
        text = f"attention {q.name}, {k.name}, {v.name}"
        text += " is_causal" if causal else ""
        text += " grouped_heads" if grouped else ""
        text += f" scale {format_float(scale)}" if scale is not None else ""

        def compute(*tensors):
            result = F.scaled_dot_product_attention(
                *tensors, is_causal=causal, enable_gqa=grouped, scale=scale
            )
            return result.contiguous()

        return self._add(text, [q, k, v], compute)

    def take(self, table, indices):
        return self._add(
            f"take {table.name}, {indices.name} dim 0",
            [table, indices],
            lambda t, i: t[i],
        )

    def reshape(self, x, shape):
        return self._add(f"reshape {x.name}", [x], lambda t: t.reshape(shape), "arrow")

    def permute(self, x, order):
        return self._add(
            f"permute {x.name} {list(order)}", [x], lambda t: t.permute(order), "arrow"
        )

    def slice(self, x, dim, start, size, step=1):
        return self._add(
            f"slice {x.name} dim {dim} start {start} step {step}",
            [x],
            lambda t: t[(slice(None),) * dim + (slice(start, start + size * step, step),)],
            "arrow",
        )

    def chunks(self, x, count, dim):
        size = x.shape[dim] // count
        return [self.slice(x, dim, index * size, size) for index in range(count)]

    def concat(self, values, dim):
        names = ", ".join(value.name for value in values)
        return self._add(f"concat {names} dim {dim}", values, lambda *ts: torch.cat(ts, dim))

    def broadcast(self, x, shape):
        return self._add(f"broadcast {x.name}", [x], lambda t: t.expand(shape), "arrow")

    def call(self, callee, values, arguments="[]"):
        """An opaque operator; the first operand stands for its value."""
        names = ", ".join(value.name for value in values)
        return self._add(
            f'call "{callee}"({names}) arguments "{arguments}"',
            values,
            lambda first, *rest: first.clone(),
        )

    # ----------------------------------------------------------- collectives

    def _peers(self, value, group, rank):
        if self.device == "meta":
            return [value.shards[0]] * group.size
        return [value.shards[self.world.index(member)] for member in group.members(rank)]

    def _position(self, group, rank):
        return 0 if self.device == "meta" else group.position(rank)

    def _gathered(self, value, axis, group):
        return [torch.cat(self._peers(value, group, rank), axis) for rank in self.world]

    def _scattered(self, kind, value, axis, group):
        return [
            REDUCTIONS[kind](self._peers(value, group, rank))
            .chunk(group.size, axis)[self._position(group, rank)]
            .contiguous()
            for rank in self.world
        ]

    def all_reduce(self, kind, x, group):
        shards = [REDUCTIONS[kind](self._peers(x, group, rank)) for rank in self.world]
        return self._record(f"all_reduce {kind} {x.name} group {group}", [x], shards, "arrow")

    def all_gather(self, x, axis, group):
        text = f"all_gather {x.name} gather_axis {axis} group {group}"
        return self._record(text, [x], self._gathered(x, axis, group), "arrow")

    def reduce_scatter(self, kind, x, axis, group):
        text = f"reduce_scatter {kind} {x.name} scatter_axis {axis} group {group}"
        return self._record(text, [x], self._scattered(kind, x, axis, group), "arrow")

    def all_to_all(self, x, outputs, inputs, group):
        """The splits are those of every rank, hence square: all pieces alike."""
        shards = []
        for rank in self.world:
            position = self._position(group, rank)
            pieces = [
                peer.split(list(inputs) if inputs else peer.shape[0] // group.size)[position]
                for peer in self._peers(x, group, rank)
            ]
            shards.append(torch.cat(pieces))
        text = f"all_to_all {x.name} output_splits {list(outputs)} input_splits {list(inputs)}"
        return self._record(f"{text} group {group}", [x], shards, "arrow")

    def rank_slice(self, x, axis, group):
        shards = [
            tensor.chunk(group.size, axis)[self._position(group, rank)]
            for tensor, rank in zip(x.shards, self.world)
        ]
        text = f"rank_slice {x.name} slice_axis {axis} group {group}"
        return self._record(text, [x], shards, "arrow")

    def all_gather_matmul(self, x, sides, axis, group, scales=None):
        """Products of the gathered operand, a list; scales are (shard's, [sides'])."""
        names = ", ".join(side.name for side in sides)
        text = f"all_gather_matmul {x.name}, rhs({names})"
        operands = [x, *sides]
        gathered = self._gathered(x, axis, group)
        tensors = [[side.shards[index] for side in sides] for index in range(len(self.world))]
        if scales is not None:
            scale_names = ", ".join(scale.name for scale in scales[1])
            text += f" shard_scale {scales[0].name} rhs_scales({scale_names})"
            operands += [scales[0], *scales[1]]
            row_scales = self._gathered(scales[0], axis, group)
            gathered = [g.float() * s for g, s in zip(gathered, row_scales)]
            tensors = [
                [side.float() * scale.shards[index] for side, scale in zip(row, scales[1])]
                for index, row in enumerate(tensors)
            ]
        shards = [[whole @ side for side in row] for whole, row in zip(gathered, tensors)]
        if len(sides) == 1:
            shards = [outputs[0] for outputs in shards]
        text += f" gather_axis {axis} group {group}"
        results = self._record(text, operands, shards, "functional", len(sides))
        return [results] if len(sides) == 1 else results

    def matmul_reduce_scatter(self, kind, lhs, rhs, axis, group, bias=None, scales=None):
        text = f"matmul_reduce_scatter {kind} {lhs.name}, {rhs.name}"
        operands = [lhs, rhs]
        lefts, rights = lhs.shards, rhs.shards
        if bias is not None:
            text += f" bias {bias.name}"
            operands.append(bias)
        if scales is not None:
            text += f" lhs_scale {scales[0].name} rhs_scale {scales[1].name}"
            operands.extend(scales)
            lefts = [t.float() * s for t, s in zip(lefts, scales[0].shards)]
            rights = [t.float() * s for t, s in zip(rights, scales[1].shards)]
        products = [a @ b for a, b in zip(lefts, rights)]
        if bias is not None:
            products = [p + b for p, b in zip(products, bias.shards)]
        shards = self._scattered(kind, Value("", products), axis, group)
        return self._record(
            f"{text} scatter_axis {axis} group {group}", operands, shards, "functional"
        )
