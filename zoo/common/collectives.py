# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What a rank's program is written with: the mesh as one rank sees it, and collectives.

    def rank_program(mesh, x, w):
        return all_reduce(x @ w, mesh.tp)

Collectives are PyTorch's functional ones, along any dim. They are no part of the graph
that autograd differentiates; the classes with `apply` below are, as in Megatron.
"""

import torch
import torch.distributed._functional_collectives  # registers _c10d_functional

_c10d = torch.ops._c10d_functional


class Axis:
    """The process group of one rank along an axis of the mesh."""

    def __init__(self, mesh, name, size, index):
        self._mesh = mesh
        self.name = name
        self.size = size
        self._index = index

    # A program that asks for none of these is the same on every rank.

    @property
    def index(self):
        self._mesh.depends_on_rank = True
        return self._index

    # Peers of messages are positions in the group, not ranks of the world.

    @property
    def next(self):
        return (self.index + 1) % self.size

    @property
    def previous(self):
        return (self.index - 1) % self.size


class Mesh:
    """The mesh as one rank sees it: its axes are attributes."""

    def __init__(self, groups, rank):
        self.world_size = 1 + max(
            member for lists in groups.values() for g in lists for member in g
        )
        self.depends_on_rank = False
        self._rank = rank
        self.axes = {}
        # The ranks of the world in this rank's group along each axis.
        self.groups = {}
        for name, lists in groups.items():
            (members,) = [members for members in lists if rank in members]
            self.groups[name] = tuple(members)
            self.axes[name] = Axis(self, name, len(members), members.index(rank))

    @property
    def rank(self):
        self.depends_on_rank = True
        return self._rank

    def __getattr__(self, name):
        try:
            return self.__dict__["axes"][name]
        except KeyError:
            raise AttributeError(name) from None


def wait(x):
    return _c10d.wait_tensor(x)


def all_reduce(x, axis, reduction="sum"):
    return wait(_c10d.all_reduce(x.contiguous(), reduction, axis.name))


def all_gather(x, axis, dim=0):
    gathered = wait(_c10d.all_gather_into_tensor(x.contiguous(), axis.size, axis.name))
    return gathered if dim == 0 else torch.cat(gathered.chunk(axis.size), dim)


def reduce_scatter(x, axis, dim=0, reduction="sum"):
    if dim != 0:
        x = torch.cat(x.chunk(axis.size, dim))
    return wait(_c10d.reduce_scatter_tensor(x.contiguous(), reduction, axis.size, axis.name))


def all_to_all(x, axis, received=None, sent=None):
    """Exchanges blocks of rows; by default all of the same size."""
    rows = x.shape[0] // axis.size
    received, sent = received or [rows] * axis.size, sent or [rows] * axis.size
    return wait(_c10d.all_to_all_single(x.contiguous(), received, sent, axis.name))


def exchange_dims(x, axis, split, join):
    """Ulysses' exchange: blocks along the dim `split` go to the ranks, and what comes from
    them is put together along `join`."""
    blocks = torch.cat(x.chunk(axis.size, split))
    return torch.cat(all_to_all(blocks, axis).chunk(axis.size), join)


def shard(x, axis, dim=0):
    """The block of this rank."""
    return x.chunk(axis.size, dim)[axis.index]


def broadcast(x, axis, source=0):
    """What the rank at a position of the axis has."""
    return wait(_c10d.broadcast(x.contiguous(), source, axis.name))


def begin_send(x, peer, axis, tag=0):
    """Returns what `wait` takes: until then, the sender goes on."""
    return _c10d.isend(x.contiguous(), peer, tag, axis.name)


def send(x, peer, axis, tag=0):
    return wait(begin_send(x, peer, axis, tag))


def receive(like, peer, axis, tag=0):
    return wait(_c10d.irecv(torch.empty_like(like), peer, tag, axis.name))


def rotate(tensors, axis):
    """Sends tensors to the next rank of the axis, and returns those of the previous one."""
    tensors = [tensor.contiguous() for tensor in tensors]
    count = len(tensors)
    results = _c10d.batch_p2p_ops(
        ["isend"] * count + ["irecv"] * count,
        [axis.next] * count + [axis.previous] * count,
        [0] * (2 * count),
        tensors + [torch.empty_like(tensor) for tensor in tensors],
        axis.name,
    )
    return [wait(result) for result in results[count:]]


class CopyToRegion(torch.autograd.Function):
    """The identity; its gradient is the sum over ranks. Megatron's f."""

    @staticmethod
    def forward(ctx, x, axis):
        ctx.axis = axis
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return all_reduce(gradient, ctx.axis), None


class ReduceFromRegion(torch.autograd.Function):
    """The sum over ranks; its gradient is the identity. Megatron's g."""

    @staticmethod
    def forward(ctx, x, axis):
        return all_reduce(x, axis)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class GatherFromSequence(torch.autograd.Function):
    """all_gather; its gradient is the reduce_scatter. Megatron's g with sequence parallelism."""

    @staticmethod
    def forward(ctx, x, axis, dim=0):
        ctx.axis, ctx.dim = axis, dim
        return all_gather(x, axis, dim)

    @staticmethod
    def backward(ctx, gradient):
        return reduce_scatter(gradient, ctx.axis, ctx.dim), None, None


class ReduceScatterToSequence(torch.autograd.Function):
    """reduce_scatter; its gradient is the all_gather."""

    @staticmethod
    def forward(ctx, x, axis, dim=0):
        ctx.axis, ctx.dim = axis, dim
        return reduce_scatter(x, axis, dim)

    @staticmethod
    def backward(ctx, gradient):
        return all_gather(gradient, ctx.axis, ctx.dim), None, None


class GatherReplicated(torch.autograd.Function):
    """all_gather of what all ranks then use alike; its gradient is the rank's block."""

    @staticmethod
    def forward(ctx, x, axis, dim=0):
        ctx.axis, ctx.dim = axis, dim
        return all_gather(x, axis, dim)

    @staticmethod
    def backward(ctx, gradient):
        return shard(gradient, ctx.axis, ctx.dim), None, None


class ExchangeRows(torch.autograd.Function):
    """all_to_all of equal blocks of rows, which is its own gradient."""

    @staticmethod
    def forward(ctx, x, axis):
        ctx.axis = axis
        return all_to_all(x, axis)

    @staticmethod
    def backward(ctx, gradient):
        return all_to_all(gradient, ctx.axis), None
