# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Terms spelled otherwise, which compute the same for all integers, and near misses, which do not.

A respelling holds modulo any power of two, so that programs which wrap around are equal too.
"""

import torch

from pairs.terms import Term, call, is_integer, is_truth

SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
COMMUTATIVE = {
    "add", "mul", "max", "min", "bits_and", "bits_or", "bits_xor", "and", "or", "eq", "ne",
}  # fmt: skip


def _log2(number):
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


def _spellings(bench, term):
    """Other terms that are equal to this one."""
    op, numbers = term.op, term.numbers
    a = term.operands[0] if term.operands else None
    b = term.operands[1] if len(term.operands) > 1 else None
    tensor = bench.tensor(term)
    of = bench.tensor(a) if a is not None else None
    k = numbers[0] if numbers else None
    is_of_integers = of is not None and is_integer(of)
    fits = (
        is_of_integers and isinstance(k, int) and _fits(of.dtype, k - 1) and _fits(of.dtype, k + 1)
    )
    name = op.removesuffix("_k")
    if op in COMMUTATIVE and b is not None:
        yield Term(op, (b, a))
    if op in SWAPPED:
        yield Term(SWAPPED[op], (b, a))
    if name in NEGATED:
        yield call("not", Term(NEGATED[name] + op[len(name) :], term.operands, numbers))
    if op == "eq" and is_of_integers and is_integer(bench.tensor(b)):
        yield call("eq_k", call("sub", a, b), 0)
        yield call("eq_k", call("bits_xor", a, b), 0)
    if op == "eq_k" and fits:
        yield call("eq_k", call("add_k", a, 1), k + 1)
        yield call("eq_k", call("sub_k", a, k), 0)
    if op == "lt_k" and fits:
        yield call("le_k", a, k - 1)
    if op == "ge_k" and fits:
        yield call("gt_k", a, k - 1)
    if op == "add_k" and fits and _fits(of.dtype, -k):
        yield call("sub_k", a, -k)
        yield call("add_k", call("add_k", a, k - 1), 1)
    if op == "sub" and is_of_integers and bench.tensor(b).dtype == tensor.dtype != torch.uint8:
        yield call("add", a, call("neg", b))
    if op == "mul_k" and k == 2:
        yield call("add", a, a)
    if is_of_integers and tensor.dtype == of.dtype and isinstance(k, int):
        power, width = _log2(k), torch.iinfo(of.dtype).bits
        if op == "mul_k" and power is not None and power + 1 < width:
            yield call("left_k", a, power)
        if op == "floor_k" and power is not None:
            yield call("right_k", a, power)
        if op == "mod_k" and power is not None:
            yield call("bits_and_k", a, k - 1)
        if op == "mod_k":
            yield call("sub", a, call("mul_k", call("floor_k", a, k), k))
        if op == "bits_xor_k":
            yield call("sub", call("bits_or_k", a, k), call("bits_and_k", a, k))
        if op == "bits_or_k":
            yield call("add", call("bits_xor_k", a, k), call("bits_and_k", a, k))
    if op == "floor_k" and a.op == "floor_k" and k > 0 and a.numbers[0] > 0 and is_of_integers:
        with_both = k * a.numbers[0]
        if _fits(of.dtype, with_both):
            yield call("floor_k", a.operands[0], with_both)
    if op == "square":
        yield call("mul", a, a)
        yield call("pow_k", a, 2)
    if op == "neg" and is_of_integers:
        yield call("rsub_k", a, 0)
    if op == "bits_not" and is_of_integers and of.dtype != torch.uint8:
        yield call("sub_k", call("neg", a), 1)
    if op == "abs" and is_of_integers:
        yield call("max", a, call("neg", a)) if of.dtype != torch.uint8 else a
    if op == "relu":
        yield call("clamp", a, 0)
    if op == "bits_xor" and is_integer(tensor):
        yield call("sub", call("bits_or", a, b), call("bits_and", a, b))
    if op == "where":
        yield call("where", call("not", a), term.operands[2], b)
    if op == "and" and is_truth(of) and is_truth(bench.tensor(b)):
        yield call("bits_and", a, b)
        yield call("not", call("or", call("not", a), call("not", b)))
    if op == "or" and is_truth(of) and is_truth(bench.tensor(b)):
        yield call("bits_or", a, b)
        yield call("not", call("and", call("not", a), call("not", b)))
    if op == "not" and is_truth(of):
        yield call("bits_not", a)
    if op == "any" and is_truth(of):
        yield call("not", call("all", call("not", a)))
        yield call("gt_k", call("sum", a), 0)
    if op == "all" and is_truth(of):
        yield call("not", call("any", call("not", a)))
        yield call("eq_k", call("sum", a), of.numel())
    if op in ("sum", "sort") and of.dim() == 1 and not of.is_floating_point():
        yield call(op, call("flip", a, (0,)), *numbers)
    if op in ("largest", "least") and of.dim() == 1 and is_of_integers:
        yield call("select", call("sort", a), 0, -1 if op == "largest" else 0)
    if op == "mul" and a.op == "cast" and is_truth(bench.tensor(a.operands[0])):
        factor = bench.tensor(b)
        if factor.is_floating_point() and factor.shape == tensor.shape:
            yield call("where", a.operands[0], b, call("mul_k", b, 0.0))


def _fits(dtype, number):
    info = torch.iinfo(dtype)
    return info.min <= number <= info.max


def respell(bench, term, random, probability=0.4):
    """The term with some operators spelled otherwise; and how many."""
    known = {}

    def change(term):
        if term in known:
            return known[term]
        changed = term.with_operands([change(operand) for operand in term.operands])
        if random.random() < probability:
            choices = list(_spellings(bench, changed))
            if choices:
                chosen = random.choice(choices)
                if _is_alike(bench, chosen, changed):
                    changed = chosen
        known[term] = changed
        return changed

    return change(term)


def _is_alike(bench, first, second):
    try:
        a, b = bench.tensor(first), bench.tensor(second)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return False
    return a.dtype == b.dtype and a.shape == b.shape


NEAR_OPS = [
    ("lt", "le"), ("gt", "ge"), ("lt_k", "le_k"), ("gt_k", "ge_k"), ("eq", "le"), ("eq_k", "le_k"), ("eq_k", "ge_k"), ("max", "min"),
    ("max", "add"), ("add", "bits_or"), ("add", "bits_xor"), ("add_k", "bits_or_k"), ("add_k", "bits_xor_k"),
    ("bits_and", "min"), ("bits_or", "max"), ("bits_or_k", "bits_xor_k"), ("and", "or"), ("mod_k", "fmod_k"),
    ("abs", "neg"), ("relu", "abs"), ("sort", "flip"), ("any", "all"), ("largest", "least"), ("square", "abs"),
    ("sub", "add"), ("sub", "bits_xor"), ("round", "floor_of"), ("sign", "relu"),
    ("cumsum", "flip"), ("mul", "bits_and"),
]  # fmt: skip
NEAR = {}
for _a, _b in NEAR_OPS:
    NEAR.setdefault(_a, []).append(_b)
    NEAR.setdefault(_b, []).append(_a)


def _misses(term):
    """Terms that differ from this one for some integers, or for none."""
    numbers = term.numbers
    yield from (
        Term(op, term.operands, numbers if op not in ("flip", "cumsum", "sort") else ())
        for op in NEAR.get(term.op, [])
        if "flip" not in (op, term.op) and "cumsum" not in (op, term.op)
    )
    if numbers and isinstance(numbers[-1], int) and term.op not in ("positions", "slice", "cumsum"):
        for delta in (-1, 1, 2):
            yield Term(term.op, term.operands, (*numbers[:-1], numbers[-1] + delta))
    if len(term.operands) == 2:
        yield Term(term.op, term.operands[::-1], numbers)
    yield from term.operands
    if term.op == "floor_k":
        # Rounded toward zero, and back again.
        (k,) = numbers
        yield call("sub", term, call("cast", call("lt_k", term, 0), torch.int64))
        yield call("floor_k", call("add_k", term.operands[0], 1), k)


def miss(bench, term, random):
    """The term with one operator or number that is another; None where nothing fits."""
    places = list(term.inner_terms())
    for _ in range(20):
        place = random.choice(places)
        choices = list(_misses(place))
        if not choices:
            continue
        chosen = random.choice(choices)
        if chosen == place or not _is_alike(bench, chosen, place):
            continue
        return _replace(term, place, chosen)
    return None


def _replace(term, place, chosen):
    if term == place:
        return chosen
    return term.with_operands([_replace(operand, place, chosen) for operand in term.operands])
