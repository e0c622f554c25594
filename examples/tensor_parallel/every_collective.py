# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs that are no model: they use each functional collective once."""

import torch
import torch.distributed._functional_collectives as functional
from torch import nn


class EveryCollective(nn.Module):
    """Each functional collective once, over the world and over pairs of ranks.

    x: [rows, columns], both divisible by the number of ranks. Each result is
    changed a little so that no two outputs are the same value.
    """

    def __init__(self, world, pair):
        super().__init__()
        self.world = world
        self.pair = pair

    def forward(self, x):
        world, pair = self.world.name, self.pair.name
        return (
            functional.all_reduce(x, "sum", world),
            functional.all_reduce(x + 1, "avg", pair),
            functional.all_reduce(x + 2, "max", world),
            functional.all_gather_tensor(x + 3, 0, world),
            functional.all_gather_tensor(x + 4, 1, pair),
            functional.reduce_scatter_tensor(x + 5, "sum", 0, pair),
            functional.reduce_scatter_tensor(x + 6, "avg", 1, world),
            functional.all_to_all_single(x + 7, None, None, world),
            functional.broadcast(x + 8, 0, world),
            *functional.all_reduce_coalesced([x + 9, x * 2], "sum", pair),
            *functional.all_gather_into_tensor_coalesced([x + 10, x * 3], world),
            *functional.reduce_scatter_tensor_coalesced([x + 11, x * 4], "sum", [0, 1], world),
        )


class InPlaceCollectives(nn.Module):
    """The in-place forms, on a dense value and on a transposed one.

    They hand the tensor's own memory to the backend. A transposed value has
    no holes, so this still reduces the right numbers.
    """

    def __init__(self, world):
        super().__init__()
        self.world = world

    def forward(self, x):
        operations = torch.ops._c10d_functional
        dense = operations.all_reduce_(x * 2, "sum", self.world.name)
        sent = operations.broadcast_(x + 1, 0, self.world.name)
        transposed = operations.all_reduce_((x * 3).t(), "sum", self.world.name)
        return tuple(operations.wait_tensor(y) for y in (dense, sent, transposed))


class InPlaceWithHoles(nn.Module):
    """An in-place all_reduce of every other column: wrong in eager PyTorch.

    gloo reduces the first bytes it finds, the skipped columns included, and
    says nothing.
    """

    def __init__(self, world):
        super().__init__()
        self.world = world

    def forward(self, x):
        operations = torch.ops._c10d_functional
        even = (x * 2)[:, ::2]
        return operations.wait_tensor(operations.all_reduce_(even, "sum", self.world.name))
