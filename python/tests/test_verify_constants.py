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
    assert "has different elements" in result.stdout


class Norm(torch.nn.Module):
    """The sum over a norm is zero, where the norm is a number."""

    def __init__(self, epsilon):
        super().__init__()
        self.epsilon = epsilon

    def forward(self, x):
        return torch.nn.functional.layer_norm(x, (8,), eps=self.epsilon).sum(-1)


def test_a_norm_with_a_negative_epsilon_is_unknown(tmp_path):
    archives = []
    for epsilon in (1e-2, 1e-3, -3.4e38):
        program = torch.export.export(Norm(epsilon), (torch.randn(4, 8),))
        archives.append(tmp_path / f"{len(archives)}.pt2")
        torch.export.save(program, archives[-1])
    assert commute("verify", archives[0], archives[1]).returncode == 0
    assert commute("verify", archives[0], archives[2]).returncode == 4
