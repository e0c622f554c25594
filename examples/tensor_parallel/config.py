# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Sizes and choices of a model."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Config:
    """All sizes are global: the model divides them among the ranks."""

    hidden: int = 32
    heads: int = 8
    kv_heads: int = 4
    ffn: int = 48
    layers: int = 1
    batch: int = 2
    sequence: int = 8
    vocabulary: int = 48
    positions: int = 32
    dtype: torch.dtype = torch.float32
    fused_norm: bool = True
    qkv_bias: bool = False
    qk_norm: bool = False
    sequence_parallel: bool = False
    layout: str = "batch_first"  # or sequence_first, transposed
    last_logits: bool = False  # of each sequence's last token alone, as a prefill needs

    @property
    def head_size(self):
        return self.hidden // self.heads

    def __post_init__(self):
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be divisible by heads ({self.heads})")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"heads ({self.heads}) must be divisible by key-value heads ({self.kv_heads})"
            )
        if self.positions < self.sequence:
            raise ValueError(
                f"positions ({self.positions}) must be at least the sequence ({self.sequence})"
            )


# The published shapes of models that are worth an archive of real size.
SHAPES = {
    "llama-8b": dict(hidden=4096, heads=32, kv_heads=8, ffn=14336, layers=32, vocabulary=128256),
    "llama-70b": dict(hidden=8192, heads=64, kv_heads=8, ffn=28672, layers=80, vocabulary=128256),
}
