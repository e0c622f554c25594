# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Measures the machine that PyTorch's ranks run on, and writes it as a target.

    torchrun --nproc-per-node=8 -m commute.calibrate

`commute calibrate` measures Commute's own kernels; this measures PyTorch's, and the
collectives of torch.distributed.
"""

from commute.calibrate.check import Check, check_target
from commute.calibrate.machine import Machine
from commute.calibrate.target import calibrate, local_target_path

__all__ = ["Check", "Machine", "calibrate", "check_target", "local_target_path"]
