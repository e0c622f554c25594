# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models that call torch.distributed as hand-written models do: asynchronously, from rank to
rank, and with tensors that they keep between calls."""

import functools

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import all_reduce as imported_all_reduce

import commute.torch
from commute.torch import CaptureError, capture

pytestmark = pytest.mark.in_process


class Mlp(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.up = nn.Parameter(torch.randn(6, hidden))
        self.down = nn.Parameter(torch.randn(hidden, 6))

    def reduce(self, y):
        return y

    def forward(self, x):
        return torch.relu(self.reduce(torch.relu(x @ self.up) @ self.down))


def model_of(reduce):
    """The model of a rank, whose summands `reduce` reduces."""
    return type("OnRanks", (Mlp,), {"reduce": lambda self, y: reduce(y)})(4)


def check(reduce, reference=None, **options):
    return commute.torch.check(
        reference or Mlp(8), model_of(reduce), (torch.randn(4, 6),), {"tp": 2}, **options
    )


def asynchronous(y):
    dist.all_reduce(y, async_op=True).wait()
    return y


def imported(y):
    imported_all_reduce(y, async_op=True).wait()
    return y


def reduce_and_broadcast(y):
    dist.reduce(y, 1)
    dist.broadcast(y, 1)
    return y


def gather_and_scatter(y):
    parts = [torch.empty_like(y) for _ in range(2)] if dist.get_rank() == 0 else None
    dist.gather(y, parts, dst=0)
    own = torch.empty(2, 6)
    dist.scatter(own, [*torch.chunk(parts[0] + parts[1], 2)] if parts else None, src=0)
    whole = torch.empty(4, 6)
    dist.all_gather_into_tensor(whole, own)
    return whole


def all_gather(y):
    parts = [torch.empty_like(y) for _ in range(2)]
    dist.all_gather(parts, y)
    return parts[0] + parts[1]


def reduce_scatter(y):
    own = torch.empty(2, 6)
    dist.reduce_scatter_tensor(own, y, async_op=True).wait()
    whole = torch.empty(4, 6)
    dist.all_gather_into_tensor(whole, own)
    return whole


def all_to_all(y):
    received = [torch.empty(2, 6), torch.empty(2, 6)]
    dist.all_to_all(received, [*y.chunk(2)])
    parts = [torch.empty(2, 6), torch.empty(2, 6)]
    dist.all_gather(parts, received[0] + received[1])
    return torch.cat(parts)


def coalesced(y):
    with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
        dist.all_reduce(y)
    manager.wait()
    return y


def batch_of_transfers(y):
    other = 1 - dist.get_rank()
    received = torch.empty_like(y)
    ops = [dist.P2POp(dist.isend, y, other), dist.P2POp(dist.irecv, received, other)]
    for handle in dist.batch_isend_irecv(ops):
        handle.wait()
    return y + received


def blocking_transfers(y):
    received = torch.empty_like(y)
    if dist.get_rank() == 0:
        dist.send(y, 1)
        dist.recv(received, 1)
    else:
        dist.recv(received, 0)
        dist.send(y, 0)
    return y + received


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "reductions",
    [
        [asynchronous, imported, reduce_and_broadcast, coalesced],
        [gather_and_scatter, all_gather, reduce_scatter, all_to_all],
        [batch_of_transfers, blocking_transfers],
    ],
)
def test_collectives_of_torch_distributed(reductions):
    reference = type("Repeated", (Mlp,), {"reduce": lambda self, y: y * len(reductions)})(8)
    result = check(lambda y: sum(reduce(y.clone()) for reduce in reductions), reference)
    assert result, result


def read_too_early(y):
    handle = dist.all_reduce(y, async_op=True)
    early = y + 0
    handle.wait()
    return early


def never_waited(y):
    dist.all_reduce(y, async_op=True)
    return y


def wrong_root(y):
    dist.reduce(y, 1)
    dist.broadcast(y, 0)
    return y


def both_receive_first(y):
    received = torch.empty_like(y)
    dist.recv(received, 1 - dist.get_rank())
    dist.send(y, 1 - dist.get_rank())
    return y + received


@pytest.mark.parametrize(
    ("reduce", "verdict", "message"),
    [
        (read_too_early, "does not refine", "read before it has arrived: all_reduce"),
        (never_waited, "does not refine", "read before it has arrived: all_reduce"),
        (wrong_root, "does not refine", "broadcast"),
        (both_receive_first, "deadlock", "the ranks wait for each other"),
    ],
)
def test_faults_in_their_use_are_found(reduce, verdict, message):
    result = check(reduce)
    assert result.verdict == verdict
    assert message in result.differences[0]["message"]
    assert "test_traced_collectives.py" in result.differences[0]["file"]


class Loss(Mlp):
    def forward(self, x):
        return super().forward(x).square().sum()


class LossOnRanks(Loss):
    def reduce(self, y):
        dist.all_reduce(y)
        return y


def test_autograd_does_not_see_what_a_collective_writes():
    """As on real ranks, where the gradient of the whole is that of each summand."""
    args = (torch.randn(4, 6),)
    result = commute.torch.check(Loss(8), LossOnRanks(4), args, {"tp": 2}, backward=True)
    assert result, result


#
# Tensors that a model keeps
#

_SCRATCH = {}


class Keeping(Mlp):
    table = None

    @functools.lru_cache  # noqa: B019 (as models have it)
    def cached(self, count):
        return torch.arange(count).float().cos()

    def reduce(self, y):
        if self.table is None:
            self.table = torch.arange(6).float().sin()
        if "whole" not in _SCRATCH:
            _SCRATCH["whole"] = torch.empty(8, 6)
        whole = _SCRATCH["whole"]
        dist.all_gather_into_tensor(whole, y)
        return (whole[:4] + whole[4:]) * self.cached(6) * self.table


class KeepingNothing(Mlp):
    def reduce(self, y):
        return y * torch.arange(6).float().cos() * torch.arange(6).float().sin()


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore:The tensor attribute")
def test_tensors_that_a_model_keeps_between_passes(tmp_path):
    model, args = Keeping(4), (torch.randn(4, 6),)
    result = commute.torch.check(KeepingNothing(8), model, args, {"tp": 2}, folder=tmp_path)
    assert result, result
    assert model.table is None and not _SCRATCH
    torch.export.load(tmp_path / "rank0.pt2")


class WithoutMemory(Mlp):
    def __init__(self, hidden=8):
        super().__init__(hidden)
        self.scale = torch.ones(6, device="meta")

    def reduce(self, y):
        return asynchronous(y) * self.scale.to("cpu")


def test_a_constant_without_values_is_refused(tmp_path):
    with pytest.raises(CaptureError, match=r"rank 0: .*test_traced_collectives.py:\d+"):
        capture(WithoutMemory(4), (torch.randn(4, 6),), mesh={"tp": 2}, folder=tmp_path)
