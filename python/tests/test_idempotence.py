# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What `commute opt` wrote, it leaves as it is, byte for byte: random graphs, exported by
PyTorch, and archives of models.

And every subset of its passes writes an archive.

    python test_idempotence.py --programs 1000
    python test_idempotence.py --archives ../shared/cases

run more of them than the tests do.
"""

import argparse
import itertools
import json
import random
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
import torch.distributed._functional_collectives  # registers _c10d_functional
import torch.nn.functional as F
from torch import nn

from commute_tool import REPOSITORY, commute
from fixtures import FIXTURES

PROGRAMS = 40
POLICIES = ("always", "profitable")
PASSES = (
    "normalize-collectives",
    "sequence-parallel",
    "micro-pipeline",
    "split-linear",
    "lower-collectives",
    "contiguous-collectives",
)
# Cases that others have reported, where this machine has them.
CASES = REPOSITORY.parent / "shared" / "cases"
REPORTED = sorted(
    path for folder in ("passes", "verdicts") for path in CASES.glob(f"{folder}/*.pt2")
)
WORLD = "0"
c10d = torch.ops._c10d_functional


class RandomGraph(nn.Module):
    """Linears, norms and elementwise functions between collectives, on dim 0 or spelled out."""

    def __init__(self, seed):
        super().__init__()
        draw = random.Random(seed)
        self.seed = seed
        self.ranks = draw.choice([2, 4])
        self.width = draw.choice([8, 16])
        self.shape = draw.choice([(8,), (4, 8), (1, 8), (2, 4), (8, 2)]) + (self.width,)
        self.weights = nn.ParameterList(
            nn.Parameter(torch.zeros(self.width, self.width)) for _ in range(6)
        )
        self.scales = nn.ParameterList(nn.Parameter(torch.zeros(self.width)) for _ in range(3))

    def gather(self, x):
        return c10d.wait_tensor(c10d.all_gather_into_tensor(x, self.ranks, WORLD))

    def scatter(self, x):
        return c10d.wait_tensor(c10d.reduce_scatter_tensor(x, "sum", self.ranks, WORLD))

    def reduce(self, x):
        return c10d.wait_tensor(c10d.all_reduce(x, "sum", WORLD))

    def step(self, draw, x, values):
        """A function of x, or None where it has not the right sizes."""
        has_width = x.shape[-1] == self.width
        is_divisible = x.shape[0] % self.ranks == 0
        weight, scale = draw.choice(list(self.weights)), draw.choice(list(self.scales))
        dim = draw.randrange(x.dim())
        alike = draw.choice([value for value in values if value.shape == x.shape])
        kind = draw.randrange(16)
        if kind in (0, 1, 2, 12, 13) and not has_width:
            return None
        if kind in (9, 14) and not is_divisible:
            return None
        if kind == 8 and x.shape[dim] % self.ranks:
            return None
        steps = [
            lambda: F.linear(x, weight, scale if draw.random() < 0.4 else None),
            lambda: x.reshape(-1, self.width) @ weight,
            lambda: F.rms_norm(x, (self.width,), scale),
            lambda: F.silu(x),
            lambda: x + alike,
            lambda: self.reduce(x.contiguous() if draw.random() < 0.5 else x),
            lambda: self.gather(x),
            lambda: torch.cat(torch.chunk(self.gather(x), self.ranks, 0), dim),
            lambda: self.scatter(torch.cat(torch.chunk(x, self.ranks, dim), 0)),
            lambda: self.scatter(x),
            lambda: x.transpose(0, 1),
            lambda: x.permute(1, 0, 2) if x.dim() == 3 else None,
            lambda: self.reduce(F.linear(x, weight)),
            lambda: F.linear(self.gather(x), weight),
            lambda: self.scatter(F.linear(x, weight)) if has_width else None,
            lambda: torch.softmax(x, -1),
        ]
        return steps[kind]()

    def forward(self, x, y):
        draw = random.Random(self.seed + 10**6)
        values = [x, y]
        for _ in range(draw.randint(4, 12)):
            value = self.step(draw, draw.choice(values[-4:]), values)
            if value is not None and value.numel() <= 1 << 16:
                values.append(value)
        # What is not returned may be read by nobody.
        return tuple(values[-draw.randint(1, 2) :])


def export(seed, path):
    graph = RandomGraph(seed)
    example = torch.zeros(graph.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(graph, (example, example), strict=False)
    placement = random.Random(seed + 1).choice(["replicated", "varying"])
    context = {
        "version": 1,
        "rank": 0,
        "groups": {WORLD: {"ranks": list(range(graph.ranks))}},
        "inputs": {"x": {WORLD: placement}, "y": {WORLD: "replicated"}},
    }
    torch.export.save(program, path, extra_files={"commute.json": json.dumps(context)})
    return path


def find_problem(name, source, policy, folder):
    """Why an archive is not optimized once and for all; None where it is."""
    once, twice = (folder / f"{Path(source).stem}.{run}.pt2" for run in ("once", "twice"))
    for given, written in ((source, once), (once, twice)):
        process = commute("opt", given, "-o", written, f"--policy={policy}")
        if process.returncode or process.stderr:
            return f"{name}, {policy}: opt of {given.name} fails: {process.stderr}"
    if "the graph is unchanged" not in process.stdout:
        return f"{name}, {policy}: the second run changes the graph:\n{process.stdout}"
    if once.read_bytes() != twice.read_bytes():
        return f"{name}, {policy}: the second run writes another archive"
    return None


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_optimized_once(seed, tmp_path):
    source = export(seed, tmp_path / f"{seed}.pt2")
    problems = [find_problem(f"seed {seed}", source, policy, tmp_path) for policy in POLICIES]
    assert problems == [None, None]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", FIXTURES)
def test_model_is_optimized_once(name, policy, fixtures_folder, tmp_path):
    assert find_problem(name, fixtures_folder / f"{name}.pt2", policy, tmp_path) is None


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
def test_reported_case_is_optimized_once(path, policy, tmp_path):
    assert find_problem(path.stem, path, policy, tmp_path) is None


@pytest.mark.parametrize("count", range(1, len(PASSES)))
def test_every_subset_of_passes_writes_an_archive(count, tmp_path):
    # A graph in which each of the first three passes does something.
    source, target = tmp_path / "source.pt2", tmp_path / "target.pt2"
    export(45, source)
    for passes in itertools.combinations(PASSES, count):
        process = commute(
            "opt", source, "-o", target, "--policy=always", f"--passes={','.join(passes)}"
        )
        assert (process.returncode, process.stderr) == (0, ""), passes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-seed", type=int, default=PROGRAMS)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument(
        "--archives", type=Path, help="those of this folder in place of random ones"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    programs = failures = 0
    with TemporaryDirectory() as folder:
        if options.archives:
            cases = ((path.name, path) for path in sorted(options.archives.rglob("*.pt2")))
        else:
            seeds = range(options.first_seed, options.first_seed + options.programs)
            cases = ((f"seed {seed}", export(seed, Path(folder) / f"{seed}.pt2")) for seed in seeds)
        for name, source in cases:
            if time.monotonic() > end:
                break
            programs += 1
            for policy in POLICIES:
                problem = find_problem(name, source, policy, Path(folder))
                if problem:
                    failures += 1
                    print(problem)
    print(f"{programs} programs, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
