# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Factories: each returns the module of a rank, as models are that people write by hand."""

import torch
import torch.distributed as dist
from torch import nn

X = torch.arange(24.0).reshape(4, 6)


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        handle = dist.all_reduce(gradient, async_op=True)
        handle.wait()
        return gradient


class Mlp(nn.Module):
    def __init__(self, world, reduces=True):
        super().__init__()
        self.norm = nn.LayerNorm(6)
        self.up = nn.Linear(6, 8 // world, bias=False)
        self.down = nn.Linear(8 // world, 6, bias=False)
        self.scale = nn.Parameter(torch.randn(6))
        self.reduces = reduces

    def forward(self, x):
        y = self.down(torch.relu(self.up(Copy.apply(self.norm(x)))))
        return (Reduce.apply(y) if self.reduces else y) * self.scale


def build(rank, world):
    """Asks for a GPU, as models do, and takes the seeds as they are."""
    assert (dist.get_rank(), dist.get_world_size()) == (rank, world)
    with torch.cuda.stream(torch.cuda.Stream()):
        return Mlp(world).cuda(), (X.to(torch.cuda.current_device()),)


def seeded(rank, world):
    torch.manual_seed(1)
    return build(rank, world)


def with_loss(rank, world):
    model, args = seeded(rank, world)
    return model, args, lambda model, x: model(x).square().sum()


def faulty(rank, world):
    return Mlp(world, reduces=world == 1), (X,)


class Packed(nn.Module):
    """Parameters with the attributes of Megatron, in groups that no mesh has."""

    def __init__(self, world):
        super().__init__()
        tensor = max(world // 2, 1)
        for index, ranks in enumerate([[0, 1], [2, 3], [0, 2], [1, 3]] if world > 1 else [[0]]):
            description = "TENSOR_MODEL_PARALLEL_GROUP" if index < 2 else "DATA_PARALLEL_GROUP"
            group = dist.new_group(ranks, backend="nccl", group_desc=description)
            if dist.get_rank() in ranks and index < 2:
                self.group = group
        self.gate_and_up = nn.Parameter(torch.randn(16 // tensor, 6))
        self.down = nn.Parameter(torch.randn(6, 8 // tensor))
        for parameter, dim, stride in ((self.gate_and_up, 0, 2), (self.down, 1, 1)):
            parameter.tensor_model_parallel = True
            parameter.partition_dim = dim
            parameter.partition_stride = stride

    def forward(self, x):
        gate, up = torch.chunk(x @ self.gate_and_up.T, 2, dim=-1)
        y = (torch.relu(gate) * up) @ self.down.T
        dist.all_reduce(y, group=self.group)
        return y


def packed(rank, world):
    torch.manual_seed(rank % 2)
    return Packed(world), (X,)


def unmarked(rank, world):
    """Which axis a parameter is cut along, only the values of the ranks say."""
    model, args = packed(rank, world)
    del model.down.tensor_model_parallel
    return model, args


def broken(rank, world):
    return nn.Linear(6, 6 // (world - 2)), (X,)


def not_a_module(rank, world):
    return 3
