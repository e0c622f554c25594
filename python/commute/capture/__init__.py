# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Captures parallel models as archives, without GPUs, weights or other processes.

From the command line:

    python -m commute.capture transformers:config.json --tp 8 --seq 4096 -o DIR
"""

from commute.capture.errors import CaptureError
from commute.capture.model import capture
from commute.capture.ranks import fake_mesh
from commute.capture.results import Capture, CapturedProgram

__all__ = ["Capture", "CaptureError", "CapturedProgram", "capture", "fake_mesh"]
