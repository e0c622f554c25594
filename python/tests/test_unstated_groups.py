# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Process groups whose members nobody states, and statements about nothing."""

import json

import pytest

from commute_tool import commute, optimize, show, succeed
from handmade_programs import HandmadeProgram


def two_axes(first="tp", second="dp"):
    """A gather over one axis of a mesh and a sum over another, and look-alikes.

    On a 2 x 2 mesh the two all_reduces at the end are different collectives.
    """
    program = HandmadeProgram()
    gathered = program.all_gather(program.input("x", [4, 8]), [8, 8], first, 2)
    product = program.call(
        "aten.mm.default", {"self": gathered, "mat2": program.input("w", [8, 8])}, [8, 8]
    )
    scattered = program.reduce_scatter(product, [4, 8], second, 2)
    again = program.all_gather(scattered, [8, 8], first, 2)
    program.output(program.all_reduce(again, second))
    return program


@pytest.fixture
def unstated(tmp_path):
    return two_axes().write(tmp_path / "unstated.pt2")


AXES = ("--group=tp=0-1/2-3", "--group=dp=0,2/1,3")


def test_show_says_what_is_missing(unstated):
    text = succeed("show", unstated)
    assert "dp: 2 ranks, not stated; pass, for example, --group=dp=0-1" in text
    assert show(unstated)["groups"] == {"dp": "unknown", "tp": "unknown"}
    assert show(unstated, *AXES)["groups"] == {"dp": "[0, 2] [1, 3]", "tp": "[0, 1] [2, 3]"}


@pytest.mark.parametrize("command", ["run", "verify", "opt"])
def test_others_ask(command, unstated, tmp_path):
    arguments = {
        "run": ("run", unstated),
        "verify": ("verify", unstated, unstated),
        "opt": ("opt", unstated, "-o", tmp_path / "out.pt2", "--policy=always"),
    }[command]
    process = commute(*arguments)
    assert process.returncode == 2, process.stderr
    for words in ("'tp' (2 ranks)", "'dp' (2 ranks)", "--group=tp=0-1", "--group=dp=0-1"):
        assert words in process.stderr
    assert not (tmp_path / "out.pt2").exists()
    # One of the two is not enough.
    process = commute(*arguments, AXES[0])
    assert process.returncode == 2
    assert "'dp' (2 ranks)" in process.stderr and "'tp'" not in process.stderr
    assert commute(*arguments, *AXES).returncode == 0


def test_estimate_needs_sizes_only(unstated):
    assert commute("estimate", unstated).returncode == 0


def test_one_group_has_all_ranks(tmp_path):
    archive = two_axes("tp", "tp").write(tmp_path / "one.pt2")
    assert show(archive)["groups"] == {"tp": "[0, 1]"}
    assert commute("verify", archive, archive).returncode == 0
    assert commute("run", archive).returncode == 0


def test_a_group_in_a_node_that_is_not_read_counts(tmp_path):
    program = HandmadeProgram()
    gathered = program.all_gather(program.input("x", [4]), [8], "tp", 2)
    other = program.call("mylib.exchange.default", {"x": gathered, "group_name": "dp"}, [8])
    program.output(other)
    archive = program.write(tmp_path / "other.pt2")
    assert show(archive)["groups"] == {"tp": "unknown"}
    assert show(archive, AXES[0], AXES[1])["groups"]["tp"] == "[0, 1] [2, 3]"


def test_sums_over_unknown_groups_are_not_joined(tmp_path):
    """On a 2 x 2 mesh the two are sums over other ranks."""
    program = HandmadeProgram()
    x, y, w = (program.input(name, [8, 8]) for name in "xyw")
    # These state the sizes.
    for name in ("tp", "dp"):
        program.output(program.all_gather(x, [16, 8], name, 2))
    sums = [
        program.all_reduce(
            program.call("aten.mm.default", {"self": value, "mat2": w}, [8, 8]), name
        )
        for value, name in ((x, "tp"), (y, "dp"))
    ]
    program.output(program.call("aten.add.Tensor", {"self": sums[0], "other": sums[1]}, [8, 8]))
    archive = program.write(tmp_path / "in.pt2")
    target = tmp_path / "out.pt2"

    def groups_of_sums(*options):
        optimize(archive, target, "--policy=always", "--no-verify", *options)
        reducing = ("all_reduce", "reduce_scatter", "matmul_reduce_scatter")
        return sorted(
            entry["group"]
            for entry in show(target, *options)["collectives"]
            if entry["kind"] in reducing
        )

    assert groups_of_sums() == ["dp", "tp"]
    # Were both the same ranks, as a guess would have it, one sum would do.
    assert len(groups_of_sums("--group=tp=0-1", "--group=dp=0-1")) <= 2


