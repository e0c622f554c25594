#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Makes the Python environment that runs this script use a build tree:

    .venv/bin/python build_tools/link_package.py build/release

`import commute` then loads the package of the build tree, and `commute`, `commute-opt` and so on
start its tools, so that all are as new as the last build. pip knows this as an installation of
the package commute: it replaces another one, and is replaced by the next one.
"""

import base64
import hashlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PATH_FILE = "commute_build.pth"

METADATA = """Metadata-Version: 2.1
Name: commute
Version: {version}
"""
WHEEL = """Wheel-Version: 1.0
Generator: commute
Root-Is-Purelib: true
Tag: py3-none-any
"""
ENTRY_POINTS = """[torch_dynamo_backends]
commute = commute.torch.backend:commute_backend
"""
# Not an entry point: that would start Python first.
COMMAND = """#!/bin/sh
exec '{tool}' "$@"
"""


def version():
    text = (REPOSITORY / "CMakeLists.txt").read_text()
    return re.search(r"project\(Commute VERSION ([0-9.]+)", text)[1]


def contents(build):
    """What the environment gets, by its path in the wheel."""
    information = f"commute-{version()}.dist-info"
    # The tools for compiler engineers as well.
    scripts = {
        f"commute-{version()}.data/scripts/{tool.name}": COMMAND.format(tool=tool)
        for tool in sorted((build / "bin").glob("commute*"))
    }
    return {
        PATH_FILE: f"{build / 'python'}\n",
        **scripts,
        f"{information}/METADATA": METADATA.format(version=version()),
        f"{information}/WHEEL": WHEEL,
        f"{information}/entry_points.txt": ENTRY_POINTS,
    }


def write_wheel(folder, files):
    path = Path(folder) / f"commute-{version()}-py3-none-any.whl"
    record = f"commute-{version()}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            digest = hashlib.sha256(text.encode()).digest()
            encoded = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            lines.append(f"{name},sha256={encoded},{len(text.encode())}\n")
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            wheel.writestr(entry, text)
        wheel.writestr(record, "".join(lines) + f"{record},,\n")
    return path


def installed():
    """The distribution of the environment itself: PYTHONPATH does not count."""
    folders = [path for path in sys.path if Path(path).is_relative_to(sys.prefix)]
    found = importlib.metadata.distributions(name="commute", path=folders)
    return next(iter(found), None)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: link_package.py BUILD")
    build = Path(sys.argv[1]).absolute()
    for path in (build / "bin" / "commute", build / "python" / "commute"):
        if not path.exists():
            sys.exit(f"link_package: there is no {path}; `make build` makes it")
    files = getattr(installed(), "files", None) or ()
    for file in files:
        if file.name == PATH_FILE and file.locate().read_text().strip() == str(build / "python"):
            return
    with tempfile.TemporaryDirectory() as folder:
        wheel = write_wheel(folder, contents(build))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        command += ["--disable-pip-version-check", "--force-reinstall", str(wheel)]
        # The package of the build tree on the path is not the environment's.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run(command, check=True, env=environment)
    print(f"[setup] the package and the command commute in {sys.prefix} are those of {build}")


if __name__ == "__main__":
    main()
