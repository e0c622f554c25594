#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Makes of a wheel for one version of Python the wheel with the command line alone, which any
Python can install:

    build_tools/command_wheel.py build/wheel/3.11/repaired/commute-0.1.0-cp311-...whl FOLDER

It has the tool, the libraries that the tool needs, and the Python that starts it. pip takes
the wheel of its own version of Python where there is one, and this one elsewhere.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

PYTHON = {"commute/__init__.py", "commute/__main__.py", "commute/tool.py"}


def is_kept(name):
    folder = name.split("/")[0]
    return (
        name in PYTHON
        or name.startswith("commute/bin/")
        or folder == "commute.libs"
        or folder.endswith(".dist-info")
    )


def edited(name, data, tag):
    """Its metadata: no dependencies, an old Python, and the tag of any Python."""
    if name.endswith("/METADATA"):
        lines = [
            line
            for line in data.decode().splitlines()
            if not line.startswith(("Requires-Dist:", "Requires-Python:"))
        ]
        lines.insert(3, "Requires-Python: >=3.8")
        return ("\n".join(lines) + "\n").encode()
    if name.endswith("/WHEEL"):
        lines = [line for line in data.decode().splitlines() if not line.startswith("Tag:")]
        return ("\n".join([*(line for line in lines if line), f"Tag: {tag}"]) + "\n").encode()
    if name.endswith("/entry_points.txt"):
        # What registers itself with PyTorch needs the module.
        return b"[console_scripts]\ncommute = commute.tool:main\n"
    return data


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}\n"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: command_wheel.py WHEEL FOLDER")
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    name, version, *_, platform = source.stem.split("-")
    tag = f"py3-none-{platform}"
    target = folder / f"{name}-{version}-{tag}.whl"
    record, lines = f"{name}-{version}.dist-info/RECORD", []
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename == record or not is_kept(entry.filename):
                continue
            data = edited(entry.filename, old.read(entry), tag)
            lines.append(record_line(entry.filename, data))
            new.writestr(entry, data, zipfile.ZIP_DEFLATED)
        new.writestr(record, "".join(lines) + f"{record},,\n")
    print(f"[wheel] {target}: {target.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
