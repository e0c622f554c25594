#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Optimizes a real PyTorch graph and runs it: what `make demo` does.

First a Llama-8B-shaped model of two blocks at the prefill of 8192 tokens, for
eight ranks: `commute opt` with the default policy and target, its proof, and
what `commute estimate` says before and after. Then the same model, small, with
weights: PyTorch loads the originals and the results and runs them on two
processes. Exits with 1 unless the graphs are proven equal and the results of
all ranks agree.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# What the libraries below say of themselves is not the demo's business.
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "python"))
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

TARGET = "h100x8"  # the default, said for the estimates' sake
MODEL = "llama_model"
LAYERS = 2
RANKS, PREFILL, DECODE = 8, 8192, 8
SMALL_RANKS = 2
SMALL = dict(hidden=256, heads=8, kv_heads=4, ffn=512, vocabulary=512, sequence=64, positions=64)


def heading(text):
    print(f"\n== {text}", flush=True)


def run_commute(tool, *arguments):
    command = [str(tool), *map(str, arguments)]
    shown = [Path(part).name if part.endswith(".pt2") else part for part in command[1:]]
    print(f"$ commute {' '.join(shown)}", flush=True)
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if process.returncode != 0:
        sys.exit(f"{process.stderr}demo: commute failed with exit code {process.returncode}")
    return process.stdout


def export_large(archive, tokens):
    """The graph that matters, without the weights, which are gigabytes."""
    import torch

    from tensor_parallel.archive import export_archive
    from tensor_parallel.config import SHAPES, Config

    shape = {**SHAPES["llama-8b"], "layers": LAYERS}
    config = Config(
        **shape,
        batch=1,
        sequence=tokens,
        positions=PREFILL,
        dtype=torch.bfloat16,
        last_logits=True,
    )
    export_archive(archive, MODEL, config, RANKS, 0, weights=False)


def export_small(folder):
    """One archive a rank: the same graph, with the rank's shards of the weights."""
    from tensor_parallel.archive import export_archive
    from tensor_parallel.config import Config

    archives = [folder / f"rank{rank}.pt2" for rank in range(SMALL_RANKS)]
    for rank, archive in enumerate(archives):
        config = Config(**SMALL, layers=LAYERS, last_logits=True)
        export_archive(archive, MODEL, config, SMALL_RANKS, rank)
    return archives


def show(tool, archive):
    summary = json.loads(run_commute(tool, "show", archive, "--json"))
    modelled, opaque = sum(summary["modelled"].values()), sum(summary["opaque"].values())
    print(
        f"{summary['nodes']} nodes, written by PyTorch {summary['torch_version']}: "
        f"{modelled} ops understood, {opaque} carried through as they are"
    )
    for name, members in summary["groups"].items():
        print(f"process group {name}: ranks {members}")
    for collective in summary["collectives"]:
        print(f"  {collective['kind']:23}{collective['node']:33}{collective['type']}")


def source_line(remark):
    path = REPOSITORY / remark["file"]
    if not path.is_file():
        return ""
    return path.read_text().splitlines()[remark["line"] - 1].strip()


VERDICTS = {"applied": "changed", "refused": "refused", "noted": "left"}
TOLD = ("sequence-parallel", "micro-pipeline")


def optimize(tool, archive, *options):
    """The optimized archive, and what was done."""
    target = archive.with_name(f"{archive.stem}_optimized.pt2")
    return target, json.loads(run_commute(tool, "opt", archive, "-o", target, "--json", *options))


def tell(summary):
    for remark in summary["remarks"]:
        if remark["pass"] not in TOLD:
            continue
        print(f"  {VERDICTS[remark['verdict']]:9}{remark['node']}: {remark['message']}")
        print(f"           {remark['file']}:{remark['line']}: {source_line(remark)}")


def verdict_of(summary):
    proof = summary["verification"]
    if not proof["equivalent"]:
        sys.exit("demo: the proof failed")
    print(f"  proof: the two graphs compute the same on each of {proof['ranks']} ranks")


def estimate(tool, archive):
    found = json.loads(run_commute(tool, "estimate", archive, f"--target={TARGET}", "--json"))
    print(
        f"  one step {found['step_seconds'] * 1e3:.3f} ms, of which communication that nothing hides "
        f"{found['exposed_communication_seconds'] * 1e3:.3f} ms; "
        f"activations at most {found['peak_activation_bytes'] / 2**20:.0f} MiB"
    )
    return found


def optimize_large(tool, folder):
    heading(
        f"PyTorch exports {LAYERS} blocks of Llama-8B's shape, bfloat16, "
        f"for {RANKS} tensor-parallel ranks"
    )
    prefill, decode = folder / "prefill.pt2", folder / "decode.pt2"
    export_large(prefill, PREFILL)
    export_large(decode, DECODE)
    print(f"prefill of {PREFILL} tokens, and {DECODE} tokens at once, as in decoding")
    heading("What is in the graph")
    show(tool, prefill)
    heading(f"Commute optimizes it: --policy=profitable --target={TARGET}, the defaults")
    before = estimate(tool, prefill)
    optimized, summary = optimize(tool, prefill)
    tell(summary)
    verdict_of(summary)
    after = estimate(tool, optimized)
    saved = 1 - after["step_seconds"] / before["step_seconds"]
    memory = 1 - after["peak_activation_bytes"] / before["peak_activation_bytes"]
    print(f"  saved: {saved:.0%} of the step, {memory:.0%} of the activations' memory")
    heading("A few tokens at a time: the same rewrite would cost more than it saves")
    _, summary = optimize(tool, decode)
    tell(summary)
    if not summary["unchanged"]:
        sys.exit("demo: a graph was changed that should be left alone")
    print("  the graph is unchanged")


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
        print(f"running {', '.join(path.name for path in paths)}", flush=True)
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


def run_in_commute(tool, archives, optimized):
    """The same by Commute's own runtime, from the same random inputs."""
    from safetensors_files import read_safetensors

    results = []
    for path in (archives[0], optimized[0]):
        outputs = path.with_suffix(".safetensors")
        run_commute(tool, "run", path, f"--ranks={SMALL_RANKS}", f"--outputs={outputs}")
        results.append(read_safetensors(outputs))
    before, after = results
    return before.keys() == after.keys() and all(
        [agrees(before[name], after[name], name) for name in before]
    )


def run_small(tool, folder):
    """Whether all results agree."""
    heading(f"The same model, small, on {SMALL_RANKS} processes of PyTorch: all fused")
    archives = export_small(folder)
    optimized = []
    for archive in archives:
        target, summary = optimize(tool, archive, "--policy=always")
        verdict_of(summary)
        optimized.append(target)
    show(tool, optimized[0])
    all_agree = run_in_pytorch(archives, optimized)
    heading("And by Commute's own runtime, pipelined")
    return run_in_commute(tool, archives, optimized) and all_agree


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commute", type=Path, required=True, help="the tool commute")
    tool = parser.parse_args().commute.resolve()
    if not tool.is_file():
        parser.error(f"there is no {tool}; `make build` makes it")

    with tempfile.TemporaryDirectory(prefix="commute-demo-") as folder:
        optimize_large(tool, Path(folder))
        if not run_small(tool, Path(folder)):
            print("\ndemo: the optimized program computes something else")
            return 1
    print("\nThe optimized program is proven equal, runs in PyTorch, and agrees on every rank.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
