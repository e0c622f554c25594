# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Small programs around collectives, and the dense copies that each needs.

    CASES["slice_with_holes"].export("case.pt2", world_size=2)

PyTorch exports functional collectives without a process group: only the group's
name and size go into the graph.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed._functional_collectives  # registers _c10d_functional
from torch import nn
from torch.export import Dim

from programs import define_library

c10d = torch.ops._c10d_functional
WORLD = "0"


def mylib_double_in_place(x):
    x.mul_(2)


# A library unregisters its operators when it goes.
MYLIB = define_library("mylib", {"double_in_place(Tensor(a!) x) -> ()": mylib_double_in_place})


def gather(x, size):
    return c10d.wait_tensor(c10d.all_gather_into_tensor(x, size, WORLD))


def scatter(x, size):
    return c10d.wait_tensor(c10d.reduce_scatter_tensor(x, "sum", size, WORLD))


def exchange(x, size):
    splits = [x.shape[0] // size] * size
    return c10d.wait_tensor(c10d.all_to_all_single(x, splits, splits, WORLD))


@dataclass
class Case:
    """One program of x: [8, 12] and the number of ranks.

    `copies` new clones are expected. `rewritten` stands for a change without
    one: an operator of the program writes dense memory, or has a copy already.
    `refused` says that an input which is not dense has to stay as it is.
    """

    function: Callable
    copies: int
    rewritten: bool = False
    refused: bool = False
    dynamic: bool = False
    # Whether the ranks' processes know all its operators.
    runs: bool = True

    def export(self, path, world_size):
        function = self.function

        class Program(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.rand(12, 8).t())

            def forward(self, x):
                return function(self, x, world_size)

        shapes = ({0: 4 * Dim("rows", min=2), 1: 4 * Dim("columns", min=2)},)
        program = torch.export.export(
            Program(), (torch.rand(8, 12),), dynamic_shapes=shapes if self.dynamic else None
        )
        sidecar = {"version": 1, "groups": {WORLD: {"ranks": list(range(world_size))}}}
        torch.export.save(program, path, extra_files={"commute.json": json.dumps(sidecar)})
        return program


CASES = {}


def case(copies, **options):
    def register(function):
        CASES[function.__name__] = Case(function, copies, **options)
        return function

    return register


# ----------------------------------------------------------------------------
# Dense as they are
# ----------------------------------------------------------------------------


@case(0)
def dense_inputs(self, x, size):
    return gather(x, size), scatter(x * 2, size), exchange(x + 1, size)


@case(0)
def transposed_twice(self, x, size):
    return gather(x.t().t(), size), scatter(x.permute(1, 0).transpose(0, 1), size)


@case(0)
def rows_of_a_dense_value(self, x, size):
    # A slice of whole rows starts elsewhere, but has no holes.
    return gather(x[2:6], size)


@case(0)
def dim_of_size_one(self, x, size):
    return gather(x[:1].t().reshape(1, 1, 12).permute(2, 0, 1), size)


@case(0)
def empty_value(self, x, size):
    return gather(x[:, :0].t(), size)


@case(0)
def result_of_a_collective(self, x, size):
    # Row-major whatever went in; the permuted result of another is not.
    return gather(gather(x, size), size)


@case(0)
def linear_of_a_transposed_value(self, x, size):
    return scatter(x.t() @ x, size)


@case(0)
def functional_all_reduce(self, x, size):
    # Copies its input itself.
    return c10d.wait_tensor(c10d.all_reduce(x.t(), "sum", WORLD))


@case(0)
def chunk_and_cat(self, x, size):
    return scatter(torch.cat(x.chunk(size, 1)), size)


# ----------------------------------------------------------------------------
# One copy
# ----------------------------------------------------------------------------


@case(1)
def slice_with_holes(self, x, size):
    return gather(x[:, 2:6], size)


@case(1)
def every_other_row(self, x, size):
    return scatter(x[::2], size)


@case(1)
def broadcast_value(self, x, size):
    return gather(x[0].expand(4, 12), size)


@case(1)
def transposed_parameter(self, x, size):
    return gather(self.weight, size) + x.sum()


@case(1)
def elementwise_keeps_the_strides(self, x, size):
    return scatter((x.t() * 2).exp(), size)


@case(1)
def exchanged_transposed(self, x, size):
    return exchange(x.t()[:8], size)


@case(1)
def one_value_in_three_collectives(self, x, size):
    y = x.t()[:8]
    return gather(y, size), scatter(y, size), exchange(y, size), y + 1


@case(1, dynamic=True)
def symbolic_sizes(self, x, size):
    return gather(x.t(), size), gather(x, size)


@case(1)
def members_of_a_list(self, x, size):
    y = x.t()
    results = c10d.all_gather_into_tensor_coalesced([y, x, y], size, WORLD)
    return [c10d.wait_tensor(result) for result in results]


# ----------------------------------------------------------------------------
# More, or none for another reason
# ----------------------------------------------------------------------------


@case(2)
def two_values(self, x, size):
    return gather(x.t(), size), gather(x[:, ::2], size)


@case(0, rewritten=True)
def copy_that_is_there(self, x, size):
    y = x.t()
    return y.contiguous().sum(), gather(y, size)


@case(0, rewritten=True)
def cast_that_can_write_dense(self, x, size):
    return gather(x.t().to(torch.bfloat16), size)


@case(1)
def cast_that_others_read(self, x, size):
    y = x.t().to(torch.bfloat16)
    return gather(y, size), y


@case(0, rewritten=True)
def clone_that_can_write_dense(self, x, size):
    return gather(x.t().clone(), size)


@case(2)
def changed_between_two_collectives(self, x, size):
    y = x * 1
    before = gather(y.t(), size)
    y.add_(1)
    return before, gather(y.t(), size)


@case(2, runs=False)
def changed_by_an_operator_without_results(self, x, size):
    # Of an unknown library; its name does not say that it writes.
    y = x * 1
    view = y.t()
    before = gather(view, size)
    torch.ops.mylib.double_in_place(y)
    return before, gather(view, size)


@case(2)
def changed_through_a_view(self, x, size):
    y = x * 1
    view = y.t()
    before = gather(view, size)
    y[0].mul_(2)
    return before, gather(view, size)


# ----------------------------------------------------------------------------
# In place
# ----------------------------------------------------------------------------


@case(0)
def in_place_dense(self, x, size):
    return c10d.wait_tensor(c10d.all_reduce_(x * 2, "sum", WORLD))


@case(0, refused=True)
def in_place_on_a_view_that_is_read(self, x, size):
    y = x * 2
    reduced = c10d.wait_tensor(c10d.all_reduce_(y.t(), "sum", WORLD))
    return reduced, y


@case(0, refused=True)
def in_place_on_an_input(self, x, size):
    return c10d.wait_tensor(c10d.broadcast_(x.t(), 0, WORLD))


@case(0)
def in_place_and_in_order(self, x, size):
    # The gather reads what the reduction has written.
    y = x * 2
    reduced = c10d.wait_tensor(c10d.all_reduce_(y, "sum", WORLD))
    return gather(reduced, size), y
