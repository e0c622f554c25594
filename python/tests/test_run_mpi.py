# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute run` under mpirun: the results of threads, and no hang."""

import pytest

from commute_tool import TOOL, mpirun, succeed
from network_namespaces import network_of_hosts, reason_against

# Collectives of every kind, over the world, pairs and pairs in another order.
COLLECTIVES = """
#world = #tp.group<"0", [0, 1, 2, 3]>
#pairs = #tp.group<"1", [[1, 0], [2, 3]]>
module attributes {tp.groups = [#world, #pairs]} {
  func.func @main(%x: tensor<8x6xf32> {tp.name = "x"}, %w: tensor<6x4xf32> {tp.name = "w"})
      -> (tensor<8x6xf32>, tensor<8x12xf32>, tensor<2x6xf32>, tensor<8x6xf32>, tensor<2x4xf32>) {
    %sum = tp.all_reduce sum %x group #world : tensor<8x6xf32> -> tensor<8x6xf32>
    %all = tp.all_gather %x gather_axis 1 group #pairs : tensor<8x6xf32> -> tensor<8x12xf32>
    %part = tp.reduce_scatter avg %sum scatter_axis 0 group #world
      : tensor<8x6xf32> -> tensor<2x6xf32>
    %swap = tp.all_to_all %x output_splits [] input_splits [] group #world
      : tensor<8x6xf32> -> tensor<8x6xf32>
    %product = tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 group #world
      : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<2x4xf32>
    return %sum, %all, %part, %swap, %product
      : tensor<8x6xf32>, tensor<8x12xf32>, tensor<2x6xf32>, tensor<8x6xf32>, tensor<2x4xf32>
  }
}
"""

ALL_REDUCE = """
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""

OUT_OF_RANGE = """
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %9 = tp.constant 9 : i64 -> tensor<4xi64>
    %0 = tp.take %x, %9 dim 0 : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
    %1 = tp.all_reduce sum %0 group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
"""


@pytest.fixture(scope="module", params=["llama_tp4", "qwen_tp4", "collectives"])
def program(request, fixtures_folder, tmp_path_factory):
    """A program, and the bytes of what threads give."""
    if request.param == "collectives":
        path = tmp_path_factory.mktemp("program") / "collectives.mlir"
        path.write_text(COLLECTIVES)
    else:
        path = fixtures_folder / f"{request.param}.pt2"
    outputs = tmp_path_factory.mktemp("threads") / "outputs.safetensors"
    succeed("run", path, "--threads=1", "--weights=seeded", f"--outputs={outputs}")
    return path, outputs.read_bytes()


def check_processes_give_the_same(program, tmp_path, options):
    path, expected = program
    outputs = tmp_path / "outputs.safetensors"
    settings = ["--threads=1", "--weights=seeded", f"--outputs={outputs}"]
    process = mpirun(*options, "-n", 4, TOOL, "run", path, *settings)
    assert process.returncode == 0, process.stderr
    assert outputs.read_bytes() == expected


def test_processes_give_the_bits_of_threads(program, tmp_path):
    check_processes_give_the_same(program, tmp_path, ["--oversubscribe"])


def test_processes_on_separate_hosts(program, tmp_path):
    reason = reason_against()
    if reason:
        pytest.skip(reason)
    with network_of_hosts(4, tmp_path) as options:
        check_processes_give_the_same(program, tmp_path, options)


def run_pair(tmp_path, first, second, *options):
    """Two processes that run different programs."""
    (tmp_path / "first.mlir").write_text(first)
    (tmp_path / "second.mlir").write_text(second)
    return mpirun(
        *["--oversubscribe", "-n", 1, TOOL, "run", tmp_path / "first.mlir", *options],
        *[":", "-n", 1, TOOL, "run", tmp_path / "second.mlir", *options],
    )


@pytest.mark.parametrize(
    ("change", "theirs"),
    [
        (lambda text: text.replace("sum", "max"), "runs tp.all_reduce max of tensor<4xf32>"),
        (lambda text: text.replace("4xf32", "5xf32"), "runs tp.all_reduce sum of tensor<5xf32>"),
        (lambda text: text.replace("f32", "bf16"), "runs tp.all_reduce sum of tensor<4xbf16>"),
        (lambda text: text.replace("[0, 1]", "[1, 0]"), "in group [1, 0]"),
        (
            lambda text: "".join(
                line for line in text.splitlines(True) if "%0 =" not in line
            ).replace("return %0", "return %x"),
            "runs the end of the program",
        ),
    ],
    ids=["reduction", "sizes", "type", "order", "end"],
)
def test_mismatch_is_reported(change, theirs, tmp_path):
    process = run_pair(tmp_path, ALL_REDUCE, change(ALL_REDUCE))
    assert process.returncode == 1
    assert "mismatched collectives: rank " in process.stderr
    assert "runs tp.all_reduce sum of tensor<4xf32> in group [0, 1]" in process.stderr
    assert theirs in process.stderr


def test_failing_rank_ends_all(tmp_path):
    process = run_pair(tmp_path, ALL_REDUCE, OUT_OF_RANGE)
    assert process.returncode == 1
    assert "rank 1: tp.take at" in process.stderr
    assert "index 9 is out of range: dim 0 of the table has size 4" in process.stderr


def test_wrong_number_of_processes(tmp_path):
    (tmp_path / "first.mlir").write_text(ALL_REDUCE)
    process = mpirun("--oversubscribe", "-n", 3, TOOL, "run", tmp_path / "first.mlir")
    assert process.returncode == 2
    assert "mpirun started 3 processes, but the groups of the graph have 2 ranks" in process.stderr
