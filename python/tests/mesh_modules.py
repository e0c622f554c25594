# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models on meshes of one and two axes as users parallelize them: BERT, a mixture of
experts, tensor parallelism with FSDP2, collectives on several groups of one mesh."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from parallel_modules import (
    HEADS,
    HIDDEN,
    TOKENS,
    WIDTH,
    LlamaBlock,
    ReplicatedStream,
    block_plan,
    draw,
)

EXPERTS, CHOSEN = 4, 2


class BertLayer(torch.nn.Module):
    """Post-norm attention and feed forward with biases, as in BERT."""

    def __init__(self):
        super().__init__()
        for name in ("query", "key", "value", "attended"):
            setattr(self, name, torch.nn.Linear(WIDTH, WIDTH))
        self.attention_norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, HIDDEN)
        self.down = torch.nn.Linear(HIDDEN, WIDTH)
        self.norm = torch.nn.LayerNorm(WIDTH)

    def forward(self, x):
        def heads(projected):
            return projected.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)

        query, key, value = (heads(p(x)) for p in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(query, key, value)
        x = self.attention_norm(x + self.attended(attended.transpose(1, 2).flatten(2)))
        return self.norm(x + self.down(F.gelu(self.up(x))))


class Experts(torch.nn.Module):
    """A router and all experts on all tokens, with this rank's columns of every expert."""

    def __init__(self, mesh):
        super().__init__()
        self.group = mesh.get_group()
        size, rank = mesh.size(), mesh.get_local_rank()
        whole = torch.nn.ParameterDict(
            {
                "router": torch.zeros(WIDTH, EXPERTS),
                "up": torch.zeros(EXPERTS, WIDTH, HIDDEN),
                "down": torch.zeros(EXPERTS, HIDDEN, WIDTH),
            }
        )
        draw(whole)
        self.norm = torch.nn.RMSNorm(WIDTH, eps=1e-5, dtype=torch.float64)
        self.last_norm = torch.nn.RMSNorm(WIDTH, eps=1e-5, dtype=torch.float64)
        self.router = torch.nn.Parameter(whole["router"].detach().clone())
        self.up = torch.nn.Parameter(whole["up"].detach().chunk(size, 2)[rank].clone())
        self.down = torch.nn.Parameter(whole["down"].detach().chunk(size, 1)[rank].clone())

    def forward(self, x):
        normed = self.norm(x)
        shares, chosen = (normed @ self.router).softmax(-1).topk(CHOSEN, -1)
        weights = torch.zeros_like(normed @ self.router).scatter(-1, chosen, shares)
        hidden = F.silu(torch.einsum("btw,ewh->ebth", normed, self.up))
        outputs = torch.einsum("ebth,ehw->ebtw", hidden, self.down)
        mixed = torch.einsum("bte,ebtw->btw", weights, outputs)
        reduced = functional.all_reduce(mixed, "sum", self.group)
        return self.last_norm(x + reduced)


class TwoAxes(torch.nn.Module):
    """Collectives on both axes of a mesh and on the group of all ranks."""

    def __init__(self, mesh):
        super().__init__()
        rows, columns = mesh.mesh_dim_names
        self.groups = (mesh.get_group(rows), mesh.get_group(columns), dist.group.WORLD)
        generator = torch.Generator().manual_seed(2 + mesh.get_local_rank(columns))
        self.up = torch.nn.Parameter(
            torch.randn(WIDTH, HIDDEN, generator=generator, dtype=torch.float64) * 0.3
        )
        self.down = torch.nn.Parameter(
            torch.randn(HIDDEN, WIDTH, generator=generator, dtype=torch.float64) * 0.3
        )

    def forward(self, x):
        rows, columns, everyone = self.groups
        full = functional.all_gather_tensor_autograd(x, 0, columns)
        product = F.silu(full @ self.up) @ self.down
        part = functional.reduce_scatter_tensor_autograd(product, "sum", 0, columns)
        gathered = functional.all_gather_tensor_autograd(part, 0, rows)
        total = functional.all_gather_tensor_autograd(gathered @ self.up, 1, everyone)
        return total.sin()


def bert_layer(mesh):
    block = draw(BertLayer())
    columns = ColwiseParallel(use_local_output=True)
    rows = RowwiseParallel(use_local_output=False)
    plan = {
        **dict.fromkeys(("query", "key", "value", "up"), columns),
        **dict.fromkeys(("attended", "down"), rows),
    }
    parallelize_module(block, mesh["tp"], plan)
    return ReplicatedStream(distribute_module(block, mesh["tp"]), mesh["tp"])


def experts(mesh):
    return Experts(mesh["tp"])


def fsdp_llama(mesh):
    """FSDP2 along dp over sequence parallelism along tp."""
    plan = block_plan(Shard(1), Shard(1))
    norms = {"attention_norm": SequenceParallel(), "norm": SequenceParallel()}
    block = parallelize_module(draw(LlamaBlock()), mesh["tp"], {**plan, **norms})
    return fully_shard(block, mesh=mesh["dp"])


def data_parallel_llama(mesh):
    """The batch along dp, in the same program, without FSDP."""
    plan = block_plan(Replicate(), Replicate(), use_local_output=False)
    block = draw(LlamaBlock())
    parallelize_module(block, mesh["tp"], plan)
    return ReplicatedStream(distribute_module(block, mesh["tp"]), mesh["tp"])


def two_axes(mesh):
    return TwoAxes(mesh)


MODULES = {
    make.__name__: make
    for make in (
        bert_layer,
        experts,
        fsdp_llama,
        data_parallel_llama,
        two_axes,
    )
}


def make_input(name, mesh, tokens=TOKENS):
    """What a rank passes to a module: the batch of its place along dp, and of a module whose
    activations are shards, the rows of its place along tp."""
    place = mesh["dp"].get_local_rank() if "dp" in mesh.mesh_dim_names else 0
    generator = torch.Generator().manual_seed(place)
    x = torch.randn(2, tokens, WIDTH, generator=generator, dtype=torch.float64)
    if name == "two_axes":
        x = x.flatten(0, 1)
    if name == "fsdp_llama":
        x = x.chunk(mesh["tp"].size(), 1)[mesh["tp"].get_local_rank()].clone()
    return x.requires_grad_()