# ----------------------------------------------------------------------------
# Statements about nothing
# ----------------------------------------------------------------------------


@pytest.fixture
def stated(tmp_path):
    program = two_axes()
    return program.write(tmp_path / "stated.pt2", {"tp": [[0, 1], [2, 3]], "dp": [[0, 2], [1, 3]]})


WRONG_OPTIONS = {
    "group": ("--group=tpp=0-7", "group 'tpp'"),
    "group_of_other_ranks": ("--group=world=0-4", "its groups are 'dp' and 'tp'"),
    "placement_on_a_group": ("--input-placement=x=replicated@tpp", "no such group"),
    "placement_of_an_input": ("--input-placement=y=replicated", "no input matches"),
    "rank": ("--rank=4", "rank 4 is not a member of any of the graph's groups"),
    "symbol": ("--assume=s0 % 8 == 0", "no symbolic size s0"),
}


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_options_that_name_nothing(name, stated, tmp_path):
    option, says = WRONG_OPTIONS[name]
    module = tmp_path / "stated.mlir"
    succeed("opt", stated, "-o", module, "--quiet", "--no-verify", "--passes=lower-collectives")
    for file in (stated, module):
        process = commute("show", file, option)
        assert process.returncode == 2, process.stdout
        assert says in process.stderr


@pytest.mark.parametrize(
    "option",
    [
        "--group=tp=1,0/3,2",
        # What several groups could become together.
        "--group=world=0-3",
        "--input-placement=x=replicated@tp",
        "--rank=3",
    ],
)
def test_options_that_name_something(option, stated):
    assert commute("show", stated, option).returncode == 0


WRONG_SIDECARS = {
    "group": ({"groups": {"pp": {"ranks": [0, 1]}}}, "group 'pp'"),
    "input": ({"inputs": {"y": {"tp": "replicated"}}}, "'y'"),
    "group_of_an_input": ({"inputs": {"x": {"pp": "replicated"}}}, "on group 'pp'"),
    "rank": ({"rank": 9}, "rank 9"),
    "symbol": ({"assumptions": ["s0 >= 2"]}, "no symbolic size s0"),
}


@pytest.mark.parametrize("name", WRONG_SIDECARS)
def test_sidecars_that_name_nothing(name, tmp_path):
    from records import SIDECAR, edit_records

    archive = two_axes("tp", "tp").write(tmp_path / "in.pt2", {"tp": [0, 1]})
    entries, says = WRONG_SIDECARS[name]

    def edit(records):
        records[SIDECAR] = json.dumps(json.loads(records[SIDECAR]) | entries)

    assert commute("show", archive).returncode == 0
    process = commute("show", edit_records(archive, tmp_path / "wrong.pt2", edit))
    assert process.returncode == 2
    assert says in process.stderr and "record extra/commute.json" in process.stderr


def test_a_sidecar_may_describe_the_whole_mesh(tmp_path):
    members = {"tp": [0, 1], "pp": [0, 2]}
    archive = two_axes("tp", "tp").write(tmp_path / "in.pt2", members)
    # They are those of one rank; those of the others follow.
    assert show(archive)["groups"] == {"tp": "[0, 1] [2, 3]", "pp": "[0, 2] [1, 3]"}
    assert commute("verify", archive, archive).returncode == 0
    # On the command line it is a mistake.
    process = commute(
        "show", two_axes("tp", "tp").write(tmp_path / "bare.pt2", {"tp": [0, 1]}), "--group=pp=0,2"
    )
    assert process.returncode == 2


def test_rank_without_groups(tmp_path):
    program = HandmadeProgram()
    program.output(program.call("aten.neg.default", {"self": program.input("x", [4])}, [4]))
    archive = program.write(tmp_path / "alone.pt2")
    assert commute("show", archive, "--rank=0").returncode == 0
    process = commute("show", archive, "--rank=1")
    assert process.returncode == 2
    assert "the program has no groups" in process.stderr
