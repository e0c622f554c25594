# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs of ranks and of one device as plain functions, for `commute.verify`.

    pair = Pair(reference, inputs, ranks, rank_inputs, relations)
    result = pair.verify(folder)

Collectives are PyTorch's operators of functional collectives; no process group exists.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed._functional_collectives  # registers _c10d_functional

import commute

c10d = torch.ops._c10d_functional


def all_reduce(x, op="sum", group="tp"):
    return c10d.wait_tensor(c10d.all_reduce(x, op, group))


def all_gather(x, size=2, group="tp", dim=0):
    gathered = c10d.wait_tensor(c10d.all_gather_into_tensor(x, size, group))
    return torch.cat(gathered.chunk(size), dim) if dim else gathered


def reduce_scatter(x, size=2, group="tp", dim=0, op="sum"):
    x = torch.cat(x.chunk(size, dim)) if dim else x
    return c10d.wait_tensor(c10d.reduce_scatter_tensor(x, op, size, group))


def all_to_all(x, size=2, group="tp"):
    rows = [x.shape[0] // size] * size
    return c10d.wait_tensor(c10d.all_to_all_single(x, rows, rows, group))


def send(x, to, group="tp"):
    return c10d.wait_tensor(c10d.isend(x, to, 0, group))


def receive(like, source, group="tp"):
    return c10d.wait_tensor(c10d.irecv(like, source, 0, group))


def export(function: Callable[..., Any], inputs: Mapping[str, Any], path: Path) -> None:
    """Writes the program of a function whose parameters are `inputs`."""
    names = list(inspect.signature(function).parameters)

    class Program(torch.nn.Module):
        forward = function

    Program.forward.__name__ = "forward"
    program = Program()
    # A method has the module as its first parameter.
    program.forward = function
    arguments = tuple(inputs[name] for name in names)
    torch.export.save(torch.export.export(program, arguments, strict=False), path)


@dataclasses.dataclass(frozen=True)
class Pair:
    reference: Callable[..., Any]
    inputs: Mapping[str, torch.Tensor]
    ranks: Callable[..., Any] | Sequence[Callable[..., Any]]
    """What all ranks run, or what each rank runs."""
    rank_inputs: Mapping[str, torch.Tensor]
    relations: Mapping[str, Any]

    def verify(self, folder: Path, **options: Any) -> commute.Verification:
        export(self.reference, self.inputs, folder / "reference.pt2")
        if callable(self.ranks):
            export(self.ranks, self.rank_inputs, folder / "rank.pt2")
            paths: Any = folder / "rank.pt2"
        else:
            paths = []
            for rank, function in enumerate(self.ranks):
                paths.append(folder / f"rank{rank}.pt2")
                export(function, self.rank_inputs, paths[-1])
        return commute.verify(folder / "reference.pt2", paths, self.relations, **options)
