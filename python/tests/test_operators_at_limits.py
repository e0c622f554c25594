# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Operators at the limits of their definitions: infinities and NaN, ties, tensors
without elements, targets that are ignored, numbers of the wrong sign."""

import pytest
import torch

from random_programs import Program
from test_random_programs import check_program

aten = torch.ops.aten
INF, NAN = float("inf"), float("nan")
SPECIAL = torch.tensor(
    [[0.0, 2.0, INF, -INF, NAN, 1.5], [-1.5, 2.5, -2.5, 1e-30, -1e-30, 0.5]], dtype=torch.float64
)
REDUCTIONS = [0, 1, 2]


def number(start, *shape):
    count = torch.tensor(shape).prod().item()
    return torch.linspace(start, start + 2, count, dtype=torch.float64).reshape(shape)


def check(tmp_path, inputs, *calls):
    """Compares calls of operators whose tensors are inputs."""
    program = Program(0, 1)
    values = [
        program.input(tensor.dtype, tuple(tensor.shape), tensors=[tensor]) for tensor in inputs
    ]
    with torch.no_grad():
        for call in calls:
            call(program, *values)
    check_program(program, 0, tmp_path)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_distances(loss, reduction, tmp_path):
    target = getattr(aten, loss).default
    check(
        tmp_path,
        [SPECIAL, number(-1, 2, 6), number(0, 6), SPECIAL[:0]],
        lambda p, x, y, v, none: p.call(target, x, y, reduction),
        lambda p, x, y, v, none: p.call(target, y, v, reduction),
        lambda p, x, y, v, none: p.call(target, none, none, reduction),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_smooth_distance_without_bend(reduction, tmp_path):
    check(
        tmp_path,
        [number(-1, 2, 6), number(0, 6)],
        lambda p, x, y: p.call(aten.smooth_l1_loss.default, x, y, reduction, 0.0),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_entropies_of_zero_and_one(reduction, tmp_path):
    certain = torch.tensor([[0.0, 1.0, 0.0, 1.0]], dtype=torch.float64)
    check(
        tmp_path,
        [certain, certain.roll(2, 1).sort(1).values, 1000 * certain - 500, number(0.5, 4)],
        # Logarithms of zero are -100.
        lambda p, x, y, z, w: p.call(
            aten.binary_cross_entropy.default, x, y, None, reduction, exact=True
        ),
        lambda p, x, y, z, w: p.call(
            aten.binary_cross_entropy_with_logits.default, z, y, w, w, reduction
        ),
        lambda p, x, y, z, w: p.call(aten.kl_div.default, z, x, reduction),
        lambda p, x, y, z, w: p.call(aten.kl_div.default, x, z, reduction),
        lambda p, x, y, z, w: p.call(aten.kl_div.default, w, x, reduction, log_target=True),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("loss", ["cross_entropy_loss", "nll_loss_nd"])
def test_classes(loss, reduction, tmp_path):
    target = getattr(aten, loss).default
    rows, planes = torch.tensor([0, 5, -100, 2]), torch.tensor([[[0, 1], [2, -100]]])
    check(
        tmp_path,
        [
            number(-1, 4, 6),
            rows,
            number(0, 1, 3, 2, 2),
            planes,
            SPECIAL[1, :3],
            torch.tensor(1),
            rows.abs() % 6,
        ],
        lambda p, x, t, *rest: p.call(target, x, t, None, reduction),
        lambda p, x, t, y, u, v, one, kept: p.call(target, x, kept, None, reduction, 2),
        lambda p, x, t, y, u, *rest: p.call(target, y, u, None, reduction),
        # The only row is ignored.
        lambda p, x, t, y, u, v, one, *rest: p.call(target, v, one, None, reduction, 1),
        lambda p, x, t, y, u, v, one, *rest: p.call(target, v, one, None, reduction),
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_no_rows(reduction, tmp_path):
    check(
        tmp_path,
        [number(0, 4, 6)[:0], torch.zeros(0, dtype=torch.int64)],
        lambda p, x, t: p.call(aten.cross_entropy_loss.default, x, t, None, reduction),
    )


@pytest.mark.parametrize("order", [1, 2, INF, -INF])
def test_norms(order, tmp_path):
    norm = aten.linalg_vector_norm.default
    check(
        tmp_path,
        [SPECIAL, number(-1, 3, 4)],
        lambda p, x, y: p.call(norm, x, order, [1]),
        lambda p, x, y: p.call(norm, y, order, [-1], True),
        lambda p, x, y: p.call(norm, y, order),
        lambda p, x, y: p.call(norm, y, order, []),
    )


EMPTY = [torch.zeros(0, 3), torch.zeros(0, 3, dtype=torch.bool)]
TRUTHS = [SPECIAL, 0 * SPECIAL[1:], SPECIAL > 0, torch.tensor([[0, 3], [0, 0]], dtype=torch.uint8)]


@pytest.mark.parametrize("x", TRUTHS + EMPTY)
def test_truth_of_numbers(x, tmp_path):
    calls = [lambda p, x: p.call(aten.count_nonzero.default, x, exact=True)]
    for name in ("any", "all"):
        packet = getattr(aten, name)
        calls += [
            lambda p, x, packet=packet: p.call(packet.default, x, exact=True),
            lambda p, x, packet=packet: p.call(packet.dim, x, 0, exact=True),
            lambda p, x, packet=packet: p.call(packet.dims, x, [0, 1], True, exact=True),
        ]
    check(tmp_path, [x], *calls)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_infinite_numbers(dtype, tmp_path):
    check(
        tmp_path,
        [SPECIAL.to(dtype)],
        lambda p, x: p.call(aten.isinf.default, x, exact=True),
        lambda p, x: p.call(aten.isfinite.default, x, exact=True),
        lambda p, x: p.call(aten.nan_to_num.default, x, exact=True),
        lambda p, x: p.call(aten.nan_to_num.default, x, None, None, -4.0, exact=True),
        lambda p, x: p.call(aten.trunc.default, x, exact=True),
        lambda p, x: p.call(aten.elu.default, x),
        lambda p, x: p.call(aten.mish.default, x),
        lambda p, x: p.call(aten.log_sigmoid.default, x),
        lambda p, x: p.call(aten.clamp_min.default, x, 0.5, exact=True),
    )


@pytest.mark.parametrize("other", [2, -2, 3, -5, 127])
def test_remainder_of_integers(other, tmp_path):
    small = torch.tensor([-128, 127, -7, 7, 0, 5], dtype=torch.int8)
    check(
        tmp_path,
        [small, small.long(), torch.tensor([3, -128, -2, 2, 3, -128], dtype=torch.int8)],
        lambda p, x, y, z: p.call(aten.fmod.Scalar, x, other, exact=True),
        lambda p, x, y, z: p.call(aten.fmod.Scalar, y, other, exact=True),
        lambda p, x, y, z: p.call(aten.fmod.Scalar, y, other + 0.5),
        lambda p, x, y, z: p.call(aten.fmod.Tensor, x, z, exact=True),
        lambda p, x, y, z: p.call(aten.fmod.Tensor, y, z, exact=True),
    )


@pytest.mark.parametrize("other", [2, -1.5, INF, 0.0])
def test_remainder_of_floats(other, tmp_path):
    check(tmp_path, [SPECIAL], lambda p, x: p.call(aten.fmod.Scalar, x, other))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64, torch.int8])
@pytest.mark.parametrize("includes_self", [True, False])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_scatter_reduce(reduction, includes_self, dtype, tmp_path):
    index = torch.tensor([[0, 3, 0], [1, 1, 1], [5, 4, 0]])
    check(
        tmp_path,
        [(40 * number(-1, 3, 6)).to(dtype), index, (40 * number(-1, 3, 3)).to(dtype)],
        lambda p, x, i, y: p.call(
            aten.scatter_reduce.two, x, -1, i, y, reduction, include_self=includes_self
        ),
    )


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_scatter_replaces_nan(reduction, tmp_path):
    check(
        tmp_path,
        [torch.full((2, 3), NAN), torch.tensor([[0], [2]]), torch.ones(2, 1)],
        lambda p, x, i, y: p.call(
            aten.scatter_reduce.two, x, 1, i, y, reduction, include_self=False
        ),
    )


def test_masked_scatter(tmp_path):
    mask = torch.tensor([[0, 1, 1, 0, 0, 1], [1, 0, 0, 0, 0, 0]]).bool()
    scatter = aten.masked_scatter.default
    check(
        tmp_path,
        [SPECIAL, mask, number(0, 2, 6), mask & False],
        lambda p, x, m, y, none: p.call(scatter, x, m, y, exact=True),
        lambda p, x, m, y, none: p.call(
            scatter, x, p.call(aten.select.int, m, 0, 0), y, exact=True
        ),
        lambda p, x, m, y, none: p.call(scatter, x, none, y, exact=True),
    )


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_as_wide_as_the_dim(mode, tmp_path):
    width = {"reflect": 5, "replicate": 9, "circular": 6}[mode]
    check(
        tmp_path,
        [SPECIAL, SPECIAL.reshape(1, 1, 2, 6)],
        lambda p, x, y: p.call(aten.pad.default, x, [width, width], mode, exact=True),
        lambda p, x, y: p.call(aten.pad.default, y, [width, 0, 1, 0], mode, exact=True),
    )


@pytest.mark.parametrize("is_right", [False, True])
def test_buckets(is_right, tmp_path):
    boundaries = torch.tensor([-1.5, 0.0, 0.0, 2.5], dtype=torch.float64)
    check(
        tmp_path,
        [SPECIAL, boundaries, torch.stack([boundaries, 2 * boundaries]), boundaries[:0]],
        lambda p, x, b, c, none: p.call(aten.bucketize.Tensor, x, b, right=is_right, exact=True),
        lambda p, x, b, c, none: p.call(aten.bucketize.Tensor, x, none, right=is_right, exact=True),
        lambda p, x, b, c, none: p.call(aten.searchsorted.Tensor, b, x, right=is_right, exact=True),
        lambda p, x, b, c, none: p.call(
            aten.searchsorted.Tensor, c, x, side="right" if is_right else "left", exact=True
        ),
    )


def test_factor_of_zero_hides_the_vector(tmp_path):
    check(
        tmp_path,
        [torch.tensor([NAN, INF, 1.0]), torch.ones(3, 4), torch.ones(4)],
        lambda p, x, m, v: p.call(aten.addmv.default, x, m, v, beta=0, alpha=2),
    )


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 5])
def test_diagonals(offset, tmp_path):
    check(
        tmp_path,
        [number(0, 3, 6), number(0, 3, 4, 6)],
        lambda p, x, y: p.call(aten.diagonal.default, x, offset, exact=True),
        # Neither dims are adjacent nor in order.
        lambda p, x, y: p.call(aten.diagonal.default, y, offset, 0, 2, exact=True),
        lambda p, x, y: p.call(aten.diagonal.default, y, -1, -1, -2, exact=True),
        lambda p, x, y: p.call(aten.diag_embed.default, x, offset, 0, 2, exact=True),
    )
