# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What `make demo` leaves in .venv, and what the package says without its compiled module."""

import os
import shutil
import subprocess
import sys
import zipfile
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


def test_wheel_with_the_command_alone(tmp_path):
    information = "commute-1.0.dist-info"
    source = tmp_path / "commute-1.0-cp311-cp311-manylinux_2_34_x86_64.whl"
    files = {
        "commute/__init__.py": "",
        "commute/tool.py": "def main(): print('started')\n",
        "commute/programs.py": "",
        "commute/_commute.cpython-311-x86_64-linux-gnu.so": "",
        "commute/bin/commute": "the tool",
        "commute.libs/libzip.so": "a library",
        f"{information}/METADATA": "Metadata-Version: 2.1\nName: commute\nVersion: 1.0\n"
        "Requires-Python: >=3.10\nRequires-Dist: torch>=2.10\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"
        "Tag: cp311-cp311-manylinux_2_34_x86_64\n",
        f"{information}/entry_points.txt": "[torch_dynamo_backends]\ncommute = x:y\n",
        f"{information}/RECORD": "",
    }
    with zipfile.ZipFile(source, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    script = REPOSITORY / "build_tools" / "command_wheel.py"
    process = run([sys.executable, script, source, tmp_path])
    assert process.returncode == 0, process.stderr
    made = tmp_path / "commute-1.0-py3-none-manylinux_2_34_x86_64.whl"
    with zipfile.ZipFile(made) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(f"{information}/METADATA").decode()
    # Neither the module nor what needs it.
    left_out = {name for name in files if "_commute" in name or "programs" in name}
    assert names == set(files) - left_out
    assert "Requires-Python: >=3.8\n" in metadata and "torch" not in metadata
    folder = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    process = run([*pip, "--target", folder, made])
    assert process.returncode == 0, process.stderr
    assert run([sys.executable, "-S", folder / "bin" / "commute"], PYTHONPATH=str(folder)).stdout
