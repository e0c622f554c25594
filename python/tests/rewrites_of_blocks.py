# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Correct rewrites of transformer blocks, and faults to plant into them.

Every rewrite is two functions of a program: one writes what was captured, the
other the rewritten form, optionally with one fault in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch

from spmd_programs import Group, Program

# Products of the narrow matrices here keep the scale of their operands, as those
# of a model's wide ones do; biases are small, as in models.
WEIGHT_STD = 0.35
BIAS_STD = 0.02
EPSILON = 1e-5


@dataclass
class Rewrite:
    name: str
    groups: list
    original: Callable
    rewritten: Callable
    # Name -> what is wrong, in words.
    faults: dict = field(default_factory=dict)
    # Faults that only --precision=strict sees.
    strict_faults: dict = field(default_factory=dict)
    # Whether PyTorch computes all that it does: nobody knows opaque operators.
    has_floats: bool = True
    # Whether all is described that the faults are about; else they are not proven.
    is_described: bool = True
    # "meta" for programs too large to compute.
    device: str = "cpu"

    @cached_property
    def captured(self):
        return self.original(Program(self.groups, self.device))

    def build_rewritten(self, fault=None):
        return self.rewritten(Program(self.groups, self.device), fault)


def line(width):
    return [Group("0", list(range(width)))]


MESH = [Group("tp", [[0, 1], [2, 3]]), Group("dp", [[0, 2], [1, 3]])]


def placed(groups, placement, other="replicated"):
    """On the first group as stated, on the others of a mesh by `other`."""
    return {g.name: placement if i == 0 else other for i, g in enumerate(groups)}


def reversed_group(group):
    return Group(group.name, [list(reversed(members)) for members in group.ranks])


# ------------------------------------------------------- sequence parallelism


