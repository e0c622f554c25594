# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Graphs of several ranks before and after passes: verdicts are what the numbers say."""

import pytest
import torch
import torch.distributed as dist
from torch._inductor.fx_passes.micro_pipeline_tp import micro_pipeline_tp_pass
from torch.distributed._symmetric_memory import _test_mode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

import commute.torch
from test_micro_pipeline_of_pytorch import (
    CASES,
    by_pytorch,
    inputs_of,
    post_grad_graph,
    run,
    start,  # noqa: F401 (a fixture)
)

pytestmark = [
    pytest.mark.in_process,
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
]

c10d = torch.ops._c10d_functional
# Of PyTorch's pass: reversed pieces, and others that it gets right.
CHOSEN = [name for name in CASES if CASES[name].pytorch in ("right", "wrong")]


@pytest.mark.parametrize("name", CHOSEN)
def test_verdicts_on_the_micro_pipeline_pass_are_what_numbers_say(name, start):  # noqa: F811
    tested = CASES[name]
    start(tested.ranks)
    inputs = inputs_of(tested)
    before, after = (post_grad_graph(tested, inputs[0]) for _ in range(2))
    verdict, _ = by_pytorch(tested, inputs, run(before, inputs, tested.ranks))
    try:
        with _test_mode():
            micro_pipeline_tp_pass(after.graph)
    except (AssertionError, RuntimeError, ValueError):
        return
    found = commute.torch.validate(before, after, accept_layouts=True)
    if verdict == "wrong":
        assert found.verdict in ("different", "not proven"), found
    else:
        assert found.verdict != "different", found


@pytest.fixture
def two_ranks():
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)


def trace(function):
    x, y = torch.randn(4, 8), torch.randn(4, 8)
    return make_fx(function, tracing_mode="fake")(x, y)


def name():
    return dist.group.WORLD.group_name


def gathered(x, y):
    return c10d.wait_tensor(c10d.all_gather_into_tensor(x, 2, name()))


def gathered_in_one(first, second):
    """As buckets of collectives are written: into a buffer that has the rank's part."""

    def function(x, y):
        parts = {"x": x, "y": y}
        buffer = torch.empty(2 * 64)
        own = buffer[:64]
        own[:32].copy_(parts[first].reshape(-1))
        own[32:].copy_(parts[second].reshape(-1))
        whole = c10d.all_gather_into_tensor_out(own, 2, name(), out=buffer)
        pieces = c10d.wait_tensor(whole).view(2, 64)
        return tuple(pieces[:, begin : begin + 32].reshape(8, 8) for begin in (0, 32))

    return function


def gathered_apart(x, y):
    return tuple(c10d.wait_tensor(c10d.all_gather_into_tensor(one, 2, name())) for one in (x, y))


def test_buckets_of_collectives(two_ranks):
    before = trace(gathered_apart)
    assert commute.torch.validate(before, trace(gathered_in_one("x", "y")))
    swapped = commute.torch.validate(before, trace(gathered_in_one("y", "x")))
    assert swapped.verdict == "different"


def test_a_value_that_is_read_before_its_wait_is_a_difference(two_ranks):
    def early(x, y):
        pending = c10d.all_gather_into_tensor(x, 2, name())
        return pending * 2, c10d.wait_tensor(pending)

    def late(x, y):
        done = gathered(x, y)
        return done * 2, done

    found = commute.torch.validate(trace(late), trace(early))
    assert found.verdict == "different"
    assert "read before it has arrived" in str(found)


def test_another_order_of_collectives_is_noted(two_ranks):
    def reordered(x, y):
        second, first = (
            c10d.wait_tensor(c10d.all_reduce(one, "sum", name())) for one in (y + 0, x + 0)
        )
        return c10d.wait_tensor(c10d.all_gather_into_tensor(first, 2, name())), second

    def ordered(x, y):
        first = c10d.wait_tensor(c10d.all_reduce(x + 0, "sum", name()))
        whole = c10d.wait_tensor(c10d.all_gather_into_tensor(first, 2, name()))
        return whole, c10d.wait_tensor(c10d.all_reduce(y + 0, "sum", name()))

    found = commute.torch.validate(trace(ordered), trace(reordered))
    assert found, found
    assert "another order" in str(found)
