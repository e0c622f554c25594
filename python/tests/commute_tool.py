# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Runs the commute tool of the build folder under test."""

import json
import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("COMMUTE_BUILD", "build/release")
TOOL = BUILD / "bin" / "commute"


def _option(name):
    """An option that the build was configured with."""
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.partition("=")[2]
    return ""


# Sanitizers make the tool several times as slow, and reserve more addresses than
# there is memory.
IS_SANITIZED = bool(_option("COMMUTE_SANITIZERS"))

# Far above what any archive here takes: only a hang gets there.
TIMEOUT_SECONDS = 600 if IS_SANITIZED else 60

UPSTREAM_RULE = "--passes=contiguous-collectives{upstream-rule=true}"


def commute(*arguments):
    """The finished process, whatever its exit code."""
    command = [str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)


def mpirun(*arguments):
    """The finished processes of mpirun."""
    command = ["mpirun", "--allow-run-as-root"]
    if IS_SANITIZED:
        # OpenMPI frees little, and its libraries are gone when leaks are looked for.
        command += ["-x", "ASAN_OPTIONS=detect_leaks=0"]
    command += map(str, arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)


def succeed(*arguments):
    """Standard output of a run that must succeed without a word on stderr."""
    process = commute(*arguments)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    return process.stdout


def optimize(source, target, *options):
    """What `commute opt` says of its work, as JSON."""
    return json.loads(succeed("opt", source, "-o", target, "--json", *options))


def show(source, *options):
    return json.loads(succeed("show", source, "--json", *options))


def show_module(source, *options):
    """The tp module that an archive is read as, before any pass."""
    # Of commute opt, since show prints a summary only; a pass that finds no
    # work leaves the module as it was read.
    process = commute("opt", source, "-o", "-", "--quiet", *options)
    assert process.returncode == 0, process.stderr
    return process.stdout