class TransformerBlock:
    """Output projection, residual, norm, SwiGLU, residual; tensor-parallel."""

    HIDDEN, HEADS_WIDTH, INNER, LOCAL = 8, 6, 8, 3

    def __init__(self, layout, groups):
        self.layout, self.groups = layout, groups
        self.group = groups[0]
        length = self.LOCAL * self.group.size
        batch = {"tokens": [], "batch first": [2], "sequence first": [2]}[layout]
        self.dim = 1 if layout == "batch first" else 0
        self.lead = batch + [length] if self.dim else [length] + batch
        self.local_lead = list(self.lead)
        self.local_lead[self.dim] = self.LOCAL

    def inputs(self, p):
        h, g = self.HIDDEN, self.groups
        # Ranks of another mesh axis have other tokens, and the same weights.
        self.x = p.input("x", [*self.lead, self.HEADS_WIDTH], placed(g, "varying", "varying"))
        self.residual = p.input("residual", [*self.lead, h], placed(g, "replicated", "varying"))
        weight = {"std": WEIGHT_STD}
        self.wo = p.input("wo", [h, self.HEADS_WIDTH], placed(g, "shard(1)"), **weight)
        self.bias = p.input("bias", [h], placed(g, "replicated"), std=BIAS_STD)
        self.scale = p.input("norm_weight", [h], placed(g, "replicated"), std=0.1, mean=1.0)
        self.w_gate = p.input("w_gate", [self.INNER, h], placed(g, "shard(0)"), **weight)
        self.w_up = p.input("w_up", [self.INNER, h], placed(g, "shard(0)"), **weight)
        self.w_down = p.input("w_down", [h, self.INNER], placed(g, "shard(1)"), **weight)

    def original(self, p):
        self.inputs(p)
        summed = p.all_reduce("sum", p.linear(self.x, self.wo), self.group)
        state = p.add(p.add(summed, self.bias), self.residual)
        normed = p.rms_norm(state, self.scale, EPSILON)
        gate, up = p.linear(normed, self.w_gate), p.linear(normed, self.w_up)
        down = p.linear(p.mul(p.map("silu", gate), up), self.w_down)
        return p.returns(p.add(state, p.all_reduce("sum", down, self.group)), normed)

    def rewritten(self, p, fault):
        self.inputs(p)
        state = self.first_residual(p, fault)
        normed = self.norm(p, state, fault)
        whole = self.gather_normed(p, state, normed, fault)
        down = self.feed_forward(p, whole, fault)
        return self.finish(p, state, down, whole, fault)

    def reshaped_local(self, p, value):
        return p.reshape(value, [*self.local_lead, self.HIDDEN])

    def first_residual(self, p, fault):
        d, group = self.dim, self.group
        partial = p.linear(self.x, self.wo)
        if fault == "bias added on every rank":
            partial = p.add(partial, self.bias)
        if fault == "residual added on every rank":
            partial = p.add(partial, self.residual)
        if fault == "all-reduce doubled":
            partial = p.all_reduce("sum", partial, group)
        if fault == "partial sliced, not reduced":
            local = p.rank_slice(partial, d, group)
        elif fault == "average for sum":
            local = p.reduce_scatter("avg", partial, d, group)
        elif fault == "maximum for sum":
            local = p.reduce_scatter("max", partial, d, group)
        elif fault == "scattered along the hidden dim, reshaped":
            last = len(partial.shape) - 1
            local = self.reshaped_local(p, p.reduce_scatter("sum", partial, last, group))
        elif fault == "scattered in reversed order":
            local = p.reduce_scatter("sum", partial, d, reversed_group(group))
        elif fault == "scattered over batch and sequence merged":
            flat = p.reshape(partial, [-1, self.HIDDEN])
            local = self.reshaped_local(p, p.reduce_scatter("sum", flat, 0, group))
        elif fault == "wrong group of equal size":
            local = p.reduce_scatter("sum", partial, d, self.groups[1])
        else:
            local = p.reduce_scatter("sum", partial, d, group)
        residual = self.local_residual(p, fault)
        if fault == "norm weight applied before the sum":
            local = p.mul(local, self.scale)
        late = ("bias added on every rank", "bias dropped", "bias added after the norm")
        if fault not in late:
            local = p.add(local, self.bias)
        if fault in ("first residual dropped", "residual added on every rank"):
            return local
        if fault == "residual subtracted":
            return p.map("sub", local, residual)
        return p.add(local, residual)

    def local_residual(self, p, fault):
        d, group = self.dim, self.group
        if fault == "rank 0's slice of the residual everywhere":
            return p.slice(self.residual, d, 0, self.LOCAL)
        if fault == "residual sliced in reversed order":
            return p.rank_slice(self.residual, d, reversed_group(group))
        if fault == "residual sliced on the other mesh axis":
            return p.rank_slice(self.residual, d, self.groups[1])
        if fault == "residual sliced with a stride":
            # Rank r takes every size-th row instead of its block.
            interleaved = p.concat(
                [p.slice(self.residual, d, r, self.LOCAL, group.size) for r in range(group.size)],
                d,
            )
            return p.rank_slice(interleaved, d, group)
        if fault == "residual sliced over batch and sequence merged":
            flat = p.reshape(self.residual, [-1, self.HIDDEN])
            return self.reshaped_local(p, p.rank_slice(flat, 0, group))
        return p.rank_slice(self.residual, d, group)

    def norm(self, p, state, fault):
        if fault == "epsilon missing":
            return p.rms_norm(state, self.scale, None)
        if fault == "epsilon of another size":
            return p.rms_norm(state, self.scale, 1e-6)
        if fault in ("norm weight dropped", "norm weight applied before the sum"):
            return p.rms_norm(state, None, EPSILON)
        if fault == "norm over rows and columns":
            return p.mul(p.rms_norm(state, None, EPSILON, dims=2), self.scale)
        if fault == "norm weight added":
            return p.add(p.rms_norm(state, None, EPSILON), self.scale)
        if fault == "layer norm for RMS norm":
            zero = p.constant(0.0, shape=[self.HIDDEN])
            return p.layer_norm(state, self.scale, zero, EPSILON)
        normed = p.rms_norm(state, self.scale, EPSILON)
        return p.add(normed, self.bias) if fault == "bias added after the norm" else normed

    def gather_normed(self, p, state, normed, fault):
        d, group = self.dim, self.group
        if fault == "gathered before the norm":
            return p.all_gather(state, d, group)
        if fault == "own shard repeated instead of gathered":
            return p.concat([normed] * group.size, d)
        if fault == "shards gathered in reversed order":
            return p.all_gather(normed, d, reversed_group(group))
        if fault == "shards rotated by one":
            blocks = p.chunks(p.all_gather(normed, d, group), group.size, d)
            return p.concat(blocks[1:] + blocks[:1], d)
        if fault == "gathered on the other mesh axis":
            return p.all_gather(normed, d, self.groups[1])
        if fault == "gathered along the hidden dim, reshaped":
            wide = p.all_gather(normed, len(self.lead), group)
            return p.reshape(wide, [*self.lead, self.HIDDEN])
        if fault == "gathered over batch and sequence merged":
            flat = p.reshape(normed, [-1, self.HIDDEN])
            return p.reshape(p.all_gather(flat, 0, group), [*self.lead, self.HIDDEN])
        return p.all_gather(normed, d, group)

    def feed_forward(self, p, whole, fault):
        w_gate, w_up = self.w_gate, self.w_up
        if fault == "gate and up weights swapped":
            w_gate, w_up = w_up, w_gate
        gate, up = p.linear(whole, w_gate), p.linear(whole, w_up)
        function = {"activation dropped": None, "GELU for SiLU": "gelu"}.get(fault, "silu")
        active = p.map(function, gate) if function else gate
        inner = p.mul(active, up) if fault != "gate added" else p.add(active, up)
        if fault == "weight transposed":
            return p.matmul(inner, self.w_down)
        return p.linear(inner, self.w_down)

    def finish(self, p, state, down, whole, fault):
        d, group = self.dim, self.group
        if fault == "second reduction missing":
            local = p.rank_slice(down, d, group)
        elif fault == "second scatter in reversed order":
            local = p.reduce_scatter("sum", down, d, reversed_group(group))
        else:
            local = p.reduce_scatter("sum", down, d, group)
        base = state
        if fault == "residual of the block before":
            base = p.rank_slice(self.residual, d, group)
        final = local if fault == "second residual dropped" else p.add(base, local)
        if fault == "last gather in reversed order":
            out = p.all_gather(final, d, reversed_group(group))
        elif fault == "second residual added after the gather":
            out = p.add(p.all_gather(local, d, group), self.residual)
        else:
            out = p.all_gather(final, d, group)
        if fault == "result in another element type":
            out = p.cast(out, torch.bfloat16)
        if fault == "result with other strides":
            order = list(range(len(out.shape)))
            order[0], order[1] = 1, 0
            out = p.permute(p.copy(p.permute(out, order)), order)
        if fault == "results in another order":
            return p.returns(whole, out)
        return p.returns(out, whole)


