# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`micro-pipeline` against PyTorch Inductor's pass, on the same graphs.

Llama blocks of Llama-8B's shape with rows sharded between the products, exported
for 8 ranks without weights and decomposed to core ATen: along dim 0 ([sequence,
batch, hidden]), where PyTorch's patterns fit, and along dim 1 of one batch, where
its own lowering of the collectives writes a view that they do not know. PyTorch's
`micro_pipeline_tp_pass` runs on the exported graph in its test mode (as if all
groups had symmetric memory), after the views are made reshapes, as Inductor does
before it. Commute runs `normalize-collectives,micro-pipeline{policy=upstream}` on
what it reads from the same archive. Times are of the passes alone, without checks of
the graph before or behind them, on copies of the graph in one process, and both take
the least of several runs. Bar: 100 times as fast, and no fewer collectives fused; of the
second graphs PyTorch fuses half.

    benchmarks/passes/run.py --build build/release
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from claims import Claim  # noqa: E402

EXPORT = REPOSITORY / "examples" / "export.py"
BAR = 100
LAYERS = (2, 8, 32)
LAYOUTS = {"dim 0": ("sequence_first", 2), "dim 1, one batch": ("batch_first", 1)}
PASSES = "normalize-collectives,micro-pipeline{policy=upstream}"

# In a process of its own: it changes what PyTorch believes of its groups.
UPSTREAM = """
import copy, sys, time
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch._inductor.fx_passes import micro_pipeline_tp

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
dist.is_nccl_available = lambda: True
program = torch.export.load(sys.argv[1])
graph = program.graph_module.graph
aten = torch.ops.aten
for node in graph.nodes:
    if node.target in (aten.view.default, aten._unsafe_view.default):
        node.target = aten.reshape.default
seconds = []
for _ in range(int(sys.argv[2])):
    rewritten = copy.deepcopy(program.graph_module).graph
    with symmetric_memory._test_mode():
        begin = time.perf_counter()
        micro_pipeline_tp.micro_pipeline_tp_pass(rewritten)
        seconds.append(time.perf_counter() - begin)
fused = sum("symm_mem" in str(node.target) for node in rewritten.nodes)
print(min(seconds), fused, len(graph.nodes))
"""


def run(*command):
    process = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if process.returncode != 0:
        sys.exit(f"{process.stderr}\n{command[0]} failed with exit code {process.returncode}")
    return process.stdout


def export(path, layers, layout, batch):
    options = ["--model=llama_sequence_parallel", "--shape=llama-8b", "--tp=8", "--no-weights"]
    options += [f"--layers={layers}", f"--layout={layout}", f"--batch={batch}"]
    options += ["--sequence=4096", "--dtype=bfloat16", "--aten=default", "-o", path]
    run(sys.executable, EXPORT, *options)


def run_upstream(path, repeat):
    seconds, fused, nodes = run(sys.executable, "-c", UPSTREAM, path, repeat).split()[-3:]
    return float(seconds), int(fused), int(nodes)


def copy_function(module, count):
    """Makes `count` functions of the one of a module: MLIR's clock counts in 0.1 ms."""
    text = module.read_text()
    begin = text.rindex("\n", 0, text.index("func.func @main")) + 1
    end = begin + re.search(r"^  \} loc\(#loc\d*\)\n", text[begin:], re.MULTILINE).end()
    copies = (text[begin:end].replace("@main", f"@main{index}", 1) for index in range(count))
    module.write_text(text[:begin] + "".join(copies) + text[end:])


def run_ours(build, path, module, repeat, copies):
    """Seconds of the passes as MLIR counts them, and fused ops."""
    run(
        build / "bin" / "commute",
        "opt",
        path,
        "-o",
        module,
        "--quiet",
        "--passes=contiguous-collectives",
    )
    copy_function(module, copies)
    functions = f"builtin.module(func.func({PASSES}))"
    best, fused = float("inf"), 0
    for _ in range(repeat):
        process = subprocess.run(
            [build / "bin" / "commute-opt", module, f"--pass-pipeline={functions}", "--mlir-timing"]
            + ["--mlir-disable-threading", "--mlir-timing-display=list", "--verify-each=false"],
            capture_output=True,
            text=True,
            check=True,
        )
        names = ("NormalizeCollectives", "MicroPipeline")
        found = [re.search(rf"([0-9.]+) +\(.*{name}", process.stderr) for name in names]
        best = min(best, sum(float(match.group(1)) for match in found))
        fused = len(re.findall("tp.(?:all_gather_matmul|matmul_reduce_scatter) ", process.stdout))
    return best / copies, fused // copies


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    print("| gathered along | layers | nodes | PyTorch: ms | fused | Commute: ms | fused | ratio |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    is_met = {}
    claim, ratios = Claim("passes"), []
    with tempfile.TemporaryDirectory() as folder:
        archive, module = Path(folder) / "model.pt2", Path(folder) / "model.mlir"
        for name, (layout, batch) in LAYOUTS.items():
            for layers in LAYERS:
                export(archive, layers, layout, batch)
                theirs, their_fused, nodes = run_upstream(archive, arguments.repeat)
                # As many nodes in all, whatever the number of layers.
                copies = 4 * max(LAYERS) // layers
                ours, our_fused = run_ours(
                    arguments.build, archive, module, arguments.repeat, copies
                )
                ratio = theirs / max(ours, 1e-6)
                holds = ratio >= BAR and our_fused >= their_fused
                is_met[name] = is_met.get(name, True) and holds
                if our_fused == their_fused:
                    ratios.append(ratio)
                claim.record(
                    f"{name}, {layers} layers",
                    f"{ratio:.0f} times: {ours * 1e3:.3f} ms for {theirs * 1e3:.1f} ms;"
                    f" {our_fused} fused, {their_fused} by PyTorch",
                    f"{BAR} times" + ("" if holds else ": missed"),
                )
                print(
                    f"| {name} | {layers} | {nodes} | {theirs * 1e3:.1f} | {their_fused} "
                    f"| {ours * 1e3:.3f} | {our_fused} | {ratio:.0f} |",
                    flush=True,
                )
    claim.content["numbers"] = {"least": round(min(ratios)), "most": round(max(ratios))}
    claim.save()
    for name, holds in is_met.items():
        verdict = "met" if holds else "not met"
        print(f"bar ({BAR} times as fast, no fewer fused), {name}: {verdict}")
    return 0 if all(is_met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
