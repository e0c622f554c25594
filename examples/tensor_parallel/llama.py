# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Llama- and Qwen-style decoder blocks: rotary GQA attention, SwiGLU, RMS norm."""

import math

import torch
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch import nn

from .layers import (
    ColumnParallelLinear,
    RMSNorm,
    RowParallelLinear,
    VocabularyParallelEmbedding,
    divide,
)
from .regions import SequenceParallel, TensorParallel, TransposedSequenceParallel


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def table(function, angles, dtype):
    return torch.tensor([[function(angle) for angle in row] for row in angles], dtype=dtype)


class Rotary(nn.Module):
    """Rotary position embedding from tables, which are constants of the archive."""

    def __init__(self, head_size, positions, dtype, base=10000.0):
        super().__init__()
        # Python's floats are doubles: after rounding, the same on every processor.
        half = head_size // 2
        angles = [
            [position / base ** (pair % half / half) for pair in range(head_size)]
            for position in range(positions)
        ]
        self.register_buffer("cos", table(math.cos, angles, dtype), persistent=False)
        self.register_buffer("sin", table(math.sin, angles, dtype), persistent=False)

    def forward(self, x):
        """x: [batch, heads, sequence, head_size]"""
        length = x.shape[2]
        return x * self.cos[:length] + rotate_half(x) * self.sin[:length]


class Attention(nn.Module):
    """Grouped-query attention; heads are sharded.

    `sequence_dim` says where x has its sequence: 1 for [batch, sequence,
    hidden], 0 for [sequence, batch, hidden].
    """

    def __init__(self, config, group, reduce, sequence_dim):
        super().__init__()
        hidden, head = config.hidden, config.head_size
        divide(config.heads, group, "attention heads")
        divide(config.kv_heads, group, "key-value heads")
        bias = config.qkv_bias
        self.query = ColumnParallelLinear(hidden, config.heads * head, group, bias)
        self.key = ColumnParallelLinear(hidden, config.kv_heads * head, group, bias)
        self.value = ColumnParallelLinear(hidden, config.kv_heads * head, group, bias)
        self.output = RowParallelLinear(config.heads * head, hidden, group, reduce)
        self.query_norm = RMSNorm(head, config.fused_norm) if config.qk_norm else nn.Identity()
        self.key_norm = RMSNorm(head, config.fused_norm) if config.qk_norm else nn.Identity()
        self.head_size = head
        # [batch, heads, sequence, head_size] out of the projections, and back.
        self.to_heads = (0, 2, 1, 3) if sequence_dim == 1 else (1, 2, 0, 3)
        self.from_heads = (0, 2, 1, 3) if sequence_dim == 1 else (2, 0, 1, 3)
        self.grouped = config.kv_heads != config.heads

    def forward(self, x, rotary):
        outer = x.shape[:2]
        query = self.query(x).view(*outer, -1, self.head_size)
        key = self.key(x).view(*outer, -1, self.head_size)
        value = self.value(x).view(*outer, -1, self.head_size).permute(self.to_heads)
        query = rotary(self.query_norm(query).permute(self.to_heads))
        key = rotary(self.key_norm(key).permute(self.to_heads))
        mixed = F.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=self.grouped
        )
        return self.output(mixed.permute(self.from_heads).reshape(*outer, -1))


class SwiGLU(nn.Module):
    def __init__(self, config, group, reduce):
        super().__init__()
        self.gate = ColumnParallelLinear(config.hidden, config.ffn, group)
        self.up = ColumnParallelLinear(config.hidden, config.ffn, group)
        self.down = RowParallelLinear(config.ffn, config.hidden, group, reduce)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, config, region, sequence_dim):
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden, config.fused_norm)
        self.attention = Attention(config, region.group, region.leave, sequence_dim)
        self.mlp_norm = RMSNorm(config.hidden, config.fused_norm)
        self.mlp = SwiGLU(config, region.group, region.leave)
        self.region = region

    def forward(self, x, rotary):
        x = x + self.attention(self.region.enter(self.attention_norm(x)), rotary)
        return x + self.mlp(self.region.enter(self.mlp_norm(x)))


class TransposedBlock(nn.Module):
    """Attention and MLP side by side, both reading one transposed value.

    Two gathers need the same dense copy; the two scatters read the output of
    a linear, which is dense already.
    """

    def __init__(self, config, region):
        super().__init__()
        self.norm = RMSNorm(config.hidden, config.fused_norm)
        self.attention = Attention(config, region.group, region.leave, sequence_dim=0)
        self.mlp = SwiGLU(config, region.group, region.leave)
        self.region = region

    def forward(self, x, rotary):
        y = self.region.transpose(self.norm(x))
        attention = self.attention(self.region.enter(y), rotary)
        mlp = self.mlp(self.region.enter(y))
        return x + self.region.transpose(attention + mlp)


class LlamaBlocks(nn.Module):
    """Decoder blocks between activations; no embedding, no head."""

    def __init__(self, config, group):
        super().__init__()
        dim = 0 if config.layout == "sequence_first" else 1
        if config.layout == "transposed":
            self.region = TransposedSequenceParallel(group)
        elif config.sequence_parallel:
            self.region = SequenceParallel(group, dim)
        else:
            self.region = TensorParallel(group)
        self.rotary = Rotary(config.head_size, config.positions, config.dtype)
        if config.layout == "transposed":
            blocks = (TransposedBlock(config, self.region) for _ in range(config.layers))
        else:
            blocks = (Block(config, self.region, dim) for _ in range(config.layers))
        self.layers = nn.ModuleList(blocks)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.rotary)
        return x


class LlamaModel(nn.Module):
    """Tokens in, logits out: embedding and head sharded along the vocabulary."""

    def __init__(self, config, group):
        super().__init__()
        self.blocks = LlamaBlocks(config, group)
        region = self.blocks.region
        self.embedding = VocabularyParallelEmbedding(
            config.vocabulary, config.hidden, group, region.leave
        )
        self.norm = RMSNorm(config.hidden, config.fused_norm)
        self.head = ColumnParallelLinear(config.hidden, config.vocabulary, group)
        self.region = region
        self.last_logits = config.last_logits
        self.sequence_dim = 0 if config.layout == "sequence_first" else 1

    def forward(self, tokens):
        x = self.blocks(self.embedding(tokens))
        if self.last_logits:
            x = x.narrow(self.sequence_dim, x.shape[self.sequence_dim] - 1, 1)
        x = self.norm(x)
        logits = self.head(self.region.enter(x))
        return functional.all_gather_tensor(logits, 2, self.region.group.name)
