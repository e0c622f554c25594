# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""GPT-2-style blocks: layer norm first, fused query-key-value, learned positions."""

import torch
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch import nn

from .layers import Embedding, LayerNorm, divide, replicated, sharded


class ColumnParallelConv1D(nn.Module):
    """GPT-2's linear: weight [inputs, outputs], so columns are dimension 1."""

    def __init__(self, inputs, outputs, group, parts=1):
        super().__init__()
        local = parts * divide(outputs // parts, group, "output features")
        self.weight = sharded(inputs, local, dim=1, parts=parts)
        self.bias = sharded(local, dim=0, parts=parts)

    def forward(self, x):
        y = torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight)
        return y.view(*x.shape[:-1], -1)


class RowParallelConv1D(nn.Module):
    def __init__(self, inputs, outputs, group):
        super().__init__()
        self.weight = sharded(divide(inputs, group, "input features"), outputs, dim=0)
        self.bias = replicated(outputs)
        self.group = group

    def forward(self, x):
        y = torch.mm(x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)
        return functional.all_reduce(y, "sum", self.group.name) + self.bias


class Attention(nn.Module):
    def __init__(self, config, group):
        super().__init__()
        self.heads = divide(config.heads, group, "attention heads")
        width = config.heads * config.head_size
        self.qkv = ColumnParallelConv1D(config.hidden, 3 * width, group, parts=3)
        self.output = RowParallelConv1D(width, config.hidden, group)
        self.head_size = config.head_size

    def forward(self, x):
        batch, length, _ = x.shape
        qkv = self.qkv(x).split(self.heads * self.head_size, dim=2)
        query, key, value = (
            part.view(batch, length, self.heads, self.head_size).transpose(1, 2) for part in qkv
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).contiguous().view(batch, length, -1))


class Block(nn.Module):
    def __init__(self, config, group):
        super().__init__()
        self.attention_norm = LayerNorm(config.hidden)
        self.attention = Attention(config, group)
        self.mlp_norm = LayerNorm(config.hidden)
        self.up = ColumnParallelConv1D(config.hidden, config.ffn, group)
        self.down = RowParallelConv1D(config.ffn, config.hidden, group)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class GPT2Model(nn.Module):
    def __init__(self, config, group):
        super().__init__()
        self.tokens = Embedding(config.vocabulary, config.hidden)
        self.positions = Embedding(config.positions, config.hidden)
        self.layers = nn.ModuleList(Block(config, group) for _ in range(config.layers))
        self.norm = LayerNorm(config.hidden)

    def forward(self, tokens):
        position = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(position)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)
