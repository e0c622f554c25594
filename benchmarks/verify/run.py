# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How long `commute verify` takes on deep models.

Builds a Llama-70B-shaped program (tensor-parallel on 8 ranks, 4096 tokens) and
its sequence-parallel form by hand, as text, and checks them against each other
on one core. Prints time and memory against the bars, and the growth with the
number of layers: of the whole, and of the evaluation alone, which must not grow
with layers that repeat (reading their text must). Then the growth of a layer with
its backward and opaque attention with the length of the sequence, which must not
cost time either, and a mesh of many ranks.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from joint_layers import write_pair  # noqa: E402

from claims import Claim  # noqa: E402
from llama_70b import HIDDEN, RANKS, Model  # noqa: E402

TOKENS = 4096
LAYERS = 80
GROWTH = (10, 20, 40, 80, 160, 320)

# Layers with their backward.
DEPTHS = (1, 2, 4, 8, 16, 32)
# Seconds of twice as many layers against those of half.
DEPTH_BAR = 2.5
LENGTHS = (64, 512, 2048, 8192)
# Of a layer: the longest sequence against the shortest.
GROWTH_BAR = 1.5
# dp, cp, tp; the last one is that of 16,384 ranks.
MESHES = ((1, 1, 16), (2, 1, 16), (4, 1, 16), (64, 16, 16))
MESH_LAYERS, MESH_TOKENS = 2, 4096

SECONDS_BAR = 10.0
BYTES_BAR = 2 * 2**30


def use_one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


# In a small process: a child starts with the memory of the one it is forked of.
MEASURE = """
import resource, subprocess, sys
process = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
print(process.stdout.decode())
"""


def verify(tool, first, second, *options):
    """Seconds of processor time, peak bytes and report of one run, on one core."""
    command = [sys.executable, "-S", "-c", MEASURE, tool, "verify", first, second, "--json"]
    process = subprocess.run(
        [*command, *options],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=use_one_core,
    )
    numbers, report = process.stdout.split("\n", 1)
    code, seconds, peak = numbers.split()
    if code not in ("0", "4"):
        sys.exit(f"the two forms are not found to be equal: exit code {code}")
    report = json.loads(report)
    if code == "4" and "--proof-time" not in " ".join(options):
        sys.exit("the two forms are not proven to be equal")
    return float(seconds), int(peak), report


def measure_lengths(tool, folder):
    """A layer with its backward: time by the length of the sequence."""
    print("\n| tokens | seconds | peak MiB |  one layer, forward and backward\n|---|---|---|")
    times = []
    for tokens in LENGTHS:
        paths = write_pair(folder, tokens=tokens, layers=1, mesh=(1, 1, RANKS))
        seconds, peak, _ = verify(tool, *paths)
        times.append(seconds)
        print(f"| {tokens} | {seconds:.2f} | {peak / 2**20:.0f} |", flush=True)
    growth = times[-1] / times[0]
    print(f"{LENGTHS[-1]} against {LENGTHS[0]} tokens: {growth:.2f} times the seconds")
    return growth <= GROWTH_BAR


def measure_depths(tool, folder, claim):
    """Layers with their backward: time by their number."""
    print("\n| layers | seconds | peak MiB |  forward and backward\n|---|---|---|")
    times = []
    for layers in DEPTHS:
        paths = write_pair(folder, tokens=TOKENS, layers=layers, mesh=(1, 1, RANKS))
        seconds, peak, _ = verify(tool, *paths)
        times.append(seconds)
        print(f"| {layers} | {seconds:.2f} | {peak / 2**20:.0f} |", flush=True)
    claim.record(f"{layers} layers with their backward", f"{seconds:.2f} s, {peak / 2**20:.0f} MiB")
    growth = times[-1] / times[-2]
    print(f"{DEPTHS[-1]} against {DEPTHS[-2]} layers: {growth:.2f} times the seconds")
    return growth <= DEPTH_BAR


