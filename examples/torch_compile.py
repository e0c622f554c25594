# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A tensor-parallel model in torch.compile with Commute's passes, on CPU ranks.

    python examples/torch_compile.py            # two ranks under gloo

Needs the package `commute` and a C++ compiler, for which Inductor generates code. Rank 0
prints what the passes did, and how far the results are from those of eager execution.
"""

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

import commute.torch

BATCH, TOKENS, WIDTH, HIDDEN = 2, 16, 64, 256

PLAN = {
    "norm": SequenceParallel(),
    "up": ColwiseParallel(input_layouts=Shard(1)),
    "down": RowwiseParallel(output_layouts=Shard(1)),
}


class FeedForward(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.RMSNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = torch.nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.silu(self.up(self.norm(x))))


def run_step(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor
) -> list[torch.Tensor]:
    """The output, and the gradient of the input."""
    output = function(x)
    (gradient,) = torch.autograd.grad(output.square().sum(), x)
    return [output.detach(), gradient]


def run_rank(rank: int, size: int, store: str) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    if rank == 0:
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        logging.getLogger("commute").setLevel(logging.INFO)

    commute.torch.register_backend()
    # Groups, members and placements are read from the mesh and from DTensor.
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    torch.manual_seed(0)
    model = parallelize_module(FeedForward(), mesh, PLAN)
    x = torch.randn(BATCH, TOKENS, WIDTH).chunk(size, 1)[rank].clone().requires_grad_()

    # policy="always": these sizes are too small to pay.
    compiled = torch.compile(model, backend="commute", options={"policy": "always"})
    found, expected = run_step(compiled, x), run_step(model, x)
    worst = max(
        float((ours - eager).abs().max() / eager.abs().max())
        for ours, eager in zip(found, expected)
    )
    assert worst < 1e-5, f"rank {rank}: {worst} from eager execution"
    if rank == 0:
        print(f"outputs and gradients agree with eager execution: {worst:.1e}")
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    size = parser.parse_args().ranks
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(run_rank, (size, f"{folder}/store"), nprocs=size)


if __name__ == "__main__":
    main()
