# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What export makes of collectives in place, and of other copies into tensors:
`aten.copy`, which passes look through."""

import json

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

from commute_tool import optimize, show
from ranks import load, run_on_ranks

pytestmark = pytest.mark.usefixtures("fake_group")

PLACEMENTS = {
    "x": "shard(1)",
    "residual": "replicated",
    "p_down": "shard(1)",
    "p_norm": "replicated",
    "p_up": "shard(0)",
}


class Block(torch.nn.Module):
    """As Hugging Face's tensor-parallel layers have it."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(5)

        def draw(*sizes):
            return torch.nn.Parameter(torch.randn(*sizes, generator=generator, dtype=torch.float64))

        self.down, self.norm, self.up = draw(32, 24), draw(32), draw(24, 32)

    def forward(self, x, residual):
        y = x @ self.down.t()
        dist.all_reduce(y, op=ReduceOp.SUM, group=dist.group.WORLD)
        h = torch.nn.functional.rms_norm(residual + y, (32,), self.norm, 1e-5)
        return h @ self.up.t()


def export(module, inputs, path, placements):
    program = torch.export.export(module, inputs).run_decompositions({})
    name = dist.group.WORLD.group_name
    sidecar = {
        "version": 1,
        "groups": {name: {"ranks": [0, 1]}},
        "inputs": {key: {name: placement} for key, placement in placements.items()},
    }
    torch.export.save(program, path, extra_files={"commute.json": json.dumps(sidecar)})


def test_a_sum_in_place_is_sharded(tmp_path):
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    torch.manual_seed(3)
    inputs = torch.randn(8, 24, dtype=torch.float64), torch.randn(8, 32, dtype=torch.float64)
    export(Block(), inputs, source, PLACEMENTS)
    assert "aten.copy.default" in str(load(source)[0].graph)
    assert show(source)["opaque"] == {}
    summary = optimize(source, target, "--passes=sequence-parallel", "--policy=always")
    assert any(remark["verdict"] == "applied" for remark in summary["remarks"])
    graph = str(load(target)[0].graph)
    assert "reduce_scatter_tensor" in graph and "all_reduce" not in graph.replace(", max,", "")
    shards = [[x.contiguous(), inputs[1]] for x in inputs[0].chunk(2, 1)]
    # Each rank's part is 24 wide, as the module has it.
    shards = [[torch.cat([x, x], 1), residual] for x, residual in shards]
    for ours, theirs in zip(
        run_on_ranks(target, 2, inputs=shards), run_on_ranks(source, 2, inputs=shards), strict=True
    ):
        for a, b in zip(ours, theirs, strict=True):
            assert torch.allclose(a, b, rtol=1e-10, atol=1e-12)


class CopyInto(torch.nn.Module):
    def forward(self, target, source):
        return torch.ops.aten.copy.default(target, source) * 2


@pytest.mark.parametrize(
    ("target", "source"),
    [
        (torch.zeros(4, 6), torch.randn(4, 6)),
        # Another element type.
        (torch.zeros(4, 6, dtype=torch.bfloat16), torch.randn(4, 6)),
        # Strides of its own, to which those of the source are not copied.
        (torch.zeros(6, 4).t(), torch.randn(4, 6)),
        (torch.zeros(4, 6), torch.randn(6, 4).t()),
        # Spread over more elements.
        (torch.zeros(4, 6), torch.randn(6)),
    ],
)
def test_copies(target, source, tmp_path):
    path = tmp_path / "in.pt2"
    export(CopyInto(), (target, source), path, {})
    assert not show(path)["opaque"]
    optimize(path, tmp_path / "out.pt2", "--policy=always")
    loaded = torch.export.load(tmp_path / "out.pt2").module()
    assert torch.equal(loaded(target, source), CopyInto()(target, source))


class CopyOver(torch.nn.Module):
    """Rows that share elements: what is written last stays."""

    def forward(self, source):
        memory = torch.ops.aten.empty_strided.default([3, 5], [2, 1])
        return torch.ops.aten.copy.default(memory, source)


def test_a_copy_over_itself_is_opaque(tmp_path):
    source = torch.arange(15.0).reshape(3, 5)
    assert not torch.equal(CopyOver()(source), source)
    path = tmp_path / "in.pt2"
    export(CopyOver(), (source,), path, {})
    assert show(path)["opaque"] == {"torch.ops.aten.copy.default": 1}
