# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.torch.runtime_estimation`: Inductor's overlap scheduling with Commute's prices."""

import collections
import functools
import json
import logging

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch import nn
from torch._inductor import config
from torch._inductor.fx_passes.overlap_scheduling import (
    OverlapScheduler,
    estimate_collective_time,
    gather_node_runtime_estimations,
)
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

import commute
import commute.torch
from commute_tool import succeed

pytestmark = pytest.mark.in_process

RANKS = 4


@pytest.fixture
def machine_without_gpu(monkeypatch):
    """PyTorch asks the GPU for its rates, also where it does not use them."""
    monkeypatch.setattr("torch.utils._runtime_estimation.get_device_tflops", lambda dtype: 1.0)
    monkeypatch.setattr("torch.utils._runtime_estimation.get_gpu_dram_gbps", lambda: 1000)


@pytest.fixture
def group():
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
    return dist.group.WORLD


def layer(x, up, down, other):
    hidden = torch.relu(x @ up) @ down
    total = collectives.all_reduce(hidden, "sum", dist.group.WORLD)
    # Independent of the sum over ranks.
    side = torch.softmax(x @ other, -1)
    return total.transpose(0, 1), side


def arguments(rows=512):
    sizes = [(rows, 256), (256, 1024), (1024, 256), (256, 256)]
    return [torch.randn(size, dtype=torch.bfloat16) for size in sizes]


@pytest.fixture
def traced(group):
    return make_fx(layer, tracing_mode="fake")(*arguments())


def times(module, **options):
    return {
        node.name: commute.torch.runtime_estimation(node, **options) for node in module.graph.nodes
    }


@pytest.mark.parametrize("target", ["h100x8", "mi300x8"])
def test_times_are_those_of_an_estimate(traced, target):
    found = times(traced, target=target)
    estimate = commute.estimate(traced, target=target)
    by_kind = collections.Counter()
    kinds = {"mm": "matmul", "relu": "map", "all_reduce": "all_reduce", "_softmax": "rowwise"}
    for node, milliseconds in found.items():
        if milliseconds is not None:
            by_kind[kinds[node.rstrip("_0123456789")]] += milliseconds / 1e3
    expected = {op["op"]: op["seconds"] for op in estimate.ops}
    assert set(by_kind) == set(expected)
    for kind, seconds in expected.items():
        assert by_kind[kind] == pytest.approx(seconds), kind
    # Views, waits and inputs take no time.
    assert found["transpose"] is None and found["wait_tensor"] is None and found["x_1"] is None


def test_times_are_those_of_the_tool(traced, tmp_path):
    commute.load(traced).save(tmp_path / "graph.mlir")
    expected = json.loads(succeed("estimate", tmp_path / "graph.mlir", "--json"))
    found = times(traced)
    total = sum(milliseconds for milliseconds in found.values() if milliseconds)
    assert total / 1e3 == pytest.approx(sum(op["seconds"] for op in expected["ops"]))


def test_a_target_in_a_file(traced, tmp_path):
    path = tmp_path / "slow.json"
    machine = json.loads(succeed("targets", "h100x8", "--json"))
    path.write_text(json.dumps(machine))
    assert times(traced, target=path) == times(traced)


def test_the_latency_of_a_collective(traced):
    (node,) = [one for one in traced.graph.nodes if one.name == "all_reduce"]
    whole = commute.torch.runtime_estimation(node)
    latency = commute.torch.runtime_estimation(node, 0)
    # Inductor counts inputs and outputs.
    num_bytes = 2 * 512 * 256 * 2
    assert commute.torch.runtime_estimation(node, num_bytes) == whole
    assert 0 < latency < whole < commute.torch.runtime_estimation(node, 4 * num_bytes)
    estimate = functools.partial(
        estimate_collective_time, custom_runtime_estimation=commute.torch.runtime_estimation
    )
    assert estimate(node) == whole and estimate(node, 0) == latency