def measure_meshes(tool, folder, claim):
    """Layers with collectives over tp and over dp: time by the number of ranks."""
    print("\n| ranks | mesh | seconds | peak MiB | verdict |\n|---|---|---|---|---|")
    for mesh in MESHES:
        paths = write_pair(folder, tokens=MESH_TOKENS, layers=MESH_LAYERS, mesh=mesh)
        seconds, peak, report = verify(tool, *paths, f"--proof-time={SECONDS_BAR:.0f}s")
        dp, cp, tp = mesh
        print(
            f"| {dp * cp * tp} | {dp} x {cp} x {tp} | {seconds:.2f} | {peak / 2**20:.0f} "
            f"| {report['verdict']} |",
            flush=True,
        )
    claim.record(
        f"two such layers on {dp} x {cp} x {tp} ranks", f"{seconds:.2f} s, {peak / 2**20:.0f} MiB"
    )
    return report["verdict"] == "equivalent"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    arguments = parser.parse_args()
    tool = str((arguments.build / "bin" / "commute").resolve())
    print(f"{TOKENS} tokens, hidden size {HIDDEN}, {RANKS} ranks, one core, processor time")
    print(
        "| layers | seconds | reading | sizes | evaluation | ops evaluated "
        "| with --whole: seconds | evaluation | peak MiB |\n" + 9 * "|---" + "|"
    )
    evaluated = {}
    claim = Claim("verify")
    with tempfile.TemporaryDirectory() as folder:
        for layers in GROWTH:
            paths = [os.path.join(folder, name) for name in ("first.mlir", "second.mlir")]
            for path, form in zip(paths, (False, True)):
                Path(path).write_text(Model(layers, TOKENS, form).p.text())
            seconds, peak, report = verify(tool, *paths)
            whole, _, whole_report = verify(tool, *paths, "--whole", "--proof-time=600s")
            parts, evaluated[layers] = report["seconds"], report["evaluated_ops"]
            print(
                f"| {layers} | {seconds:.2f} | {parts['reading']:.2f} | {parts['sizes']:.2f} "
                f"| {parts['evaluation']:.3f} | {evaluated[layers]} of {report['ops']} "
                f"| {whole:.2f} | {whole_report['seconds']['evaluation']:.2f} "
                f"| {peak / 2**20:.0f} |",
                flush=True,
            )
            if layers == LAYERS:
                at_bar = seconds, peak
                claim.record(f"{layers} layers with `--whole`", f"{whole:.1f} s")
            bar = f"{SECONDS_BAR:.0f} s, {BYTES_BAR >> 20} MiB" if layers == LAYERS else ""
            if layers in (LAYERS, 160):
                claim.record(f"{layers} layers", f"{seconds:.2f} s, {peak / 2**20:.0f} MiB", bar)
            if layers == LAYERS:
                claim.content["numbers"]["layers_80_seconds"] = round(seconds, 2)
    is_flat = evaluated[GROWTH[-1]] == evaluated[GROWTH[0]]
    print(
        f"ops evaluated for {GROWTH[-1]} and for {GROWTH[0]} layers: "
        f"{evaluated[GROWTH[-1]]} and {evaluated[GROWTH[0]]}: {'pass' if is_flat else 'FAIL'}"
    )
    seconds, peak = at_bar
    passes = seconds <= SECONDS_BAR and peak <= BYTES_BAR and is_flat
    print(
        f"{LAYERS} layers: {seconds:.2f} s of at most {SECONDS_BAR:.0f} s "
        f"({SECONDS_BAR / seconds:.1f} times faster), {peak / 2**20:.0f} MiB of at most "
        f"{BYTES_BAR / 2**20:.0f} MiB: {'pass' if passes else 'FAIL'}"
    )
    with tempfile.TemporaryDirectory() as folder:
        passes &= measure_lengths(tool, folder)
        passes &= measure_depths(tool, folder, claim)
        passes &= measure_meshes(tool, folder, claim)
    claim.save()
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
