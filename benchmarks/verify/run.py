# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How long `commute verify` takes on deep models.

Builds a Llama-70B-shaped program (tensor-parallel on 8 ranks, 4096 tokens) and
its sequence-parallel form by hand, as text, and checks them against each other
on one core. Prints time and memory against the bars, and the growth with the
number of layers: of the whole, and of the evaluation alone, which must not grow
with layers that repeat (reading their text must).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

from spmd_programs import Group, Program  # noqa: E402

TOKENS, HIDDEN, HEADS, SHARED_HEADS, WIDTH, INNER = 4096, 8192, 64, 8, 128, 28672
RANKS = 8
LAYERS = 80
GROWTH = (10, 20, 40, 80, 160, 320)
EPSILON = 1e-5

SECONDS_BAR = 10.0
BYTES_BAR = 2 * 2**30


def rotate(p, x, cosine, sine):
    half = WIDTH // 2
    turned = p.concat([p.map("neg", p.slice(x, 2, half, half)), p.slice(x, 2, 0, half)], 2)
    return p.add(p.mul(x, cosine), p.mul(turned, sine))


class Model:
    """One rank's program; `sequence_parallel` chooses the form."""

    def __init__(self, layers, sequence_parallel):
        self.p = Program([Group("0", list(range(RANKS)))], device="meta")
        self.group = self.p.groups[0]
        self.sequence_parallel = sequence_parallel
        self.build(layers)

    def weight(self, name, shape, dim):
        return self.p.input(name, shape, {"0": f"shard({dim})"})

    def replicated(self, name, shape):
        return self.p.input(name, shape, {"0": "replicated"})

    def build(self, layers):
        p = self.p
        heads, shared, inner = HEADS // RANKS, SHARED_HEADS // RANKS, INNER // RANKS
        x = self.replicated("x", [TOKENS, HIDDEN])
        cosine = self.replicated("cosine", [TOKENS, WIDTH])
        sine = self.replicated("sine", [TOKENS, WIDTH])
        state = p.rank_slice(x, 0, self.group) if self.sequence_parallel else x
        for layer in range(layers):

            def name(part, layer=layer):
                return f"layer{layer}_{part}"

            normed = self.whole(
                p.rms_norm(state, self.replicated(name("norm1"), [HIDDEN]), EPSILON)
            )
            query = p.linear(normed, self.weight(name("wq"), [heads * WIDTH, HIDDEN], 0))
            key = p.linear(normed, self.weight(name("wk"), [shared * WIDTH, HIDDEN], 0))
            value = p.linear(normed, self.weight(name("wv"), [shared * WIDTH, HIDDEN], 0))
            query, key, value = (
                p.permute(p.reshape(t, [TOKENS, count, WIDTH]), [1, 0, 2])
                for t, count in ((query, heads), (key, shared), (value, shared))
            )
            mixed = p.attention(
                rotate(p, query, cosine, sine), rotate(p, key, cosine, sine), value, grouped=True
            )
            merged = p.reshape(p.permute(mixed, [1, 0, 2]), [TOKENS, heads * WIDTH])
            projected = p.linear(merged, self.weight(name("wo"), [HIDDEN, heads * WIDTH], 1))
            state = p.add(state, self.reduced(projected))

            normed = self.whole(
                p.rms_norm(state, self.replicated(name("norm2"), [HIDDEN]), EPSILON)
            )
            gate = p.linear(normed, self.weight(name("gate"), [inner, HIDDEN], 0))
            up = p.linear(normed, self.weight(name("up"), [inner, HIDDEN], 0))
            active = p.mul(p.map("silu", gate), up)
            down = p.linear(active, self.weight(name("down"), [HIDDEN, inner], 1))
            state = p.add(state, self.reduced(down))
        final = p.rms_norm(state, self.replicated("norm", [HIDDEN]), EPSILON)
        p.returns(self.whole(final))

    def whole(self, value):
        """Before products by columns: gathered, where values are shards."""
        if not self.sequence_parallel:
            return value
        return self.p.all_gather(value, 0, self.group)

    def reduced(self, value):
        """After products by rows."""
        if not self.sequence_parallel:
            return self.p.all_reduce("sum", value, self.group)
        return self.p.reduce_scatter("sum", value, 0, self.group)


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
    if code != "0":
        sys.exit(f"the two forms are not found to be equal: exit code {code}")
    return float(seconds), int(peak), json.loads(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    arguments = parser.parse_args()
    tool = str((arguments.build / "bin" / "commute").resolve())
    print(f"{TOKENS} tokens, hidden size {HIDDEN}, {RANKS} ranks, one core, processor time")
    print(
        "| layers | seconds | of these reading | sizes | evaluation | ops evaluated "
        "| with --whole: seconds | evaluation | peak MiB |\n" + 9 * "|---" + "|"
    )
    evaluated = {}
    with tempfile.TemporaryDirectory() as folder:
        for layers in GROWTH:
            paths = [os.path.join(folder, name) for name in ("first.mlir", "second.mlir")]
            for path, form in zip(paths, (False, True)):
                Path(path).write_text(Model(layers, form).p.text())
            seconds, peak, report = verify(tool, *paths)
            whole, _, whole_report = verify(tool, *paths, "--whole")
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
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
