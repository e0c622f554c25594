# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Time and memory of archives in and out.

    .venv/bin/python benchmarks/archive/run.py --build build/release

Times are processor time (the program has one thread), the least of several
runs, so that other work on the machine counts little. Next to them stand a
bound that the same machine reached in the same run (Python's json module on the
same text, cp on the same file) and the bar that the project has set itself.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from synthetic import MODEL, write_heavy_weights, write_long_graph

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from claims import Claim  # noqa: E402

MIB = 1 << 20


def elsewhere(function, *arguments):
    """Calls a function in a process of its own.

    This one must stay small: Linux counts the memory of a parent as its child's
    peak.
    """
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()


def measure(command, runs=1):
    """The least processor time in seconds and the highest peak memory in MiB."""
    best, peak = float("inf"), 0
    for _ in range(runs):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        best = min(best, usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss / 1024)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {errors.decode()}")
    return best, peak


CLAIM = Claim("archive")


def report(what, value, bar, is_met):
    CLAIM.record(what, value, bar if is_met else f"{bar}: missed")
    print(f"  {what:<44} {value:>22}   bar {bar}: {'met' if is_met else 'MISSED'}")


def time_json(path):
    """The seconds that Python takes for the same JSON, and its size in MiB."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read(f"{path.stem}/{MODEL}")
    start = time.process_time()
    json.dumps(json.loads(text))
    return time.process_time() - start, len(text) / MIB


def run_long_graphs(commute, folder, nodes, runs):
    print(f"a graph of {nodes} nodes, commute opt --no-verify --passes=contiguous-collectives:")
    for fixture, about in (
        ("llama_tp2", "unchanged"),
        ("llama_transposed_gather_tp2", "rewritten"),
    ):
        seconds = {}
        for count in (nodes // 10, nodes):
            path = folder / "long.pt2"
            written = elsewhere(write_long_graph, path, fixture, count)
            command = [commute, "opt", path, "-o", folder / "out.pt2", "--quiet"]
            in_and_out = [*command, "--no-verify", "--passes=contiguous-collectives"]
            seconds[count], peak = measure(in_and_out, runs)
        bound, size = elsewhere(time_json, path)
        report(
            f"{about}: {written} nodes, {size:.0f} MiB of JSON",
            f"{seconds[nodes]:.2f} s, {peak:.0f} MiB",
            "3 s",
            seconds[nodes] <= 3,
        )
        print(
            f"    {seconds[nodes] / bound:.2f} of the {bound:.2f} s of Python's json.loads + dumps"
        )
        growth = seconds[nodes] / seconds[nodes // 10]
        print(f"    {growth:.1f} times the {seconds[nodes // 10]:.2f} s of a tenth of the nodes")
        for what, options in (("with all passes", ["--no-verify"]), ("and the proof", [])):
            longer, peak = measure([*command, *options])
            print(f"    {what} {longer:.2f} s, {peak:.0f} MiB")


def run_weights(commute, folder, gibibytes):
    size = gibibytes << 30
    print(f"a weight of {gibibytes} GiB, commute opt:")
    free = shutil.disk_usage(folder).free
    if free < 2.5 * size:
        sys.exit(f"{folder} has {free >> 30} GiB free, {5 * size // 2 >> 30} are needed")
    peaks = {}
    for weight in (4 * MIB, size):
        path = folder / "weights.pt2"
        elsewhere(write_heavy_weights, path, weight)
        seconds, peaks[weight] = measure(
            [commute, "opt", path, "-o", folder / "out.pt2", "--quiet"]
        )
        (folder / "out.pt2").unlink()
    copy, _ = measure(["cp", "--reflink=never", path, folder / "copy.pt2"])
    report(
        "peak memory, and with a weight of 4 MiB",
        f"{peaks[size]:.0f} MiB, {peaks[4 * MIB]:.0f} MiB",
        "same within 10 %",
        peaks[size] <= 1.1 * peaks[4 * MIB],
    )
    print(f"    {seconds:.2f} s, {seconds / copy:.2f} of the {copy:.2f} s of cp")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--weight-gib", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    commute = (REPOSITORY / options.build / "bin" / "commute").resolve()

    print("start of the program:")
    seconds, peak = measure([commute, "--help"], runs=20)
    report("commute --help", f"{seconds * 1000:.0f} ms, {peak:.0f} MiB", "50 ms", seconds <= 0.05)
    with tempfile.TemporaryDirectory(prefix="commute-benchmark-") as folder:
        run_long_graphs(commute, Path(folder), options.nodes, options.runs)
    with tempfile.TemporaryDirectory(prefix="commute-benchmark-") as folder:
        run_weights(commute, Path(folder), options.weight_gib)
    CLAIM.save()


if __name__ == "__main__":
    main()
