# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""How long `commute verify --reference` takes on deep models and many ranks.

Checks decoders of Llama's shapes on a mesh of data and tensor parallelism against the same
decoder on one device, on one core; and forward and backward of a model of transformers, with
its loss, as `commute.capture` writes them. Prints processor time and memory against the bars,
and the growth with layers and with ranks.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from parallel_llama import LLAMA_8B, LLAMA_70B, LLAMA_405B, write

REPOSITORY = Path(__file__).resolve().parents[2]

# Name, shape, layers, tp, dp, seconds, bytes.
BARS = (
    ("Llama-70B, TP8", LLAMA_70B, 80, 8, 1, 5.0, 2**30),
    ("Llama-405B, TP8 x DP2", LLAMA_405B, 126, 8, 2, 15.0, 4 * 2**30),
)
# Layers and ranks of forward and backward of Llama-8B, and seconds.
TRAINING_BAR = (32, 2, 15.0)
LAYERS = (10, 20, 40, 80)
LAYERS_OF_TRAINING = (1, 4, 8)
CONFIGURATION = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
}
TOKENS = 4096
RANKS = ((2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 8))

# In a small process: a child starts with the memory of the one it is forked of.
MEASURE = """
import resource, subprocess, sys
process = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
print(process.stdout.decode())
"""


def measure(tool, arguments):
    """Seconds of processor time and peak bytes of one proof, on one core."""
    command = [sys.executable, "-S", "-c", MEASURE, str(tool), *arguments, "--json"]
    process = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    )
    first, _, report = process.stdout.partition("\n")
    code, seconds, memory = first.split()
    assert code == "0", report
    assert json.loads(report)["verdict"] == "refines"
    return float(seconds), int(memory)


def measure_forward(tool, folder, shape, layers, tp, dp):
    return measure(tool, write(folder, shape, layers, batch=2 * dp, tp=tp, dp=dp))


def measure_training(tool, folder, layers, tp):
    configuration = Path(folder, "config.json")
    configuration.write_text(json.dumps(CONFIGURATION))
    programs = Path(folder, f"training-{layers}-{tp}")
    capture = ["-m", "commute.capture", "--tp", tp, "--seq", TOKENS, "--layers", layers]
    capture += ["--backward", "-o", programs, f"transformers:{configuration}"]
    packages = os.pathsep.join(map(str, (tool.parents[1] / "python", REPOSITORY)))
    subprocess.run(
        list(map(str, [sys.executable, *capture])),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": packages},
        check=True,
    )
    return measure(
        tool,
        [
            "verify",
            f"--reference={programs / 'reference.pt2'}",
            *(str(programs / f"rank{rank}.pt2") for rank in range(tp)),
            f"--relations={programs / 'relations.json'}",
            "--proof-time=10min",
        ],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/dist", help="build folder")
    parser.add_argument("--quick", action="store_true", help="the bars alone")
    arguments = parser.parse_args()
    tool = REPOSITORY / arguments.build / "bin" / "commute"
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        print("model                    ranks  layers      s     bar     MiB     bar")
        for name, shape, layers, tp, dp, most_seconds, most_bytes in BARS:
            seconds, memory = measure_forward(tool, folder, shape, layers, tp, dp)
            print(
                f"{name:24} {tp * dp:5} {layers:7} {seconds:6.2f} {most_seconds:7.2f}"
                f" {memory >> 20:7} {most_bytes >> 20:7}"
            )
            missed += seconds > most_seconds or memory > most_bytes
        layers, tp, most_seconds = TRAINING_BAR
        seconds, memory = measure_training(tool, folder, layers, tp)
        name = "Llama-8B, backward, TP"
        print(
            f"{name + str(tp):24} {tp:5} {layers:7} {seconds:6.2f} {most_seconds:7.2f}"
            f" {memory >> 20:7}"
        )
        missed += seconds > most_seconds
        if not arguments.quick:
            for tp in (2, 8):
                for layers in LAYERS_OF_TRAINING:
                    seconds, memory = measure_training(tool, folder, layers, tp)
                    print(
                        f"{name + str(tp):24} {tp:5} {layers:7} {seconds:6.2f} {'':7}"
                        f" {memory >> 20:7}"
                    )
            for layers in LAYERS:
                seconds, memory = measure_forward(tool, folder, LLAMA_70B, layers, 8, 1)
                print(
                    f"{'Llama-70B, TP8':24} {8:5} {layers:7} {seconds:6.2f} {'':7} {memory >> 20:7}"
                )
            for tp, dp in RANKS:
                seconds, memory = measure_forward(tool, folder, LLAMA_8B, 32, tp, dp)
                name = f"Llama-8B, TP{tp} x DP{dp}"
                print(f"{name:24} {tp * dp:5} {32:7} {seconds:6.2f} {'':7} {memory >> 20:7}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
