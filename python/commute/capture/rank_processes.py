# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Processes that each stand for one rank, forked from this one."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import resource
import signal
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from commute.capture.errors import CaptureError
from commute.errors import CommuteError

Result = TypeVar("Result")

_MEBIBYTE = 1 << 20
# A process takes this much in any case.
_LEAST_MEMORY = 64 * _MEBIBYTE


def _available_memory() -> int:
    """Returns the bytes that new processes may take."""
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 4 << 30


def _resident_memory() -> int:
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _serve(task: Callable[[], Any], connection: Any, before: int) -> None:
    """Runs a task in a forked process, and sends its result and the memory that it took."""
    # The threads of the parent do not exist here.
    torch.set_num_threads(1)
    try:
        if dist.is_initialized():
            dist.destroy_process_group()
        answer: tuple[str, Any] = ("result", task())
    except CommuteError as error:
        answer = ("refusal", str(error))
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        answer = (
            "refusal",
            f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})",
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    try:
        connection.send((*answer, max(peak - before, 0)))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        connection.send(("refusal", f"the result cannot be sent: {error}", 0))
    connection.close()


class _Running:
    def __init__(self, what: str, task: Callable[[], Any]) -> None:
        context: Any = multiprocessing.get_context("fork")
        self.what = what
        self.connection, other = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_serve, args=(task, other, _resident_memory()), daemon=True
        )
        self.process.start()
        other.close()

    def result(self) -> tuple[Any, int]:
        """Returns the result and the memory that it took. Raises CaptureError if there is none."""
        try:
            kind, value, memory = self.connection.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode or 0
            reason = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            hint = "; is there enough memory?" if code == -signal.SIGKILL else ""
            raise CaptureError(f"{self.what}: its process ended with {reason}{hint}") from None
        self.process.join()
        if kind == "refusal":
            text = str(value)
            raise CaptureError(text if text.startswith(self.what) else f"{self.what}: {text}")
        return value, memory

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()


class RankProcesses:
    """Runs tasks in forked processes: as many at once as there are processors, and as fit
    into memory by what earlier ones took."""

    def __init__(self) -> None:
        self.largest = 0
        """The most memory, in bytes, that a process took of its own."""

    def _limit(self) -> int:
        need = max(self.largest * 5 // 4, _LEAST_MEMORY)
        return max(1, min(len(os.sched_getaffinity(0)), _available_memory() // need))

    def run(self, tasks: Sequence[tuple[str, Callable[[], Result]]]) -> list[Result]:
        """Returns the results of tasks in their order. Raises CaptureError for the first one
        that fails; each task has a name for this purpose."""
        backend = dist.get_backend() if dist.is_initialized() else "fake"
        if backend != "fake":
            raise CaptureError(
                f"the process has a process group (backend {backend}), so it cannot stand for"
                " other ranks; call this in a process of its own"
            )
        results: dict[int, Result] = {}
        running: dict[int, _Running] = {}
        pending = list(enumerate(tasks))
        try:
            while pending or running:
                # The first one shows how much memory the others take.
                while pending and len(running) < (self._limit() if self.largest else 1):
                    index, (what, task) = pending.pop(0)
                    running[index] = _Running(what, task)
                ready = multiprocessing.connection.wait(
                    [one.connection for one in running.values()]
                )
                for index, one in list(running.items()):
                    if one.connection in ready:
                        results[index], memory = one.result()
                        self.largest = max(self.largest, memory, 1)
                        del running[index]
        finally:
            for one in running.values():
                one.stop()
        return [results[index] for index in range(len(tasks))]
