# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`make demo` shows what it should, and notices a wrong result."""

import subprocess
import sys

from commute_tool import REPOSITORY, TOOL

# Changes a weight in everything that commute writes.
DISHONEST_TOOL = """#!{python}
import subprocess, sys
sys.path.insert(0, {tests!r})
from records import edit_records

process = subprocess.run([{tool!r}, *sys.argv[1:]])
if "-o" in sys.argv:
    path = sys.argv[sys.argv.index("-o") + 1]

    def edit(records):
        name = "data/weights/weight_3"
        # The lowest bits of one number's mantissa.
        records[name] = bytes([records[name][0] ^ 1]) + records[name][1:]

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
    assert process.stdout.count("equal bit by bit") == 2
    assert "llama.py" in process.stdout and "self.region.enter(y)" in process.stdout
    assert "2 copies make the inputs of all collectives dense" in process.stdout


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
