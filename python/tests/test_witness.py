# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Differences are shown by inputs that `commute run` and PyTorch replay."""

import json
import re
import subprocess
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives

from commute.torch import capture
from commute_tool import commute


def export(function, arguments, path):
    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    torch.export.save(torch.export.export(Module(), arguments), path)
    return path


def find_witness(first, second, folder, *options):
    process = commute("verify", first, second, f"--witness={folder}", "--json", *options)
    assert process.returncode == 1, process.stdout + process.stderr
    return json.loads(process.stdout)["witness"]


def replay(witness):
    """The largest differences that PyTorch finds, and the elements that commute run returns."""
    process = subprocess.run(
        [sys.executable, witness["script"]], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    distances = re.findall(r"largest difference (\S+) of", process.stdout)
    printed = []
    for line in witness["commands"][:2]:
        run = commute(*line.split()[1:])
        assert run.returncode == 0, run.stderr
        printed.append(run.stdout)
    return [float(distance) for distance in distances], printed


def test_floats(tmp_path):
    x = torch.randn(3, 4)
    first = export(lambda x: x * 2 + 1, (x,), tmp_path / "a.pt2")
    second = export(lambda x: x * 2 - 1, (x,), tmp_path / "b.pt2")
    witness = find_witness(first, second, tmp_path / "w")
    distances, printed = replay(witness)
    assert distances == [2.0]
    assert printed[0] != printed[1]
    assert "output 0 on rank 0" in witness["difference"]


def test_integers_of_the_verdict(tmp_path):
    # No drawing of small numbers would meet these.
    ids, x = torch.zeros(4, dtype=torch.int64), torch.randn(4)
    first = export(lambda i, x: torch.where(i == 77123, x, 0), (ids, x), tmp_path / "a.pt2")
    second = export(lambda i, x: torch.where(i == 77124, x, 0), (ids, x), tmp_path / "b.pt2")
    distances, printed = replay(find_witness(first, second, tmp_path / "w"))
    assert max(distances) > 0
    assert printed[0] != printed[1]


def test_ranks(tmp_path):
    def right(x):
        return collectives.all_reduce(x * 2, "sum", dist.group.WORLD)

    def wrong(x):
        return collectives.all_reduce(x, "sum", dist.group.WORLD) + x

    paths = [
        capture(function, (torch.randn(4),), mesh={"tp": 2}, folder=tmp_path / name).ranks[0].path
        for function, name in ((right, "a"), (wrong, "b"))
    ]
    witness = find_witness(*paths, tmp_path / "w", "--input-placement=.*=varying@0")
    distances, printed = replay(witness)
    assert len(distances) == 2
    assert max(distances) > 0
    assert printed[0] != printed[1]


def test_none(tmp_path):
    # A law that the checker does not know: the programs are equal.
    x = torch.rand(4)
    first = export(lambda x: torch.sqrt(torch.exp(x)), (x,), tmp_path / "a.pt2")
    second = export(lambda x: torch.exp(x / 2), (x,), tmp_path / "b.pt2")
    process = commute("verify", first, second, f"--witness={tmp_path / 'w'}")
    assert process.returncode == 1
    assert "no concrete inputs were found: both programs return the same" in process.stdout
    assert not (tmp_path / "w").exists()
