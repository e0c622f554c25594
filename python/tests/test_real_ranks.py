# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""commute.torch.check in the processes of real ranks."""

import subprocess
import sys
from pathlib import Path

import pytest

from commute_tool import BUILD

pytestmark = pytest.mark.in_process

SCRIPT = """
import sys
import torch
import torch.distributed as dist
import commute.torch

class Mlp(torch.nn.Module):
    def __init__(self, world=1, reduces=True):
        super().__init__()
        self.up = torch.nn.Linear(6, 8 // world, bias=False)
        self.down = torch.nn.Linear(8 // world, 6, bias=False)
        self.world, self.reduces = world, reduces

    def forward(self, x):
        y = self.down(torch.relu(self.up(x)))
        if self.world > 1 and self.reduces:
            dist.all_reduce(y)
        return y

dist.init_process_group("gloo")
parallel = Mlp(dist.get_world_size(), reduces="fault" not in sys.argv)
result = commute.torch.check(Mlp(), parallel, (torch.ones(4, 6),))
print(f"rank {dist.get_rank()}: {result.verdict}", flush=True)
dist.destroy_process_group()
sys.exit(0 if result else 1)
"""


@pytest.mark.parametrize(("fault", "verdict"), [([], "refines"), (["fault"], "does not refine")])
def test_ranks_of_torchrun(tmp_path, fault, verdict):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone",
         str(script), *fault],
        capture_output=True, text=True, cwd=Path(__file__).parent,
        env={"PYTHONPATH": str(BUILD / "python"), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == (1 if fault else 0), run.stderr
    assert f"rank 0: {verdict}" in run.stdout and f"rank 1: {verdict}" in run.stdout
