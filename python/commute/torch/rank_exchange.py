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
import weakref
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

import torch.distributed as dist

from commute.errors import CommuteError
from commute.torch.compatibility import TracingContext, compiled_code, default_store
from commute.torch.process_groups import get_rank

MODES = ("exchange", "same", "unknown")

# How often the store is asked: at first soon, since ranks compile at the same time.
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.0005, 0.05
_GO = "go"
# How decisions begin that say which ranks have not come.
_ABSENT = "absent: "


class RanksDisagree(CommuteError):
    """The graph is left alone, on all ranks; the message says why."""


class RanksAbsent(RanksDisagree):
    """Some rank has not compiled the graph in time."""


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
    """What ranks that compile the same graph have in common.

    Each process numbers what it compiles in its own order, and may compile more than the
    others. So a graph goes by the place of its function in the source, not by Dynamo's
    number of the frame.
    """

    function: str
    """The function that is compiled; all its compilations share this."""
    graph: str
    """The compilation of the function, the pass, and which of its graphs it is."""
    place: str
    """The same without the compilation: what a function has in each of its compilations. Empty
    for a graph that is of no function."""

    @staticmethod
    def take(name: str) -> "Identity":
        """The identity of the next graph that the pass `name` of this process is given."""
        context = TracingContext.try_get()
        code = None if context is None else compiled_code(context)
        if context is None or code is None:
            return Identity("direct", f"direct/{name}/{_count(f'direct/{name}')}", "")
        function = _name_of(code)
        if context not in _compilations:
            _compilations[context] = _count(function)
        compilation = f"{function}/{_compilations[context]}/{name}"
        # A compilation has several graphs.
        number = _count(compilation)
        return Identity(function, f"{compilation}/{number}", f"{function}/{name}/{number}")


def _count(name: str) -> int:
    """How often this was asked for a name before."""
    _numbers[name] += 1
    return _numbers[name] - 1


def _name_of(code: CodeType) -> str:
    """The place of a function in the source. Ranks may have their files elsewhere, and
    number generated code (of compiled autograd) in their own way."""
    file = "generated" if code.co_filename.startswith("<") else Path(code.co_filename).name
    return f"{file}:{code.co_firstlineno}:{code.co_name}"


_numbers: "collections.Counter[str]" = collections.Counter()
# Dynamo's contexts live as long as a compilation and its backward graph.
_compilations: "weakref.WeakKeyDictionary[TracingContext, int]" = weakref.WeakKeyDictionary()
# The functions of which some rank did not compile a graph in time.
_given_up: set[str] = set()


@dataclasses.dataclass(frozen=True)
class PublishedProgram:
    """What one rank publishes of a program."""

    text: str
    """The program, without what differs between ranks that run the same one."""
    facts: Mapping[str, Any]
    """What is stated or known of the program, likewise."""


@dataclasses.dataclass(frozen=True)
class Agreement:
    """What the ranks of an exchange agreed on: the programs of all, and what became of them."""

    options: str
    ranks: list[int]
    offers: Mapping[str, str]
    groups: Mapping[int, Sequence[Sequence[int]]]
    """The members of each rank's groups, in the order of their use."""
    programs: Mapping[str, Mapping[int, bytes]]
    """The programs by name and rank, compressed; of this rank alone if all are the same."""
    decisions: str
    """A digest."""


# The last agreement on each graph of a function that was rewritten.
_agreements: dict[str, Agreement] = {}


