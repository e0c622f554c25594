# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""PyTorch understands every node that Commute can write.

On the way back nodes are kept as they stand in the file wherever possible. The
program `respell` of the unit tests forgets them, so that all are written anew
from what Commute has understood: PyTorch must load the result, and compute the
same.
"""

import subprocess

import pytest
import torch
import torch.nn.functional as F

from commute_tool import BUILD, TIMEOUT_SECONDS
from fixtures import FIXTURES
from loaded_programs import load
from ranks import run_on_ranks

NAMES = [
    "llama_tp2",
    "llama_tp2_aten",
    "llama_model_tp2",
    "llama_sequence_parallel_tp2",
    "llama_sequence_first_tp4_dynamic",
    "gpt2_tp2",
    "bert_tp4_aten",
    "every_collective_tp4",
]


def respell(source, target):
    """Writes all nodes of an archive anew; gives how many, and of how many."""
    command = [str(BUILD / "unittests" / "respell"), str(source), str(target)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, process.stderr
    written, _, total = process.stdout.split()[:3]
    return int(written), int(total)


@pytest.mark.parametrize("name", NAMES)
def test_fixture_written_anew_computes_the_same(name, fixtures_folder, tmp_path):
    source = fixtures_folder / f"{name}.pt2"
    target = tmp_path / f"{name}.pt2"
    written, total = respell(source, target)
    # Views to symbolic sizes are none that can be written.
    assert written > (0.5 if "dynamic" in name else 0.9) * total
    size = FIXTURES[name].size
    before = run_on_ranks(source, size)
    after = run_on_ranks(target, size)
    for old, new in zip(before, after, strict=True):
        for a, b in zip(old, new, strict=True):
            assert torch.equal(a, b)


def elementwise(x, y, i, p):
    return [
        -x,
        x.abs().sqrt(),
        (x.abs() + 1).log(),
        x.exp(),
        x.abs().rsqrt(),
        (x + 3).reciprocal(),
        x.sin() + x.cos() + x.tanh() + x.erf(),
        x.sigmoid() * F.silu(x) + x.relu(),
        p.logical_not(),
        ~i,
        x.isnan(),
        x.round() + x.floor() + x.ceil() + x.sign(),
        F.gelu(x),
        F.gelu(x, approximate="tanh"),
        torch.add(x, y, alpha=2.5),
        torch.sub(x, y, alpha=2),
        x + 1.5,
        3 * x - i,
        1 - x,
        x / 2,
        2.0 / (x + 5),
        x.square() + x**2 + 2**x,
        (x.abs() + 1) ** y,
        torch.div(i, 2, rounding_mode="floor"),
        torch.remainder(i, 3),
        torch.remainder(7, i + 10),
        torch.maximum(x, y) + torch.minimum(x, y),
        x.clamp(min=-0.5),
        x.clamp(max=0.5),
        x.clamp(-0.5, 0.5),
        i.clamp(0, 1),
        torch.clamp(x, y, y + 1),
        x == y,
        x != 0,
        (x < y) | (x >= 0.5),
        (x > 0) & (x <= 1),
        i & 3,
        i | 4,
        i ^ 5,
        p & (x > 0),
        torch.logical_and(p, x > 0),
        torch.logical_or(p, i > 1),
        torch.where(p, x, y),
        torch.where(p, 1.0, x),
        torch.where(p, x, 0.0),
        torch.where(p, 1.0, 0.0),
        x.masked_fill(p, -1.0),
        x.to(torch.bfloat16),
        i.to(torch.float32),
        x.t().clone(),
        x.t().clone(memory_format=torch.contiguous_format),
        x.t().contiguous(),
    ]


def reindexing(x, y, i, p):
    first, second = x.chunk(2, dim=1)
    left, right = x.split([1, 3], dim=0)
    rows = torch.unbind(x, 0)
    return [
        x.view(2, -1),
        x.t().reshape(8, 3),
        x.unsqueeze(0).squeeze(0),
        x.flatten(),
        x.unflatten(1, (2, 3)),
        x.permute(1, 0),
        x.transpose(-1, -2),
        x[:, 1:5:2],
        x[-2:],
        x[4:],
        x.narrow(1, 2, 3),
        x.select(1, -1),
        first + second,
        left * right[:1],
        rows[0] + rows[3],
        torch.cat([x, y], dim=-1),
        torch.stack([x, y], dim=1),
        x[:1].expand(3, 6),
        x.unsqueeze(1).expand(-1, 2, -1),
    ]


def factories(x, y, i, p):
    return [
        torch.full((2, 3), 0.25),
        torch.full((2, 3), float("-inf")) + x[:2, :3],
        torch.zeros(3, dtype=torch.int64),
        torch.ones_like(x),
        torch.zeros_like(p),
        x.new_full((2,), 7.0),
        torch.arange(6),
        torch.arange(1, 7, 2) + i[0, :3],
        torch.arange(9, 0, -3),
        torch.scalar_tensor(2.5),
        x.triu(),
        x.tril(1),
    ]


def rowwise(x, y, i, p):
    return [
        x.sum(),
        x.sum(dim=(0, 1), keepdim=True),
        i.sum(dim=1),
        p.sum(dim=0),
        x.mean(dim=-1),
        x.mean(),
        x.amax(dim=1),
        x.amin(dim=(0, 1)),
        p.any(dim=1),
        p.any(),
        p.all(dim=0),
        p.all(),
        x.prod(),
        x.prod(dim=1),
        x.softmax(dim=-1),
        x.softmax(dim=0, dtype=torch.float64),
        x.log_softmax(dim=1),
        x.cumsum(dim=1),
        i.to(torch.int32).cumsum(dim=0),
        p.cumsum(dim=0),
        F.rms_norm(x, (6,), y[0], 1e-6),
        F.rms_norm(x, (4, 6)),
        F.layer_norm(x, (6,), y[0], y[1]),
        F.layer_norm(x, (4, 6), eps=1e-3),
    ]


def matmuls(x, y, i, p):
    batch = x.reshape(2, 2, 6)
    heads = torch.cat([x, y]).reshape(1, 4, 4, 3)
    few = heads[:, :2]
    return [
        x @ y.t(),
        batch @ y.t(),
        torch.bmm(batch, batch.transpose(1, 2)),
        F.linear(x, y),
        F.linear(batch, y, y[:, 0]),
        torch.addmm(y[:4, :4], x, y.t()),
        torch.addmm(y[0, :4], x, y.t()),
        torch.baddbmm(batch[:, :, :2], batch, batch.transpose(1, 2)),
        F.scaled_dot_product_attention(heads, heads, heads, is_causal=True),
        F.scaled_dot_product_attention(heads, heads, heads, heads[0, 0, :, :1], scale=0.5),
        F.scaled_dot_product_attention(heads, few, few, enable_gqa=True),
        F.embedding(i[:2] % 4, x),
        x.index_select(1, i[0] % 6),
        x[i[0] % 4],
        x[:, i[:2] % 6],
        x[i[0] % 4 - 1],
    ]


def formulas(x, y, i, p):
    classes, rows = i[:, 0] % 6, i[:, :3] % 6
    boundaries, narrow = x.new_tensor([-1.0, 0.0, 1.0]), i.to(torch.int32)
    return [
        F.cross_entropy(x, classes),
        F.nll_loss(x, classes, reduction="sum"),
        F.mse_loss(x, y),
        F.smooth_l1_loss(x, y, beta=0.5),
        F.huber_loss(x, y, reduction="none"),
        F.binary_cross_entropy_with_logits(x, p.to(x.dtype)),
        F.kl_div(x, y.softmax(1), reduction="sum"),
        x.norm(dim=1),
        torch.linalg.vector_norm(x, float("inf")),
        *torch.var_mean(x, 1),
        F.group_norm(x, 2, y[0], y[1]),
        x.any(1),
        i.all(),
        torch.count_nonzero(p, 0),
        narrow.sum(1, dtype=torch.int32),
        narrow.cumsum(1, dtype=torch.int32),
        F.elu(x) + F.mish(x) + F.logsigmoid(x),
        F.glu(x),
        x.trunc() + x.fmod(y),
        i.fmod(-4),
        x.isinf() | x.isfinite(),
        x.nan_to_num(1.0),
        x.clamp_min(0.5),
        i ^ 3,
        x.scatter(1, rows, 2.5, reduce="add"),
        x.scatter_reduce(1, rows, y, reduce="mean", include_self=False),
        x.masked_scatter(p, y),
        F.pad(x, (2, 1), mode="reflect"),
        F.pad(x.unsqueeze(0), (2, 1), mode="circular"),
        F.pad(x, (2, 9), mode="replicate"),
        torch.bucketize(x, boundaries, out_int32=True),
        torch.searchsorted(boundaries, x, right=True),
        x.diagonal(1),
        torch.diag_embed(p, 1),
        *torch.meshgrid(x[0], y[1], indexing="xy"),
        *torch.broadcast_tensors(x, y[0]),
        torch.outer(x[0], y[0]),
        x @ y[0],
        torch.dot(x[0], y[0]),
        torch.addmv(x[:, 0], x, y[0], beta=0.5),
        torch.tensordot(x, y, dims=([0], [0])),
        F.conv2d(x.reshape(1, 1, 4, 6), y.reshape(2, 1, 3, 4), padding=1),
    ]


@pytest.mark.parametrize(
    "function", [elementwise, reindexing, factories, rowwise, matmuls, formulas]
)
@pytest.mark.parametrize("is_decomposed", [False, True], ids=["as_exported", "decomposed"])
def test_operators_written_anew_compute_the_same(function, is_decomposed, tmp_path):
    class Model(torch.nn.Module):
        def forward(self, x, y, i, p):
            return function(x, y, i, p)

    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(4, 6, generator=generator) for _ in range(2))
    i = torch.randint(-5, 6, (4, 6), generator=generator)
    arguments = (x, y, i, x > y)
    exported = torch.export.export(Model(), arguments)
    if is_decomposed:
        exported = exported.run_decompositions()
    source, target = tmp_path / "model.pt2", tmp_path / "anew.pt2"
    torch.export.save(exported, source)
    written, total = respell(source, target)
    # What stays must be something that Commute does not model, and rare.
    assert written >= 0.9 * total
    again = load(target)
    expected = function(*arguments)
    for number, (a, b) in enumerate(zip(expected, again.module()(*arguments), strict=True)):
        torch.testing.assert_close(
            b, a, equal_nan=True, msg=lambda text, number=number: f"result {number}: {text}"
        )
        assert a.dtype == b.dtype, f"result {number}"
    # What the graph says of the results is what they are.
    outputs = again.graph.output_node().args[0]
    for number, (node, value) in enumerate(zip(outputs, again.module()(*arguments), strict=True)):
        assert node.meta["val"].shape == value.shape, f"result {number}"
        assert node.meta["val"].dtype == value.dtype, f"result {number}"
