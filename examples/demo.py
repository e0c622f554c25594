#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Optimizes a real PyTorch graph and runs it: what `make demo` does.

A Llama block is exported for two ranks, each with weights of its own. `commute
opt` rewrites both graphs; PyTorch then loads the originals and the results and
runs them on two processes. Exits with 1 unless all results are equal, bit by
bit.
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
sys.path.insert(0, str(REPOSITORY / "python" / "tests"))

MODEL = "llama_transposed_gather"
RANKS = 2
SIZES = dict(hidden=256, heads=8, kv_heads=4, ffn=512, sequence=64, positions=64, layers=2)


def heading(text):
    print(f"\n== {text}", flush=True)


def run_commute(tool, *arguments):
    command = [str(tool), *map(str, arguments)]
    shown = [Path(part).name if part.endswith(".pt2") else part for part in command[1:]]
    print(f"$ commute {' '.join(shown)}", flush=True)
    process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if process.returncode != 0:
        sys.exit(f"{process.stderr}demo: commute failed with exit code {process.returncode}")
    return process.stdout


def export(folder):
    """One archive a rank: the same graph, with the rank's shards of the weights."""
    from tensor_parallel.archive import export_archive
    from tensor_parallel.config import Config

    archives = [folder / f"rank{rank}.pt2" for rank in range(RANKS)]
    for rank, archive in enumerate(archives):
        export_archive(archive, MODEL, Config(**SIZES), RANKS, rank)
        print(f"{archive.name}: {archive.stat().st_size / 2**20:.1f} MiB")
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
        print(f"  {collective['kind']:15}{collective['node']:27}{collective['type']}")


def source_line(remark):
    path = REPOSITORY / remark["file"]
    if not path.is_file():
        return ""
    return path.read_text().splitlines()[remark["line"] - 1].strip()


VERDICTS = {"applied": "changed", "refused": "refused", "noted": "left"}


def run_opt(tool, archive, name, *options):
    """The optimized archive, and what was done."""
    target = archive.with_name(f"{name}.pt2")
    text = run_commute(tool, "opt", archive, "-o", target, "--json", *options)
    return target, json.loads(text)


def optimize(tool, archives):
    """Optimizes every rank's archive; says what was done to the first."""
    first, summary = run_opt(tool, archives[0], "rank0_optimized")
    for remark in summary["remarks"]:
        print(f"  {VERDICTS[remark['verdict']]:9}{remark['node']}: {remark['message']}")
        print(f"           {remark['file']}:{remark['line']}: {source_line(remark)}")
    copies = summary["nodes_after"] - summary["nodes_before"]
    print(f"  {copies} copies make the inputs of all collectives dense")

    rule = "--passes=contiguous-collectives{upstream-rule=true}"
    _, upstream = run_opt(tool, archives[0], "rank0_upstream", rule)
    others = upstream["nodes_after"] - upstream["nodes_before"]
    print(f"  a rule that does not look at strides makes {others}")
    rest = [run_opt(tool, path, f"{path.stem}_optimized")[0] for path in archives[1:]]
    return [first, *rest]


def inputs_of(archives):
    from ranks import load

    return [list(load(archive)[0].example_inputs[0]) for archive in archives]


def compare(archives, optimized):
    """Whether all outputs of all ranks are the same bits."""
    from loaded_programs import same_tensor
    from ranks import run_on_ranks

    inputs = inputs_of(archives)
    results = []
    for paths in (archives, optimized):
        print(f"running {', '.join(path.name for path in paths)}", flush=True)
        results.append(run_on_ranks(paths, RANKS, weights="archive", inputs=inputs, timeout=60))
    all_equal = True
    for rank, (before, after) in enumerate(zip(*results, strict=True)):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            equal = same_tensor(old, new)
            all_equal &= equal
            verdict = "equal bit by bit" if equal else "DIFFERENT"
            shape = " x ".join(map(str, old.shape))
            print(f"  rank {rank}, output {index} ({shape}, norm {old.norm():.3f}): {verdict}")
    return all_equal


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commute", type=Path, required=True, help="the tool commute")
    tool = parser.parse_args().commute.resolve()
    if not tool.is_file():
        parser.error(f"there is no {tool}; `make build` makes it")

    with tempfile.TemporaryDirectory(prefix="commute-demo-") as folder:
        heading(f"PyTorch exports {SIZES['layers']} Llama blocks for {RANKS} tensor-parallel ranks")
        archives = export(Path(folder))
        heading("What is in the graph")
        show(tool, archives[0])
        heading("Commute optimizes it")
        optimized = optimize(tool, archives)
        heading("PyTorch loads and runs both")
        if not compare(archives, optimized):
            print("\ndemo: the optimized program computes something else")
            return 1
    print("\nThe optimized program computes the same, and its collectives get dense memory.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
