# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A slice of `make fuzz-verify`, and the campaign's own parts put to the test.

fuzz/verify_pairs.py judges `commute verify` with PyTorch's kernels; what makes its
equal programs must make equal ones, and its judge must see what is planted.
"""

import functools
import random
import subprocess
import sys

import pytest
import torch

from commute_tool import REPOSITORY, commute

sys.path.insert(0, str(REPOSITORY / "fuzz"))

from pairs import campaign, export_schema, symbolic_themes, themes
from pairs.gaps import explain
from pairs.generator import Generator, generate
from pairs.judge import judge
from pairs.programs import Builder, InputSpec, Pool, Program, aten
from pairs.rewrites import rewrite
from pairs.samples import Sampler

pytestmark = [pytest.mark.in_process, pytest.mark.usefixtures("campaign_settings")]

PAIRS = 300
SEED = 20260801


def run_campaign(*options):
    command = [sys.executable, str(REPOSITORY / "fuzz" / "verify_pairs.py"), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def test_no_false_equivalent(tmp_path):
    process = run_campaign("--first-seed", SEED, "--pairs", PAIRS, "--folder", tmp_path)
    found = sorted(path.name for path in tmp_path.glob("false-equivalent-*"))
    assert not found, process.stdout
    assert "pairs from seed" in process.stdout, process.stderr
    crashes = sorted(path.name for path in tmp_path.glob("crash-*"))
    assert not crashes, process.stdout


def test_optimized_programs_compute_the_same(tmp_path):
    """A slice of fuzz/optimize_programs.py, which `make fuzz` runs at length."""
    script = REPOSITORY / "fuzz" / "optimize_programs.py"
    command = [sys.executable, str(script), "--programs", "30", "--folder", str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert process.returncode == 0, process.stdout + process.stderr


def spelled(theme, seed):
    """The theme on the operands of a seed, in all its spellings."""
    generator = Generator(seed)
    generator.is_symbolic = theme.name.startswith("symbolic")
    if generator.is_symbolic:
        generator.pool.symbol_values = (6, 16, 10, 24, 32)
    drawn = theme.draw(generator)
    if drawn is None:
        return []
    operands, parameters = drawn
    programs = []
    for spelling in range(theme.spellings):
        builder = Builder(generator.pool)
        for value in operands:
            builder.add(value.node)
        outputs = builder.macro(theme, parameters, operands, spelling)
        outputs = [builder.dense(value) for value in outputs]
        programs.append(Program(generator.pool, builder.items, outputs))
    generator.pool.draw.learn(programs)
    return programs


@pytest.mark.parametrize(
    "theme", [*themes.THEMES, *symbolic_themes.THEMES], ids=lambda theme: theme.name
)
def test_spellings_of_a_theme_compute_the_same(theme):
    compared = 0
    for seed in range(5):
        first, *others = spelled(theme, seed) or [None]
        for other in others:
            found = judge(first, other)
            assert found.is_equal, f"seed {seed}: {found.reason}\n{campaign.describe(other)}"
            compared += 1
    assert compared


def test_rewrites_compute_the_same():
    done = set()
    for seed in range(100):
        first = generate(seed)
        if len(first.pool.symbol_values) > 1:
            continue  # Cuts at numbers are none of symbols.
        second, names = rewrite(first, random.Random(seed), most=6)
        first.pool.draw.learn([first, second])
        found = judge(first, second)
        assert found.is_equal, f"seed {seed}: {names}: {found.reason}"
        done |= set(names)
    assert len(done) > 15


def build(function, *specs):
    """Two programs over inputs, by a function of a builder and the values."""
    pool = Pool({"0": [[0, 1]]}, Sampler(1))
    inputs = [
        pool.input(InputSpec(f"x{i}", dtype, shape, (("0", "varying"),)))
        for i, (dtype, shape) in enumerate(specs)
    ]
    programs = []
    for is_second in (False, True):
        builder = Builder(pool)
        outputs = [function(builder, is_second, *inputs)]
        programs.append(Program(pool, builder.items, outputs))
    pool.draw.learn(programs)
    return programs


FLOATS = (torch.float32, (5, 40))
NEAR_MISSES = {
    "a diagonal off by one": lambda b, s, x: b.call(aten.tril.default, x, 30 + s),
    "a threshold off by one": lambda b, s, x: b.call(aten.lt.Scalar, x, 300 + s),
    "less for at most": lambda b, s, x: b.call(aten.le.Scalar if s else aten.lt.Scalar, x, 2),
    "a small epsilon": lambda b, s, x: b.call(aten.rms_norm.default, x, [40], None, 2e-6 if s else 1e-6),
    "a number a little larger": lambda b, s, x: b.call(aten.mul.Scalar, x, 1 + 2**-20 * s),
    "a cut off by one": lambda b, s, x: b.call(aten.slice.Tensor, x, 1, 7 + s, 27 + s),
    "random numbers of two calls": lambda b, s, x: b.call(
        aten.add.Tensor, *([b.call(aten.rand_like.default, x)] * 2)
        if s else [b.call(aten.rand_like.default, x) for _ in range(2)]
    ),
    "the lower bound of another sign": lambda b, s, x: b.call(aten.clamp.default, x, -2.5 + 5 * s, 3.0),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_judge_sees_near_misses(name):
    dtype = torch.int64 if "threshold" in name else torch.float32
    first, second = build(NEAR_MISSES[name], (dtype, FLOATS[1]))
    assert judge(first, first).is_equal
    assert not judge(first, second).is_equal


def test_judge_allows_for_rounding():
    def sums(b, is_second, x):
        """(x + 1e8) - 1e8 has seven digits less than x."""
        if not is_second:
            return x
        return b.call(aten.sub.Scalar, b.call(aten.add.Scalar, x, 1e8), 1e8)

    found = judge(*build(sums, FLOATS))
    assert found.is_equal and found.is_noisy


def test_judge_allows_for_sums_that_cancel():
    """What is left of large numbers is rounded as they are; one of them is no rounding."""

    def tensor(spec, shape, owner, sample):
        generator = torch.Generator().manual_seed(sample)
        large = 1e9 * torch.randn(shape[0], shape[1] // 2, generator=generator, dtype=torch.float64)
        return torch.cat([large, torch.rand_like(large) - large], 1)

    def in_parts(b, is_second, x):
        if not is_second:
            return b.call(aten.sum.dim_IntList, x, [1])
        parts = [b.call(aten.slice.Tensor, x, 1, start, start + 10) for start in range(0, 40, 10)]
        sums = [b.call(aten.sum.dim_IntList, part, [1]) for part in parts]
        return functools.reduce(lambda sum, part: b.call(aten.add.Tensor, sum, part), sums)

    def without_one(b, is_second, x):
        return b.call(aten.sum.dim_IntList, b.call(aten.slice.Tensor, x, 1, 0, 40 - is_second), [1])

    for function, is_equal in ((in_parts, True), (without_one, False)):
        first, second = build(function, FLOATS)
        first.pool.draw.tensor = tensor
        assert judge(first, second).is_equal == is_equal


def test_judge_allows_for_overflow():
    """A choice by multiplication is none where what is not chosen is infinite."""

    def choice(b, is_second, x):
        chosen = b.call(aten.gt.Scalar, x, 0.0)
        large = b.call(aten.exp.default, b.call(aten.mul.Scalar, x, -400.0))
        if not is_second:
            return b.call(aten.where.self, chosen, x, large)
        weight = b.call(aten._to_copy.default, chosen, dtype=torch.float32)
        other = b.call(aten.rsub.Scalar, weight, 1)
        return b.call(
            aten.add.Tensor,
            b.call(aten.mul.Tensor, weight, x),
            b.call(aten.mul.Tensor, other, large),
        )

    def divided(b, is_second, x):
        """Infinite on every sample: no overflow."""
        zero = b.call(aten.sub.Tensor, x, x)
        if not is_second:
            return zero
        return b.call(aten.mul.Tensor, zero, b.call(aten.reciprocal.default, zero))

    assert judge(*build(choice, FLOATS)).is_equal
    assert not judge(*build(divided, FLOATS)).is_equal


def test_judge_allows_for_ties():
    """What is chosen by a comparison with what rounding alone makes other."""

    def around_zero(b, is_second, x):
        moved = b.call(aten.sub.Scalar, b.call(aten.add.Scalar, x, 1e3), 1e3)
        chosen = b.call(aten.lt.Tensor, moved if is_second else x, x)
        return b.call(aten.where.ScalarOther, chosen, x, 7.0)

    first, second = build(around_zero, FLOATS)
    assert not judge(first, second).is_equal
    assert judge(first, second, suspects_ties=True).is_equal
    for name in ("a diagonal off by one", "a cut off by one", "a number a little larger"):
        assert not judge(*build(NEAR_MISSES[name], FLOATS), suspects_ties=True).is_equal


def test_properties_of_functions_are_found():
    def product(b, is_second, x, y):
        if is_second:
            return b.call(aten.exp.default, b.call(aten.add.Tensor, x, y))
        return b.call(aten.mul.Tensor, b.call(aten.exp.default, x), b.call(aten.exp.default, y))

    def ordered(b, is_second, x):
        x = b.call(aten.relu.default, x)
        return b.call(aten.clamp.default, x, -1.0) if is_second else x

    assert explain(*build(product, FLOATS, FLOATS)) == "equal only by the function exp"
    assert explain(*build(ordered, FLOATS)) == "equal only by the order of numbers"


def test_reproducer_holds_what_was_compared(tmp_path):
    """The archives of a reproducer get the verdict that the pair got."""
    first, second = build(NEAR_MISSES["a number a little larger"], FLOATS)
    pair = campaign.Pair(1, first, second, [], True)
    texts = [export_schema.to_text(program) for program in (first, second)]
    outcome = campaign.Outcome(
        1, campaign.FALSE_EQUIVALENT, "a reason", ("planted by hand",), "equivalent"
    )
    place = campaign.write_reproducer(tmp_path, pair, texts, outcome)
    assert commute("verify", place / "A.pt2", place / "B.pt2").returncode == 1
    assert commute("verify", place / "A.pt2", place / "A.pt2").returncode == 0
    assert "planted by hand" in (place / "report.txt").read_text()
    assert "--first-seed 1 " in (place / "rerun.sh").read_text()
