# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Parallel models in torch.compile on gloo ranks, with Commute's passes and without.

    COMMUTE_BUILD=build/release python fuzz/live_modules.py [--mesh 2x2] [--models a,b]

tries all models of python/tests/mesh_modules.py: each pass alone and all together, static
and dynamic sizes, inference and training. Hours on two cores; python/tests/test_mesh_modules.py
runs a slice.
"""

import argparse
import dataclasses
import itertools
import math
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tests"))
    import conftest  # noqa: F401 (finds the package of the build)

import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounterWithBackend
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.device_mesh import init_device_mesh

import commute.torch
from commute.torch.hooks import PASSES
from inductor_graphs import InductorGraphs
from mesh_modules import MODULES, make_input
from ranks import RankError, call_on_ranks


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    passes: str | None = None
    is_dynamic: bool = False
    trains: bool = True

    def __str__(self):
        passes = self.passes or "all"
        kind = "dynamic" if self.is_dynamic else "static"
        return f"{self.name}-{passes}-{kind}-{'training' if self.trains else 'inference'}"


def _local(value):
    value = getattr(value, "_local_tensor", value).detach()
    return value.wait() if isinstance(value, AsyncCollectiveTensor) else value.clone()


def _step(function, module, x, *, trains):
    """The output, and in training the gradients of a weighted sum of it."""
    with torch.set_grad_enabled(trains):
        output = function(x)
        if not trains:
            return [_local(output)]
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view(output.shape)
    gradients = torch.autograd.grad((output * weights).sum(), [x, *module.parameters()])
    return [_local(value) for value in (output, *gradients)]


def _compile(case, module, inputs):
    """The results, how often a frame was compiled, and the graphs."""
    torch._dynamo.reset()
    graphs = InductorGraphs()
    counter = CompileCounterWithBackend(graphs)
    function = torch.compile(module, backend=counter, dynamic=case.is_dynamic or None)
    results = [_step(function, module, x, trains=case.trains) for x in inputs]
    return results, counter.frame_count, graphs


def _difference(found, expected):
    """The largest difference over the largest value; infinite where one is no number."""
    worst = 0.0
    for ours, theirs in zip(itertools.chain(*found), itertools.chain(*expected), strict=True):
        assert ours.shape == theirs.shape
        difference = float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-30))
        worst = max(worst, difference if math.isfinite(difference) else math.inf)
    return worst


def run_cases(rank, shape, cases):
    """On one rank: what came of every case, in order."""
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp")[-len(shape) :])
    outcomes, without = [], {}
    for case in cases:
        torch.manual_seed(0)
        module = MODULES[case.name](mesh)
        tokens = (8, 16) if case.is_dynamic else (8,)
        inputs = [make_input(case.name, mesh, number) for number in tokens]
        eager = [_step(module, module, x, trains=case.trains) for x in inputs]
        key = dataclasses.replace(case, passes=None)
        if key not in without:
            without[key] = _compile(case, module, inputs)[1]
        with commute.torch.enable(policy="always", passes=case.passes, fatal=True):
            found, compiled, graphs = _compile(case, module, inputs)
        outcomes.append(
            {
                "worst": _difference(found, eager),
                "compiled": compiled,
                "compiled_without": without[key],
                "communication": graphs.communication(),
            }
        )
    return outcomes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mesh", default="2x2")
    parser.add_argument("--models", default=",".join(MODULES))
    options = parser.parse_args()
    shape = tuple(int(size) for size in options.mesh.split("x"))
    num_failures = 0
    for name, passes, is_dynamic, trains in itertools.product(
        options.models.split(","), (None, *PASSES), (False, True), (False, True)
    ):
        if len(shape) == 1 and name in ("fsdp_llama", "two_axes"):
            continue
        case = Case(name, passes, is_dynamic, trains)
        try:
            outcomes = call_on_ranks(run_cases, math.prod(shape), shape, [case], timeout=900)
        except RankError as error:
            num_failures += 1
            print(f"FAILED {case}: {error}", flush=True)
            continue
        rows = [of_rank[0] for of_rank in outcomes]
        is_right = all(
            row["worst"] < 1e-10
            and row["compiled"] == row["compiled_without"]
            and row["communication"] == rows[0]["communication"]
            for row in rows
        )
        num_failures += not is_right
        print("ok    " if is_right else "FAILED", case, rows[0], flush=True)
    sys.exit(num_failures > 0)


if __name__ == "__main__":
    main()
