# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Fused collectives in `commute run`: exact sums rounded once, on threads and
on processes, whatever arrives first."""

import pytest
import torch

from commute_tool import TOOL, commute, mpirun, succeed
from fused_programs import CASES, expected, write_program
from safetensors_files import read_safetensors, write_safetensors
from test_run import read_outputs

PLAIN = [
    name
    for name, case in CASES.items()
    if not case.scales and len(case.columns) == 1 and case.result == case.dtype
]


def write(folder, ranks, names, **options):
    """The files of a program and of its inputs."""
    text, tensors = write_program(ranks, names, **options)
    program, inputs = folder / "program.mlir", folder / "inputs.safetensors"
    program.write_text(text)
    write_safetensors(inputs, tensors)
    return program, f"--inputs={inputs}"


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_threads_round_exact_sums_once(ranks, tmp_path):
    program, inputs = write(tmp_path, ranks, CASES)
    outputs = tmp_path / "outputs.safetensors"
    succeed("run", program, inputs, f"--outputs={outputs}")
    ours = read_outputs(outputs, ranks)
    for own, theirs in zip(ours, expected(ranks, CASES), strict=True):
        for index, (value, exact) in enumerate(zip(own, theirs, strict=True)):
            assert value.dtype == exact.dtype
            assert torch.equal(value.double(), exact.double()), index


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_processes_give_the_bits_of_threads(ranks, tmp_path):
    program, inputs = write(tmp_path, ranks, CASES)
    paths = [tmp_path / name for name in ("threads.safetensors", "processes.safetensors")]
    succeed("run", program, inputs, f"--outputs={paths[0]}")
    options = ["--oversubscribe", "-n", ranks]
    process = mpirun(*options, TOOL, "run", program, inputs, f"--outputs={paths[1]}")
    assert process.returncode == 0, process.stderr
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("ranks", [2, 3])
def test_fused_is_unfused(ranks, tmp_path):
    outputs = {}
    for form in ("fused", "unfused"):
        program, inputs = write(tmp_path, ranks, PLAIN, form=form)
        path = tmp_path / f"{form}.safetensors"
        succeed("run", program, inputs, f"--outputs={path}")
        outputs[form] = read_safetensors(path)
    assert outputs["fused"].keys() == outputs["unfused"].keys()
    for name, value in outputs["fused"].items():
        other = outputs["unfused"][name]
        # Unfused, a sum of narrow floats is made of rounded terms.
        exact = value.dtype not in (torch.bfloat16, torch.float16)
        tolerance = 0 if exact else 0.01 * float(value.abs().max())
        torch.testing.assert_close(value, other, rtol=0, atol=tolerance, msg=name)


# Bits that random numbers give: in another order of sums they would differ.
@pytest.mark.parametrize("name", ["gather_contraction", "scatter_rows", "scatter_columns"])
def test_repetitions_give_the_same_bits(name, tmp_path):
    text, _ = write_program(4, [name])
    (tmp_path / "program.mlir").write_text(text)
    results = set()
    for attempt in range(3):
        path = tmp_path / f"{attempt}.safetensors"
        succeed("run", tmp_path / "program.mlir", "--seed=5", f"--outputs={path}", "--repeat=5")
        results.add(path.read_bytes())
    assert len(results) == 1


def test_gathered_contraction_is_equal_on_all_ranks(tmp_path):
    text, tensors = write_program(3, ["gather_contraction"])
    noise = torch.Generator().manual_seed(1)
    for name, value in tensors.items():
        if name.endswith("_0"):
            tensors[name] = torch.randn(value.shape, generator=noise)
        else:
            tensors[name] = tensors["rank0." + name.split(".")[1]]
    (tmp_path / "program.mlir").write_text(text)
    write_safetensors(tmp_path / "inputs.safetensors", tensors)
    outputs = tmp_path / "outputs.safetensors"
    options = [f"--inputs={tmp_path / 'inputs.safetensors'}", f"--outputs={outputs}"]
    succeed("run", tmp_path / "program.mlir", *options)
    first, *others = read_outputs(outputs, 3)
    assert all(torch.equal(first[0], other[0]) for other in others)


def run_pair(folder, first, second):
    """Two processes that run different programs."""
    (folder / "first.mlir").write_text(first)
    (folder / "second.mlir").write_text(second)
    return mpirun(
        *["--oversubscribe", "-n", 1, TOOL, "run", folder / "first.mlir"],
        *[":", "-n", 1, TOOL, "run", folder / "second.mlir"],
    )


@pytest.mark.parametrize(
    ("name", "change", "message", "theirs"),
    [
        (
            "scatter_rows",
            ("reduce_scatter sum", "reduce_scatter avg"),
            "{} along dim 0",
            ("sum", "avg"),
        ),
        ("gather_rows_biased", ("256x192", "320x192"), "of tensor<{}x192xf32>", ("256", "320")),
        ("scatter_rows", ("160xf32", "170xf32"), "sent rows of sizes [107, {}]", ("160", "170")),
    ],
)
def test_mismatch_between_processes(name, change, message, theirs, tmp_path):
    """Whichever process sees it first ends both, and says what the other one does."""
    text, _ = write_program(2, [name])
    other = text.replace(*change).replace("512x64", "640x64")
    process = run_pair(tmp_path, text, other)
    assert process.returncode == 1
    assert any(message.format(what) in process.stderr for what in theirs), process.stderr


@pytest.mark.parametrize("name", ["gather_rows_biased", "scatter_rows"])
def test_rank_that_fails_before_ends_all(name, tmp_path):
    fails = """    %out_of_range = tp.constant 9 : i64 -> tensor<4xi64>
    %table = tp.constant 0.0 : f32 -> tensor<4xf32>
    %taken = tp.take %table, %out_of_range dim 0 : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
    return"""
    text, _ = write_program(2, [name])
    lines = text.replace("    return", fails).splitlines(True)
    # The failing op in front of the collective.
    place = next(index for index, line in enumerate(lines) if "#all :" in line)
    lines.insert(len(lines) - 4, lines.pop(place))
    process = run_pair(tmp_path, text, "".join(lines))
    assert process.returncode == 1
    assert "index 9 is out of range" in process.stderr


def test_rank_outside_of_the_group_is_an_error(tmp_path):
    text, _ = write_program(2, ["scatter_rows"])
    text = '#world = #tp.group<"1", [0, 1, 2]>\n' + text
    text = text.replace("tp.groups = [#all]", "tp.groups = [#all, #world]")
    (tmp_path / "program.mlir").write_text(text)
    process = commute("run", tmp_path / "program.mlir")
    assert process.returncode in (1, 2)
    assert "of which it is not a member" in process.stderr
