# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Planted pairs as models have them: scatters, softmaxes over masks, losses, documents, routing.

Each makes a program, perhaps others that compute the same, and one that does not at the
chosen integers.
"""

import torch

from pairs.terms import call

LENGTHS = (3, 4, 6, 8, 16)


def _row(planter, name="ids", size=None):
    """A row of integers, below a size if one is given; a few of them occur twice."""
    shape = (planter.pick(LENGTHS),)
    numbers = [
        planter.random.randrange(size or planter.pick([4, 40, 5000])) for _ in range(shape[0])
    ]
    if planter.chance(0.6):
        numbers[-1] = numbers[0]
    planter.draw.chosen[name] = torch.tensor(numbers)
    if size is None:
        return planter.bench.input(name, torch.int64, shape)
    planter.ranges[name] = [0, size]
    return planter.bench.input(name, torch.int64, shape, 0, size)


def _about(planter, ids):
    """Conditions are then of these integers."""
    planter.integers, planter.shape = [ids], tuple(planter.tensor(ids).shape)
    planter.size = planter.shape[0]
    planter.place = (planter.random.randrange(planter.size),)


def _floats(planter, name, *sizes):
    planter.draw.chosen[name] = planter.floats(sizes, planter.generator)
    return planter.bench.input(name, torch.float32, sizes)


def make_scattered(planter):
    """Sums by integer: of a program that forgets that integers repeat, or one of them."""
    size = planter.pick([5, 8, 20])
    ids = _row(planter, size=size)
    _about(planter, ids)
    length = planter.size
    values = _floats(planter, "v", length)
    nothing = call("number", (size,), 0.0, torch.float32)
    is_row = call("eq", call("unsqueeze", ids, 0), call("unsqueeze", call("positions", size), -1))
    first = call("scatter_add", nothing, ids, values, 0)
    weights = call("cast", is_row, torch.float32)
    second = call("sum_dim", call("mul", weights, values), (-1,))
    if planter.chance(0.4):
        ones = call("number", (length,), 1.0, torch.float32)
        counted = call("scatter_add", nothing, ids, ones, 0)
        planter.tags.append("repeated integers")
        is_any = call("cast", call("any_dim", is_row, -1), torch.float32)
        return counted, call("sum_dim", weights, (-1,)), is_any
    is_left = call(
        "cast", call("not", planter.element_atom(planter.pick([0, 1, 2]))), torch.float32
    )
    return first, second, call("scatter_add", nothing, ids, call("mul", values, is_left), 0)


def make_masked_softmax(planter):
    """Of scores where integers say so."""
    ids = _row(planter)
    _about(planter, ids)
    scores = _floats(planter, "s", planter.size)
    kept = planter.attempt(lambda: call("le_k", ids, int(planter.tensor(ids).max())))
    lost = call("not", planter.element_atom(planter.pick([0, 1, 2, 3])))

    def softmax(kept):
        masked = call("masked_fill", scores, call("not", kept), -1e30)
        return call("softmax", masked, 0, False)

    def spelled(kept):
        weights = call("mul", call("exp", scores), call("cast", kept, torch.float32))
        return call("div", weights, call("sum", weights))

    wrong = call("and", kept, lost)
    if planter.chance(0.5):
        return softmax(kept), softmax(wrong)
    return spelled(kept), spelled(wrong)


def make_loss(planter):
    """The cross entropy of targets, of which one is to be left out."""
    size = planter.pick([4, 10, 50])
    ids = _row(planter, size=size)
    _about(planter, ids)
    logits = _floats(planter, "l", planter.size, size)
    logarithms = call("log_softmax", logits, 1, False)
    picked = call(
        "view", call("gather", logarithms, call("unsqueeze", ids, -1), 1), (planter.size,)
    )
    is_target = call("eq", call("unsqueeze", ids, -1), call("positions", size))
    weights = call("cast", is_target, torch.float32)
    second = call("sum", call("sum_dim", call("mul", weights, logarithms), (-1,)))
    kept = call("cast", call("not", planter.element_atom(planter.pick([0, 1, 2]))), torch.float32)
    return call("sum", picked), second, call("sum", call("mul", picked, kept))


def make_documents(planter):
    """Sums over the elements with the same integer, as attention in packed documents."""
    ids = _row(planter)
    _about(planter, ids)
    values = _floats(planter, "v", planter.size)
    column = call("unsqueeze", ids, -1)
    row = call("unsqueeze", ids, 0)
    same = call("eq", column, row)
    if planter.chance(0.3):
        same = call("ge", column, row)
    numbers = planter.draw.chosen["ids"].tolist()
    a, b = planter.pick(numbers), planter.pick(numbers)
    kind = planter.pick(["pair", "number", "distance"])
    planter.tags.append(kind)
    if kind == "pair":
        atom = call("and", call("eq_k", column, a), call("eq_k", row, b))
    elif kind == "number":
        atom = call("unsqueeze", planter.element_atom(planter.pick([0, 1, 2, 3])), -1)
    else:
        atom = call("eq", column, call("add_k", row, a - b))

    def summed(same):
        return call("sum_dim", call("mul", call("cast", same, torch.float32), values), (-1,))

    return summed(same), summed(call("and", same, call("not", atom)))


def make_routed(planter):
    """A weight for each element, chosen by an integer: looked up, or added for each expert."""
    size = planter.pick([2, 3, 4, 8])
    ids = _row(planter, size=size)
    _about(planter, ids)
    values, weights = _floats(planter, "v", planter.size), _floats(planter, "w", size)
    atom = call("not", planter.element_atom(planter.pick([0, 1, 2])))
    guilty = planter.random.randrange(size)
    if planter.chance(0.5):
        # Of all integers: which elements go where else.
        atom = call("not", planter.whole_atom())

    def by_expert(is_wrong):
        total = None
        for expert in range(size):
            is_here = call("eq_k", ids, expert)
            if is_wrong and expert == guilty:
                is_here = call("and", is_here, atom)
            weight = call("select", weights, 0, expert)
            part = call("where", is_here, call("mul", values, weight), call("mul_k", values, 0.0))
            total = part if total is None else call("add", total, part)
        return total

    first = call("mul", values, call("take", weights, ids))
    return first, by_expert(False), by_expert(True)


def make_sorted(planter):
    """Elements in the order of integers, as tokens by expert, and back."""
    ids = _row(planter)
    _about(planter, ids)
    values = _floats(planter, "v", planter.size)
    order = call("order", ids)
    there = call("take", values, order)
    chosen = planter.whole_atom()
    back = call("take", there, call("order", order))
    return values, back, call("where", chosen, there, back)


MODELS = {
    "scattered": make_scattered,
    "masked softmax": make_masked_softmax,
    "loss": make_loss,
    "documents": make_documents,
    "routed": make_routed,
    "sorted": make_sorted,
}
