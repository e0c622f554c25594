# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What `make demo` leaves in .venv, and what the package says without its compiled module."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commute_tool import BUILD, REPOSITORY

pytestmark = pytest.mark.in_process

# A second traceback, of the ImportError, would hide the sentence.
WITHOUT_MODULE = """
import commute
try:
    commute.load("x.pt2").save("y.pt2")
except commute.CommuteError as error:
    assert error.__suppress_context__
    print(error)
"""


def run(command, **environment):
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [*map(str, command)], env={**kept, **environment}, cwd="/", capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with pip, as .venv is."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    process = run([sys.executable, "-m", "venv", folder])
    assert process.returncode == 0, process.stderr
    return folder / "bin"


def link(environment, build):
    process = run([environment / "python", REPOSITORY / "build_tools" / "link_package.py", build])
    return process.returncode, process.stdout, process.stderr


def copy_build(folder):
    (folder / "bin").mkdir(parents=True)
    (folder / "python").mkdir()
    (folder / "bin" / "commute").symlink_to(BUILD / "bin" / "commute")
    (folder / "python" / "commute").symlink_to(BUILD / "python" / "commute")
    return folder


def test_package_and_command_are_those_of_the_build(environment, tmp_path):
    first, second = copy_build(tmp_path / "first"), copy_build(tmp_path / "second")
    code, printed, errors = link(environment, first)
    assert (code, errors) == (0, "") and str(first) in printed
    # Nothing to do.
    assert link(environment, first) == (0, "", "")
    # Another build takes its place.
    code, printed, errors = link(environment, second)
    assert (code, errors) == (0, "") and str(second) in printed
    program = "import commute; print(commute.__file__, commute.__version__)"
    process = run([environment / "python", "-c", program])
    file, version = process.stdout.split()
    assert Path(file).is_relative_to(second)
    assert run([environment / "commute", "--version"]).stdout == f"commute {version}\n"


def test_missing_build_is_named(environment, tmp_path):
    code, _, errors = link(environment, tmp_path)
    assert code == 1
    assert errors == f"link_package: there is no {tmp_path}/bin/commute; `make build` makes it\n"


def test_missing_module_is_one_sentence(tmp_path):
    """The sources on PYTHONPATH in place of the build."""
    shutil.copytree(
        REPOSITORY / "python" / "commute",
        tmp_path / "commute",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    process = run([sys.executable, "-S", "-c", WITHOUT_MODULE], PYTHONPATH=str(tmp_path))
    assert process.returncode == 0, process.stderr
    assert process.stdout == (
        f"the compiled module commute._commute is missing in {tmp_path}/commute: `make demo`"
        " builds it for .venv, `pip install .` installs it; on PYTHONPATH, build/release/python"
        " has it and the folder python has not\n"
    )
