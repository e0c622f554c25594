# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Collectives on any dimension against their forms on dim 0, and copies.

As rewrites_of_blocks.py: correct rewrites, and faults to plant into them.
"""

from rewrites_of_blocks import MESH, Rewrite, line, reversed_group
from spmd_programs import Group

ROWS, COLUMNS = 3, 5


def swap(blocks, i, j):
    blocks = list(blocks)
    blocks[i], blocks[j] = blocks[j], blocks[i]
    return blocks


# -------------------------------------------------------------- all-gather


def gather_input(p):
    placements = {group.name: "varying" for group in p.groups}
    return p.input("x", [2, ROWS, COLUMNS], placements)


def gather_directly(axis):
    def build(p):
        x = gather_input(p)
        return p.returns(p.mul(p.all_gather(x, axis, p.groups[0]), p.constant(0.5)))

    return build


def gather_on_dim_0(axis):
    """The gather that c10d offers, and the blocks put together again."""

    def build(p, fault):
        x = gather_input(p)
        group = p.groups[0]
        size = group.size
        if fault == "gathered in the order of ranks":
            group = Group(group.name, [sorted(members) for members in group.ranks])
        if fault == "gathered over the other axis":
            group = p.groups[1]
        whole = p.all_gather(x, 0, group)
        blocks = p.chunks(whole, size, 0)
        if fault == "blocks reversed":
            blocks = blocks[::-1]
        elif fault == "blocks rotated":
            blocks = blocks[1:] + blocks[:1]
        elif fault == "two blocks swapped":
            blocks = swap(blocks, 0, 1)
        elif fault == "one block twice":
            blocks = blocks[:-1] + blocks[:1]
        elif fault == "blocks off by one row":
            starts = [2 * i for i in range(size)]
            starts[0] = 1
            blocks = [p.slice(whole, 0, start, 2) for start in starts]
        elif fault == "strided slices for blocks":
            blocks = [p.slice(whole, 0, i, 2, size) for i in range(size)]
        if fault == "reshaped, not put together":
            shape = blocks[0].shape
            shape[axis] *= size
            joined = p.reshape(whole, shape)
        elif fault == "put together along the other dim":
            other = 3 - axis
            shape = blocks[0].shape
            shape[axis] *= size
            joined = p.reshape(p.concat(blocks, other), shape)
        else:
            joined = p.concat(blocks, axis)
        half = p.constant(0.25 if fault == "constant of another value" else 0.5)
        return p.returns(p.mul(joined, half))

    return build


GATHER_FAULTS = {
    "blocks reversed": "the last rank's block comes first",
    "blocks rotated": "every block is one place off",
    "two blocks swapped": "the first two",
    "one block twice": "the last block is the first one again",
    "blocks off by one row": "the first block straddles two ranks",
    "strided slices for blocks": "every size-th row instead of a block",
    "reshaped, not put together": "the right shape, the wrong elements",
    "put together along the other dim": "concat on the wrong dim, reshaped",
    "constant of another value": "0.25 in place of 0.5",
}
PERMUTED_FAULTS = {"gathered in the order of ranks": "the group's order is ignored"}
MESH_FAULTS = {"gathered over the other axis": "a group of equal size"}


# ---------------------------------------------------------- reduce-scatter


def scatter_directly(axis):
    def build(p):
        size = p.groups[0].size
        shape = [2 * size, ROWS * size, COLUMNS * size]
        x = p.input("x", shape, {group.name: "varying" for group in p.groups})
        return p.returns(p.reduce_scatter("sum", x, axis, p.groups[0]))

    return build


def scatter_on_dim_0(axis):
    def build(p, fault):
        group = p.groups[0]
        size = group.size
        shape = [2 * size, ROWS * size, COLUMNS * size]
        x = p.input("x", shape, {g.name: "varying" for g in p.groups})
        blocks = p.chunks(x, size, axis)
        if fault == "chunks reversed":
            blocks = blocks[::-1]
        elif fault == "chunks rotated":
            blocks = blocks[-1:] + blocks[:-1]
        elif fault == "chunks interleaved":
            width = shape[axis] // size
            blocks = [p.slice(x, axis, i, width, size) for i in range(size)]
        elif fault == "chunk duplicated":
            blocks = blocks[:1] + blocks[:1] + blocks[2:]
        elif fault == "chunks of the other dim":
            other = 3 - axis
            local = list(blocks[0].shape)
            blocks = [p.reshape(block, local) for block in p.chunks(x, size, other)]
        stacked = p.concat(blocks, 0)
        if fault == "chunks added, not stacked":
            total = blocks[0]
            for block in blocks[1:]:
                total = p.add(total, block)
            return p.returns(total)
        if fault == "scatter without a sum":
            return p.returns(p.rank_slice(stacked, 0, group))
        if fault == "gathered again":
            local = p.reduce_scatter("sum", stacked, 0, group)
            again = p.all_gather(local, 0, group)
            return p.returns(p.copy(p.chunks(again, size, 0)[0]))
        if fault == "scattered in the order of ranks":
            group = Group(group.name, [sorted(members) for members in group.ranks])
        kind = {"scatter by average": "avg", "scatter by maximum": "max"}.get(fault, "sum")
        if fault == "scattered over the other axis":
            group = p.groups[1]
        return p.returns(p.reduce_scatter(kind, stacked, 0, group))

    return build


SCATTER_FAULTS = {
    "chunks reversed": "the first rank gets the last block",
    "chunks rotated": "every rank gets its neighbour's block",
    "chunks interleaved": "every size-th column instead of a block",
    "chunk duplicated": "the second rank gets the first block",
    "chunks of the other dim": "cut along another dim, reshaped",
    "chunks added, not stacked": "a sum over blocks, not over ranks",
    "scatter without a sum": "each rank keeps its own block",
    "gathered again": "every rank gets block 0",
    "scatter by average": "avg in place of sum",
    "scatter by maximum": "max in place of sum",
}
PERMUTED_SCATTER_FAULTS = {"scattered in the order of ranks": "the group's order is ignored"}
MESH_SCATTER_FAULTS = {"scattered over the other axis": "a group of equal size"}


# -------------------------------------------------------- nested mesh axes


def gather_over_mesh(p, fault=None):
    """Shards over both axes: the inner one is gathered first."""
    tp, dp = p.groups
    x = p.input("x", [2, COLUMNS], {"tp": "shard(0)", "dp": "shard(0)"})
    if fault is None:
        return p.returns(p.all_gather(p.all_gather(x, 0, dp), 0, tp))
    if fault == "outer axis gathered first":
        return p.returns(p.all_gather(p.all_gather(x, 0, tp), 0, dp))
    if fault == "one axis gathered twice":
        return p.returns(p.all_gather(p.all_gather(x, 0, dp), 0, dp))
    # Gathering both axes at once is one gather over all ranks in nested order.
    world = Group("world", [0, 2, 1, 3])
    if fault == "all ranks gathered in plain order":
        world = Group("world", [0, 1, 2, 3])
    return p.returns(p.all_gather(x, 0, world))


NESTED_FAULTS = {
    "outer axis gathered first": "blocks are nested the other way round",
    "one axis gathered twice": "the outer axis is missing",
    "all ranks gathered in plain order": "one gather in the order of ranks",
}


# ------------------------------------------------------------- all-to-all


def exchange_heads(p, fault="captured"):
    """Sequence shards become head shards (Ulysses): [heads, rows, width]."""
    group = p.groups[0]
    size = group.size
    x = p.input("x", [2 * size, ROWS, 4], {"0": "shard(1)"})
    if fault == "captured":
        return p.returns(p.rank_slice(p.all_gather(x, 1, group), 0, group))
    if fault == "pieces of rows for pieces of heads":
        x = p.reshape(x, [2 * size, ROWS, 4])
        x = p.concat([p.slice(x, 0, i, 2, size) for i in range(size)], 0)
    received = p.all_to_all(x, [], [], group)
    if fault == "received pieces left as they are":
        return p.returns(p.reshape(received, [2, ROWS * size, 4]))
    pieces = p.chunks(received, size, 0)
    if fault == "received pieces reversed":
        pieces = pieces[::-1]
    if fault == "sent to the ranks in reversed order":
        pieces = p.chunks(p.all_to_all(x, [], [], reversed_group(group)), size, 0)
    return p.returns(p.concat(pieces, 1))


ALL_TO_ALL_FAULTS = {
    "pieces of rows for pieces of heads": "heads are dealt out, not cut into blocks",
    "received pieces left as they are": "reshape in place of concat",
    "received pieces reversed": "senders in reversed order",
    "sent to the ranks in reversed order": "heads go to the wrong ranks",
}


# ------------------------------------------------------- copies and clones


def copied(p, fault="captured"):
    """A transposed value is made dense before it is gathered."""
    group = p.groups[0]
    x = p.input("x", [4, 6], {"0": "varying"})
    y = p.input("y", [4, 6], {"0": "varying"})
    turned = p.permute(x, [1, 0])
    if fault == "copy of the value that is not transposed":
        dense = p.reshape(x, [6, 4])
    elif fault == "copy of another value":
        dense = p.copy(p.permute(y, [1, 0]))
    elif fault == "collective given what is not dense":
        dense = turned
    elif fault == "elements reversed by a reshape":
        dense = p.reshape(p.reshape(turned, [24]), [6, 4])
        dense = p.concat([p.slice(dense, 0, 3, 3), p.slice(dense, 0, 0, 3)], 0)
    else:
        dense = p.copy(turned)
    gathered = p.all_gather(dense, 0, group)
    result = p.permute(gathered, [1, 0])
    if fault == "result made contiguous":
        result = p.copy(result)
    if fault == "transposition of the result forgotten":
        result = p.reshape(gathered, [4, 6 * group.size])
    return p.returns(result)


COPY_FAULTS = {
    "copy of the value that is not transposed": "reshape in place of transposition",
    "copy of another value": "another input of the same shape",
    "collective given what is not dense": "no copy before the gather",
    "elements reversed by a reshape": "halves swapped on the way",
    "result made contiguous": "same values, other strides",
    "transposition of the result forgotten": "reshape in place of transposition, after",
}


def gather_rewrites():
    permuted = [Group("0", [2, 0, 3, 1])]
    cases = [
        ("2 ranks", line(2), {}),
        ("4 ranks", line(4), {}),
        ("4 ranks in another order", permuted, PERMUTED_FAULTS),
        ("a 2x2 mesh", MESH, MESH_FAULTS),
    ]
    for where, groups, more in cases:
        for axis in (1, 2):
            faults = {**GATHER_FAULTS, **more}
            name = f"all-gather on dim {axis}, {where}"
            yield Rewrite(name, groups, gather_directly(axis), gather_on_dim_0(axis), faults)


def scatter_rewrites():
    permuted = [Group("0", [2, 0, 3, 1])]
    cases = [
        ("2 ranks", line(2), {}),
        ("4 ranks", line(4), {}),
        ("4 ranks in another order", permuted, PERMUTED_SCATTER_FAULTS),
        ("a 2x2 mesh", MESH, MESH_SCATTER_FAULTS),
    ]
    for where, groups, more in cases:
        for axis in (1, 2):
            faults = {**SCATTER_FAULTS, **more}
            name = f"reduce-scatter on dim {axis}, {where}"
            yield Rewrite(name, groups, scatter_directly(axis), scatter_on_dim_0(axis), faults)


REINDEXING_REWRITES = [
    *gather_rewrites(),
    *scatter_rewrites(),
    Rewrite(
        "gathers over both axes of a mesh",
        MESH,
        gather_over_mesh,
        lambda p, fault: gather_over_mesh(p, fault or "twin"),
        NESTED_FAULTS,
    ),
    *(
        Rewrite(
            f"all-to-all for gather and slice, {width} ranks",
            line(width),
            exchange_heads,
            lambda p, fault: exchange_heads(p, fault or "twin"),
            ALL_TO_ALL_FAULTS,
        )
        for width in (2, 4)
    ),
    *(
        Rewrite(
            f"copy before a gather, {width} ranks",
            line(width),
            copied,
            lambda p, fault: copied(p, fault or "twin"),
            COPY_FAULTS,
        )
        for width in (2, 4)
    ),
]
