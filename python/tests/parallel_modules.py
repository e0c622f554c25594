# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Small tensor-parallel modules as users write them, and their inputs on a rank."""

import torch
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

BATCH, TOKENS, WIDTH, HEADS, HIDDEN = 2, 8, 32, 4, 64


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.output = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        def heads(projected):
            return projected.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)

        query, key, value = (heads(p(x)) for p in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(attended.transpose(1, 2).flatten(2))


class FeedForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = torch.nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class LlamaBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = torch.nn.RMSNorm(WIDTH, eps=1e-5)
        self.attention = Attention()
        self.norm = torch.nn.RMSNorm(WIDTH, eps=1e-5)
        self.feed_forward = FeedForward()

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.norm(x))


class ReplicatedStream(torch.nn.Module):
    """A block between DTensors: a residual that all ranks have, and norms of it."""

    def __init__(self, block, mesh):
        super().__init__()
        self.block = block
        self.mesh = mesh

    def forward(self, x):
        stream = DTensor.from_local(x, self.mesh, (Replicate(),), run_check=False)
        return self.block(stream).to_local()


def draw(module):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return module.double()


def block_plan(inputs, outputs, **options):
    columns = ColwiseParallel(input_layouts=inputs)
    rows = RowwiseParallel(output_layouts=outputs, **options)
    return {
        **dict.fromkeys(("attention.query", "attention.key", "attention.value"), columns),
        "attention.output": rows,
        **dict.fromkeys(("feed_forward.gate", "feed_forward.up"), columns),
        "feed_forward.down": rows,
    }


def sequence_parallel_block(mesh):
    """Shards of rows between products, as in Megatron: all_gathers and reduce_scatters."""
    plan = block_plan(Shard(1), Shard(1))
    norms = {"attention_norm": SequenceParallel(), "norm": SequenceParallel()}
    return parallelize_module(draw(LlamaBlock()), mesh, {**plan, **norms})


def replicated_block(mesh):
    """All rows on all ranks between products: all_reduces."""
    block = draw(LlamaBlock())
    parallelize_module(block, mesh, block_plan(Replicate(), Replicate(), use_local_output=False))
    return ReplicatedStream(distribute_module(block, mesh), mesh)


class FunctionalFeedForward(torch.nn.Module):
    """With functional collectives along the rows, and this rank's weights."""

    def __init__(self, mesh):
        super().__init__()
        self.group = mesh.get_group()
        size, rank = mesh.size(), mesh.get_local_rank()
        whole = draw(FeedForward())
        self.gate = torch.nn.Parameter(whole.gate.weight.chunk(size, 0)[rank].t().clone())
        self.down = torch.nn.Parameter(whole.down.weight.chunk(size, 1)[rank].t().clone())

    def forward(self, x):
        rows = functional.all_gather_tensor_autograd(x, 0, self.group)
        product = F.silu(rows @ self.gate) @ self.down
        return functional.reduce_scatter_tensor_autograd(product, "sum", 0, self.group)


def functional_feed_forward(mesh):
    return FunctionalFeedForward(mesh)


def make_input(name, mesh):
    """What a rank passes to a module: its rows, or all of them."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(BATCH, TOKENS, WIDTH, generator=generator, dtype=torch.float64)
    if name == "sequence_parallel_block":
        x = x.chunk(mesh.size(), 1)[mesh.get_local_rank()].clone()
    if name == "functional_feed_forward":
        x = x.flatten(0, 1).chunk(mesh.size())[mesh.get_local_rank()].clone()
    return x.requires_grad_()


MODULES = {
    make.__name__: make
    for make in (sequence_parallel_block, replicated_block, functional_feed_forward)
}
