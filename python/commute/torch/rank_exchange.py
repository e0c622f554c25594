# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How ranks that compile the same function take their decisions together.

A graph inside torch.compile is the program of one rank. What the other ranks run is known
only if they tell: each rank puts its program into the store of the default process group,
under the identity of the compilation. Ranks that are connected by the groups of a graph
wait for each other, at most `timeout` seconds; then each has the programs of all, and takes
the same decisions. Whether the graphs are rewritten or left alone is one key of the store,
which is set once, so all ranks take the same branch, whatever happens to one of them.
"""

import collections
import contextlib
import dataclasses
import hashlib
import json
import time
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import torch.distributed as dist

from commute.errors import CommuteError
from commute.torch.compatibility import CompileContext, default_store
from commute.torch.process_groups import get_rank

MODES = ("exchange", "same", "unknown")

# How often the store is asked: at first soon, since ranks compile at the same time.
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.0005, 0.05
_GO = "go"


class RanksDisagree(CommuteError):
    """The graph is left alone, on all ranks; the message says why."""


def default_mode() -> str:
    """What is done about other ranks if nobody says.

    Without a process group, a graph is what an archive is: the program of all ranks that
    its context states. With a group whose other members are fake, or with a single process,
    no other rank can be asked.
    """
    if get_rank() is None:
        return "same"
    can_ask = dist.get_world_size() > 1 and dist.get_backend() != "fake"
    return "exchange" if can_ask else "unknown"


def choose_mode(stated: str | None) -> str:
    """The mode that a caller states, or the default."""
    if stated is None:
        return default_mode()
    if stated not in MODES:
        raise CommuteError(f'ranks={stated!r}: expected "exchange", "same" or "unknown"')
    if stated == "exchange" and default_mode() != "exchange":
        return default_mode()
    return stated


def check_timeout(seconds: float) -> None:
    if not (isinstance(seconds, (int, float)) and 0 < seconds < 1e6):
        raise CommuteError(f"rank_timeout={seconds!r}: expected a number of seconds above 0")


@dataclasses.dataclass(frozen=True)
class Identity:
    """What ranks that compile the same graph have in common."""

    function: str
    """The function that is compiled; graphs of one function share this."""
    graph: str
    """The compilation, the pass, and which of its graphs it is."""

    @staticmethod
    def take(name: str) -> "Identity":
        """The identity of the next graph that the pass `name` of this process is given."""
        trace = CompileContext.current_trace_id()
        function = "direct" if trace is None else str(trace.compile_id)
        graph = f"{'direct' if trace is None else trace}/{name}"
        # A compilation has several graphs, and torch._dynamo.reset() starts anew to count.
        number = _graphs[graph]
        _graphs[graph] += 1
        return Identity(function, f"{graph}/{number}")


_graphs: "collections.Counter[str]" = collections.Counter()
# The functions of which some rank did not compile a graph in time.
_given_up: set[str] = set()


@dataclasses.dataclass(frozen=True)
class PublishedProgram:
    """What one rank publishes of a program."""

    text: str
    """The program, without what differs between ranks that run the same one."""
    facts: Mapping[str, Any]
    """What is stated or known of the program, likewise."""


class RankExchange:
    """One graph on the ranks that it connects.

    identity  under which all ranks find the graph
    members   the ranks with which this rank communicates in the graph. Those with which they
              communicate belong to the exchange as well
    options   what all ranks must have in common besides the program
    offers    what may differ, and is taken from the lowest rank

    All operations raise RanksDisagree if the graphs are to be left alone.
    """

    def __init__(
        self,
        identity: Identity,
        members: Collection[int],
        *,
        options: str,
        offers: Mapping[str, str],
        timeout: float,
        store: dist.Store | None = None,
        rank: int | None = None,
    ) -> None:
        self._identity = identity
        self._timeout = timeout
        # Of all waits together: the work in between is the same on all ranks.
        self._waited = 0.0
        self._rank = dist.get_rank() if rank is None else rank
        self._store = dist.PrefixStore(
            f"commute/{identity.graph}", default_store() if store is None else store
        )
        self._options = options
        self._offers = dict(offers)
        self._members = sorted({self._rank, *members})
        self._is_open = True
        self._published_texts: list[str] = []
        self.ranks: list[int] = []
        """All ranks of the exchange, once they have met."""
        self.offers: Mapping[str, str] = self._offers
        """What the lowest rank offers, once the ranks have met."""

    #
    # Before the decision
    #

    def meet(self) -> list[int]:
        """Finds all ranks of the exchange, and compares their options."""
        own = {"members": self._members, "options": self._options, "offers": self._offers}
        self._publish("meeting", json.dumps(own))
        if self._identity.function in _given_up:
            self._leave(f"rank {self._rank} waits no more for this function")
        met: dict[int, dict[str, Any]] = {self._rank: own}
        while missing := {rank for one in met.values() for rank in one["members"]} - {*met}:
            for rank, text in zip(sorted(missing), self._collect("meeting", sorted(missing))):
                met[rank] = json.loads(text)
        self.ranks = sorted(met)
        self.offers = met[self.ranks[0]]["offers"]
        for rank in self.ranks:
            if self._rank not in met[rank]["members"] and rank in self._members:
                self._leave(f"rank {rank} does not communicate with rank {self._rank}")
            if met[rank]["options"] != self._options:
                self._leave(f"the options of ranks {rank} and {self._rank} differ")
        return self.ranks

    def collect(self, name: str, own: PublishedProgram) -> dict[int, PublishedProgram]:
        """The programs of the other ranks by rank, or none if all are the same.

        `name` tells the programs of one graph apart.
        """
        content = json.dumps([own.text, own.facts], sort_keys=True).encode()
        digests = self.compare(name, hashlib.sha256(content).hexdigest())
        # The lowest rank of those that have a program publishes it: programs may be megabytes.
        publishers: dict[str, int] = {}
        for rank, digest in sorted(digests.items()):
            publishers.setdefault(digest, rank)
        if len(publishers) == 1:
            return {}
        if self._rank in publishers.values():
            # Values of a store are bytes, whatever its stubs say.
            data: Any = zlib.compress(content, 1)
            key = f"{name}/{self._rank}/text"
            self._store.set(key, data)
            self._published_texts.append(key)
        others = {digest: rank for digest, rank in publishers.items() if rank != self._rank}
        found = {digests[self._rank]: own}
        for digest, data in zip(others, self._collect_bytes(name, [*others.values()], "/text")):
            found[digest] = PublishedProgram(*json.loads(zlib.decompress(data)))
        return {rank: found[digest] for rank, digest in digests.items() if rank != self._rank}

    def compare(self, name: str, own: str) -> dict[int, str]:
        """What every rank of the exchange has for `name`, by rank."""
        self._publish(name, own)
        others = [rank for rank in self.ranks if rank != self._rank]
        return {self._rank: own, **dict(zip(others, self._collect(name, others)))}

    #
    # The decision
    #

    def decide(self, decisions: Iterable[str]) -> None:
        """Returns on all ranks if all have taken the same decisions, or raises on all."""
        own = hashlib.sha256("\n".join(decisions).encode()).hexdigest()
        differing = [rank for rank, other in self.compare("ready", own).items() if other != own]
        if differing:
            self._leave(
                f"ranks {', '.join(map(str, differing))} do not rewrite the graph as rank"
                f" {self._rank} does; do all ranks compile the same graph with the same options?"
            )
        # All ranks have read the programs.
        for key in self._published_texts:
            self._store.delete_key(key)
        if (decision := self._settle(_GO)) != _GO:
            raise RanksDisagree(decision)

    def abandon(self, reason: str) -> None:
        """Lets the other ranks know that this one rewrites nothing: they need not wait."""
        if self._is_open:
            with contextlib.suppress(RuntimeError):
                self._settle(f"rank {self._rank}: {reason}")

    def _leave(self, reason: str) -> NoReturn:
        raise RanksDisagree(self._settle(reason))

    def _settle(self, own: str) -> str:
        """The branch that some rank took first, or this one takes now."""
        self._is_open = False
        return self._store.compare_set("decision", "", own).decode()

    #
    # The store
    #

    def _publish(self, name: str, text: str) -> None:
        self._store.set(f"{name}/{self._rank}", text)

    def _collect(self, name: str, ranks: Sequence[int]) -> list[str]:
        return [data.decode() for data in self._collect_bytes(name, ranks, "")]

    def _collect_bytes(self, name: str, ranks: Sequence[int], suffix: str) -> list[bytes]:
        keys = {rank: f"{name}/{rank}{suffix}" for rank in ranks}
        self._wait(keys)
        return [self._store.get(key) for key in keys.values()]

    def _wait(self, keys: Mapping[int, str]) -> None:
        """Waits until the store has all keys, without blocking it for other threads."""
        sleep = _SHORTEST_SLEEP
        started = time.monotonic()
        while not self._store.check(list(keys.values())):
            if self._store.check(["decision"]):
                self._check(self._settle(""))
            elif self._waited + time.monotonic() - started > self._timeout:
                missing = [rank for rank, key in keys.items() if not self._store.check([key])]
                _given_up.add(self._identity.function)
                self._check(
                    self._settle(
                        f"{_describe_ranks(missing)} not compiled this graph within"
                        f" {self._timeout:g} s of rank {self._rank}"
                    )
                )
            time.sleep(sleep)
            sleep = min(2 * sleep, _LONGEST_SLEEP)
        self._waited += time.monotonic() - started

    @staticmethod
    def _check(decision: str) -> None:
        """All keys are there, or will be at once, if all ranks were ready."""
        if decision != _GO:
            raise RanksDisagree(decision)


def _describe_ranks(ranks: Sequence[int]) -> str:
    listed = ", ".join(map(str, ranks))
    return f"rank {listed} has" if len(ranks) == 1 else f"ranks {listed} have"
