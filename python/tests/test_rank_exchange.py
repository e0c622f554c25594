# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Ranks that publish graphs in one store, each in a thread or a process of its own."""

import threading
import time

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

import commute.torch
from commute.errors import CommuteError
from commute.torch import rank_exchange
from commute.torch.rank_exchange import (
    Identity,
    PublishedProgram,
    RankExchange,
    RanksDisagree,
    choose_mode,
)
from inductor_graphs import InductorGraphs
from ranks import call_on_ranks


@pytest.fixture(autouse=True)
def nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(rank_exchange, "_given_up", set())


def run_ranks(functions):
    """What each rank's function returns, or the RanksDisagree that it raises."""
    results = [None] * len(functions)

    def run(rank):
        try:
            results[rank] = functions[rank]()
        except RanksDisagree as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return results


def exchange_of(store, rank, members, *, options="", offers=None, timeout=20.0, function="f"):
    return RankExchange(
        Identity(function, f"{function}/0", f"{function}/"),
        members,
        options=options,
        offers=offers or {"target": f"of rank {rank}"},
        timeout=timeout,
        store=store,
        rank=rank,
    )


def take_part(store, rank, members, text, decisions=("a",), **options):
    """One rank's part in an exchange: the texts that it finds, and the offers."""
    exchange = exchange_of(store, rank, members, **options)
    try:
        exchange.meet()
        others = exchange.collect("0", PublishedProgram(text, {"inputs": {}}))
        exchange.decide(decisions)
    finally:
        exchange.close()
    return exchange.ranks, {other: one.text for other, one in others.items()}, exchange.offers


def test_ranks_with_the_same_program_publish_no_text():
    store = dist.HashStore()
    results = run_ranks(
        [lambda rank=rank: take_part(store, rank, range(3), "same") for rank in range(3)]
    )
    assert results == [([0, 1, 2], {}, {"target": "of rank 0"})] * 3
    assert not store.check(["commute/f/0/0/0/text"])


def test_ranks_with_other_programs_get_them():
    store = dist.HashStore()
    results = run_ranks(
        [lambda rank=rank: take_part(store, rank, range(3), f"of {rank}") for rank in range(3)]
    )
    for rank, (_, texts, _) in enumerate(results):
        assert texts == {other: f"of {other}" for other in range(3) if other != rank}


def test_ranks_that_are_reached_through_others_belong_to_the_exchange():
    """Axes of a mesh: rank 0 communicates with 1 and 2, and not with 3."""
    store = dist.HashStore()
    members = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    results = run_ranks(
        [lambda rank=rank: take_part(store, rank, members[rank], "same") for rank in range(4)]
    )
    assert [ranks for ranks, _, _ in results] == [[0, 1, 2, 3]] * 4


def test_stages_of_a_pipeline_do_not_wait_for_each_other():
    store = dist.HashStore()
    members = [[0, 1], [0, 1], [2, 3], [2, 3]]
    results = run_ranks(
        [
            lambda rank=rank: take_part(store, rank, members[rank], f"stage {rank // 2}")
            for rank in range(4)
        ]
    )
    assert [ranks for ranks, _, _ in results] == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert all(not texts for _, texts, _ in results)


def test_a_rank_that_does_not_communicate_is_not_waited_for():
    store = dist.HashStore()
    started = time.monotonic()
    first, second = run_ranks(
        [
            lambda: take_part(store, 0, [0, 1], "text"),
            lambda: exchange_of(store, 1, []).meet(),
        ]
    )
    assert time.monotonic() - started < 10
    assert isinstance(first, RanksDisagree) and "rank 1 does not communicate" in str(first)
    assert second == [1]


@pytest.mark.parametrize(
    "changed, reason",
    [
        (dict(options="always"), "the options of ranks"),
        (dict(decisions=("b",)), "do not rewrite the graph"),
    ],
)
def test_ranks_that_differ_leave_the_graph_alone(changed, reason):
    store = dist.HashStore()
    results = run_ranks(
        [
            lambda: take_part(store, 0, [0, 1], "same"),
            lambda: take_part(store, 1, [0, 1], "same", **changed),
        ]
    )
    assert all(isinstance(result, RanksDisagree) for result in results)
    assert all(reason in str(result) for result in results)
    assert len({str(result) for result in results}) == 1


def test_a_rank_that_never_compiles_is_named_and_waited_for_once():
    store = dist.HashStore()
    (first,) = run_ranks([lambda: take_part(store, 0, [0, 1], "text", timeout=0.3)])
    assert "rank 1 has not compiled this graph within 0.3 s of rank 0" in str(first)
    # The function is given up: its next graph is left alone at once.
    started = time.monotonic()
    exchange = RankExchange(
        Identity("f", "f/1", "f/"), [0, 1], options="", offers={}, timeout=20, store=store, rank=0
    )
    with pytest.raises(RanksDisagree, match="waits no more"):
        exchange.meet()
    assert time.monotonic() - started < 5


def test_a_rank_that_comes_too_late_takes_the_same_branch():
    store = dist.HashStore()
    run_ranks([lambda: take_part(store, 0, [0, 1], "text", timeout=0.2)])
    (late,) = run_ranks([lambda: take_part(store, 1, [0, 1], "text")])
    assert "rank 1 has not compiled" in str(late)


