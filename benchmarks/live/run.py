# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute's micro-pipeline pass on live graphs, against PyTorch's in the same process.

    python benchmarks/live/run.py --build build/dist [--layers 8 32] [--compile 4] [--profile 8]

Both passes change a fresh copy of the same post-grad graph, of the forward and the backward
of layers under sequence parallelism, and the joint graph of both. Commute's runs from one
fx.Graph to the other, without the proof and with it. Bars: without the proof, for each
collective that it fuses, at most the time that PyTorch's pass takes for one; with the proof,
and the choice among passes, 1 % of the time of torch.compile. Graphs of 80 layers
(--layers 80) take minutes to capture.
"""

import argparse
import cProfile
import gc
import json
import logging
import pstats
import statistics
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--build", default="build/dist")
parser.add_argument("--layers", type=int, nargs="*", default=[8, 32])
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument(
    "--compile", type=int, default=4, help="layers whose compilation is measured, or 0"
)
parser.add_argument("--profile", type=int, help="profile graphs of so many layers instead")
parser.add_argument("--json", action="store_true")
options = parser.parse_args()
TESTS = Path(__file__).resolve().parents[2] / "python" / "tests"
sys.path[:0] = [str(Path(options.build).resolve() / "python"), str(TESTS)]

import torch.distributed as dist  # noqa: E402
from captured import SIZE, capture, copy_of, share_of_compilation  # noqa: E402
from record import record  # noqa: E402
from torch._inductor.fx_passes.micro_pipeline_tp import micro_pipeline_tp_pass  # noqa: E402
from torch._inductor.fx_passes.post_grad import view_to_reshape  # noqa: E402
from torch.distributed._symmetric_memory import _test_mode  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

import commute.torch  # noqa: E402


def prepare(module, needs_reshape):
    graph = copy_of(module)
    if needs_reshape:
        view_to_reshape(graph)
    return graph


def fused(module):
    return sum("symm_mem.fused" in str(node.target) for node in module.graph.nodes)


def measure(module, function, rounds):
    """The median of the seconds that a pass takes, and how many collectives it fuses."""
    seconds = []
    for _ in range(rounds):
        changed = prepare(module, needs_reshape=True)
        gc.collect()
        begin = time.process_time()
        function(changed.graph)
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds), fused(changed)


def incumbent(graph):
    with _test_mode():
        micro_pipeline_tp_pass(graph)


def ours(verify):
    def function(graph):
        commute.torch.micro_pipeline_tp_pass(graph, policy="always", verify=verify, fatal=True)

    return function


def in_group(function):
    dist.init_process_group(backend="fake", world_size=SIZE, rank=0, store=FakeStore())
    try:
        return function()
    finally:
        dist.destroy_process_group()


def compare(module, rounds):
    # The module commute._commute is loaded once.
    measure(module, ours(False), 1)
    theirs, fused_by_theirs = measure(module, incumbent, rounds)
    plain, fused_by_ours = measure(module, ours(False), rounds)
    proven, _ = measure(module, ours(True), max(1, rounds // 2))
    return {
        "nodes": len(module.graph.nodes),
        "pytorch_ms": 1000 * theirs,
        "commute_ms": 1000 * plain,
        "proof_ms": 1000 * (proven - plain),
        "fused_by_pytorch": fused_by_theirs,
        "fused_by_commute": fused_by_ours,
        "pytorch_ms_per_fused": 1000 * theirs / max(fused_by_theirs, 1),
        "commute_ms_per_fused": 1000 * plain / max(fused_by_ours, 1),
    }


def print_profile(module):
    for verify in (False, True):
        changed = prepare(module, needs_reshape=True)
        profile = cProfile.Profile()
        profile.runcall(ours(verify), changed.graph)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def main():
    logging.getLogger("torch").setLevel(logging.ERROR)
    # PyTorch's pass gives up where NCCL is not built in, which it does not use here.
    dist.is_nccl_available = lambda: True
    if options.profile:
        graphs = capture(options.profile)
        in_group(lambda: print_profile(graphs["backward"]))
        return
    results = {}
    for layers in options.layers:
        for name, module in capture(layers).items():
            row = in_group(lambda module=module: compare(module, options.rounds))
            results[f"{name}, {layers} layers"] = row
            if not options.json:
                print(
                    f"{name:8} {layers:3} layers {row['nodes']:6} nodes:"
                    f" PyTorch {row['pytorch_ms']:7.1f} ms ({row['fused_by_pytorch']} fused),"
                    f" Commute {row['commute_ms']:7.1f} ms ({row['fused_by_commute']} fused),"
                    f" proof {row['proof_ms']:8.1f} ms;"
                    f" for each fused one {row['pytorch_ms_per_fused']:.2f} and"
                    f" {row['commute_ms_per_fused']:.2f} ms",
                    flush=True,
                )
    if options.compile:
        seconds, whole = share_of_compilation(options.compile, ours(True))
        results[f"torch.compile, {options.compile} layers"] = {"pass_s": seconds, "whole_s": whole}
        if not options.json:
            print(
                f"torch.compile, {options.compile} layers: {whole:.1f} s, of which the pass"
                f" with its proof {seconds:.2f} s ({100 * seconds / whole:.1f} %)"
            )
    record(results, options.layers)
    if options.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
