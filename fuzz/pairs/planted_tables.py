# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Planted pairs about tables that integer inputs index: shards, grids, one-hot rows.

Each makes three terms: a program, another that computes the same, and one that does not
at the chosen integers. They compute the same for integers that index the table alone, so
their ranges are stated.
"""

import torch

from pairs.terms import call

SIZES = (12, 24, 40, 100, 1000, 5000)


def _bounded(planter, name, size):
    """An integer input that indexes a dim of this size."""
    numbers = [planter.random.randrange(size) for _ in range(planter.size)]
    planter.draw.chosen[name] = torch.tensor(numbers).reshape(planter.shape)
    planter.ranges[name] = [0, size]
    return planter.bench.input(name, torch.int64, planter.shape, 0, size)


def _table(planter, *sizes):
    planter.draw.chosen["t"] = planter.floats(sizes, planter.generator)
    return planter.bench.input("t", torch.float32, sizes)


def make_shards(planter):
    """A table in blocks, of which each looks up the integers that it holds."""
    size = planter.pick(SIZES)
    ids, table = _bounded(planter, "ids", size), _table(planter, size)
    planter.integers = [ids]
    count = planter.pick([2, 3, 4])
    cuts = [size * i // count for i in range(count + 1)]
    fault = planter.pick(["a number lost", "a number lost", "a number moved", "a cut moved"])
    planter.tags.append(fault)
    atom = planter.element_atom(planter.pick([0, 1, 1, 2, 3]))

    def in_blocks(fault, cuts, ends):
        total = None
        for low, high, end in zip(cuts, cuts[1:], ends):
            is_here = call("and", call("ge_k", ids, low), call("lt_k", ids, end))
            local = call("where", is_here, call("sub_k", ids, low), call("mul_k", ids, 0))
            if fault == "a number lost":
                is_here = call("and", is_here, call("not", atom))
            if fault == "a number moved":
                moved = call("mod_k", call("add_k", local, 1), high - low)
                local = call("where", atom, moved, local)
            row = call("take", call("slice", table, 0, low, high), local)
            row = call("where", is_here, row, call("mul_k", row, 0.0))
            total = row if total is None else call("add", total, row)
        return total

    first, right = call("take", table, ids), in_blocks("", cuts, cuts[1:])
    if fault != "a cut moved":
        return first, right, in_blocks(fault, cuts, cuts[1:])
    # At the chosen integer, which no block holds then.
    place, last = planter.random.randrange(1, count), int(planter.at_place(ids))
    moved = [*cuts[:place], last + 1, *cuts[place + 1 :]]
    if not moved[place - 1] < last < moved[place + 1] - 1:
        return None
    ends = [*moved[1:place], last, *moved[place + 1 :]]
    return first, right, in_blocks("", moved, ends)


def make_grid(planter):
    """An element of a grid, by two or three integers."""
    sizes = planter.pick([(4, 5), (7, 8), (16, 16), (4, 5, 6), (8, 16, 16), (3, 40, 10)])
    places = [_bounded(planter, name, size) for name, size in zip("abc", sizes)]
    grid = _table(planter, *sizes)
    planter.integers = list(places)
    flat = places[0]
    for place, size in zip(places[1:], sizes[1:]):
        flat = call("add", call("mul_k", flat, size), place)
    first = call("take", grid, *places)
    second = call("take", call("view", grid, (torch.Size(sizes).numel(),)), flat)
    if planter.chance(0.5):
        atom = call("eq_k", flat, int(planter.at_place(flat)))
    else:
        atom = planter.join([planter.element_atom(1) for _ in range(2)], "and")
    fault = planter.pick(["a cell moved", "a cell doubled"])
    planter.tags.append(fault)
    if fault == "a cell doubled":
        chosen = planter.pick([first, second])
        return first, second, call("where", atom, call("mul_k", chosen, 2.0), chosen)
    moved = [call("mod_k", call("add_k", places[0], 1), sizes[0]), *places[1:]]
    return first, second, call("where", atom, call("take", grid, *moved), first)


def make_one_hot(planter):
    """A row of a table as a sum over all rows."""
    size = planter.pick([s for s in SIZES if s <= 100])
    ids, table = _bounded(planter, "ids", size), _table(planter, size)
    planter.integers = [ids]
    is_row = call("eq", call("unsqueeze", ids, -1), call("positions", size))

    def looked_up(is_row):
        weighted = call("mul", call("cast", is_row, torch.float32), table)
        return call("sum_dim", weighted, (-1,))

    atom = call("not", planter.element_atom(planter.pick([0, 1, 2, 3])))
    wrong = call("and", is_row, call("unsqueeze", atom, -1))
    return call("take", table, ids), looked_up(is_row), looked_up(wrong)


def make_page(planter):
    """Numbers as pages and slots: of a cache in pages, a place by quotient and remainder."""
    slots = planter.pick([4, 5, 16, 128])
    pages = planter.pick([3, 4, 10])
    ids = _bounded(planter, "ids", pages * slots)
    table = _table(planter, pages, slots)
    planter.integers = [ids]
    page, slot = call("floor_k", ids, slots), call("mod_k", ids, slots)
    first = call("take", call("view", table, (pages * slots,)), ids)
    second = call("take", table, page, slot)
    atoms = [
        call("eq_k", page, int(planter.at_place(page))),
        call("eq_k", slot, int(planter.at_place(slot))),
    ]
    if planter.chance(0.5):
        atoms = [planter.element_atom(2)]
    join = planter.draw_join()
    return first, second, planter.choose(atoms, call("mul_k", second, 2.0), second, join)


TABLES = {"shards": make_shards, "grid": make_grid, "one hot": make_one_hot, "page": make_page}
