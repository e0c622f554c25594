# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""BERT-style blocks: norm after the residual, attention mask, token types."""

import torch
import torch.nn.functional as F
from torch import nn

from .layers import ColumnParallelLinear, Embedding, LayerNorm, RowParallelLinear, divide
from .regions import TensorParallel


class Attention(nn.Module):
    """Attention spelled out: two matmuls and a softmax over masked scores."""

    def __init__(self, config, group, reduce):
        super().__init__()
        self.heads = divide(config.heads, group, "attention heads")
        self.head_size = config.head_size
        width = config.heads * config.head_size
        self.query = ColumnParallelLinear(config.hidden, width, group, bias=True)
        self.key = ColumnParallelLinear(config.hidden, width, group, bias=True)
        self.value = ColumnParallelLinear(config.hidden, width, group, bias=True)
        self.output = RowParallelLinear(width, config.hidden, group, reduce, bias=True)

    def forward(self, x, mask):
        batch, length, _ = x.shape
        query, key, value = (
            linear(x).view(batch, length, self.heads, self.head_size).transpose(1, 2)
            for linear in (self.query, self.key, self.value)
        )
        scores = torch.matmul(query, key.transpose(-1, -2)) / self.head_size**0.5
        mixed = torch.matmul(F.softmax(scores + mask, dim=-1), value)
        return self.output(mixed.transpose(1, 2).contiguous().view(batch, length, -1))


class Block(nn.Module):
    def __init__(self, config, region):
        super().__init__()
        group = region.group
        self.attention = Attention(config, group, region.leave)
        self.attention_norm = LayerNorm(config.hidden, epsilon=1e-12)
        self.up = ColumnParallelLinear(config.hidden, config.ffn, group, bias=True)
        self.down = RowParallelLinear(config.ffn, config.hidden, group, region.leave, bias=True)
        self.mlp_norm = LayerNorm(config.hidden, epsilon=1e-12)

    def forward(self, x, mask):
        x = self.attention_norm(self.attention(x, mask) + x)
        return self.mlp_norm(self.down(F.gelu(self.up(x))) + x)


class BertModel(nn.Module):
    def __init__(self, config, group):
        super().__init__()
        self.tokens = Embedding(config.vocabulary, config.hidden)
        self.positions = Embedding(config.positions, config.hidden)
        self.token_types = Embedding(2, config.hidden)
        self.norm = LayerNorm(config.hidden, epsilon=1e-12)
        region = TensorParallel(group)
        self.layers = nn.ModuleList(Block(config, region) for _ in range(config.layers))
        position = torch.arange(config.positions).unsqueeze(0)
        self.register_buffer("position", position, persistent=False)
        self.dtype = config.dtype

    def forward(self, tokens, attention_mask, token_types):
        position = self.position[:, : tokens.shape[1]]
        x = self.tokens(tokens) + self.token_types(token_types) + self.positions(position)
        x = self.norm(x)
        hidden = 1.0 - attention_mask[:, None, None, :].to(self.dtype)
        mask = hidden * torch.finfo(self.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x
