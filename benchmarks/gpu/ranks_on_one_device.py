# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Steps that all ranks run together, on processes that share one device.

    run_steps(worker, names, ranks, results)

`worker(mesh)` runs once on every rank and returns a function that runs a step by its name;
what it returns on rank 0 becomes `results[name]`. A step that stops making progress costs
that step alone: its processes are killed, and new ones go on with the rest.
"""

import faulthandler
import os
import tempfile
import time
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
from gloo_on_gpu import stage_collectives
from measuring import DEVICE, IS_GPU, Results, is_error
from torch.distributed.device_mesh import init_device_mesh

# A step compiles for at most this long, and processes start in the other time.
STALL_SECONDS = 60 if IS_GPU else 300
START_SECONDS = 90


def over_ranks(value):
    """The value of each rank, on all ranks."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def run_steps(worker, names, ranks, results):
    # Read when symmetric memory is first used.
    os.environ["TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES"] = "1"
    # The switch between devices has nothing to do within one.
    os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    results["ranks"] = ranks
    left, steps = list(names), {}

    def keep(done):
        results["staged_collectives"] = done.pop(_STAGED, None)
        steps.update(done)
        results["steps"] = steps

    while left:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            failure = _run_processes(worker, left, ranks, folder, keep)
        is_first = left[0] not in steps
        left = [name for name in left if name not in steps]
        if failure is None or not left:
            break
        print(f"{left[0]}: {failure.splitlines()[-1]}", flush=True)
        failed = left.pop(0)
        steps[failed] = {"error": failure}
        if failure.startswith(_STALLED):
            # Other cases would end in the same way, and cost as much time.
            way = failed.rpartition(".")[2]
            for name in [name for name in left if name.endswith("." + way)]:
                steps[name] = {"error": f"not run: {way} made no progress before"}
                left.remove(name)
        results["steps"] = steps
        if is_first:
            # Processes that do not finish one step would do no better on the next.
            break


_STALLED = "no progress"
_STAGED = "staged_collectives"


def _run_processes(worker, names, ranks, folder, keep):
    """None, or why the processes did not run all steps. `keep` gets what they have done."""
    context = torch.multiprocessing.spawn(
        _run_rank, (ranks, folder, worker, names), nprocs=ranks, join=False
    )
    progress = Path(folder, "results.json")
    seen, last = None, time.monotonic()
    try:
        while True:
            is_over = context.join(timeout=0.2)
            now = progress.stat().st_mtime_ns if progress.exists() else None
            if now != seen:
                seen, last = now, time.monotonic()
                keep(Results.read(progress))
            if is_over:
                return None
            limit = START_SECONDS if seen is None else STALL_SECONDS
            if time.monotonic() - last > limit:
                return f"{_STALLED} in {limit} s"
    except (torch.multiprocessing.ProcessRaisedException,
            torch.multiprocessing.ProcessExitedException) as error:  # fmt: skip
        keep(Results.read(progress))
        return str(error).strip()[-2000:]
    finally:
        for process in context.processes:
            if process.is_alive():
                process.kill()
            process.join()


def _run_rank(rank, size, folder, worker, names):
    # Where a process ends in PyTorch's C++ code.
    faulthandler.enable()
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // size))
    if IS_GPU:
        torch.cuda.set_device(0)
        torch.zeros(1, device="cuda")
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=STALL_SECONDS),
    )
    mesh = init_device_mesh(DEVICE, (size,), mesh_dim_names=("tp",))
    results = Results(f"{folder}/results.json" if rank == 0 else f"{folder}/rank{rank}.json")
    results[_STAGED] = stage_collectives() if IS_GPU else []
    run_step = worker(mesh)
    for name in names:
        begin = time.perf_counter()
        try:
            row = run_step(name)
        except Exception as error:
            traceback.print_exc()
            row = {"error": f"{type(error).__name__}: {str(error)[:1500]}"}
        row["seconds_in_all"] = time.perf_counter() - begin
        # An error of any rank is an error of the step.
        errors = {r: e["error"] for r, e in enumerate(over_ranks(row)) if is_error(e)}
        if errors and "error" not in row:
            row["error"] = f"on rank {min(errors)}: {errors[min(errors)]}"
        results[name] = row
        if rank == 0:
            print(
                f"{name}: {row.get('error', 'done')} in {row['seconds_in_all']:.1f} s", flush=True
            )
    dist.barrier()
    # Gloo's threads may outlive the interpreter.
    os._exit(0)
