# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Where a tensor-parallel region begins and ends.

A region is a column-parallel linear, what follows it on the shard, and a
row-parallel linear. `enter` gives its first linear the full activations,
`leave` turns the partial sums of the last one into activations again.
"""

import torch
import torch.distributed._functional_collectives as functional


class TensorParallel:
    """Activations are replicated: one all_reduce at the end of each region."""

    def __init__(self, group):
        self.group = group

    def enter(self, x):
        return x

    def leave(self, x):
        return functional.all_reduce(x, "sum", self.group.name)


class SequenceParallel:
    """Activations are sharded along the sequence between regions.

    The functional collectives work on dimension 0. For another dimension they
    add chunk and cat: after the gather, before the scatter.
    """

    def __init__(self, group, dim):
        self.group = group
        self.dim = dim

    def enter(self, x):
        return functional.all_gather_tensor(x, self.dim, self.group.name)

    def leave(self, x):
        return functional.reduce_scatter_tensor(x, "sum", self.dim, self.group.name)


class TransposedSequenceParallel:
    """Activations are [batch, sequence shard, hidden], regions sequence-first.

    The transposed view goes into the collective as it is. The collective
    reads memory in order, and a transposed view is not in order: older
    PyTorch refuses it, PyTorch 2.13 makes a hidden copy in every collective.
    """

    def __init__(self, group):
        self.group = group

    def transpose(self, x):
        return x.transpose(0, 1)

    def enter(self, x):
        gathered = torch.ops._c10d_functional.all_gather_into_tensor(
            x, self.group.size, self.group.name
        )
        return torch.ops._c10d_functional.wait_tensor(gathered)

    def leave(self, x):
        scattered = torch.ops._c10d_functional.reduce_scatter_tensor(
            x, "sum", self.group.size, self.group.name
        )
        return torch.ops._c10d_functional.wait_tensor(scattered)