BLOCK_FAULTS = {
    "bias added on every rank": "the bias is inside the reduction",
    "bias dropped": "no bias at all",
    "bias added after the norm": "the bias moved across the norm",
    "residual added on every rank": "the residual is inside the reduction",
    "all-reduce doubled": "the sum is summed once more",
    "partial sliced, not reduced": "rank_slice in place of reduce_scatter",
    "average for sum": "reduce_scatter takes the mean",
    "maximum for sum": "reduce_scatter takes the maximum",
    "scattered along the hidden dim, reshaped": "reduce_scatter on the wrong axis",
    "scattered in reversed order": "blocks go to the wrong ranks",
    "norm weight applied before the sum": "the weight scales what is normed",
    "first residual dropped": "the norm sees the projection only",
    "residual subtracted": "sub in place of add",
    "rank 0's slice of the residual everywhere": "slice in place of rank_slice",
    "residual sliced in reversed order": "the residual is of other tokens",
    "residual sliced with a stride": "rows are dealt out, not cut into blocks",
    "epsilon missing": "the norm's default epsilon",
    "epsilon of another size": "1e-6 in place of 1e-5",
    "norm weight dropped": "the norm has no weight",
    "norm weight added": "add in place of mul",
    "norm over rows and columns": "the mean is over two dims",
    "layer norm for RMS norm": "the mean is subtracted",
    "gathered before the norm": "the products read what is not normed",
    "own shard repeated instead of gathered": "no communication",
    "shards gathered in reversed order": "the group's members are reversed",
    "shards rotated by one": "blocks are put together off by one",
    "gathered along the hidden dim, reshaped": "all_gather on the wrong axis",
    "gate and up weights swapped": "silu is on the wrong branch",
    "activation dropped": "no silu",
    "GELU for SiLU": "another activation",
    "gate added": "add in place of mul",
    "weight transposed": "a square weight is read the other way round",
    "second reduction missing": "one rank's partial sum",
    "second scatter in reversed order": "the second residual meets other tokens",
    "residual of the block before": "a value of the wrong region",
    "second residual dropped": "the block's result alone",
    "second residual added after the gather": "the residual is that of the input",
    "last gather in reversed order": "tokens in another order",
    "result in another element type": "bf16 in place of f32",
    "result with other strides": "same values, other memory order",
    "results in another order": "two results of one type swapped",
}

