# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The command line tool of a wheel: `commute` and `python -m commute`. The wheel with the
command line alone runs this in older versions of Python too."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn


def find_tool() -> Path | None:
    """The program in the installed package, or that of the build tree around it."""
    package = Path(__file__).parent
    # Links lead out of a build tree, whose path is what counts.
    candidates = (package / "bin" / "commute", package.parents[1] / "bin" / "commute")
    return next((path for path in candidates if os.access(path, os.X_OK) and path.is_file()), None)


def main() -> NoReturn:
    tool = find_tool()
    if tool is None:
        sys.exit(
            "commute: error: this installation has no command line tool; `pip install .` "
            "builds it, and `make build` makes build/release/bin/commute"
        )
    os.execv(tool, ["commute", *sys.argv[1:]])
