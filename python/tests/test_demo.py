# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`make demo` shows what it should, and notices a wrong result."""

import re
import shlex
import subprocess
import sys

import pytest

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
        records[name] = bytes(len(records[name]))

    edit_records(path, path, edit)
sys.exit(process.returncode)
"""


def run_demo(tool, output, *options):
    command = [sys.executable, str(REPOSITORY / "examples" / "demo.py"), "--commute", str(tool)]
    command += [f"--output={output}", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.in_process
def test_demo(tmp_path):
    process = run_demo(TOOL, tmp_path / "demo")
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    shown = process.stdout
    # One output a rank, of PyTorch and of commute run, and the last line.
    assert shown.count("agrees on") == 1
    assert len(re.findall(r"relative distance \S+, agrees$", shown, re.MULTILINE)) == 2 + 2
    assert "5 all_reduces replaced by reduce_scatters" in shown
    assert "equivalent on 8 ranks" in shown
    table = re.findall(
        r"^  (step|exposed communication|activation memory) .*%$", shown, re.MULTILINE
    )
    assert table == ["step", "exposed communication", "activation memory"]
    assert (tmp_path / "demo" / "report.html").is_file()
    # Any command can be repeated as printed.
    commands = [line[2:] for line in shown.splitlines() if line.startswith("$ ")]
    assert any("commute.capture transformers:examples/llama_8b.json" in line for line in commands)
    (estimate,) = [line for line in commands if " estimate " in line and "optimized" in line]
    repeated = subprocess.run(shlex.split(estimate), cwd=REPOSITORY, capture_output=True)
    assert repeated.returncode == 0


def test_wrong_result_is_noticed(tmp_path):
    tool = tmp_path / "commute"
    tests = str(REPOSITORY / "python" / "tests")
    tool.write_text(DISHONEST_TOOL.format(python=sys.executable, tests=tests, tool=str(TOOL)))
    tool.chmod(0o755)
    process = run_demo(tool, tmp_path / "demo", "--small")
    assert process.returncode == 1
    assert "DIFFERENT" in process.stdout


def test_missing_tool_is_named(tmp_path):
    process = run_demo(tmp_path / "commute", tmp_path / "demo")
    assert process.returncode == 2
    assert f"there is no {tmp_path / 'commute'}" in process.stderr