BATCH_FAULTS = {
    "scattered over batch and sequence merged": "rank r gets rows of batch r",
    "residual sliced over batch and sequence merged": "the residual is of another batch",
    "gathered over batch and sequence merged": "batches and ranks are interleaved",
}

MESH_FAULTS = {
    "wrong group of equal size": "the sum is over the data-parallel axis",
    "residual sliced on the other mesh axis": "the position in the wrong group",
    "gathered on the other mesh axis": "shards of other data",
}


def block_rewrite(layout, groups, faults):
    block = TransformerBlock(layout, groups)
    width = "a 2x2 mesh" if len(groups) > 1 else f"{groups[0].size} ranks"
    return Rewrite(
        f"sequence parallel, {layout}, {width}", groups, block.original, block.rewritten, faults
    )


class WideTransformerBlock(TransformerBlock):
    """The same block in the sizes of a model in use."""

    HIDDEN, HEADS_WIDTH, INNER, LOCAL = 4096, 1024, 4096, 512


def wide_block_rewrite(layout, width, faults):
    block = WideTransformerBlock(layout, line(width))
    name = f"wide, {layout}, {width} ranks"
    return Rewrite(name, line(width), block.original, block.rewritten, faults, device="meta")


# ---------------------------------------------------- precision of reductions


def summed_then_cast(p, fault=None):
    group = p.groups[0]
    x = p.input("x", [6, 8], {"0": "varying"})
    w = p.input("w", [8, 8], {"0": "varying"}, std=0.3)
    product = p.linear(x, w)
    if fault == "cast moved across a sum":
        return p.returns(p.all_reduce("sum", p.cast(product, torch.bfloat16), group))
    if fault == "cast moved across a gather and a product":
        reduced = p.reduce_scatter("sum", p.cast(product, torch.bfloat16), 0, group)
        return p.returns(p.all_gather(reduced, 0, group))
    if fault == "cast repeated on the way":
        narrow = p.cast(p.cast(product, torch.bfloat16), torch.float32)
        reduced = p.reduce_scatter("sum", narrow, 0, group)
        return p.returns(p.cast(p.all_gather(reduced, 0, group), torch.bfloat16))
    if fault == "captured":
        return p.returns(p.cast(p.all_reduce("sum", product, group), torch.bfloat16))
    # A gather of what is cast is what is gathered, cast.
    reduced = p.cast(p.reduce_scatter("sum", product, 0, group), torch.bfloat16)
    return p.returns(p.all_gather(reduced, 0, group))


def precision_rewrite():
    return Rewrite(
        "cast after a reduction",
        line(2),
        lambda p: summed_then_cast(p, "captured"),
        summed_then_cast,
        strict_faults={
            "cast moved across a sum": "the sum is taken in bf16",
            "cast moved across a gather and a product": "the scattered sum is taken in bf16",
            "cast repeated on the way": "partial sums are rounded, then summed in f32",
        },
    )


BLOCK_REWRITES = [
    block_rewrite("tokens", line(2), BLOCK_FAULTS),
    block_rewrite("tokens", line(4), BLOCK_FAULTS),
    block_rewrite("batch first", line(2), {**BLOCK_FAULTS, **BATCH_FAULTS}),
    block_rewrite("batch first", line(4), BATCH_FAULTS),
    block_rewrite("sequence first", line(2), {}),
    block_rewrite("sequence first", line(4), BLOCK_FAULTS),
    block_rewrite("tokens", MESH, MESH_FAULTS),
    block_rewrite("batch first", MESH, MESH_FAULTS),
    precision_rewrite(),
]

WIDE_BLOCK_REWRITES = [
    wide_block_rewrite("tokens", 8, BLOCK_FAULTS),
    wide_block_rewrite("batch first", 4, {**BLOCK_FAULTS, **BATCH_FAULTS}),
]
