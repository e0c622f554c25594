# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`torchrun -m commute.calibrate` on gloo ranks. Nothing here depends on how long it takes."""

import json
import os
import subprocess
import sys

import pytest

from commute_tool import succeed

pytestmark = pytest.mark.in_process


def torchrun(ranks, *options):
    return subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone",
            f"--nproc-per-node={ranks}", "-m", "commute.calibrate", *map(str, options),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_ranks_write_a_target_and_check_it(tmp_path):
    path = tmp_path / "machine.json"
    process = torchrun(4, "--quick", "-o", path)
    assert process.returncode == 0, process.stderr
    assert f"wrote {path}" in process.stdout
    target = json.loads(path.read_text())
    assert target["programs"] == "eager"
    for kind in ("all_reduce", "all_gather", "reduce_scatter"):
        lines = target["collectives"][kind]
        assert [line["group_size"] for line in lines] == [2, 4]
        assert all("gloo, 4 ranks" in line["source"] for line in lines)
    measured = target["measurements"]
    assert {entry["what"] for entry in measured} >= {"launch", "memory", "product", "all_gather"}
    assert all(entry["seconds"] > 0 for entry in measured)
    assert set(target["uncertainty"]) == {
        "products", "memory", "collectives", "fused_ops", "source",
    }  # fmt: skip
    # The tool reads it as it reads its own.
    program = tmp_path / "sum.mlir"
    program.write_text(
        "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
        '%r = tp.all_reduce sum %a group <"0", [0, 1, 2, 3]> : tensor<8xf32> -> tensor<8xf32>\n'
        "return %r : tensor<8xf32>\n}\n"
    )
    estimate = json.loads(succeed("estimate", program, f"--target={path}", "--json"))
    assert estimate["target"] == "local"
    assert estimate["step_seconds_low"] <= estimate["step_seconds"]
    assert estimate["step_seconds_high"] >= estimate["step_seconds"]

    process = torchrun(2, "--quick", "--json", "--check", path)
    assert process.returncode == 0, process.stderr
    checks = json.loads(process.stdout)["checks"]
    assert {check["what"] for check in checks} >= {"product", "memory", "reduce_scatter"}
    assert any("dim=1" in check["sizes"] for check in checks)
    assert all(check["predicted"] > 0 and check["measured"] > 0 for check in checks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needs at least two ranks: torchrun --nproc-per-node=2 -m commute.calibrate"),
    ],
)
def test_one_process_is_refused(options, message):
    process = subprocess.run(
        [sys.executable, "-m", "commute.calibrate", *options], capture_output=True, text=True
    )
    assert process.returncode == 2
    assert message in process.stderr
    assert "Traceback" not in process.stderr
