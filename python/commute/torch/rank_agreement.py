# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Whether all ranks have decided alike.

Ranks whose graphs communicate differently wait for each other forever. Decisions depend
on the graph and the options alone; that both are the same on all ranks can be checked.
"""

import contextlib
import datetime
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator

import torch.distributed as dist

from commute.errors import CommuteError
from commute.torch.compatibility import default_store
from commute.torch.process_groups import get_rank

_TIMEOUT = datetime.timedelta(seconds=60)

# Ranks that compile alike make their checks in one order.
_number_of_check = itertools.count()


@contextlib.contextmanager
def agreement(*, is_checked: bool) -> Iterator[Callable[[Iterable[str]], None]]:
    """Gives a function that compares decisions on all ranks of the default group.

    The function raises CommuteError on all ranks if decisions differ, or if a rank fails
    before it calls the function. Nothing is compared outside of a distributed program.
    """
    if not is_checked or get_rank() is None:
        yield lambda decisions: None
        return
    ballot = _Ballot()
    try:
        yield ballot.check
    except BaseException:
        ballot.withdraw()
        raise


class _Ballot:
    """One comparison, through the store of the default group."""

    def __init__(self) -> None:
        self._rank = dist.get_rank()
        self._is_open = True
        self._store = dist.PrefixStore(
            f"commute/decisions/{next(_number_of_check)}",
            default_store(),
        )

    def _publish(self, own: str) -> None:
        self._is_open = False
        self._store.set(str(self._rank), own)

    def check(self, decisions: Iterable[str]) -> None:
        own = hashlib.sha256("\n".join(decisions).encode()).hexdigest()
        self._publish(own)
        names = [str(rank) for rank in range(dist.get_world_size())]
        try:
            self._store.wait(names, _TIMEOUT)
        except RuntimeError as error:
            raise CommuteError(
                f"not all ranks have optimized a graph within {_TIMEOUT.seconds} s: {error}"
            ) from None
        others = [name for name in names if self._store.get(name).decode() != own]
        if others:
            raise CommuteError(
                f"ranks {', '.join(others)} do not rewrite the graph as rank {self._rank}"
                " does; do all ranks compile the same graph with the same options?"
            )

    def withdraw(self) -> None:
        """Lets the others know of a failure: they need not wait."""
        if self._is_open:
            self._publish("failed")