def test_operators_without_a_model_are_left_to_inductor(group):
    @torch.library.custom_op("commute_tests::opaque", mutates_args=())
    def opaque(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @opaque.register_fake
    def _(x):
        return torch.empty_like(x)

    traced = make_fx(lambda x, w: opaque(x) @ w, tracing_mode="fake")(
        torch.ones(8, 4), torch.ones(4, 4)
    )
    found = times(traced)
    assert found["opaque"] is None and found["mm"] > 0


def test_a_node_that_is_added_has_a_time(traced):
    before = times(traced)
    (first,) = [one for one in traced.graph.nodes if one.name == "mm"]
    with traced.graph.inserting_after(first):
        added = traced.graph.call_function(torch.ops.aten.relu.default, (first,))
    added.meta["val"] = torch.relu(first.meta["val"])
    assert commute.torch.runtime_estimation(added) == pytest.approx(before["relu"])


def test_sizes_that_are_symbols_have_their_hints(group):
    dynamic = make_fx(layer, tracing_mode="symbolic")(*arguments())
    found = sorted(filter(None, times(dynamic).values()))
    static = make_fx(layer, tracing_mode="fake")(*arguments())
    assert found == pytest.approx(sorted(filter(None, times(static).values())))


def test_a_group_that_nobody_knows_has_no_time(traced):
    (node,) = [one for one in traced.graph.nodes if one.name == "all_reduce"]
    node.args = (*node.args[:-1], "nobody's")
    found = times(traced)
    assert found["all_reduce"] is None and found["mm"] > 0


def test_an_error_is_logged_once(traced, caplog):
    with caplog.at_level(logging.WARNING, logger="commute"):
        found = times(traced, target="no-such-machine")
    assert set(found.values()) == {None}
    assert len(caplog.records) == 1 and "no-such-machine" in caplog.text


def test_inductor_schedules_with_these_times(traced, machine_without_gpu):
    """The scheduler's own view: collectives and products have Commute's times."""
    found = times(traced)
    estimations = gather_node_runtime_estimations(
        traced, custom_runtime_estimation=commute.torch.runtime_estimation
    )
    for node, milliseconds in estimations.items():
        if found[node.name] is not None:
            assert milliseconds == found[node.name], node
    assert {"all_reduce", "mm", "mm_1", "mm_2"} <= {node.name for node in estimations}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        for name, value in zip(("up", "down", "other"), arguments()[1:]):
            setattr(self, name, nn.Parameter(value))

    def forward(self, x):
        return layer(x, self.up, self.down, self.other)


@pytest.mark.parametrize("target", ["h100x8", "mi300x8"])
def test_torch_compile_asks_for_these_times(group, monkeypatch, machine_without_gpu, target):
    seen = {}
    run = OverlapScheduler.run

    def observed(scheduler):
        result = run(scheduler)
        for node, milliseconds in scheduler.node_estimations.items():
            seen[str(node.target)] = milliseconds
        return result

    monkeypatch.setattr(OverlapScheduler, "run", observed)
    monkeypatch.setattr(config, "force_disable_caches", True)
    options = config.aten_distributed_optimizations
    monkeypatch.setattr(options, "enable_overlap_scheduling", True)
    monkeypatch.setattr(options, "enable_fusion_regions", False)
    assert options.custom_runtime_estimation is None
    x = arguments()[0]
    model = Model()
    with commute.torch.enable(
        target=target, runtime_estimation=True, passes="contiguous-collectives", fatal=True
    ):
        assert options.custom_runtime_estimation.keywords == {"target": target}
        with torch.no_grad():
            torch.compile(model)(x)
    assert options.custom_runtime_estimation is None
    assert options.compute_estimator == "benchmark"
    expected = commute.estimate(
        make_fx(lambda x: collectives.all_reduce(x, "sum", group), tracing_mode="fake")(x),
        target=target,
    )
    all_reduce = (
        seen["_c10d_functional.all_reduce_.default"]
        if ("_c10d_functional.all_reduce_.default" in seen)
        else seen["_c10d_functional.all_reduce.default"]
    )
    assert all_reduce / 1e3 == pytest.approx(expected.step_seconds)
    assert seen["aten.mm.default"] > 0
