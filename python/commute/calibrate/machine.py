# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The ranks that measure together, and how a time is taken."""

import platform
import time
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist


class Machine:
    """The process group of torchrun, its devices, and timings that all ranks agree on.

    seconds   roughly how long one timing may take
    is_quick  measure tiny sizes once, only to see that everything runs
    """

    def __init__(self, *, seconds: float = 0.1, is_quick: bool = False) -> None:
        self.seconds, self.is_quick = seconds, is_quick
        self.ranks, self.rank = dist.get_world_size(), dist.get_rank()
        self.on_gpu = dist.get_backend() != "gloo" and torch.cuda.is_available()
        self.device = torch.device("cuda", torch.cuda.current_device()) if self.on_gpu else "cpu"
        self._groups: dict[int, dist.ProcessGroup] = {}

    @property
    def description(self) -> str:
        if self.on_gpu:
            return torch.cuda.get_device_name()
        return platform.processor() or platform.machine()

    @property
    def source(self) -> str:
        """The prefix of every number's source."""
        day = time.strftime("%Y-%m-%d")
        return (
            f"measured by commute.calibrate on {day}, PyTorch {torch.__version__},"
            f" {dist.get_backend()}, {self.ranks} ranks"
        )

    @property
    def group_sizes(self) -> list[int]:
        """Two, four and so on, and all ranks."""
        sizes = {self.ranks}
        size = 2
        while size < self.ranks:
            if self.ranks % size == 0:
                sizes.add(size)
            size *= 2
        return sorted(size for size in sizes if size > 1)

    def group_of(self, size: int) -> dist.ProcessGroup:
        """This rank's group among those of `size` consecutive ranks, which all exist at once."""
        if size not in self._groups:
            for first in range(0, self.ranks, size):
                ranks = list(range(first, first + size))
                group = dist.new_group(ranks)
                if self.rank in ranks:
                    self._groups[size] = group
        return self._groups[size]

    def synchronize(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()

    def slowest(self, value: float) -> float:
        """The largest value of all ranks."""
        tensor = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return float(tensor.item())

    def broadcast(self, values: Sequence[float]) -> list[float]:
        """The first rank's values."""
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.broadcast(tensor, 0)
        return [float(value) for value in tensor.tolist()]

    def time(self, run: Callable[[], object], repetitions: int = 5) -> float:
        """Seconds of one call: the slowest rank's, in the shortest of several repetitions. All
        ranks run at once, so that they share what they share in a step."""
        run()
        self.synchronize()
        once = self.slowest(self._once(run, 1))
        if self.is_quick:
            return max(once, 1e-9)
        # As many calls on all ranks, or collectives would not match.
        count = max(1, min(1000, int(self.seconds / repetitions / max(once, 1e-9))))
        best = min(self.slowest(self._once(run, count)) for _ in range(repetitions))
        return max(best / count, 1e-9)

    def _once(self, run: Callable[[], object], count: int) -> float:
        dist.barrier()
        self.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            run()
        self.synchronize()
        return time.perf_counter() - start
