# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Chains of collectives over a mesh, and shards put together otherwise, in PyTorch.

Fused they agree with the original on every rank; where nothing is fused, the
archive comes back byte for byte.
"""

import json

import pytest
import torch
import torch.distributed._functional_collectives  # registers _c10d_functional

from commute_tool import optimize
from programs import Model
from records import read_records
from test_micro_pipeline import check_same_results, fused_ops_of

c10d = torch.ops._c10d_functional

# To split some of these products would be as legal as to fuse them.
FUSED = "--passes=normalize-collectives,micro-pipeline{policy=always},lower-collectives"
NOTHING_FUSED = "--passes=normalize-collectives,lower-collectives"

# Of PyTorch about itself, when it exports.
pytestmark = pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.")


def gather(x, size, group):
    return c10d.wait_tensor(c10d.all_gather_into_tensor(x, size, group))


def scatter(x, size, group):
    return c10d.wait_tensor(c10d.reduce_scatter_tensor(x, "sum", size, group))


def chained_gathers(self, x, size):
    return gather(gather(x, 2, "tp"), size // 2, "dp") @ self.weight


def chained_gathers_of_columns(self, x, size):
    inner = torch.cat(gather(x, 2, "tp").chunk(2), 1)
    return torch.cat(gather(inner, size // 2, "dp").chunk(size // 2), 1) @ self.tall


def chained_scatters(self, x, size):
    return scatter(scatter(x @ self.weight, size // 2, "dp"), 2, "tp")


def contraction_permuted(self, x, size):
    shards = gather(x, size, "0").chunk(size)
    return torch.cat(shards[1:] + shards[:1], 1) @ self.tall


def rows_trimmed(self, x, size):
    return gather(x, size, "0")[:-3] @ self.weight


def rows_permuted(self, x, size):
    shards = gather(x.reshape(2, 4, 12), size, "0").chunk(size)
    return torch.cat(shards[1:] + shards[:1], 1) @ self.weight


def columns_scattered_permuted(self, x, size):
    blocks = (x @ self.weight).chunk(size, 1)
    return scatter(torch.cat(blocks[1:] + blocks[:1]), size, "0")


GATHER = {"symm_mem.fused_all_gather_matmul": 1}
SCATTER = {"symm_mem.fused_matmul_reduce_scatter": 1}
CASES = {
    chained_gathers: GATHER,
    chained_gathers_of_columns: GATHER,
    chained_scatters: SCATTER,
    contraction_permuted: GATHER,
    rows_trimmed: GATHER,
    rows_permuted: GATHER,
    columns_scattered_permuted: SCATTER,
}


def export_case(function, path, size):
    members = {"weight": torch.rand(12, 8), "tall": torch.rand(12 * size, 8)}
    model = Model(lambda self, x: function(self, x, size), **members)
    exported = torch.export.export(model, (torch.rand(8, 12),))
    groups = {"0": list(range(size))}
    if function.__name__.startswith("chained"):
        # Two by two: rows are tp, columns dp.
        groups["tp"] = [[rank, rank + 1] for rank in range(0, size, 2)]
        groups["dp"] = [list(range(first, size, 2)) for first in range(2)]
    sidecar = {"version": 1, "groups": {name: {"ranks": r} for name, r in groups.items()}}
    torch.export.save(exported, path, extra_files={"commute.json": json.dumps(sidecar)})


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_fused_and_equal(function, tmp_path):
    size = 4
    source, target = tmp_path / "program.pt2", tmp_path / "out.pt2"
    export_case(function, source, size)
    optimize(source, target, FUSED)
    assert fused_ops_of(target) == CASES[function]
    check_same_results(source, target, size, seed=3)


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_unfused_comes_back(function, size, tmp_path):
    source, target = tmp_path / "program.pt2", tmp_path / "out.pt2"
    export_case(function, source, size)
    summary = optimize(source, target, NOTHING_FUSED)
    found = [remark["name"] for remark in summary["remarks"] if remark["name"] == "chain"]
    assert len(found) == function.__name__.startswith("chained")
    assert summary["unchanged"]
    assert read_records(target) == read_records(source)
