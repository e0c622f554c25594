# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The registry of operators, and what several families need to choose operands."""

import torch

from random_programs import BOOLEAN, NUMBERS, aten

OPERATORS = {}


def operators(namespace, names):
    def register(function):
        for name in names.split():
            packet, overload = name.split(".")
            target = getattr(getattr(namespace, packet), overload)
            OPERATORS[f"{namespace.name}.{name}"] = lambda p, target=target: function(p, target)
        return function

    return register


def aten_operators(names):
    return operators(aten, names)


def is_float(value):
    return value.dtype.is_floating_point


def is_dense(value):
    return all(tensor.is_contiguous() for tensor in value.tensors)


def some_dims(p, value):
    return p.random.sample(range(value.rank), p.random.randint(1, value.rank))


def anything(p, least=0, fits=None):
    return p.operand(NUMBERS + BOOLEAN, least=least, fits=fits)


def as_long(p, index):
    return p.call(aten.to.dtype, index, torch.int64, exact=True)
