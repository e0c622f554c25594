# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs whose ranks differ, in torch.compile on gloo ranks: what each rank computes is what
it computes in eager execution, forward and backward, whatever is rewritten.

    .venv/bin/python python/tests/test_programs_of_ranks.py [--size 2048] [--update]

prints the table of docs/programs-of-ranks.md, or writes it.
"""

import argparse
import logging
import tempfile
from pathlib import Path

import pytest
import torch
import torch._dynamo

import commute
import commute.torch
from inductor_graphs import InductorGraphs
from programs_of_ranks import PROGRAMS, Ranks
from ranks import call_on_ranks
from small_target import target_of_small_tensors

pytestmark = pytest.mark.in_process

POLICIES = ("profitable", "always")
WORLDS = (2, 4)
SMALL = 16
TABLE = Path(__file__).parents[2] / "docs" / "programs-of-ranks.md"


class Applied(logging.Handler):
    """Counts rewrites."""

    count = 0

    def emit(self, record):
        remark = record.args[0] if record.args else None
        self.count += getattr(remark, "verdict", "") == "applied"


def run_step(function, arguments):
    """The output of a function, and the gradients of a weighted sum of it."""
    output = function(*arguments)
    wanted = [value for value in arguments if value.requires_grad]
    if isinstance(function, torch.nn.Module) or hasattr(function, "_orig_mod"):
        wanted += list(getattr(function, "_orig_mod", function).parameters())
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view(output.shape)
    gradients = torch.autograd.grad((output * weights).sum(), wanted, allow_unused=True)
    return [
        torch.zeros(()) if value is None else getattr(value, "_local_tensor", value).detach() + 0
        for value in (output, *gradients)
    ]


def distance(found, expected):
    """The largest difference of two lists of tensors, relative to the largest number."""
    largest = 0.0
    for one, other in zip(found, expected, strict=True):
        if one.shape != other.shape:
            return float("inf")
        scale = max(float(other.abs().max()), 1e-30) if other.numel() else 1.0
        largest = max(largest, float((one - other).abs().max()) / scale if one.numel() else 0.0)
    return largest


def compile_programs(rank, world, names, policies, size, target, options):
    """On one rank: the distance from eager execution and the rewrites of each program."""
    dtype = torch.float64 if size <= SMALL else torch.float32
    ranks = Ranks.of(rank, world, dtype)
    logger = logging.getLogger("commute")
    logger.setLevel(logging.INFO)
    results = {}
    for name in names:
        function, arguments = PROGRAMS[name](ranks, size)
        expected = run_step(function, arguments)
        for policy in policies:
            torch._dynamo.reset()
            graphs, applied = InductorGraphs(), Applied()
            logger.addHandler(applied)
            with commute.torch.enable(policy=policy, target=target, **options):
                compiled = torch.compile(function, backend=graphs)
                found = run_step(compiled, arguments)
            logger.removeHandler(applied)
            results[f"{name} {policy}"] = [distance(found, expected), applied.count]
    return results


def run_programs(world, names, policies, size, target):
    """Distance and rewrites of each program and policy: the largest of all ranks."""
    # Some ranks have no graph that others have: that is waited for once a function.
    options = {"rank_timeout": 5}
    of_ranks = call_on_ranks(
        compile_programs, world, world, names, policies, size, target, options, timeout=1500
    )
    return {
        key: [max(one[key][place] for one in of_ranks) for place in (0, 1)] for key in of_ranks[0]
    }


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return target_of_small_tensors(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module", params=WORLDS)
def world(request):
    return request.param


@pytest.fixture(scope="module")
def results(world, target):
    return run_programs(world, sorted(PROGRAMS), POLICIES, SMALL, target)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_rank_computes_what_it_computes_alone(results, name, policy):
    wrong, _ = results[f"{name} {policy}"]
    assert wrong < 1e-10


def test_programs_are_still_rewritten(results):
    """What ranks have in common, and what merging their programs shows to be shards."""
    rewritten = {key for key, (_, count) in results.items() if count}
    for name in (
        "own_rows_of_a_sum",
        "own_rows_of_a_norm",
        "own_columns_of_a_sum",
        "plan_of_rows_of_whole_inputs",
        "embedding_of_own_words",
    ):
        assert f"{name} always" in rewritten, sorted(rewritten)
    assert len(rewritten) >= len(PROGRAMS) // 2


def test_table_has_all_programs():
    text = TABLE.read_text()
    missing = [name for name in PROGRAMS if f"`{name}`" not in text]
    assert not missing, "run test_programs_of_ranks.py --update"
    assert len(PROGRAMS) >= 40


def make_table(rows, size):
    lines = []
    for name in PROGRAMS:
        cells = []
        for world in WORLDS:
            for policy in POLICIES:
                wrong, count = rows[world, f"{name} {policy}"]
                cells.append("WRONG" if wrong > 1e-3 else str(count))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--size", type=int, default=SMALL)
    parser.add_argument("--target", help="default: h100x8, or one for small tensors")
    parser.add_argument("--program", action="append")
    parser.add_argument("--update", action="store_true", help="write the table of small sizes")
    arguments = parser.parse_args()
    names = arguments.program or sorted(PROGRAMS)
    with tempfile.TemporaryDirectory() as folder:
        small = arguments.size <= SMALL
        target = arguments.target or (target_of_small_tensors(folder) if small else "h100x8")
        rows = {}
        for world in WORLDS:
            found = run_programs(world, names, POLICIES, arguments.size, target)
            rows.update({(world, key): value for key, value in found.items()})
            for key, (wrong, count) in found.items():
                print(f"{world} ranks  {key:50} {wrong:8.1e} {count:4}", flush=True)
    wrong = sum(value[0] > 1e-3 for value in rows.values())
    print(f"{len(rows)} runs, {wrong} wrong, {sum(v[1] > 0 for v in rows.values())} rewritten")
    if arguments.update:
        before, _, rest = TABLE.read_text().partition("<!-- table -->\n")
        _, _, after = rest.partition("<!-- end -->")
        TABLE.write_text(f"{before}<!-- table -->\n{make_table(rows, small)}\n<!-- end -->{after}")


if __name__ == "__main__":
    main()
