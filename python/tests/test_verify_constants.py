# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Constant tensors that an archive stores are part of the program."""

import torch

from commute_tool import commute


class Lookup(torch.nn.Module):
    """Reads rows of a table at constant indices."""

    def __init__(self, indices):
        super().__init__()
        self.indices = indices

    def forward(self, table):
        return table[torch.tensor(self.indices)]


def export(indices, path):
    program = torch.export.export(Lookup(indices), (torch.randn(8, 3),))
    torch.export.save(program, path)
    return path


def test_constants_with_other_elements_are_a_difference(tmp_path):
    first = export([1, 5, 2], tmp_path / "first.pt2")
    same = export([1, 5, 2], tmp_path / "same.pt2")
    other = export([1, 6, 2], tmp_path / "other.pt2")
    assert commute("verify", first, same).returncode == 0
    result = commute("verify", first, other)
    assert result.returncode == 1
    assert "the constant tensor" in result.stdout
    assert "has other elements" in result.stdout
