# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""commute explain on a captured graph: what blocks, and what its remedy would gain."""

import json

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from commute_tool import succeed
from torch.export import Dim
from torch.testing._internal.distributed.fake_pg import FakeStore

from programs import define_mylib, export_function

RANKS = 4
# From about 400000 rows on, shards pay.
ROWS, FEW_ROWS = 1 << 22, 1 << 16


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Two layers: a sum over ranks, a norm of a library of our own, and a product."""
    define_mylib()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
    group = dist.group.WORLD.group_name

    def forward(self, x, residual):
        for layer in range(2):
            y = collectives.all_reduce(x @ self.down, "sum", group)
            residual = torch.ops.mylib.rms_norm(residual + y, self.norm, 1e-5)
            x = residual @ self.up
        return x

    rows = Dim("rows", min=8)
    exported = export_function(
        forward,
        torch.rand(64, 32),
        torch.rand(64, 128),
        dynamic_shapes=[{0: rows}, {0: rows}],
        down=torch.nn.Parameter(torch.rand(32, 128)),
        norm=torch.nn.Parameter(torch.rand(128)),
        up=torch.nn.Parameter(torch.rand(128, 32)),
    )
    dist.destroy_process_group()
    (placeholder,) = [node for node in exported.graph.nodes if node.name == "arguments_1"]
    sidecar = {
        "version": 1,
        "rank": 0,
        "groups": {group: {"ranks": list(range(RANKS))}},
        "inputs": {
            "norm": {group: "replicated"},
            placeholder.name: {group: "replicated"},
        },
    }
    path = tmp_path_factory.mktemp("explain") / "layers.pt2"
    torch.export.save(exported, path, extra_files={"commute.json": json.dumps(sidecar)})
    return path


def assume_rows(archive, rows):
    (symbol,) = json.loads(succeed("show", archive, "--json"))["symbols"]
    return f"--assume={symbol} == {rows}"


@pytest.fixture(scope="module")
def sizes(archive):
    return assume_rows(archive, ROWS)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "mylib.json"
    entry = {
        "same_as": "torch.ops.tensor_cast.rms_norm.default",
        "arguments": {"x": "input", "weight": "gamma", "eps": "epsilon"},
    }
    operators = {"torch.ops.mylib.rms_norm.default": entry}
    path.write_text(json.dumps({"version": 1, "operators": operators}))
    return f"--vocabulary={path}"


def explain(*arguments):
    return json.loads(succeed("explain", *arguments, "--json"))


@pytest.fixture(scope="module")
def blocked(archive, sizes):
    return explain(archive, sizes)


def test_opaque_operator_is_named(blocked):
    operator = "torch.ops.mylib.rms_norm.default"
    (remedy,) = [entry for entry in blocked["remedies"] if operator in entry["text"]]
    assert remedy["sites"] == 2 and remedy["gain_seconds"] > 0
    file = json.loads(remedy["vocabulary"])
    entry = file["operators"][operator]
    # A known operator of the same name, and the arguments to map.
    assert entry["same_as"].split(".")[3] == "rms_norm"
    assert {"input", "gamma", "epsilon"} >= set(entry["arguments"])


def test_predicted_gain_is_gained(archive, sizes, blocked, vocabulary):
    described = explain(archive, sizes, vocabulary)
    gained = blocked["after"]["seconds"] - described["after"]["seconds"]
    predicted = max(entry["gain_seconds"] for entry in blocked["remedies"])
    # A norm is not exactly as fast as the elementwise op that stood for it.
    assert gained > 0.01 * blocked["after"]["seconds"]
    assert 0.5 < predicted / gained < 2
    assert not any("mylib" in entry["text"] for entry in described["remedies"])


def test_layers_are_one_row(archive, vocabulary):
    (row,) = explain(archive, assume_rows(archive, FEW_ROWS), vocabulary, "--refused")["sites"]
    assert row["count"] == 2 and row["nodes"] == ["all_reduce", "all_reduce_1"]
    assert row["code"] == "unprofitable" and row["seconds_after"] > row["seconds_before"]
    assert FEW_ROWS < row["pays_from_rows"] < ROWS
    assert "test_explain.py:" in row["source"]


def test_story_is_in_order(archive, sizes):
    story = explain(archive, sizes, "--why=all_reduce")["story"]
    passes = [chapter["pass"] for chapter in story]
    assert passes.index("sequence-parallel") < passes.index("micro-pipeline")
    (rewrite,) = [chapter for chapter in story if chapter["decision"] == "applied"]
    assert rewrite["law"] == "shard-region"
    assert story[0]["op"] == "tp.all_reduce"
