# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`cmake --install`, and a C++ program that finds the installed libraries."""

import re
import subprocess

import pytest

from commute_tool import BUILD, IS_SANITIZED, REPOSITORY, TOOL


def run(*command, **options):
    process = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, **options
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.mark.skipif(IS_SANITIZED, reason="a consumer would have to be sanitized too")
def test_consumer_of_the_installed_package(tmp_path, fixtures_folder):
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    # The installed tool is the one of the build folder.
    assert run(prefix / "bin" / "commute", "--version") == run(TOOL, "--version")
    cache = (BUILD / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)[1]
    run(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        REPOSITORY / "examples" / "cmake_consumer",
        "-B",
        build,
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={compiler}",
    )
    run("cmake", "--build", build)
    shown = run(build / "count_collectives", fixtures_folder / "llama_tp2.pt2")
    before, after = map(int, re.fullmatch(r"before: (\d+)\nafter: (\d+)\n", shown).groups())
    # Each all_reduce became a reduce_scatter and an all_gather.
    assert 0 < before < after


def test_version_has_one_source():
    (stated,) = re.findall(
        r"project\(Commute VERSION ([0-9.]+)", (REPOSITORY / "CMakeLists.txt").read_text()
    )
    assert run(TOOL, "--version") == f"commute {stated}\n"


@pytest.mark.in_process
def test_version_of_the_package():
    import commute
    from commute import _commute
    from commute.tool import find_tool

    assert commute.__version__ == _commute.__version__
    assert run(TOOL, "--version") == f"commute {commute.__version__}\n"
    assert find_tool() is not None
    with pytest.raises(AttributeError):
        commute.no_such_name  # noqa: B018