@pytest.mark.parametrize("moment", ["before meeting", "after meeting", "before deciding"])
def test_a_rank_that_fails_lets_the_others_know(moment):
    store = dist.HashStore()

    def fail():
        exchange = exchange_of(store, 1, [0, 1])
        if moment != "before meeting":
            exchange.meet()
        if moment == "before deciding":
            exchange.collect("0", PublishedProgram("same", {"inputs": {}}))
        exchange.abandon("ValueError: no such thing")

    started = time.monotonic()
    first, _ = run_ranks([lambda: take_part(store, 0, [0, 1], "same"), fail])
    assert "rank 1: ValueError: no such thing" in str(first)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("delay", [0.18, 0.2, 0.22])
def test_all_take_one_branch_when_time_is_up_for_one(delay):
    """One rank gives up at about the moment at which the last one comes."""
    store = dist.HashStore()

    def slow():
        time.sleep(delay)
        return take_part(store, 2, range(3), "same")

    results = run_ranks(
        [
            lambda: take_part(store, 0, range(3), "same", timeout=0.2),
            lambda: take_part(store, 1, range(3), "same"),
            slow,
        ]
    )
    assert len({isinstance(result, RanksDisagree) for result in results}) == 1


def test_sixty_four_ranks():
    store = dist.HashStore()
    results = run_ranks(
        [
            lambda rank=rank: take_part(store, rank, range(64), f"of {rank % 2}")
            for rank in range(64)
        ]
    )
    for rank, (_, texts, _) in enumerate(results):
        assert texts == {other: f"of {other % 2}" for other in range(64) if other != rank}
    # Each program was published once, and is no longer needed.
    assert not any(store.check([f"commute/f/0/0/{rank}/text"]) for rank in range(64))


def test_modes():
    assert choose_mode(None) == "same"
    # Without a process group, nobody can be asked.
    assert choose_mode("exchange") == "same"
    assert choose_mode("unknown") == "unknown"
    with pytest.raises(CommuteError, match="expected"):
        choose_mode("all")


def test_modes_of_a_fake_group(fake_group):
    assert choose_mode(None) == choose_mode("exchange") == "unknown"
    assert choose_mode("same") == "same"


def test_a_rank_that_dies_in_the_exchange():
    store = dist.HashStore()
    first, _ = run_ranks(
        [
            lambda: take_part(store, 0, [0, 1], "text", timeout=0.3),
            lambda: exchange_of(store, 1, [0, 1]).meet(),
        ]
    )
    assert "rank 1 has not compiled" in str(first)


def one_rank_is_slow(rank):
    """What a compiled function has where one rank stops in the middle of the exchange."""
    group = dist.group.WORLD
    if rank == 1:
        original = RankExchange.collect

        def collect(exchange, *arguments):
            time.sleep(3)
            return original(exchange, *arguments)

        RankExchange.collect = collect
    x, w = torch.ones(8, 8) * (rank + 1), torch.ones(8, 8)

    def function(x, w):
        return functional.reduce_scatter_tensor(x @ w, "sum", 0, group)

    graphs = InductorGraphs()
    with commute.torch.enable(policy="always", rank_timeout=1), torch.no_grad():
        found = torch.compile(function, backend=graphs)(x, w) + 0
    return [graphs.communication(), found]


@pytest.mark.in_process
def test_a_rank_that_is_slow():
    for communication, found in call_on_ranks(one_rank_is_slow, 2, timeout=120):
        assert communication == [{"reduce_scatter_tensor": 1}]
        torch.testing.assert_close(found, torch.full((4, 8), 24.0))


def only_one_rank_compiles(rank):
    """What a compiled function has on rank 0, beside the eager one of rank 1."""
    group = dist.group.WORLD
    generator = torch.Generator().manual_seed(rank)
    x, w = (torch.randn(8, 8, generator=generator) for _ in range(2))

    def function(x, w):
        return functional.reduce_scatter_tensor(x @ w, "sum", 0, group)

    graphs = InductorGraphs()
    with commute.torch.enable(policy="always", rank_timeout=1), torch.no_grad():
        run = torch.compile(function, backend=graphs) if rank == 0 else function
        found = run(x, w) + 0
    return [graphs.communication(), found, function(x, w) + 0]


@pytest.mark.in_process
def test_a_rank_that_compiles_nothing():
    results = call_on_ranks(only_one_rank_compiles, 2, timeout=120)
    assert results[0][0] == [{"reduce_scatter_tensor": 1}]
    for _, found, expected in results:
        torch.testing.assert_close(found, expected)


def same_parameters_or_not(rank, differs):
    """The rows that each rank multiplies with a plain weight, by what is stated of it."""
    group = dist.group.WORLD

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(8) * (1 + rank * differs))

        def forward(self, x):
            whole = functional.wait_tensor(functional.all_reduce(x, "sum", group))
            return whole * self.weight

    rows = []
    for plain in ("unknown", "replicated"):
        torch._dynamo.reset()
        graphs = InductorGraphs()
        with (
            commute.torch.enable(policy="always", plain_parameters=plain, fatal=True),
            torch.no_grad(),
        ):
            torch.compile(Scaled(), backend=graphs)(torch.ones(16, 8))
        (graph,) = graphs.graphs
        products = graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
        rows += [node.meta["val"].shape[0] for node in products]
    return rows


@pytest.mark.in_process
@pytest.mark.parametrize("differs, rows", [(False, [16, 8]), (True, [16, 16])])
def test_plain_parameters_are_compared(differs, rows):
    """A difference leaves the graph alone: it is no error of the user's program."""
    assert call_on_ranks(same_parameters_or_not, 2, differs, timeout=120) == [rows] * 2
