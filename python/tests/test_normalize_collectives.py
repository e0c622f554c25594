# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Collectives along any dim, found in what PyTorch exports.

The spellings themselves are tested in test/Transforms/normalize-collectives;
here, that PyTorch's nodes are read as them, and come back as they were.
"""

import pytest
import torch
from torch import nn
from torch.export import Dim, export, save

from collective_programs import gather, scatter
from commute_tool import REPOSITORY, optimize
from fixtures import FIXTURES

BOTH_WAYS = "--passes=normalize-collectives,lower-collectives"


class Reassembly(nn.Module):
    """Slices whose places are symbols, and eight-bit floats sent as bytes."""

    def forward(self, x, y):
        rows = x.shape[0]
        whole = gather(x, 2)
        narrowed = torch.cat([whole.narrow(0, 0, rows), whole.narrow(0, rows, rows)], 1)
        whole = gather(x + 1, 2)
        sliced = torch.cat([whole[:rows], whole[rows : 2 * rows]], 1)
        whole = gather(x + 2, 2)
        swapped = torch.cat([whole[rows : 2 * rows], whole[:rows]], 1)
        scattered = scatter(torch.cat(torch.chunk(y, 2, 1)), 2)
        bits = gather((x + 3).to(torch.float8_e4m3fn).view(torch.uint8), 2)
        return narrowed, sliced, swapped, scattered, bits.view(torch.float8_e4m3fn).to(x.dtype)


@pytest.mark.parametrize("dialect", ["training", "core"])
def test_symbols_and_bits(dialect, tmp_path):
    rows = Dim("rows", min=4, max=4096)
    inputs = (torch.randn(6, 8), torch.randn(6, 8))
    shapes = {"x": {0: rows}, "y": {0: rows}}
    program = export(Reassembly(), inputs, dynamic_shapes=shapes, strict=False)
    if dialect == "core":
        program = program.run_decompositions()
    save(program, tmp_path / "source.pt2")
    report = optimize(tmp_path / "source.pt2", tmp_path / "target.pt2", BOTH_WAYS)
    remarks = [remark["message"] for remark in report["remarks"]]
    ends = ["an all_gather along dim 1", "an all_gather along dim 1"]
    ends += ["a reduce_scatter along dim 1", "an all_gather along dim 0"]
    # Refusals come last.
    ends += ["along any dim"]
    assert len(remarks) == len(ends), remarks
    for remark, end in zip(remarks, ends):
        assert end in remark
    assert report["unchanged"]


@pytest.mark.parametrize("name", sorted(FIXTURES))
def test_fixtures_come_back_as_they_were(name, tmp_path):
    source = REPOSITORY / "test" / "fixtures" / f"{name}.pt2"
    assert optimize(source, tmp_path / "target.pt2", BOTH_WAYS)["unchanged"]
