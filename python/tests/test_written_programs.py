# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What `opt` proves is what it writes: `verify` says of the archives what `opt` said, whatever
the seed, and ranks compute the same with them, also where elements of a sorted row are equal.

The tests run a slice. The campaign goes on for as long as it is told, and then through all
captured models of experts:

    python/tests/test_written_programs.py --seconds 600 --models
"""

import argparse
import collections
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest
import torch

from captured_models import in_folder, run_ranks, whole_tensors
from commute.torch import capture
from commute_tool import commute, succeed
from lockstep import run_in_lockstep
from random_operators import OPERATORS
from random_programs import FLOATS, WORLD, Program, _Replay, aten, c10d
from small_models import MODELS
from test_random_programs import describe, difference

RANKS = 2
SEEDS = (1, 2)
# Exit codes.
PROVEN, DIFFERENT, NOT_PROVEN = 0, 1, 4
PROGRAMS = 12
OPERATORS_PER_PROGRAM = 5
CHOICES_PER_PROGRAM = 4

# Operators of one device, of PyTorch alone.
PLAIN = [name for name in OPERATORS if name.startswith("aten.")]


class SummedProgram(Program):
    """Its floats are sums over the ranks, so that what reads them moves to shards."""

    def __init__(self, seed):
        super().__init__(seed, RANKS)
        self.repeats = self.chance(0.5)

    def sizes(self, least=0, most=4):
        return tuple(self.choice([2, 4]) for _ in range(self.random.randint(least, most)))

    def input(self, dtype, shape, domain="any", tensors=None):
        if tensors is not None or dtype not in FLOATS:
            tensor = tensors[0] if tensors is not None else self._draw(dtype, shape, domain)
            return super().input(dtype, shape, domain, [tensor] * RANKS)
        value = super().input(dtype, shape, domain)
        return self.sum(value)

    def repeating(self, dtype, shape):
        """A sum in which few numbers occur, so that rows have equal elements."""
        tensors = [
            torch.randint(0, 3, shape, generator=self.generator).to(dtype) / 2 for _ in range(RANKS)
        ]
        return self.sum(super().input(dtype, shape, tensors=tensors))

    def sum(self, value):
        value.private = True
        reduced = self.call(c10d.all_reduce.default, value, "sum", WORLD, exact=True)
        reduced.private = True
        return self.call(c10d.wait_tensor.default, reduced, exact=True)

    def choose(self):
        """Calls an operator whose results depend on which of equal elements come first."""
        shape = (*self.sizes(1, 2), self.choice([8, 32]))
        x = self.repeating(self.choice([torch.float32, torch.bfloat16]), shape)
        if self.chance(0.5):
            x = self.call(aten.neg.default, x, exact=True)
        kind = self.choice(["topk", "topk", "topk", "sort", "stable", "argsort", "max", "argmax"])
        flag = self.chance(0.5)
        if kind == "topk":
            count = self.choice([1, 2, 4, 6, 8])
            self.call(aten.topk.default, x, count, -1, flag, self.chance(0.5), exact=True)
        elif kind == "sort":
            self.call(aten.sort.default, x, -1, flag, exact=True)
        elif kind == "stable":
            self.call(aten.sort.stable, x, stable=True, dim=-1, descending=flag, exact=True)
        elif kind == "argsort":
            self.call(aten.argsort.default, x, -1, flag, exact=True)
        elif kind == "max":
            self.call(self.choice([aten.max.dim, aten.min.dim]), x, -1, flag, exact=True)
        else:
            target = self.choice([aten.argmax.default, aten.argmin.default])
            self.call(target, x, -1, flag, exact=True)

    def export(self, path):
        program = torch.export.export(_Replay(self), tuple(v.tensors[0] for v in self.inputs))
        placements = {
            name: {WORLD: "partial(sum)" if value.private else "replicated"}
            for name, value in zip(program.graph_signature.user_inputs, self.inputs, strict=True)
        }
        groups = {WORLD: {"ranks": list(range(RANKS))}}
        sidecar = {"version": 1, "groups": groups, "inputs": placements}
        torch.export.save(program, path, extra_files={"commute.json": json.dumps(sidecar)})
        return program


def build(seed):
    program = SummedProgram(seed)
    with torch.no_grad():
        for _ in range(CHOICES_PER_PROGRAM):
            program.choose()
        for name in program.random.sample(PLAIN, OPERATORS_PER_PROGRAM):
            OPERATORS[name](program)
    return program


def choosing_operators(program):
    """How often each operator that sorts occurs in an archive, and the arguments of topk."""
    chosen = collections.Counter()
    for node in program.graph.nodes:
        if node.target is aten.topk.default:
            given = dict(zip(("self", "k", "dim", "largest", "sorted"), node.args, strict=False))
            given = {"dim": -1, "largest": True, "sorted": True, **given, **node.kwargs}
            tensor = given.pop("self").meta["val"]
            chosen[
                "topk", given["k"], given["dim"] % tensor.dim(), given["largest"], given["sorted"]
            ] += 1
        elif str(node.target).startswith(("aten.sort", "aten.argsort")):
            # An argsort that moves is written as the sort that it is a part of.
            chosen[str(node.target).replace("argsort", "sort")] += 1
    return chosen


def prove(source, target, seeds=SEEDS):
    """Optimizes; gives whether anything changed. What verify says is what opt said."""
    process = commute("opt", source, "-o", target, "--policy=always", "--json")
    output = process.stdout + process.stderr
    assert process.returncode in (PROVEN, NOT_PROVEN), output
    verdicts = {PROVEN}
    if process.returncode == NOT_PROVEN:
        # A draw of another seed may bring what the proof lacks.
        verdicts = {PROVEN, NOT_PROVEN}
        process = commute(
            "opt", source, "-o", target, "--policy=always", "--json", "--allow-unproven"
        )
    for seed in seeds:
        verified = commute("verify", source, target, f"--seed={seed}")
        said = f"opt: {output}\nverify --seed={seed}: {verified.stdout}{verified.stderr}"
        assert verified.returncode in verdicts, said
    return not json.loads(process.stdout)["unchanged"]


def check(seed, folder):
    """Optimizes the program of a seed; gives whether anything changed."""
    program = build(seed)
    source, target = folder / "in.pt2", folder / "out.pt2"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program.export(source)
        is_changed = prove(source, target)
        before, after = (torch.export.load(path) for path in (source, target))
        assert choosing_operators(before) == choosing_operators(after)
        inputs = [
            [value.tensors[rank].clone() for value in program.inputs] for rank in range(RANKS)
        ]
        with torch.no_grad():
            results = run_in_lockstep(after.graph_module, inputs, {WORLD: [list(range(RANKS))]})
        tolerances = program.tolerances()
        for rank in range(RANKS):
            outputs = zip(program.outputs, results[rank], tolerances, strict=True)
            for value, found, tolerance in outputs:
                problem = difference(found, value.tensors[rank], tolerance)
                assert not problem, f"v{value.index} on rank {rank} {problem}"
    except AssertionError as error:
        raise AssertionError(f"{error}\n{describe(program, seed)}") from None
    return is_changed


def test_random_programs(tmp_path):
    changed = [check(seed, tmp_path) for seed in range(PROGRAMS)]
    assert sum(changed) > PROGRAMS // 2


# Which of all elements a router chooses, and what tells the choices apart.
TWO = "torch.topk(x, 2)[1]"
OTHERS = [
    "torch.topk(x, 4)[1][:, :2].contiguous()",
    "torch.topk(x, 2, sorted=False)[1]",
    "torch.sort(x, descending=True)[1][:, :2].contiguous()",
    "torch.sort(x, descending=True, stable=True)[1][:, :2].contiguous()",
    "torch.topk(torch.cat([x[:, 4:], x[:, :4]], -1), 2)[1].add(4).remainder(8)",
]


class Choice(torch.nn.Module):
    def __init__(self, text):
        super().__init__()
        self.code = compile(text, text, "eval")

    def forward(self, x):
        # No element of x is equal to another where its elements are drawn from the reals.
        return eval(self.code, {"torch": torch, "x": torch.tanh(x * 2 + 1)})


@pytest.mark.parametrize("other", OTHERS)
def test_other_choices_among_equal_elements_are_found(other, tmp_path):
    paths = tmp_path / "two.pt2", tmp_path / "other.pt2"
    for text, path in zip((TWO, other), paths, strict=True):
        torch.export.save(torch.export.export(Choice(text), (torch.randn(6, 8),)), path)
    for seed in range(1, 5):
        process = commute("verify", *paths, f"--seed={seed}")
        # Few inputs of a computed row are equal: a difference may be unproven, never overlooked.
        assert process.returncode in (DIFFERENT, NOT_PROVEN), process.stdout
        assert "different" in process.stdout or "are equal" in process.stdout
    succeed("verify", paths[0], paths[0])


# Indices may be negative, which PyTorch's scatter does not accept: the writer of the op that
# they are read as would refuse.
SCATTERS = {
    "aten.index_put.default": "table.index_put((index,), rows, accumulate=True)",
    "aten.index_add.default": "table.index_add(0, index % 16, rows)",
    "aten.index_fill.int_Scalar": "table.index_fill(0, index, 0.5) + rows.sum(0)",
    "aten.embedding_dense_backward.default": (
        "torch.ops.aten.embedding_dense_backward(rows, index % 16, 16, -1, False) + table"
    ),
}


class Scattered(torch.nn.Module):
    def __init__(self, text, is_sum):
        super().__init__()
        self.code, self.is_sum = compile(text, text, "eval"), is_sum

    def forward(self, a, b, weight, table, index):
        if self.is_sum:
            rows = c10d.wait_tensor(c10d.all_reduce(a @ weight[:8, :8], "sum", WORLD))
        else:
            rows = torch.nn.functional.linear(torch.cat([a, b], 1), weight)[:, :8]
        values = {"torch": torch, "rows": rows, "table": table, "index": index}
        return torch.tanh(eval(self.code, values))


@pytest.mark.parametrize("is_sum", [False, True], ids=["split", "shards"])
@pytest.mark.parametrize("operator", SCATTERS)
def test_scatters_of_changed_rows_are_written_as_they_were(operator, is_sum, tmp_path):
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    index = torch.randint(-16, 16, (6,))
    inputs = [torch.randn(6, 8), torch.randn(6, 4), torch.randn(16, 12), torch.randn(16, 8), index]
    program = torch.export.export(Scattered(SCATTERS[operator], is_sum), tuple(inputs))
    stated = {name: {WORLD: "replicated"} for name in ("table", "index")}
    sidecar = {"version": 1, "groups": {WORLD: {"ranks": [0, 1]}}, "inputs": stated}
    torch.export.save(program, source, extra_files={"commute.json": json.dumps(sidecar)})
    assert prove(source, target)
    programs = [torch.export.load(path).graph_module for path in (source, target)]
    for module in programs:
        assert operator in [str(node.target) for node in module.graph.nodes]
    inputs = [[torch.randn(6, 8), torch.randn(6, 4), *inputs[2:]] for _ in range(RANKS)]
    ours, theirs = (run_in_lockstep(module, inputs, {WORLD: [[0, 1]]}) for module in programs)
    torch.testing.assert_close(ours, theirs)


def tie_scores(model):
    """Makes every router score all experts alike."""
    count = 0
    for name, parameter in model.named_parameters():
        if name.rsplit(".", 2)[-2] in ("gate", "router"):
            parameter.data.zero_()
            count += 1
    assert count


def check_model(name, folder):
    """The written programs of a model choose the experts that the captured ones choose."""
    small = MODELS[name]
    # The first layer of DeepSeek-V3 has no experts.
    model, arguments = small.make(layers=2 if name == "deepseek_v3" else 1), small.prefill()
    captured = capture(
        model, arguments, mesh={"tp": RANKS}, plan=small.plan, folder=folder / "captured"
    )
    is_changed = prove(captured.folder, folder / "written")
    written = in_folder(captured, folder / "written")
    for before, after in zip(captured.ranks, written.ranks, strict=True):
        chosen = [choosing_operators(torch.export.load(p.path)) for p in (before, after)]
        assert chosen[0] == chosen[1]
    tie_scores(model)
    tensors = whole_tensors(model, arguments)
    for ours, theirs in zip(run_ranks(written, tensors), run_ranks(captured, tensors), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    return is_changed


@pytest.mark.parametrize("name", ["mixtral", "gpt_oss"])
def test_models_of_experts(name, tmp_path):
    assert check_model(name, tmp_path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-seed", type=int, default=PROGRAMS)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--models", action="store_true", help="and all models of experts")
    options = parser.parse_args()
    tasks = [lambda folder, name=name: check_model(name, folder) for name in MODELS
             if options.models and MODELS[name].has_experts]  # fmt: skip
    names = [name for name in MODELS if options.models and MODELS[name].has_experts]
    outcomes = collections.Counter()

    def attempt(name, task):
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcomes["changed" if task(Path(folder)) else "unchanged"] += 1
            except Exception as error:
                outcomes["failed"] += 1
                print(f"{name}: {type(error).__name__}: {error}", flush=True)

    for name, task in zip(names, tasks, strict=True):
        attempt(name, task)
    end, seed = time.monotonic() + options.seconds, options.first_seed
    while time.monotonic() < end:
        attempt(f"seed {seed}", lambda folder, seed=seed: check(seed, folder))
        seed += 1
    print(f"{seed - options.first_seed} programs from seed {options.first_seed}: {dict(outcomes)}")
    return 1 if outcomes["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
