# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Joins what the parts of run.sh wrote, and prints it as a few lines. Needs no PyTorch.

    python benchmarks/gpu/summary.py join PARTS OUT NAME...   # writes OUT/DEVICE.json, whose path it prints
    python benchmarks/gpu/summary.py show FILE.json

`show` ends with 1 if a part has not ended or a value is wrong.
"""

import json
import re
import subprocess
import sys
from pathlib import Path


def device_name(parts):
    for part in parts.values():
        if isinstance(part.get("device"), str):
            return part["device"]
    try:
        names = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20, check=True,
        ).stdout  # fmt: skip
        return names.splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "unknown"


def join(folder, out, names):
    """Each part has what it wrote, and its end: "done", or why not."""
    parts = {}
    for name in names:
        end = folder / f"{name}.end"
        if not end.exists():
            continue
        written = folder / "parts" / f"{name}.json"
        try:
            part = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
        except ValueError as error:
            part = {"error": str(error)}
        parts[name] = {"end": end.read_text(encoding="utf-8").strip(), **part}
    name = re.sub("[^a-z0-9.]+", "-", device_name(parts).lower()).strip("-")
    text = json.dumps({"device": device_name(parts), **parts}, indent=1) + "\n"
    (out / f"{name}.json").write_text(text, encoding="utf-8")
    return out / f"{name}.json"


def _layers(part):
    """Prints the steps, and returns those that are wrong."""
    wrong = []
    steps = part.get("steps", {})
    cases = dict.fromkeys(name.rpartition(".")[0] for name in steps)
    for case in cases:
        print(f"  {case}")
        for name, row in steps.items():
            if name.rpartition(".")[0] != case:
                continue
            way = name.rpartition(".")[2]
            if "error" in row:
                print(f"    {way}: {row['error'].strip().splitlines()[-1][:200]}")
                wrong.append(name)
                continue
            text = ", ".join(
                f"{count} {operator}" for operator, count in sorted(row["operators"].items())
            )
            if way != "eager":
                text = (
                    f"error {row['error_against_eager']:.1e}, first step"
                    f" {row['first_step_seconds']:.1f} s, step {row['step_seconds'] * 1e3:.1f} ms,"
                    f" {text}"
                )
                if not row["is_right"]:
                    wrong.append(name)
                    text = "WRONG: " + text
            print(f"    {way}: {text}")
            for warning in row.get("warnings", [])[:2]:
                print(f"      warning: {warning[:200]}")
    return wrong


def _operators(part):
    for kind, rows in part.items():
        if not isinstance(rows, list):
            continue
        good = [row for row in rows if "error" not in row]
        line = f"  {kind}: {len(good)} of {len(rows)} measured"
        for unit in ("tflops", "gbps"):
            best = max((row[unit] for row in good if unit in row), default=None)
            if best is not None:
                line += f", up to {best:.4g} {unit}"
        print(line)
        if kind == "launches":
            print("    " + json.dumps(rows))
        for error in list(dict.fromkeys(r["error"][:200] for r in rows if "error" in r))[:2]:
            print(f"    {error}")
    return []


def _compile(part):
    for name, row in part.get("steps", {}).items():
        if "error" in row:
            print(f"  {name}: {row['error'].splitlines()[-1][:200]}")
        else:
            print(f"  {name}: {row['seconds']:.2f} s, of which Commute {row['in_commute']:.2f} s")
    return [name for name, row in part.get("steps", {}).items() if "error" in row]


def show(path):
    results = json.loads(path.read_text(encoding="utf-8"))
    print(f"{path}: {results.pop('device')}")
    wrong = []
    for name, part in results.items():
        end = part.pop("end").splitlines()
        print(f"{name}: {end[0]}")
        if end[0] != "done":
            wrong.append(name)
            print("".join(f"  | {line}\n" for line in end[1:]), end="")
        if part.get("staged_collectives"):
            print(f"  through host memory: {', '.join(part['staged_collectives'])}")
        if name.startswith("layers"):
            wrong += _layers(part)
        elif name == "operators":
            wrong += _operators(part)
        elif name == "compile":
            wrong += _compile(part)
        else:
            print("  " + ", ".join(f"{key} {value}" for key, value in part.items()))
    if wrong:
        print("not as it should be: " + ", ".join(wrong))
    return not wrong


def main():
    if sys.argv[1] == "join":
        print(join(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
    elif not show(Path(sys.argv[2])):
        sys.exit(1)


if __name__ == "__main__":
    main()
