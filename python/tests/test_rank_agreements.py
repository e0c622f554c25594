# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Ranks that compile a function again, or other functions than the others do."""

import time

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

import commute.torch
from commute.torch import rank_exchange
from commute.torch.rank_exchange import Identity, PublishedProgram, RankExchange, RanksDisagree
from inductor_graphs import InductorGraphs
from ranks import call_on_ranks
from test_rank_exchange import run_ranks


@pytest.fixture(autouse=True)
def nothing_happened_before(monkeypatch):
    monkeypatch.setattr(rank_exchange, "_given_up", set())
    monkeypatch.setattr(rank_exchange, "_agreements", {})


def compile_once(store, rank, members, *, compilation=0, text="text", decisions=("a",), **options):
    """One rank's part in one compilation of a function: the texts that it finds."""
    # In one process, ranks share what they remember.
    place = f"f/pass/0 of {rank}"
    exchange = RankExchange(
        Identity("f", f"f/{compilation}/pass/0", place),
        members,
        options="",
        offers={},
        store=store,
        rank=rank,
        **{"timeout": 20.0, **options},
    )
    try:
        exchange.meet()
        others = exchange.collect("0", PublishedProgram(text, {}))
        exchange.decide(decisions)
    finally:
        exchange.close()
    return {other: one.text for other, one in others.items()}


def test_another_stage_decides_for_itself():
    """Stages of a pipeline compile the same function. One goes; of the other, a rank is
    missing, which is no reason to wait longer than the timeout."""
    store = dist.HashStore()
    started = time.monotonic()
    first, second, third = run_ranks(
        [
            lambda: compile_once(store, 0, [0, 1]),
            lambda: compile_once(store, 1, [0, 1]),
            lambda: compile_once(store, 2, [2, 3], timeout=0.5),
        ]
    )
    assert first == second == {}
    assert "rank 3 has not compiled" in str(third)
    assert time.monotonic() - started < 10


def test_a_rank_that_waits_for_one_that_left_is_told():
    """Rank 0 knows nothing of rank 2, which waits for it."""
    store = dist.HashStore()

    def late(rank, members):
        time.sleep(0.6)
        return compile_once(store, rank, members)

    started = time.monotonic()
    results = run_ranks(
        [
            lambda: compile_once(store, 0, [0, 1], timeout=0.3),
            lambda: late(1, [0, 1, 2]),
            lambda: compile_once(store, 2, [1, 2]),
        ]
    )
    assert all("rank 1 has not compiled" in str(result) for result in results)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("decisions", ["ab", "aa"])
def test_nothing_stays_in_the_store(decisions):
    store = dist.HashStore()
    run_ranks(
        [
            lambda rank=rank: compile_once(
                store, rank, [0, 1], text=f"of {rank}", decisions=decisions[rank]
            )
            for rank in range(2)
        ]
    )
    # HashStore itself keeps none.
    assert store.num_keys() == 0


def test_groups_of_equal_members_are_told_apart():
    """Ranks that communicate in two groups in another order do not run the same program."""
    store = dist.HashStore()
    names = (("1", "2"), ("2", "1"))
    results = run_ranks(
        [
            lambda rank=rank: compile_once(
                store,
                rank,
                [0, 1],
                groups={
                    "[[0, 1]] 1": (names[rank][0], [0, 1]),
                    "[[0, 1]] 2": (names[rank][1], [0, 1]),
                },
            )
            for rank in range(2)
        ]
    )
    assert all("do not use the same groups in the same order" in str(one) for one in results)


def compile_alone_again(text, decisions, timeout=0.3):
    """What rank 0 finds where it alone compiles a function again, and what rank 1 finds
    where it comes after all."""
    store = dist.HashStore()
    run_ranks(
        [
            lambda rank=rank: compile_once(store, rank, [0, 1], text=f"of {rank}")
            for rank in range(2)
        ]
    )
    again = dict(compilation=1, decisions=decisions)
    (first,) = run_ranks(
        [lambda: compile_once(store, 0, [0, 1], text=text, timeout=timeout, **again)]
    )
    (late,) = run_ranks([lambda: compile_once(store, 1, [0, 1], text="late", **again)])
    return first, late


def test_a_rank_that_compiles_again_alone_does_as_before():
    """The other rank runs what it was compiled to, with which nothing else communicates."""
    first, late = compile_alone_again("changed", ["a"])
    assert first == {1: "of 1"}
    assert late == {0: "changed"}


def test_a_rank_that_cannot_do_as_before_leaves_its_graph_alone():
    first, _ = compile_alone_again("changed", ["b"])
    assert isinstance(first, RanksDisagree) and "may still run" in str(first)


def test_what_all_ranks_left_alone_is_not_followed():
    store = dist.HashStore()

    def compile_both(rank, decisions):
        compile_once(store, rank, [0, 1])
        with pytest.raises(RanksDisagree):
            compile_once(store, rank, [0, 1], compilation=1, decisions=decisions)

    run_ranks([lambda: compile_both(0, "a"), lambda: compile_both(1, "b")])
    (alone,) = run_ranks([lambda: compile_once(store, 0, [0, 1], compilation=2, timeout=0.3)])
    assert "rank 1 has not compiled" in str(alone)


def each_compiles_its_own(rank):
    """What a compiled function has where rank 0 compiles a local function before it, and
    where a guard fails on rank 0 alone after the first call."""
    group = dist.group.WORLD
    generator = torch.Generator().manual_seed(rank)
    x, w = (torch.randn(8, 8, generator=generator) for _ in range(2))
    settings = {"scale": 1}

    def function(x, w):
        if settings["scale"] > 2:
            pass
        return functional.reduce_scatter_tensor(x @ w, "sum", 0, group)

    graphs = InductorGraphs()
    compiled = torch.compile(function, backend=graphs)
    results = []
    with commute.torch.enable(policy="always", rank_timeout=5), torch.no_grad():
        if rank == 0:
            torch.compile(lambda x: x.sin() + 1, backend=InductorGraphs())(x)
        for scale in (1, 4):
            settings["scale"] = scale if rank == 0 else 1
            results += [compiled(x, w) + 0]
    return [graphs.communication(), *results, function(x, w) + 0]


@pytest.mark.in_process
def test_ranks_that_compile_other_things():
    results = call_on_ranks(each_compiles_its_own, 2, timeout=120)
    fused = {"fused_matmul_reduce_scatter": 1}
    assert [communication for communication, *_ in results] == [[fused] * 2, [fused]]
    for _, first, second, expected in results:
        torch.testing.assert_close(first, expected)
        torch.testing.assert_close(second, expected)
