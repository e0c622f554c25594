# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Linears of concatenations, in every spelling, with their inputs."""

import torch
import torch.nn.functional as F

PARTS = ((3, 8), (3, 16), (3, 12))
WEIGHT, BIAS = (5, 36), (5,)
LINEAR = (*PARTS, WEIGHT, BIAS)

# A function, and the shapes that it takes; the last operands are weights.
SPELLINGS = {
    "cat": (lambda a, b, c, w, v: F.linear(torch.cat([a, b, c], -1), w, v), LINEAR),
    "cat, positive dim": (lambda a, b, c, w, v: F.linear(torch.cat((a, b, c), 1), w, v), LINEAR),
    "cat, keywords": (
        lambda a, b, c, w, v: F.linear(
            weight=w, bias=v, input=torch.cat(tensors=[a, b, c], dim=-1)
        ),
        LINEAR,
    ),
    "concat": (lambda a, b, c, w, v: F.linear(torch.concat([a, b, c], dim=1), w, v), LINEAR),
    "concatenate, axis": (
        lambda a, b, c, w, v: F.linear(torch.concatenate([a, b, c], axis=-1), w, v),
        LINEAR,
    ),
    "without bias": (lambda a, b, w: F.linear(torch.cat([a, b], -1), w), (*PARTS[:2], (5, 24))),
    "three dims": (
        lambda a, b, w, v: F.linear(torch.cat([a, b], 2), w, v),
        ((2, 3, 8), (2, 3, 16), (5, 24), (5,)),
    ),
    "matmul": (
        lambda a, b, w: torch.matmul(torch.cat([a, b], -1), w),
        (*PARTS[:2], (24, 5)),
    ),
    "operator.matmul of a transposed weight": (
        lambda a, b, w: torch.cat([a, b], -1) @ w.T,
        (*PARTS[:2], (5, 24)),
    ),
    "mm": (lambda a, b, w: torch.mm(torch.cat([a, b], 1), w.t()), (*PARTS[:2], (5, 24))),
    "method mm": (lambda a, b, w: torch.cat([a, b], 1).mm(w), (*PARTS[:2], (24, 5))),
    "addmm": (
        lambda a, b, w, v: torch.addmm(v, torch.cat([a, b], 1), w),
        (*PARTS[:2], (24, 5), (5,)),
    ),
    "bmm": (
        lambda a, b, w: torch.bmm(torch.cat([a, b], 2), w),
        ((2, 3, 8), (2, 3, 16), (2, 24, 5)),
    ),
    "parts of a chunk": (
        lambda a, b, w: F.linear(torch.cat([*a.chunk(2, -1), b], -1), w),
        (*PARTS[:2], (5, 24)),
    ),
    "slices": (
        lambda a, b, w: F.linear(torch.cat([b[:, 2:], a[..., :4]], -1), w),
        (*PARTS[:2], (5, 18)),
    ),
    "seven parts": (
        lambda a, b, w: F.linear(torch.cat([a, b, a, b, a, b, a], -1), w),
        ((3, 4), (3, 2), (5, 22)),
    ),
    "activation of a part": (
        lambda a, b, w: F.linear(torch.cat([torch.sigmoid(a), F.gelu(b)], -1), w),
        (*PARTS[:2], (5, 24)),
    ),
    "product of a part": (
        lambda a, b, w: F.linear(torch.cat([a * a, b], -1), w),
        (*PARTS[:2], (5, 24)),
    ),
}


def tensors(*shapes, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
        for shape in shapes
    ]


def check_close(found, expected, tolerance=1e-12):
    assert len(found) == len(expected)
    for new, old in zip(found, expected, strict=True):
        if old is None:
            assert new is None
            continue
        assert new.dtype == old.dtype and new.shape == old.shape
        torch.testing.assert_close(new, old, rtol=tolerance, atol=tolerance)
