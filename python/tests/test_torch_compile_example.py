# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The example of torch.compile: two ranks, and code that Inductor generates."""

import os
import shutil
import subprocess
import sys

import pytest

from commute_tool import BUILD, REPOSITORY

pytestmark = pytest.mark.in_process


@pytest.mark.skipif(shutil.which("g++") is None, reason="Inductor generates C++")
def test_example_agrees_with_eager_execution():
    process = subprocess.run(
        [sys.executable, str(REPOSITORY / "examples" / "torch_compile.py")],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(BUILD / "python")},
    )
    assert process.returncode == 0, process.stderr
    *remarks, last = process.stdout.splitlines()
    assert last.startswith("outputs and gradients agree with eager execution")
    fused = [remark for remark in remarks if remark.startswith("micro-pipeline: applied")]
    # Of the forward and of the backward graph, with the line of the example.
    assert len(fused) == 4
    assert all("examples/torch_compile.py:" in remark for remark in fused)
