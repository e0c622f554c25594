# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Tensor-parallel layers under torch.compile with Commute, on ranks that share one device.

    python benchmarks/gpu/parallel_layers.py --ranks=2 OUT.json [CASE...]

PyTorch's symmetric memory lets several ranks share a GPU for its fused operators, and gloo
does the other collectives. Each case compares outputs and gradients of compiled programs
with eager execution on every rank, counts the collectives and fused operators that one step
ran, and takes the time of compilation and of a step. Ranks that share a device take turns,
so times of steps say nothing of several devices.
"""

import argparse
import logging
import statistics
import time
from collections import Counter

import torch
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from llama_layer import PLANS, Layer, Sizes
from measuring import DEVICE, IS_GPU, Results, commute_target, synchronize
from ranks_on_one_device import over_ranks, run_steps
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

# The first has numbers to compare, the second the sizes of Llama 8B.
VALUES = Sizes(width=1024, heads=16, kv_heads=8, hidden=2816, tokens=512)
LLAMA = Sizes(width=4096, heads=32, kv_heads=8, hidden=14336, tokens=2048)
if not IS_GPU:
    VALUES = LLAMA = Sizes(width=64, heads=8, kv_heads=4, hidden=256, tokens=32)

# Of the norm of any tensor, relative: sums of other orders differ by less.
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 3e-2}


class _OwnSlices(torch.nn.Module):
    """The plan makes every rank take its own columns of a replicated value, forward and
    backward."""

    def __init__(self, sizes):
        super().__init__()
        self.up = torch.nn.Linear(sizes.width, sizes.hidden, bias=False)
        self.down = torch.nn.Linear(sizes.hidden, sizes.width, bias=False)

    def forward(self, x):
        return x + self.down(F.silu(self.up(x)))


OWN_SLICES = {
    "up": RowwiseParallel(input_layouts=Replicate()),
    "down": ColwiseParallel(output_layouts=Replicate()),
}


class _OwnRows(torch.nn.Module):
    """Every rank takes its own rows of a sum, without DTensor."""

    def __init__(self, sizes, group):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(sizes.width, sizes.width) * 0.02)
        self.group = group

    def forward(self, x):
        total = functional.all_reduce(x @ self.weight, "sum", self.group)
        own = total.chunk(self.group.size(), 1)[self.group.rank()].contiguous()
        return functional.all_gather_tensor(own.relu(), 1, self.group)


class _Case:
    """A parallel model with an input, made anew for each use."""

    def __init__(self, name, sizes, dtype, mesh, *, backward=True):
        self.name, self.sizes, self.dtype, self.mesh = name, sizes, dtype, mesh
        self.backward = backward

    def make(self):
        torch.manual_seed(0)
        with torch.device(DEVICE):
            if self.name in PLANS:
                model, plan = Layer(self.sizes), PLANS[self.name]
            elif self.name == "own_slices":
                model, plan = _OwnSlices(self.sizes), OWN_SLICES
            else:
                model, plan = _OwnRows(self.sizes, self.mesh.get_group()), None
            x = torch.randn(1, self.sizes.tokens, self.sizes.width)
        model = model.to(self.dtype)
        if plan is not None:
            model = parallelize_module(model, self.mesh, plan, src_data_rank=None)
        if self.name == "sequence_parallel":
            x = x.chunk(self.mesh.size(), 1)[self.mesh.get_local_rank()]
        elif self.name == "own_rows":
            # An addend of the sum, of which each rank has another.
            x = x * (1 + self.mesh.get_local_rank())
        return model, x.to(self.dtype).clone().requires_grad_(self.backward)

    def step(self, function, model, x):
        """The output and the gradients of the input and of all parameters."""
        if not self.backward:
            with torch.no_grad():
                return [function(x)]
        output = function(x)
        wanted = [x, *model.parameters()]
        gradients = torch.autograd.grad(output.float().square().mean(), wanted)
        return [
            value.to_local() if hasattr(value, "to_local") else value
            for value in (output.detach(), *gradients)
        ]


class _Listener(logging.Handler):
    """Counts what Commute reports: rewrites by pass, and warnings."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.applied, self.warnings = Counter(), []

    def emit(self, record):
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            self.warnings.append(text[:1000])
        elif ": applied " in text:
            self.applied[text.split(":", 1)[0]] += 1


