# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`make demo` shows what it should, and notices a wrong result."""

import subprocess
import sys

from commute_tool import REPOSITORY, TOOL

# Loses a weight in everything that commute writes.
DISHONEST_TOOL = """#!{python}
import subprocess, sys
sys.path.insert(0, {tests!r})
from records import edit_records

process = subprocess.run([{tool!r}, *sys.argv[1:]])
if "-o" in sys.argv:
    path = sys.argv[sys.argv.index("-o") + 1]

    def edit(records):
        name = "data/weights/weight_3"
        # The first graphs of the demo have none.
        if name in records:
            records[name] = bytes(len(records[name]))

    edit_records(path, path, edit)
sys.exit(process.returncode)
"""


def run_demo(tool):
    command = [sys.executable, str(REPOSITORY / "examples" / "demo.py"), "--commute", str(tool)]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


def test_demo():
    process = run_demo(TOOL)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    shown = process.stdout
    # One output a rank, of PyTorch and of commute run, and the last line.
    assert shown.count("agrees") == 2 + 2 + 1
    assert "all_gather_matmul" in shown and "matmul_reduce_scatter" in shown
    assert "--policy=profitable --target=h100x8" in shown
    assert "5 all_reduces replaced by reduce_scatters" in shown
    assert "compute the same on each of 8 ranks" in shown
    assert shown.count("one step") == 2
    assert "saved: " in shown
    assert "profitable from about" in shown
    assert "self.reduce(F.linear(x, self.weight))" in shown


def test_wrong_result_is_noticed(tmp_path):
    tool = tmp_path / "commute"
    tests = str(REPOSITORY / "python" / "tests")
    tool.write_text(DISHONEST_TOOL.format(python=sys.executable, tests=tests, tool=str(TOOL)))
    tool.chmod(0o755)
    process = run_demo(tool)
    assert process.returncode == 1
    assert "DIFFERENT" in process.stdout


def test_missing_tool_is_named(tmp_path):
    process = run_demo(tmp_path / "commute")
    assert process.returncode == 2
    assert f"there is no {tmp_path / 'commute'}" in process.stderr
