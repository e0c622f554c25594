#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Captures a Llama of `transformers`, optimizes it and runs the result: `make demo`.

First two layers of Llama 8B, built from a configuration without weights, at the prefill
of 8192 tokens for eight ranks: `python -m commute.capture`, `commute opt` with its proof
and its report, and what `commute estimate` says before and after. Then a small model with
weights: PyTorch loads the original and the optimized archives and runs them on two
processes, and `commute run` does the same. Exits with 1 unless the programs are proven
equal and the results of all ranks agree.

Everything that the demo writes stays in build/demo, and every command that it prints can
be repeated as printed, from the root of the repository.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

# What the libraries below say of themselves is not the demo's business.
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "python"))
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

CONFIGURATION = REPOSITORY / "examples" / "llama_8b.json"
RANKS, TOKENS, LAYERS = 8, 8192, 2
SMALL_RANKS = 2
SMALL = dict(hidden=256, heads=8, kv_heads=4, ffn=512, vocabulary=512, sequence=64, positions=64)


def relative(path):
    """As a user in the root of the repository would write it."""
    path = Path(path)
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)


def run(command, quiet=False, **environment):
    """Runs a command that is printed as it can be repeated."""
    words = [relative(word) if isinstance(word, Path) else str(word) for word in command]
    settings = [f"{name}={value}" for name, value in environment.items()]
    print(f"$ {' '.join(settings + [shlex.quote(word) for word in words])}", flush=True)
    started = time.monotonic()
    process = subprocess.run(
        words,
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if process.returncode != 0:
        print(process.stdout + process.stderr, file=sys.stderr)
        sys.exit(f"demo: this command failed with exit code {process.returncode}")
    if not quiet:
        print(f"  {time.monotonic() - started:.1f} s")
    return process.stdout


def heading(text):
    print(f"\n== {text}", flush=True)


class Demo:
    def __init__(self, tool, folder):
        self.tool = tool
        self.folder = folder
        # The module lies beside the tool, in the same build folder.
        self.package = relative(tool.parents[1] / "python")

    def optimize(self, source, target, *options):
        """What `commute opt` prints."""
        output = run([self.tool, "opt", source, "-o", target, *options])
        if "\nproof: equivalent" not in output:
            sys.exit("demo: the proof failed")
        return output

    def estimate(self, source):
        return json.loads(run([self.tool, "estimate", source, "--json"], quiet=True))

    def llama(self):
        """Captures and optimizes the large model; returns both estimates."""
        heading(
            f"{LAYERS} layers of Llama 8B from a configuration of transformers, "
            f"{TOKENS} tokens, {RANKS} tensor-parallel ranks"
        )
        source, target = self.folder / "llama", self.folder / "llama_optimized"
        capture = [Path(sys.executable), "-m", "commute.capture"]
        capture += [f"transformers:{relative(CONFIGURATION)}", "--tp", RANKS, "--seq", TOKENS]
        capture += ["--layers", LAYERS, "--head", "LlamaModel", "-o", source]
        run(capture, PYTHONPATH=self.package)
        heading("Commute optimizes all ranks' programs, and proves the result")
        report = self.folder / "report.html"
        output = self.optimize(source, target, f"--report={relative(report)}")
        for line in output.splitlines():
            # One sentence for the whole program; the report has the details.
            if "sequence parallelism along" in line or line.startswith("proof:"):
                print(f"  {line.strip()}")
        heading("The predicted step on 8 H100, the default target")
        return self.estimate(source), self.estimate(target)

    def small(self):
        """Whether all results of the small model agree."""
        heading(f"A small model with weights, all collectives fused, on {SMALL_RANKS} processes")
        archives = export_small(self.folder)
        optimized = []
        for archive in archives:
            target = archive.with_name(f"{archive.stem}_optimized.pt2")
            self.optimize(archive, target, "--policy=always")
            optimized.append(target)
        agrees = run_in_pytorch(archives, optimized)
        return self.run_in_commute(archives[0], optimized[0]) and agrees

    def run_in_commute(self, source, target):
        """The same by Commute's own runtime, from the same random inputs."""
        from safetensors_files import read_safetensors

        results = []
        for path in (source, target):
            outputs = path.with_suffix(".safetensors")
            words = ["run", path, f"--ranks={SMALL_RANKS}", f"--outputs={relative(outputs)}"]
            run([self.tool, *words])
            results.append(read_safetensors(outputs))
        before, after = results
        return before.keys() == after.keys() and all(
            [agrees(before[name], after[name], name) for name in before]
        )


def export_small(folder):
    """One archive a rank: the same graph, with the rank's shards of the weights."""
    from tensor_parallel.archive import export_archive
    from tensor_parallel.config import Config

    archives = [folder / f"small_rank{rank}.pt2" for rank in range(SMALL_RANKS)]
    for rank, archive in enumerate(archives):
        config = Config(**SMALL, layers=2, last_logits=True)
        export_archive(archive, "llama_model", config, SMALL_RANKS, rank)
    return archives


def inputs_of(archives):
    from ranks import load

    return [list(load(archive)[0].example_inputs[0]) for archive in archives]


def agrees(old, new, what):
    """Sums in another order round differently; a wrong value is far off."""
    import torch

    distance = ((old - new).norm() / old.norm()).item()
    is_close = old.shape == new.shape and distance < 16 * torch.finfo(old.dtype).eps
    shape = " x ".join(map(str, old.shape))
    print(
        f"  {what} ({shape}, norm {old.norm():.3f}): relative distance {distance:.1e}, "
        f"{'agrees' if is_close else 'DIFFERENT'}"
    )
    return is_close


def run_in_pytorch(archives, optimized):
    """Whether the results of all ranks agree."""
    from commute.torch import register_cpu_fused_ops
    from ranks import run_on_ranks

    inputs = inputs_of(archives)
    results = []
    for paths in (archives, optimized):
        print(f"PyTorch runs {', '.join(path.name for path in paths)}", flush=True)
        results.append(
            run_on_ranks(
                paths,
                SMALL_RANKS,
                weights="archive",
                inputs=inputs,
                prepare=register_cpu_fused_ops,
                timeout=60,
            )
        )
    return all(
        [
            agrees(old, new, f"rank {rank}, output {index}")
            for rank, (before, after) in enumerate(zip(*results, strict=True))
            for index, (old, new) in enumerate(zip(before, after, strict=True))
        ]
    )


def print_table(before, after):
    rows = [
        ("step", "step_seconds", 1e3, "ms"),
        ("exposed communication", "exposed_communication_seconds", 1e3, "ms"),
        ("activation memory", "peak_activation_bytes", 2**-20, "MiB"),
    ]
    print(f"\n  {'predicted on h100x8':<24}{'before':>12}{'after':>14}{'change':>10}")
    for title, key, scale, unit in rows:
        old, new = before[key] * scale, after[key] * scale
        digits = 3 if unit == "ms" else 0
        print(
            f"  {title:<24}{old:>9.{digits}f} {unit:<3}{new:>10.{digits}f} {unit:<3}"
            f"{(new - old) / old:>+10.0%}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commute", type=Path, required=True, help="the tool commute")
    parser.add_argument(
        "--output", type=Path, default=REPOSITORY / "build" / "demo", help="default: build/demo"
    )
    parser.add_argument("--small", action="store_true", help="run only the small model")
    arguments = parser.parse_args()
    tool = arguments.commute.absolute()
    if not tool.is_file():
        parser.error(f"there is no {arguments.commute}; `make build` makes it")

    folder = arguments.output.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    demo = Demo(tool, folder)
    estimates = None if arguments.small else demo.llama()
    if not demo.small():
        print("\ndemo: the optimized program computes something else")
        return 1
    if estimates:
        print_table(*estimates)
        print(f"\nThe report of the optimization: {relative(folder / 'report.html')}")
    print("The optimized program is proven equal, runs in PyTorch, and agrees on every rank.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
