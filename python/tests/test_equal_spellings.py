# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs that are equal for a reason that operators have: what a roll moves, which parts a
complex number has, what a mask selects, which labels a loss takes. Each has a twin that differs
in one thing."""

import pytest
import torch
import torch.nn.functional as F

import commute
from parallel_pairs import Pair, all_reduce
from programs import export_function

pytestmark = pytest.mark.in_process

aten = torch.ops.aten
randn = torch.randn


def verdict(folder, inputs, first, second):
    archives = []
    for name, function in (("first", first), ("second", second)):
        archives.append(folder / f"{name}.pt2")
        program = export_function(lambda self, *x, f=function: f(*x), *inputs)
        torch.export.save(program, archives[-1])
    return commute.verify(commute.load(archives[0]), archives[1])


#
# Views and moves
#


def rolled(x, first):
    elements = x.reshape(-1)
    return torch.cat([elements[first:], elements[:first]]).reshape(x.shape)


def rotate_by_factors(x, angles):
    """As in Llama 4 and DeepSeek V2."""
    factors = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * factors[None, :, None]).flatten(3)


def rotate_by_parts(x, angles, sign=1):
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    real, imaginary = pairs[..., 0], pairs[..., 1]
    cos, sin = angles.cos()[None, :, None], angles.sin()[None, :, None]
    parts = [real * cos - sign * imaginary * sin, sign * real * sin + imaginary * cos]
    return torch.stack(parts, -1).flatten(3)


def conjugate_of_product(x, y):
    product = torch.view_as_complex(x) * torch.view_as_complex(y)
    return torch.view_as_real(torch.conj_physical(product))


def product_of_conjugates(x, y, sign=-1):
    def conjugate(z):
        return torch.complex(z[..., 0], sign * z[..., 1])

    return torch.view_as_real(conjugate(x) * conjugate(y))


MASK = torch.rand(6, 8) > 0.5
ROWS = torch.rand(6) > 0.5


def filled(x, mask, value):
    x = x.clone()
    x[mask] = value
    return x


def filled_columns(x, mask, value):
    x = x.clone()
    x[:, mask] = value
    return x


def renormalize(x):
    return x / x.sum(-1, keepdim=True)


PAIRS = {
    "roll": (
        [randn(6, 8)],
        lambda x: x.roll(3),
        lambda x: rolled(x, 45),
        lambda x: rolled(x, 44),
    ),
    "roll along two dims": (
        [randn(6, 8)],
        lambda x: x.roll((1, -2), (0, 1)),
        lambda x: torch.cat([x[5:], x[:5]]).roll(6, 1),
        lambda x: torch.cat([x[5:], x[:5]]).roll(5, 1),
    ),
    "rotary": (
        [randn(2, 4, 3, 8), randn(4, 4)],
        rotate_by_factors,
        rotate_by_parts,
        lambda x, angles: rotate_by_parts(x, angles, -1),
    ),
    "conjugate": (
        [randn(5, 2), randn(5, 2)],
        conjugate_of_product,
        product_of_conjugates,
        lambda x, y: product_of_conjugates(x, y, 1),
    ),
    "complex rows": (
        [randn(6, 2), randn(6, 2)],
        lambda x, y: torch.view_as_real(
            (torch.view_as_complex(x) / torch.view_as_complex(y)).sum(0)
        ),
        lambda x, y: (
            torch.stack(
                [
                    x[:, 0] * y[:, 0] + x[:, 1] * y[:, 1],
                    x[:, 1] * y[:, 0] - x[:, 0] * y[:, 1],
                ],
                -1,
            )
            / (y * y).sum(-1, keepdim=True)
        ).sum(0),
        lambda x, y: (
            torch.stack(
                [
                    x[:, 0] * y[:, 0] - x[:, 1] * y[:, 1],
                    x[:, 1] * y[:, 0] + x[:, 0] * y[:, 1],
                ],
                -1,
            )
            / (y * y).sum(-1, keepdim=True)
        ).sum(0),
    ),
    "rows by a mask": (
        [randn(6, 8), ROWS, randn(8)],
        lambda x, mask, value: filled(x, mask, value),
        lambda x, mask, value: torch.where(mask[:, None], value, x),
        lambda x, mask, value: torch.where(~mask[:, None], value, x),
    ),
    "columns by a mask": (
        [randn(8, 6), ROWS, randn(8, 1)],
        lambda x, mask, value: filled_columns(x, mask, value),
        lambda x, mask, value: torch.where(mask, value, x),
        lambda x, mask, value: torch.where(mask, value.flip(0), x),
    ),
    "gradient of a diagonal": (
        [randn(6)],
        lambda g: aten.diagonal_backward(g, [6, 7], 1, 0, 1),
        lambda g: F.pad(torch.diag_embed(g), (1, 0)),
        lambda g: F.pad(torch.diag_embed(g), (0, 1)),
    ),
    "gradient of a softplus": (
        [randn(6), randn(6)],
        lambda g, x: aten.softplus_backward(g, x, 1, 20),
        lambda g, x: torch.where(x > 20, g, g * x.exp() / (1 + x.exp())),
        lambda g, x: torch.where(x > 20, g, g / (1 + x.exp())),
    ),
    "gradient of a gate": (
        [randn(6, 4), randn(6, 8)],
        lambda g, x: aten.glu_backward(g, x, 1),
        lambda g, x: torch.cat(
            [
                g * x[:, 4:].sigmoid(),
                g * x[:, :4] * x[:, 4:].sigmoid() * (1 - x[:, 4:].sigmoid()),
            ],
            1,
        ),
        lambda g, x: torch.cat(
            [
                g * x[:, :4].sigmoid(),
                g * x[:, :4] * x[:, 4:].sigmoid() * (1 - x[:, 4:].sigmoid()),
            ],
            1,
        ),
    ),
    "gradient of a squared error": (
        [randn(()), randn(6, 4), randn(6, 4)],
        lambda g, x, y: aten.mse_loss_backward(g, x, y, 1),
        lambda g, x, y: g * (x - y) / 12,
        lambda g, x, y: g * (x - y) / 24,
    ),
    "largest of a softmax": (
        [randn(6, 8)],
        lambda x: renormalize(x.softmax(-1).topk(2)[0]),
        lambda x: x.topk(2)[0].softmax(-1),
        lambda x: x.topk(2)[0].softmax(0),
    ),
    "sorted the other way round": (
        [randn(6, 8)],
        lambda x: x.sort(-1, descending=True)[0],
        lambda x: -((-x).sort(-1)[0]),
        lambda x: x.sort(-1)[0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_pair(name, tmp_path):
    inputs, first, second, other = PAIRS[name]
    torch.testing.assert_close(first(*inputs), second(*inputs))
    assert not torch.allclose(first(*inputs), other(*inputs))
    result = verdict(tmp_path, inputs, first, second)
    assert result, str(result)
    result = verdict(tmp_path, inputs, first, other)
    assert result.verdict == "different", str(result)


def test_sizes_of_masks_are_not_proven(tmp_path):
    # The number of selected elements is one that the mask determines.
    inputs = [randn(6, 8), MASK]

    def first(x, mask):
        return x[mask].sum()

    result = verdict(tmp_path, inputs, first, lambda x, mask: (x * mask).sum())
    assert result.verdict == "not proven", str(result)
    assert "depends on values" in str(result)


#
# Labels
#

CLASSES = 12
IGNORED = -100


def loss_of_shard(first, end, ignored=IGNORED):
    """A cross entropy on logits of which each rank has some of the classes."""

    def ranks(logits, labels):
        logits = logits - all_reduce(logits.amax(-1), "max")[:, None]
        is_elsewhere = (labels < first) | (labels >= end)
        local = torch.where(is_elsewhere, 0, labels - first)
        chosen = logits.gather(1, local[:, None])[:, 0]
        chosen = all_reduce(torch.where(is_elsewhere, 0.0, chosen))
        losses = all_reduce(logits.exp().sum(-1)).log() - chosen
        is_counted = torch.ones_like(labels, dtype=torch.bool)
        if ignored is not None:
            is_counted = labels != ignored
        return torch.where(is_counted, losses, 0.0).sum() / is_counted.sum()

    return ranks


def check_loss(folder, ranks, expected, reference=F.cross_entropy, **more):
    labels = torch.randint(0, CLASSES, (5,))
    pair = Pair(
        lambda logits, labels: reference(logits, labels),
        {"logits": randn(5, CLASSES), "labels": labels},
        ranks,
        {"logits": randn(5, CLASSES // 2), "labels": labels},
        {
            "version": 1,
            "mesh": {"tp": [[0, 1]]},
            "inputs": {"logits": "shard(logits, 1)"},
            **more,
        },
    )
    result = pair.verify(folder)
    assert result.verdict == expected, str(result)
    return result


def test_labels_of_a_loss_follow_from_it(tmp_path):
    ranks = [loss_of_shard(0, 6), loss_of_shard(6, 12)]
    result = check_loss(tmp_path, ranks, "refines")
    assert any("in [0, 12) or -100" in note for note in result.notes), str(result)


def test_other_ignored_labels(tmp_path):
    def reference(logits, labels):
        return F.cross_entropy(logits, labels, ignore_index=-1)

    ranks = [loss_of_shard(0, 6, -1), loss_of_shard(6, 12, -1)]
    check_loss(tmp_path, ranks, "refines", reference)
    check_loss(tmp_path, ranks, "does not refine")


def test_label_of_no_shard(tmp_path):
    ranks = [loss_of_shard(0, 5), loss_of_shard(6, 12)]
    check_loss(tmp_path, ranks, "does not refine")


def test_stated_labels(tmp_path):
    ranks = [loss_of_shard(0, 6), loss_of_shard(6, 12)]
    stated = {"labels": [[0, CLASSES], IGNORED]}
    check_loss(tmp_path, ranks, "refines", ranges=stated)
    with pytest.raises(commute.CommuteError, match=r"\[\[0, 12\], -100\]"):
        check_loss(tmp_path, ranks, "refines", ranges={"labels": [[0, 12], [3]]})


def test_shard_without_ignored_labels(tmp_path):
    # All labels count, so the mean is right only if none is ignored.
    ranks = [loss_of_shard(0, 6, None), loss_of_shard(6, 12, None)]
    check_loss(tmp_path, ranks, "does not refine")
    check_loss(tmp_path, ranks, "refines", ranges={"labels": [0, CLASSES]})
