# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""LoRA adapters of peft on layers that are sharded by hand, and on those of fairscale."""

import torch
import torch.distributed as dist
from peft import LoraConfig, inject_adapter_in_model
from torch import nn

X = torch.arange(24.0).reshape(4, 6) / 24


class RowParallel(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        dist.all_reduce(y)
        return y


class Mlp(nn.Module):
    def __init__(self, world):
        super().__init__()
        self.up = nn.Linear(6, 8 // world, bias=False)
        self.down = RowParallel(8 // world, 6, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def _adapted(world, targets):
    torch.manual_seed(1)
    config = LoraConfig(r=2, target_modules=targets, init_lora_weights=False)
    return inject_adapter_in_model(config, Mlp(world)), (X,)


def column(rank, world):
    """The adapter of a column-parallel layer: its second factor is sharded like the layer."""
    return _adapted(world, ["up"])


def row(rank, world):
    """The adapter of a row-parallel layer is outside of the layer's all_reduce: a fault."""
    return _adapted(world, ["down"])
