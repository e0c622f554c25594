# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The fixture commute_check, as tests of users have it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commute_tool import BUILD

pytestmark = pytest.mark.in_process

TEST = """
import factories_for_capture as factories

def test_right(commute_check):
    commute_check(factories.build, world=2, relations_file="mlp.json")

def test_faulty(commute_check):
    commute_check(factories.faulty, world=2, reference=factories.build)
"""


def run_pytest(folder, *options):
    paths = [str(BUILD / "python"), str(Path(__file__).parent)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "commute.pytest_plugin",
         "-p", "no:cacheprovider", *options],
        capture_output=True, text=True, cwd=folder,
        env={"PYTHONPATH": ":".join(paths), "PATH": "/usr/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def test_the_fixture(tmp_path):
    (tmp_path / "test_models.py").write_text(TEST)
    missing = run_pytest(tmp_path, "-k", "right")
    assert missing.returncode == 1
    assert "mlp.json" in missing.stdout and "--update-relations writes it" in missing.stdout
    updated = run_pytest(tmp_path, "--update-relations", "-k", "right")
    assert updated.returncode == 0, updated.stdout
    relations = json.loads((tmp_path / "mlp.json").read_text())
    assert relations["inputs"]["norm.weight"] == "norm.weight"
    both = run_pytest(tmp_path, f"--junit-xml={tmp_path / 'report.xml'}")
    assert both.returncode == 1
    assert "does not refine" in both.stdout and "1 passed" in both.stdout
    assert "does not refine" in (tmp_path / "report.xml").read_text()