def _operators_of(function):
    """The collectives and fused operators that one call ran, by the profiler."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        function()
        synchronize()
    return {
        event.key: event.count
        for event in profile.key_averages()
        if event.key.startswith(("symm_mem::", "_c10d_functional::"))
        and not event.key.endswith(("wait_tensor", "_wrap_tensor_autograd"))
    }


def _error(found, expected):
    """The largest relative error of any tensor, by the norm; NaN counts as infinite."""
    worst = 0.0
    for ours, theirs in zip(found, expected, strict=True):
        if ours.shape != theirs.shape:
            return float("inf")
        difference = (ours.double() - theirs.double()).norm() / theirs.double().norm()
        worst = max(worst, float(difference) if torch.isfinite(difference) else float("inf"))
    return worst


def _compile(model, options):
    if options is None:
        return torch.compile(model, backend="inductor")
    options = {"target": commute_target(), **options}
    return torch.compile(model, backend="commute", options=options)


def _measure(case, options, expected):
    """One way to compile a case."""
    torch._dynamo.reset()
    listener, logger = _Listener(), logging.getLogger("commute")
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    try:
        model, x = case.make()
        compiled = _compile(model, options)
        begin = time.perf_counter()
        found = case.step(compiled, model, x)
        synchronize()
        first = time.perf_counter() - begin
        # All ranks or none compare: the exchange of errors is a collective.
        error = max(over_ranks(_error(found, expected)))
        operators = _operators_of(lambda: case.step(compiled, model, x))
        samples = []
        for _ in range(3):
            begin = time.perf_counter()
            case.step(compiled, model, x)
            synchronize()
            samples.append(time.perf_counter() - begin)
    finally:
        logger.removeHandler(listener)
    return {
        "error_against_eager": error,
        "operators": operators,
        "rewrites": dict(listener.applied),
        "warnings": listener.warnings,
        "first_step_seconds": first,
        "step_seconds": statistics.median(samples),
    }


def _eager(case):
    model, x = case.make()
    expected = case.step(model, model, x)
    return expected, _operators_of(lambda: case.step(model, model, x))


# The ways to compile; a step is a case in one of them.
WAYS = {
    "commute_always": {"policy": "always"},
    "commute": {},
    "inductor": None,
    # Are the other passes right where fused operators do not run?
    "commute_unfused": {"policy": "always", "passes": ["sequence-parallel", "split-linear"]},
}

CASES = {
    "own_slices.float32": ("own_slices", VALUES, torch.float32),
    "sequence_parallel.float32": ("sequence_parallel", VALUES, torch.float32),
    "own_rows.float32": ("own_rows", VALUES, torch.float32),
    "all_reduce.float32": ("all_reduce", VALUES, torch.float32),
    "sequence_parallel.bfloat16": ("sequence_parallel", LLAMA, torch.bfloat16),
    "all_reduce.bfloat16": ("all_reduce", LLAMA, torch.bfloat16),
}


def _steps(cases):
    """All cases in the first two ways, then in the others: the most important first."""
    cases = cases or [
        name for name, (_, _, dtype) in CASES.items() if IS_GPU or dtype != torch.bfloat16
    ]
    yield from (f"{case}.{way}" for case in cases for way in ("eager", "commute_always"))
    yield from (f"{case}.commute" for case in cases)
    yield from (f"{case}.inductor" for case in cases)
    yield f"{cases[0]}.commute_unfused"


def _worker(mesh):
    import commute.torch

    commute.torch.register_backend()
    eager = {}

    def run_step(step):
        name, _, way = step.rpartition(".")
        kind, sizes, dtype = CASES[name]
        case = _Case(kind, sizes, dtype, mesh, backward=kind != "own_rows")
        if name not in eager:
            eager.clear()
            eager[name] = _eager(case)
        expected, operators = eager[name]
        if way == "eager":
            return {"operators": operators, "sizes": sizes._asdict(), "backward": case.backward}
        row = _measure(case, WAYS[way], expected)
        row["is_right"] = row["error_against_eager"] <= TOLERANCES[dtype]
        return row

    return run_step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("output")
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join(CASES))
    options = parser.parse_args()
    for name in options.cases:
        if name not in CASES:
            parser.error(f"there is no case {name}; there are {', '.join(CASES)}")
    run_steps(_worker, list(_steps(options.cases)), options.ranks, Results(options.output))


if __name__ == "__main__":
    main()
