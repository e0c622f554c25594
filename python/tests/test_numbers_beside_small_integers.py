# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Whole numbers beside tensors of small integers, which PyTorch's kernels take as
elements of the tensor's type: beside uint8, -1 is 255."""

import pytest
import torch

from random_programs import Program
from test_random_programs import check_program

aten = torch.ops.aten
OPERATORS = [
    aten.lt.Scalar, aten.le.Scalar, aten.gt.Scalar, aten.ge.Scalar, aten.eq.Scalar, aten.ne.Scalar,
    aten.floor_divide.Scalar, aten.remainder.Scalar, aten.add.Scalar, aten.sub.Scalar,
    aten.mul.Scalar, aten.bitwise_and.Scalar, aten.bitwise_or.Scalar, aten.bitwise_xor.Scalar,
]  # fmt: skip


@pytest.mark.parametrize("number", [-1, -3, 5, 200, 300, -1000])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_number(dtype, number, tmp_path):
    program = Program(0, 1)
    x = program.input(dtype, (6,), tensors=[torch.tensor([0, 1, 5, 100, 126, 127], dtype=dtype)])
    with torch.no_grad():
        for target in OPERATORS:
            program.call(target, x, number, exact=True)
        # Numbers that are far from fitting are errors.
        if number in (-1, -3, 5):
            program.call(aten.clamp.default, x, number, None, exact=True)
    check_program(program, 0, tmp_path)
