# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A slice of the oracles for integers: fuzz/pairs/planted.py and fuzz/pairs/exhaustive.py.

What makes pairs must make those it says; `commute verify` must not call a pair equivalent
that PyTorch tells apart.
"""

import collections
import json
import random
import subprocess
import sys

import pytest
import torch

from commute_tool import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "fuzz"))

from pairs import (
    campaign,
    exhaustive,
    export_schema,
    integer_cases,
    planted,
    planted_ranks,
    verdict_changes,
)
from pairs.respellings import respell
from pairs.terms import Bench, call, wraps
from pairs.verdicts import Answer, Skipped, ask, compare, get_difference

pytestmark = [pytest.mark.in_process, pytest.mark.usefixtures("campaign_settings")]

PAIRS = 60
SOURCES = {"planted": planted, "exhaustive": exhaustive, "ranks": planted_ranks}


def make_pairs(name, count=PAIRS):
    for seed in range(count):
        try:
            yield SOURCES[name].make_pair(seed)
        except Skipped:
            continue


def verify(pair):
    from commute import _commute

    texts = [export_schema.to_text(program) for program in pair.programs]
    return compare(pair, ask(_commute, pair, texts))


@pytest.mark.parametrize("name", SOURCES)
def test_pairs_are_of_all_kinds(name):
    pairs = list(make_pairs(name))
    assert len(pairs) > 0.9 * PAIRS
    for is_equal in (False, True):
        assert sum(pair.is_equal == is_equal for pair in pairs) > PAIRS // 6
    assert len({pair.kind for pair in pairs}) >= 7


@pytest.mark.parametrize("name", SOURCES)
def test_a_seed_makes_one_pair(name):
    assert [pair.changes for pair in make_pairs(name, 10)] == [
        pair.changes for pair in make_pairs(name, 10)
    ]


def count_outcomes(name):
    """Outcomes of some pairs, those that are wrong in words."""
    counts, wrong = collections.Counter(), []
    for pair in make_pairs(name):
        outcome = verify(pair)
        counts[outcome.kind] += 1
        if outcome.kind in (campaign.FALSE_EQUIVALENT, campaign.ERROR):
            wrong.append(f"{name} {pair.seed}, {pair.kind}: {outcome.reason}, {pair.changes}")
    print(name, dict(counts), *wrong, sep="\n")
    return counts, wrong


@pytest.mark.parametrize("name", ["planted", "ranks"])
def test_no_planted_difference_is_called_equivalent(name):
    _, wrong = count_outcomes(name)
    assert not wrong


def test_verdicts_hold_for_all_integers():
    counts, wrong = count_outcomes("exhaustive")
    assert not wrong
    assert not counts[campaign.FALSE_DIFFERENT]


@pytest.mark.parametrize("name", ["planted", "ranks"])
def test_not_all_is_left_unproven(name):
    """A checker that says nothing is never wrong."""
    counts, _ = count_outcomes(name)
    assert counts[campaign.AGREED_EQUAL] > counts[campaign.NOT_PROVEN] // 2
    assert counts[campaign.AGREED_DIFFERENT] > PAIRS // 6


def bench_of(**inputs):
    def draw(pool, spec, sample):
        return [inputs[spec.name] for _ in pool.world]

    bench = Bench(draw)
    return bench, [bench.input(name, t.dtype, t.shape) for name, t in inputs.items()]


def test_respellings_hold_for_all_bytes():
    """Of what wraps around as well."""
    for dtype in (torch.int8, torch.uint8):
        info = torch.iinfo(dtype)
        values = torch.arange(info.min, info.max + 1).to(dtype)
        bench, (i, j) = bench_of(i=values.repeat(256), j=values.repeat_interleave(256))
        terms = [
            call("mul_k", call("add", i, j), 4), call("floor_k", call("floor_k", i, 3), 5),
            call("bits_xor", i, call("bits_xor_k", j, 85)), call("abs", call("sub", i, j)),
            call("mod_k", call("square", i), 16), call("bits_not", call("neg", i)),
            call("where", call("eq", i, call("add_k", j, 17)), i, call("max", i, j)),
            call("and", call("eq_k", i, 5), call("lt_k", j, 9)), call("relu", call("bits_or_k", i, 7)),
            call("or", call("ge_k", i, 5), call("not", call("lt", i, j))),
        ]  # fmt: skip
        for seed, term in enumerate(4 * terms):
            other = respell(bench, term, random.Random(seed), 0.8)
            assert torch.equal(bench.tensor(term), bench.tensor(other)), f"{term} and {other}"


def test_wrapping_around_is_seen():
    bench, (i,) = bench_of(i=torch.tensor([100, 3], dtype=torch.int8))
    assert wraps(bench, call("add_k", i, 100))
    assert not wraps(bench, call("add_k", i, 27))
    assert wraps(bench, call("square", i))
    assert not wraps(bench, call("sum", i))


def test_differences_are_seen():
    bench, (i, x) = bench_of(i=torch.tensor([3, 1]), x=torch.tensor([0.5, 2.0]).double())
    first = call("where", call("eq_k", i, 3), x, call("mul_k", x, 2.0))
    programs = [bench.program(first), bench.program(x)]
    assert "at [1] 4.0 and 2.0" in get_difference(bench, programs, [0])
    assert get_difference(bench, [programs[0]] * 2, [0]) is None


@pytest.mark.parametrize(
    "answer, is_equal, expected",
    [
        (Answer("equivalent"), True, campaign.AGREED_EQUAL),
        (Answer("equivalent"), False, campaign.FALSE_EQUIVALENT),
        (Answer("refines"), False, campaign.FALSE_EQUIVALENT),
        (Answer("equivalent", grade="drawn"), False, campaign.DRAWN_DIFFERENT),
        (Answer("equivalent", grade="drawn"), True, campaign.DRAWN_EQUAL),
        (Answer("different"), True, campaign.FALSE_DIFFERENT),
        (Answer("does not refine"), False, campaign.AGREED_DIFFERENT),
        (Answer("not proven"), False, campaign.NOT_PROVEN),
        (Answer("error", "no such operator"), True, campaign.ERROR),
    ],
)
def test_outcomes(answer, is_equal, expected):
    pair = planted.make_pair(1)
    pair.is_equal = is_equal
    assert compare(pair, answer).kind == expected


def run_campaign(*options):
    command = [sys.executable, str(REPOSITORY / "fuzz" / "verify_pairs.py"), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def test_campaign_and_changes_of_verdicts(tmp_path, capsys):
    paths = [tmp_path / f"{name}.json" for name in ("before", "after")]
    for path in paths:
        process = run_campaign(
            "--generator", "exhaustive", "--pairs", 20, "--folder", tmp_path / "failures",
            "--results", path,
        )  # fmt: skip
        assert "20 pairs from seed 0" in process.stdout, process.stdout + process.stderr
    assert verdict_changes.main([*map(str, paths)]) == 0
    assert "0 of 20 verdicts changed" in capsys.readouterr().out
    document = json.loads(paths[1].read_text())
    changed = next(name for name, e in document["pairs"].items() if e["verdict"] == "different")
    document["pairs"][changed] |= {"verdict": "equivalent", "outcome": campaign.FALSE_EQUIVALENT}
    paths[1].write_text(json.dumps(document))
    assert verdict_changes.main([*map(str, paths)]) == 1
    assert "both different -> false equivalent" in capsys.readouterr().out


def test_cases_of_a_folder(tmp_path, capsys):
    """Pairs beside folders of a reference and its ranks, in the ranks' order."""
    pairs = [pair for pair in make_pairs("exhaustive", 100) if pair.is_refinement]
    for is_equal in (False, True):
        pair = next(pair for pair in pairs if pair.is_equal == is_equal)
        folder = tmp_path / str(is_equal) / "stated"
        folder.mkdir(parents=True)
        first, second = (export_schema.to_text(program) for program in (pair.first, pair.second))
        export_schema.save(folder / "reference.pt2", first)
        export_schema.save(folder / "rank.pt2", second)
        (folder / "relations.json").write_text(pair.relations())
        assert integer_cases.main([str(folder.parent)]) == int(is_equal)
        shown = capsys.readouterr().out
        assert f"{int(is_equal)} of 1 called equivalent" in shown
    for name in ("a.A", "a.B", "r/reference", "r/rank10", "r/rank2"):
        path = tmp_path / "names" / f"{name}.pt2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    cases = integer_cases.find_cases(tmp_path / "names")
    assert [path.name for path in cases["a"]] == ["a.A.pt2", "a.B.pt2"]
    assert [path.name for path in cases["r"][1:]] == ["rank2.pt2", "rank10.pt2"]
