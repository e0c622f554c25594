# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs whose ranks differ in constants or in structure, as users write them.

    function, arguments = PROGRAMS[name](ranks, size)     # on each rank

`function(*arguments)` communicates; it is differentiable in the arguments that require
gradients. `size` is the number of columns; there are twice as many rows.
"""

import dataclasses

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class _Sum(torch.autograd.Function):
    """The sum over ranks, of which each rank's loss takes its own gradient (Megatron's g)."""

    @staticmethod
    def forward(ctx, x, group):
        return functional.all_reduce(x, "sum", group)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


@dataclasses.dataclass
class Ranks:
    """One rank among all, and what it makes tensors of."""

    rank: int
    world: int
    mesh: DeviceMesh
    stages: "list[dist.ProcessGroup]"
    grid: "DeviceMesh | None"
    dtype: torch.dtype

    @staticmethod
    def of(rank, world, dtype=torch.float64):
        """Makes all groups that programs use; every rank must call this."""
        mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("tp",))
        half = max(1, world // 2)
        stages = [
            dist.new_group(list(range(start, start + half))) for start in range(0, world, half)
        ]
        grid = None
        if world == 4:
            grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        return Ranks(rank, world, mesh, stages, grid, dtype)

    @property
    def group(self):
        return self.mesh.get_group()

    def tensor(self, *shape, seed, grad=True, own=False):
        """Equal on all ranks, or this rank's own."""
        generator = torch.Generator().manual_seed(seed + (1000 * (self.rank + 1) if own else 0))
        value = torch.randn(shape, generator=generator, dtype=self.dtype) / shape[-1] ** 0.5
        return value.requires_grad_(grad)

    def ids(self, *shape, below, seed):
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(below, shape, generator=generator)

    def sum(self, x, group=None):
        return _Sum.apply(x, group or self.group)

    def gather(self, x, dim=0):
        return functional.all_gather_tensor_autograd(x, dim, self.group)

    def scatter(self, x, dim=0):
        return functional.reduce_scatter_tensor_autograd(x, "sum", dim, self.group)

    def product(self, size):
        """Partial sums of a product: this rank's columns of x and rows of w."""
        x = self.tensor(2 * size, size // self.world, seed=1, own=True)
        return x, self.tensor(size // self.world, size, seed=2, own=True)


PROGRAMS = {}


def program(build):
    PROGRAMS[build.__name__] = build
    return build


#
# A rank's own part of a value that all ranks have
#


@program
def own_rows_of_a_sum(ranks, size):
    def function(x, w):
        own = ranks.sum(x @ w).chunk(ranks.world)[ranks.rank]
        return ranks.gather(own.relu())

    return function, ranks.product(size)


@program
def own_columns_of_a_sum(ranks, size):
    def function(x, w):
        own = ranks.sum(x @ w).chunk(ranks.world, 1)[ranks.rank]
        return ranks.gather(own.relu(), 1)

    return function, ranks.product(size)


@program
def own_rows_by_narrow(ranks, size):
    rows = 2 * size // ranks.world

    def function(x, w):
        own = ranks.sum(x @ w).narrow(0, ranks.rank * rows, rows)
        return ranks.gather(F.silu(own))

    return function, ranks.product(size)


@program
def own_rows_by_slicing(ranks, size):
    rows = 2 * size // ranks.world
    start = ranks.rank * rows

    def function(x, w):
        return ranks.gather(ranks.sum(x @ w)[start : start + rows].tanh())

    return function, ranks.product(size)


@program
def own_rows_in_reverse(ranks, size):
    def function(x, w):
        own = ranks.sum(x @ w).chunk(ranks.world)[ranks.world - 1 - ranks.rank]
        return ranks.gather(own.relu())

    return function, ranks.product(size)


@program
def rows_of_the_next_rank(ranks, size):
    def function(x, w):
        own = ranks.sum(x @ w).chunk(ranks.world)[(ranks.rank + 1) % ranks.world]
        return ranks.gather(own.relu())

    return function, ranks.product(size)


@program
def own_rows_interleaved(ranks, size):
    def function(x, w):
        return ranks.gather(ranks.sum(x @ w)[ranks.rank :: ranks.world].relu())

    return function, ranks.product(size)


@program
def own_rows_of_uneven_sizes(ranks, size):
    rows = [3 * size // 4 + index for index in range(ranks.world - 1)]
    rows.append(2 * size - sum(rows)) if sum(rows) < 2 * size else rows.append(1)

    def function(x, w):
        whole = ranks.sum(x @ w)
        start = min(sum(rows[: ranks.rank]), 2 * size - 1)
        own = whole[start : start + rows[ranks.rank]].relu()
        return ranks.sum(own.sum(0))

    return function, ranks.product(size)


@program
def own_rows_of_a_norm(ranks, size):
    weight = ranks.tensor(size, seed=3)

    def function(x, w, weight):
        whole = F.rms_norm(ranks.sum(x @ w), (size,), weight)
        return ranks.gather(whole.chunk(ranks.world)[ranks.rank])

    return function, (*ranks.product(size), weight)


@program
def own_rows_of_what_was_gathered(ranks, size):
    x = ranks.tensor(2 * size // ranks.world, size, seed=1, own=True)

    def function(x, w):
        whole = ranks.gather(x).relu()
        return ranks.gather(whole.chunk(ranks.world)[ranks.rank] @ w)

    return function, (x, ranks.tensor(size, size, seed=2))


@program
def own_rows_then_scatter(ranks, size):
    def function(x, w, v):
        own = ranks.sum(x @ w).chunk(ranks.world)[ranks.rank]
        whole = ranks.gather(own)
        return ranks.scatter(whole @ v)

    return function, (*ranks.product(size), ranks.tensor(size, size, seed=4, own=True))


@program
def own_rows_added_to_scattered(ranks, size):
    residual = ranks.tensor(2 * size, size, seed=5)

    def function(x, w, residual):
        own = residual.chunk(ranks.world)[ranks.rank]
        return ranks.gather((ranks.scatter(x @ w) + own).relu())

    return function, (*ranks.product(size), residual)


@program
def heads_of_a_whole_weight(ranks, size):
    weight, x = ranks.tensor(size, size, seed=2), ranks.tensor(2 * size, size, seed=1)
    out = ranks.tensor(size, size, seed=3)

    def function(x, weight, out):
        rows = weight.chunk(ranks.world)[ranks.rank]
        columns = out.chunk(ranks.world, 1)[ranks.rank]
        return ranks.sum((x @ rows.t()).relu() @ columns.t())

    return function, (x, weight, out)


#
# The rank as a number
#


@program
def rank_as_a_factor(ranks, size):
    def function(x, w):
        return ranks.sum(ranks.sum(x @ w).relu() * (ranks.rank + 1))

    return function, ranks.product(size)


@program
def rank_as_a_summand(ranks, size):
    def function(x, w):
        return ranks.gather((ranks.sum(x @ w) + ranks.rank).relu())

    return function, ranks.product(size)


@program
def power_of_the_rank(ranks, size):
    def function(x, w):
        return ranks.scatter(ranks.sum(x @ w) * 0.5**ranks.rank)

    return function, ranks.product(size)


@program
def mean_over_ranks(ranks, size):
    def function(x, w):
        return F.silu(ranks.sum(x @ w) / ranks.world)

    return function, ranks.product(size)


@program
def sum_of_equal_values(ranks, size):
    def function(x, w):
        return ranks.sum(ranks.sum(x @ w).relu())

    return function, ranks.product(size)


@program
def epsilon_of_the_rank(ranks, size):
    weight = ranks.tensor(size, seed=3)

    def function(x, w, weight):
        whole = F.rms_norm(ranks.sum(x @ w), (size,), weight, 1e-1 * (ranks.rank + 1))
        return ranks.sum(whole)

    return function, (*ranks.product(size), weight)


@program
def roll_by_the_rank(ranks, size):
    def function(x, w):
        return ranks.scatter(torch.roll(ranks.sum(x @ w), ranks.rank, 0))

    return function, ranks.product(size)


@program
def padded_to_the_place_of_the_rank(ranks, size):
    rows = 2 * size // ranks.world
    before, after = ranks.rank * rows, (ranks.world - 1 - ranks.rank) * rows

    def function(x, w):
        own = ranks.sum(x @ w)[before : before + rows]
        return ranks.sum(F.pad(own.relu(), (0, 0, before, after)))

    return function, ranks.product(size)


@program
def mask_of_rows_by_rank(ranks, size):
    rows = 2 * size // ranks.world

    def function(x, w):
        places = torch.arange(2 * size)
        own = (places >= ranks.rank * rows) & (places < (ranks.rank + 1) * rows)
        return ranks.sum(torch.where(own[:, None], ranks.sum(x @ w).relu(), 0.0))

    return function, ranks.product(size)


@program
def mask_of_columns_by_rank(ranks, size):
    columns = size // ranks.world

    def function(x, w):
        own = torch.arange(size) // columns == ranks.rank
        return ranks.scatter(ranks.sum(x @ w) * own)

    return function, ranks.product(size)


@program
def embedding_of_own_words(ranks, size):
    words = 2 * size // ranks.world
    ids = ranks.ids(2 * size, below=2 * size, seed=1)
    table = ranks.tensor(words, size, seed=2, own=True)
    weight = ranks.tensor(size, size, seed=3)

    def function(ids, table, weight):
        own = ids - ranks.rank * words
        mask = (own < 0) | (own >= words)
        found = F.embedding(own.masked_fill(mask, 0), table).masked_fill(mask[:, None], 0.0)
        return F.silu(ranks.sum(found)) @ weight

    return function, (ids, table, weight)


@program
def loss_of_own_words(ranks, size):
    words = size // ranks.world
    labels = ranks.ids(2 * size, below=size, seed=4)
    x = ranks.tensor(2 * size, size, seed=1)
    head = ranks.tensor(words, size, seed=2, own=True)

    def function(x, head, labels):
        logits = x @ head.t()
        total = ranks.sum(logits.exp().sum(1))
        own = labels - ranks.rank * words
        mask = (own >= 0) & (own < words)
        chosen = logits.gather(1, own.clamp(0, words - 1)[:, None])[:, 0]
        return (total.log() - ranks.sum(torch.where(mask, chosen, 0.0))).mean()

    return function, (x, head, labels)


@program
def positions_with_an_offset(ranks, size):
    rows = 2 * size // ranks.world

    def function(x, w):
        own = ranks.sum(x @ w).chunk(ranks.world)[ranks.rank]
        angles = torch.arange(ranks.rank * rows, (ranks.rank + 1) * rows, dtype=x.dtype)
        return ranks.gather(own * angles[:, None].cos())

    return function, ranks.product(size)


@program
def positions_without_an_offset(ranks, size):
    rows = 2 * size // ranks.world

    def function(x, w):
        own = ranks.sum(x @ w).chunk(ranks.world)[ranks.rank]
        angles = torch.arange(rows, dtype=x.dtype)
        return ranks.gather(own * angles[:, None].cos())

    return function, ranks.product(size)


@program
def attention_of_own_rows(ranks, size):
    rows = 2 * size // ranks.world
    q, kv = (ranks.tensor(rows, size, seed=seed, own=True) for seed in (1, 2))

    def function(q, kv):
        keys = ranks.gather(kv)
        places = torch.arange(2 * size)
        mask = places[ranks.rank * rows : (ranks.rank + 1) * rows, None] >= places[None]
        scores = (q @ keys.t()).masked_fill(~mask, float("-inf"))
        return ranks.gather(scores.softmax(-1) @ keys)

    return function, (q, kv)


#
# Experts
#


@program
def own_expert_of_all(ranks, size):
    experts = ranks.tensor(ranks.world, size, size, seed=2)
    x = ranks.tensor(2 * size, size, seed=1)

    def function(x, experts):
        return ranks.sum((x @ experts[ranks.rank]).relu())

    return function, (x, experts)


@program
def own_expert_by_ids(ranks, size):
    expert, x = ranks.tensor(size, size, seed=2, own=True), ranks.tensor(2 * size, size, seed=1)
    ids = ranks.ids(2 * size, below=ranks.world, seed=3)

    def function(x, expert, ids):
        mine = (ids == ranks.rank)[:, None]
        return ranks.sum(torch.where(mine, x @ expert, 0.0)).relu()

    return function, (x, expert, ids)


@program
def own_experts_by_weights(ranks, size):
    experts = ranks.tensor(2, size, size, seed=2, own=True)
    gate, x = ranks.tensor(size, 2 * ranks.world, seed=3), ranks.tensor(2 * size, size, seed=1)

    def function(x, experts, gate):
        weights = (x @ gate).softmax(-1)[:, 2 * ranks.rank : 2 * ranks.rank + 2]
        outputs = torch.stack([x @ experts[0], x @ experts[1]], 1)
        return ranks.sum((outputs * weights[:, :, None]).sum(1))

    return function, (x, experts, gate)


#
# Structure
#


@program
def bias_on_the_first_rank(ranks, size):
    bias = ranks.tensor(size, seed=3)

    def function(x, w, bias):
        part = x @ w
        return ranks.sum(part + bias if ranks.rank == 0 else part).relu()

    return function, (*ranks.product(size), bias)


@program
def bias_of_zero_on_others(ranks, size):
    bias = ranks.tensor(size, seed=3)

    def function(x, w, bias):
        return ranks.sum(x @ w + bias * (1.0 if ranks.rank == 0 else 0.0)).relu()

    return function, (*ranks.product(size), bias)


@program
def loss_on_the_last_rank(ranks, size):
    def function(x, w):
        whole = ranks.sum(x @ w).relu()
        return whole.square().mean() if ranks.rank == ranks.world - 1 else whole.sum() * 0

    return function, ranks.product(size)


@program
def other_function_on_odd_ranks(ranks, size):
    def function(x, w):
        whole = ranks.sum(x @ w)
        return ranks.gather(F.gelu(whole) if ranks.rank % 2 else F.relu(whole))

    return function, ranks.product(size)


@program
def other_function_of_a_product(ranks, size):
    def function(x, w):
        rows = ranks.gather(x)
        return ranks.scatter((rows @ w).sigmoid() if ranks.rank % 2 else (rows @ w).relu())

    x = ranks.tensor(2 * size // ranks.world, size, seed=1, own=True)
    return function, (x, ranks.tensor(size, size, seed=2, own=True))


@program
def more_layers_on_the_first_rank(ranks, size):
    def function(x, w):
        part = x @ w
        for _ in range(2 if ranks.rank == 0 else 1):
            part = part.tanh()
        return ranks.sum(part).relu()

    return function, ranks.product(size)


@program
def operands_turned_on_odd_ranks(ranks, size):
    other = ranks.tensor(2 * size, size, seed=7, own=True)

    def function(x, w, other):
        a, b = (x @ w, other) if ranks.rank % 2 == 0 else (other, x @ w)
        return ranks.sum(a) * ranks.sum(b).relu()

    return function, (*ranks.product(size), other)


@program
def parts_in_the_order_of_the_rank(ranks, size):
    def function(x, w):
        halves = ranks.sum(x @ w).chunk(2)
        own = halves if ranks.rank % 2 == 0 else halves[::-1]
        return ranks.scatter(torch.cat(own))

    return function, ranks.product(size)


@program
def one_gathers_what_others_do_not(ranks, size):
    # Had rank 0 gathered x twice, PyTorch would merge its gathers, and hang.
    x = ranks.tensor(2 * size // ranks.world, size, seed=1, own=True)
    y = ranks.tensor(2 * size // ranks.world, size, seed=2, own=True)

    def function(x, y):
        first = ranks.gather(x)
        second = ranks.gather(x * 2 if ranks.rank == 0 else y)
        return first.relu() * second

    return function, (x, y)


@program
def more_tokens_on_later_ranks(ranks, size):
    rows = size + ranks.rank
    x, w = ranks.tensor(rows, size, seed=1, own=True), ranks.tensor(size, size, seed=2)

    def function(x, w):
        return ranks.sum((x @ w).relu().sum(0)) @ w

    return function, (x, w)


#
# DTensor
#


@program
def dtensor_to_rows_and_back(ranks, size):
    a = ranks.tensor(2 * size, size, seed=1)

    def function(a):
        whole = DTensor.from_local(a, ranks.mesh, [Replicate()], run_check=False)
        rows = whole.redistribute(ranks.mesh, [Shard(0)]).relu()
        return rows.redistribute(ranks.mesh, [Replicate()]).to_local()

    return function, (a,)


@program
def dtensor_to_columns_and_back(ranks, size):
    a, w = ranks.tensor(2 * size, size, seed=1), ranks.tensor(size, size, seed=2)

    def function(a, w):
        whole = DTensor.from_local(a, ranks.mesh, [Replicate()], run_check=False)
        weight = DTensor.from_local(w, ranks.mesh, [Replicate()], run_check=False)
        columns = (whole @ weight).redistribute(ranks.mesh, [Shard(1)]).relu()
        return columns.redistribute(ranks.mesh, [Replicate()]).to_local()

    return function, (a, w)


class FeedForward(torch.nn.Module):
    def __init__(self, size, dtype):
        super().__init__()
        self.norm = torch.nn.RMSNorm(size)
        self.up = torch.nn.Linear(size, 2 * size, bias=False)
        self.down = torch.nn.Linear(2 * size, size)
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for parameter in self.parameters():
                drawn = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(drawn / parameter.shape[-1] ** 0.5)
        self.to(dtype)

    def forward(self, x):
        return self.down(F.silu(self.up(self.norm(x))))


def parallel_feed_forward(ranks, size, plan):
    module = parallelize_module(FeedForward(size, ranks.dtype), ranks.mesh, plan)
    return module, (ranks.tensor(2 * size, size, seed=1),)


@program
def plan_of_columns_and_rows(ranks, size):
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    return parallel_feed_forward(ranks, size, plan)


@program
def plan_of_rows_of_whole_inputs(ranks, size):
    plan = {
        "up": RowwiseParallel(input_layouts=Replicate()),
        "down": ColwiseParallel(output_layouts=Replicate()),
    }
    return parallel_feed_forward(ranks, size, plan)


@program
def plan_with_sequences(ranks, size):
    plan = {
        "": PrepareModuleInput(
            input_layouts=Replicate(), desired_input_layouts=Shard(0), use_local_output=True
        ),
        "norm": SequenceParallel(sequence_dim=0),
        "up": ColwiseParallel(input_layouts=Shard(0)),
        "down": RowwiseParallel(output_layouts=Replicate()),
    }
    return parallel_feed_forward(ranks, size, plan)


@program
def weights_distributed_by_hand(ranks, size):
    a = ranks.tensor(2 * size, size, seed=1)
    weight = distribute_tensor(ranks.tensor(size, size, seed=2, grad=False), ranks.mesh, [Shard(1)])

    def function(a):
        whole = DTensor.from_local(a, ranks.mesh, [Replicate()], run_check=False)
        product = (whole @ weight).relu()
        return product.redistribute(ranks.mesh, [Shard(0)]).to_local()

    return function, (a,)


#
# Several groups
#


@program
def parameters_gathered_beside_shards(ranks, size):
    """Fully sharded data parallelism beside tensor parallelism, in functional collectives."""
    if ranks.grid is None:
        data, tensor = ranks.group, ranks.stages[ranks.rank]
        rows = size // ranks.world
    else:
        data, tensor = ranks.grid.get_group("dp"), ranks.grid.get_group("tp")
        rows = size // 4
    x = ranks.tensor(2 * size, size // tensor.size(), seed=1, own=True)
    shard = ranks.tensor(rows, size, seed=2, own=True)

    def function(x, shard):
        weight = functional.all_gather_tensor_autograd(shard, 0, data)
        return ranks.sum(x @ weight, tensor).relu()

    return function, (x, shard)


@program
def own_rows_on_a_grid(ranks, size):
    grid = ranks.grid or ranks.mesh
    group, place = grid.get_group("tp"), grid.get_local_rank("tp")
    x = ranks.tensor(2 * size, size // 2, seed=1, own=True)
    w = ranks.tensor(size // 2, size, seed=2, own=True)

    def function(x, w):
        own = ranks.sum(x @ w, group).chunk(group.size())[place]
        return functional.all_gather_tensor_autograd(own.relu(), 0, group)

    return function, (x, w)


@program
def stages_of_a_pipeline(ranks, size):
    """Each half of the ranks has a stage of its own."""
    half = max(1, ranks.world // 2)
    stage = ranks.rank // half
    group = ranks.stages[stage]
    x = ranks.tensor(2 * size, size // 2, seed=1, own=True)
    w = ranks.tensor(size // 2, size, seed=2, own=True)

    def first(x, w):
        return ranks.sum((x @ w).relu(), group).relu()

    def last(x, w):
        whole = ranks.sum(x @ w, group)
        return functional.all_gather_tensor_autograd(
            whole.chunk(half)[ranks.rank % half].sigmoid(), 0, group
        )

    return (first, last)[min(stage, 1)], (x, w)
