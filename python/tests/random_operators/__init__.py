# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How a random program comes to call each operator: see random_programs.py.

    OPERATORS["aten.softmax.int"](program)

There is one function for each family; it chooses operands, numbers and dims.
"""

# Each registers its operators; seeds of random programs depend on the order.
from random_operators import (  # noqa: F401  # isort: skip
    elementwise,
    factories,
    rows,
    products,
    lookups,
    formulas,
    losses,
    reindexing,
    collectives,
)
from random_operators.registry import OPERATORS

__all__ = ["OPERATORS"]