class RankExchange:
    """One graph on the ranks that it connects.

    identity  under which all ranks find the graph
    members   the ranks with which this rank communicates in the graph. Those with which they
              communicate belong to the exchange as well
    groups    this process's names of the groups in which the graph communicates, by the names
              that all ranks have for them, with their ranks. All members of a group have one
              name for it
    options   what all ranks must have in common besides the program
    offers    what may differ, and is taken from the lowest rank

    All operations raise RanksDisagree if the graphs are to be left alone.

    A function may be compiled again on some ranks alone, such as where a guard fails that
    holds on others. These run what they have: a graph that may have been rewritten, and that
    communicates with a graph that is rewritten in the same way alone. So where ranks are
    absent that took part in the last agreement on the graph, the rank follows it: it takes
    their programs from then, and makes the decisions from then or none.
    """

    def __init__(
        self,
        identity: Identity,
        members: Collection[int],
        *,
        options: str,
        offers: Mapping[str, str],
        timeout: float,
        groups: Mapping[str, tuple[str, Sequence[int]]] | None = None,
        store: dist.Store | None = None,
        rank: int | None = None,
    ) -> None:
        self._identity = identity
        self._timeout = timeout
        # Of all waits together: the work in between is the same on all ranks.
        self._waited = 0.0
        self.rank = dist.get_rank() if rank is None else rank
        self._store = dist.PrefixStore(
            f"commute/{identity.graph}", default_store() if store is None else store
        )
        self._options = options
        self._offers = dict(offers)
        self._members = sorted({self.rank, *members})
        # The ranks of the exchange, as far as this one knows.
        self._known = {*self._members}
        # With lists for tuples, as they come back from JSON.
        self._groups: dict[str, list[Any]] = {
            name: [own, [*ranks]] for name, (own, ranks) in (groups or {}).items()
        }
        # The contents of the programs, by name and rank.
        self._programs: dict[str, dict[int, bytes]] = {}
        # The members of each rank's groups, once the ranks have met.
        self._groups_of_ranks: Mapping[int, Sequence[Sequence[int]]] = {}
        self._followed: Agreement | None = None
        # What ranks have put into the store: what stands before and after their number.
        self._published: list[tuple[str, str]] = []
        self.ranks: list[int] = []
        """All ranks of the exchange, once they have met."""
        self.offers: Mapping[str, str] = self._offers
        """What the lowest rank offers, once the ranks have met."""

    #
    # Before the decision
    #

    def meet(self) -> list[int]:
        """Finds all ranks of the exchange, and compares their options."""
        own = {
            "members": self._members,
            "groups": self._groups,
            "options": self._options,
            "offers": self._offers,
        }
        self._publish("meeting", json.dumps(own))
        try:
            self._meet(own)
        except RanksAbsent:
            if not self.follow():
                raise
        return self.ranks

    def _meet(self, own: dict[str, Any]) -> None:
        if self._identity.function in _given_up:
            self._leave(f"{_ABSENT}rank {self.rank} waits no more for this function")
        met: dict[int, dict[str, Any]] = {self.rank: own}
        while missing := sorted({rank for one in met.values() for rank in one["members"]} - {*met}):
            self._known.update(missing)
            for rank, text in zip(missing, self._collect("meeting", missing)):
                met[rank] = json.loads(text)
        self.ranks = sorted(met)
        self._groups_of_ranks = {
            rank: [members for _, members in met[rank]["groups"].values()] for rank in self.ranks
        }
        self.offers = met[self.ranks[0]]["offers"]
        for rank in self.ranks:
            if self.rank not in met[rank]["members"] and rank in self._members:
                self._leave(f"rank {rank} does not communicate with rank {self.rank}")
            if met[rank]["options"] != self._options:
                self._leave(
                    f"the options of ranks {rank} and {self.rank}, or which collectives they leave"
                    " alone, differ"
                )
            for name, (group, members) in self._groups.items():
                if rank in members and met[rank]["groups"].get(name) != [group, members]:
                    self._leave(
                        f"ranks {rank} and {self.rank} do not use the same groups in the same"
                        f" order, such as group {group!r} of ranks {members}"
                    )

    def groups_of_all(self) -> dict[str, list[list[int]]] | None:
        """For each of this process's groups, by name, the groups that the ranks of the exchange
        have in its place; None on all ranks if some have none there, or one of another size."""
        all_groups: dict[str, list[list[int]]] = {}
        if len({len(groups) for groups in self._groups_of_ranks.values()}) > 1:
            return None
        for index, (name, _) in enumerate(self._groups.values()):
            of_rank = {rank: [*groups[index]] for rank, groups in self._groups_of_ranks.items()}
            if len({len(group) for group in of_rank.values()}) > 1 or any(
                of_rank.get(member) != group for group in of_rank.values() for member in group
            ):
                return None
            all_groups[name] = [
                group for rank, group in sorted(of_rank.items()) if rank == min(group)
            ]
        return all_groups

    def follow(self) -> bool:
        """Whether this rank follows the last agreement on the graph from now on."""
        last = _agreements.get(self._identity.place)
        if self._followed or last is None or last.options != self._options:
            return False
        if not {*self._members} <= {*last.ranks}:
            return False
        self._followed, self.ranks, self.offers = last, last.ranks, last.offers
        self._groups_of_ranks = last.groups
        self._waited = 0
        return True

    def collect(self, name: str, own: PublishedProgram) -> dict[int, PublishedProgram]:
        """The programs of the other ranks by rank, or none if all are the same.

        `name` tells the programs of one graph apart.
        """
        content = json.dumps([own.text, own.facts], sort_keys=True).encode()
        if self._followed:
            found = self._collect_last(name, content, self._followed)
        else:
            found = self._collect_now(name, content)
        self._programs[name] = {self.rank: content, **found}
        return {
            rank: PublishedProgram(*json.loads(other))
            for rank, other in found.items()
            if rank != self.rank
        }

    def _collect_now(self, name: str, own: bytes) -> dict[int, bytes]:
        digests = self.compare(name, hashlib.sha256(own).hexdigest())
        # The lowest rank of those that have a program publishes it: programs may be megabytes.
        publishers: dict[str, int] = {}
        for rank, digest in sorted(digests.items()):
            publishers.setdefault(digest, rank)
        if len(publishers) == 1:
            return {}
        self._published.append((name, "/text"))
        if self.rank in publishers.values():
            # Values of a store are bytes, whatever its stubs say.
            data: Any = zlib.compress(own, 1)
            self._store.set(f"{name}/{self.rank}/text", data)
        others = {digest: rank for digest, rank in publishers.items() if rank != self.rank}
        found = dict(zip(others, self._collect_bytes(name, [*others.values()], "/text")))
        contents = {digest: zlib.decompress(data) for digest, data in found.items()}
        contents[digests[self.rank]] = own
        return {rank: contents[digest] for rank, digest in digests.items()}

    def _collect_last(self, name: str, own: bytes, followed: Agreement) -> dict[int, bytes]:
        """The last programs of all ranks, none if they are the same. Of two ranks that follow,
        at least one sees the program of the other."""
        self._publish(f"last/{name}", zlib.compress(own, 1))
        known = followed.programs.get(name, {})
        others = [rank for rank in self.ranks if rank != self.rank]
        last = {rank: known.get(rank, known.get(self.rank)) for rank in others}
        come = [rank for rank in others if self._store.check([f"meeting/{rank}"])]
        last.update(zip(come, self._collect_bytes(f"last/{name}", come, "")))
        found = {self.rank: own}
        for rank, data in last.items():
            if data is None:
                raise RanksDisagree(f"the last program of rank {rank} is not known")
            found[rank] = zlib.decompress(data)
        return found if len({*found.values()}) > 1 else {}

    def compare(self, name: str, own: str) -> dict[int, str]:
        """What every rank of the exchange has for `name`, by rank."""
        self._publish(name, own)
        others = [rank for rank in self.ranks if rank != self.rank]
        return {self.rank: own, **dict(zip(others, self._collect(name, others)))}

    #
    # The decision
    #

    def decide(self, decisions: Sequence[str]) -> None:
        """Returns on all ranks if all have taken the same decisions, or raises on all."""
        own = hashlib.sha256("\n".join(decisions).encode()).hexdigest()
        if self._followed:
            if own != self._followed.decisions:
                raise RanksDisagree(
                    "it is not rewritten as it was when all ranks compiled this function, and"
                    " a rank that has not compiled it again may still run what it compiled then,"
                    ' with which this graph does not communicate: state ranks="unknown", which'
                    " rewrites only what holds whatever other ranks compute"
                )
        else:
            differing = [rank for rank, other in self.compare("ready", own).items() if other != own]
            if differing:
                self._leave(
                    f"ranks {', '.join(map(str, differing))} do not rewrite the graph as rank"
                    f" {self.rank} does; do all ranks compile the same graph with the same"
                    " options?"
                )
            self._check(self._settle(_GO))
        if decisions and self._identity.place:
            programs = {
                name: {rank: zlib.compress(content, 1) for rank, content in contents.items()}
                for name, contents in self._programs.items()
            }
            _agreements[self._identity.place] = Agreement(
                self._options, self.ranks, self.offers, self._groups_of_ranks, programs, own
            )
        else:
            self._forget()

    def abandon(self, reason: str) -> None:
        """Lets the other ranks know that this one rewrites nothing: they need not wait."""
        with contextlib.suppress(RuntimeError):
            self._settle(f"rank {self.rank}: {reason}")

    def close(self) -> None:
        """Removes what the ranks have put into the store, once all ranks have closed. The
        keys of ranks that have not met stay, since others may still come."""
        others = len(self.ranks) - 1
        if others < 1 or self._followed:
            return
        # A store that cannot delete, or that is gone, does no harm.
        with contextlib.suppress(RuntimeError):
            closed, decision = f"closed/{self.ranks[0]}", f"decision/{self.ranks[0]}"
            if self._store.add(closed, 1) <= others:
                return
            self._published.append(("left", ""))
            keys = [
                f"{name}/{rank}{suffix}" for name, suffix in self._published for rank in self.ranks
            ]
            for key in (*keys, decision, closed):
                self._store.delete_key(key)

    def _leave(self, reason: str) -> NoReturn:
        self._check(self._settle(reason))
        raise AssertionError("ranks go only if this one is ready")

    def _settle(self, own: str) -> str:
        """The branch that some rank took first, or this one takes now.

        Once the ranks have met, this is one key, of the lowest rank: graphs of other ranks,
        such as those of another stage of a pipeline, have the same identity. Before, no rank
        can go, since this one is not ready; those that may wait for it are told, and tell
        those that may wait for them.
        """
        if self.ranks:
            return self._store.compare_set(f"decision/{self.ranks[0]}", "", own).decode()
        own = self._store.compare_set(f"left/{self.rank}", "", own).decode()
        for rank in self._known - {self.rank}:
            self._store.compare_set(f"left/{rank}", "", own)
        return own

    def _find_decision(self) -> str:
        """The branch that some other rank took; empty if there is none."""
        if self.ranks and self._store.check([key := f"decision/{self.ranks[0]}"]):
            return self._store.get(key).decode()
        if self._store.check([key := f"left/{self.rank}"]):
            return self._settle(self._store.get(key).decode())
        return ""

    #
    # The store
    #

    def _publish(self, name: str, value: Any) -> None:
        self._published.append((name, ""))
        self._store.set(f"{name}/{self.rank}", value)

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
        while keys and not self._store.check(list(keys.values())):
            if not self._followed and (decision := self._find_decision()):
                self._check(decision)
            if self._waited + time.monotonic() - started > self._timeout:
                missing = [rank for rank, key in keys.items() if not self._store.check([key])]
                _given_up.add(self._identity.function)
                reason = (
                    f"{_describe_ranks(missing)} not compiled this graph within"
                    f" {self._timeout:g} s of rank {self.rank}"
                )
                if self._followed:
                    raise RanksDisagree(reason)
                self._check(self._settle(_ABSENT + reason))
            time.sleep(sleep)
            sleep = min(2 * sleep, _LONGEST_SLEEP)
        self._waited += time.monotonic() - started

    def _forget(self) -> None:
        _agreements.pop(self._identity.place, None)

    def _check(self, decision: str) -> None:
        """All keys are there, or will be at once, if all ranks were ready."""
        if decision.startswith(_ABSENT):
            raise RanksAbsent(decision.removeprefix(_ABSENT))
        if decision != _GO:
            self._forget()
            raise RanksDisagree(decision)


def _describe_ranks(ranks: Sequence[int]) -> str:
    listed = ", ".join(map(str, ranks))
    return f"rank {listed} has" if len(ranks) == 1 else f"ranks {listed} have"
