# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Models of real sizes, from a configuration of `transformers` to the proven result.

Captures Llamas without weights for tensor parallelism on 8 ranks, and optimizes the programs
of all ranks with the proof: the predicted step before and after, and the processor time and
peak memory of `commute opt`.

    benchmarks/real_sizes/run.py --build build/dist
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

from claims import Claim  # noqa: E402

RANKS = 8
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
# Name, tokens, and what a configuration adds.
MODELS = (
    ("8B shapes", 8192, dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                             num_hidden_layers=32)),
    ("70B shapes", 4096, dict(hidden_size=8192, intermediate_size=28672, num_attention_heads=64,
                              num_hidden_layers=80)),
)  # fmt: skip

# In a small process: a child starts with the memory of the one it is forked of.
MEASURE = """
import resource, subprocess, sys
process = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
print(process.stdout.decode())
"""


def capture(build, configuration, tokens, folder):
    path = folder / "config.json"
    path.write_text(json.dumps(configuration))
    command = [sys.executable, "-m", "commute.capture", f"transformers:{path}", "--tp", str(RANKS)]
    command += ["--seq", str(tokens), "-o", str(folder / "programs")]
    environment = {**os.environ, "PYTHONPATH": str(build / "python")}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder / "programs"


def optimize(build, programs, folder):
    """Returns seconds, bytes, and what `commute opt --json` says."""
    command = [build / "bin" / "commute", "opt", programs, "-o", folder / "optimized", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, command)],
        capture_output=True,
        text=True,
        check=True,
    )
    figures, _, printed = done.stdout.partition("\n")
    code, seconds, memory = figures.split()
    if code != "0":
        sys.exit(f"commute opt failed with exit code {code}: {done.stderr}")
    return float(seconds), int(memory), json.loads(printed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "dist")
    build = parser.parse_args().build.resolve()
    claim = Claim("real_sizes")
    for name, tokens, sizes in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            programs = capture(build, {**LLAMA, **sizes}, tokens, Path(folder))
            seconds, memory, report = optimize(build, programs, Path(folder))
        if report["verification"]["verdict"] != "equivalent":
            sys.exit(f"{name}: {report['verification']['verdict']}")
        before, after = (report["step"][when]["step_seconds"] * 1e3 for when in ("before", "after"))
        what = f"{name}, {sizes['num_hidden_layers']} layers, {tokens} tokens"
        print(
            f"{what}: {before:.1f} -> {after:.1f} ms,"
            f" opt and proof {seconds:.1f} s, {memory >> 20} MiB",
            flush=True,
        )
        claim.record(f"{what}: step", f"{before:.1f} -> {after:.1f} ms")
        claim.record(f"{what}: `opt` and proof", f"{seconds:.1f} s, {memory >> 20} MiB")
        if name == "70B shapes":
            claim.content["numbers"] = {
                "before_ms": round(before, 1), "after_ms": round(after, 1), "seconds": round(seconds, 1),
            }  # fmt: skip
    claim.save()
    return 0


if __name__ == "__main__":
    sys.exit(main())
