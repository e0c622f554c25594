# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""benchmarks/gpu/run.sh on the CPU, with gloo alone: what it writes, and how parts fail."""

import json
import os
import subprocess
import sys

from torch._inductor.runtime.cache_dir_utils import default_cache_dir

from commute_tool import BUILD, REPOSITORY


def _run(folder, *parts):
    environment = dict(
        os.environ,
        OUT=str(folder),
        PYTHON=sys.executable,
        COMMUTE_BUILD=str(BUILD),
        OMP_NUM_THREADS="1",
        # PyTorch's headers, once compiled, are there.
        TORCHINDUCTOR_CACHE_DIR=default_cache_dir(),
    )
    done = subprocess.run(
        [REPOSITORY / "benchmarks/gpu/run.sh", "--cpu", *parts],
        env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    written = list(folder.glob("*.json"))
    assert len(written) == 1, done.stdout + done.stderr
    return done, json.loads(written[0].read_text(encoding="utf-8"))


def test_parts(tmp_path):
    done, results = _run(
        tmp_path, "layers-2:own_rows.float32", "layers-4:no_such_case", "operators:launches"
    )
    assert results["device"] == results["machine"]["device"]
    assert results["layers-2"]["end"] == results["operators"]["end"] == "done"
    steps = results["layers-2"]["steps"]
    always = steps["own_rows.float32.commute_always"]
    assert always["is_right"]
    assert always["operators"]["symm_mem::fused_matmul_reduce_scatter"] == 1
    assert steps["own_rows.float32.eager"]["operators"]["_c10d_functional::all_reduce"] == 1
    assert all(row["seconds"] > 0 for row in results["operators"]["launches"])
    # A part that fails costs itself alone.
    assert done.returncode == 1
    assert results["layers-4"]["end"].startswith("failed with status 2\n")
    assert "there is no case no_such_case" in results["layers-4"]["end"]
    assert "not as it should be: layers-4\n" in done.stdout


def test_steps_of_ranks_that_stop(tmp_path):
    """Processes that end or stop in a step leave the other steps to new processes."""
    script = tmp_path / "steps.py"
    script.write_text(
        """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import ranks_on_one_device
from measuring import Results

def worker(mesh):
    def step(name):
        rank = mesh.get_local_rank()
        if name == "a.dies" and rank == 1:
            os._exit(3)
        if name.endswith(".stops"):
            time.sleep(1000)
        if name == "b.fails" and rank == 1:
            raise ValueError("rank 1 fails")
        return {"value": name}
    return step

if __name__ == "__main__":
    ranks_on_one_device.STALL_SECONDS = 8
    names = ["a.runs", "a.dies", "b.fails", "b.stops", "c.stops", "c.runs"]
    ranks_on_one_device.run_steps(worker, names, 2, Results(sys.argv[2]))
""",
        encoding="utf-8",
    )
    output = tmp_path / "steps.json"
    subprocess.run(
        [sys.executable, script, REPOSITORY / "benchmarks/gpu", output],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, check=True, timeout=300,
    )  # fmt: skip
    steps = json.loads(output.read_text(encoding="utf-8"))["steps"]
    assert steps["a.runs"]["value"] == "a.runs" and steps["c.runs"]["value"] == "c.runs"
    assert "exit code 3" in steps["a.dies"]["error"]
    assert steps["b.fails"]["error"] == "on rank 1: ValueError: rank 1 fails"
    assert steps["b.stops"]["error"] == "no progress in 8 s"
    assert steps["c.stops"]["error"] == "not run: stops made no progress before"
