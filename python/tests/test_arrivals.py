# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs that use the result of a collective before they have waited for it."""

import functools

import pytest
import torch
import torch.distributed as dist
from torch.fx.experimental.proxy_tensor import make_fx

import commute
import commute.torch
from commute.errors import CommuteError
from commute.torch.live_graph import optimize_graph
from commute_tool import commute as run_commute
from zoo.common import capture, verdicts
from zoo.common.cases import EQUAL, Case

c10d = torch.ops._c10d_functional


# x @ w, whose contraction is split over two ranks.
MESH = {"tp": [[0, 1]]}
INPUTS = {"x": (4, 8), "w": (8, 4)}
RELATIONS = {
    "inputs": {"x": "shard(x, 1)", "w": "shard(w, 0)"},
    "outputs": {"0": "replicated"},
}


def reference(x, w):
    return torch.relu(x @ w)


def captured(ranks):
    return Case(ranks.__name__, MESH, INPUTS, RELATIONS, reference, ranks).capture()


def unwaited(mesh, x, w):
    return torch.relu(c10d.all_reduce(x @ w, "sum", mesh.tp.name))


def waited(mesh, x, w):
    return torch.relu(c10d.wait_tensor(c10d.all_reduce(x @ w, "sum", mesh.tp.name)))


def waited_by_effect(mesh, x, w):
    total = c10d.all_reduce(x @ w, "sum", mesh.tp.name)
    c10d.wait_tensor(total)
    return torch.relu(total)


def waited_as_view(mesh, x, w):
    total = c10d.all_reduce(x @ w, "sum", mesh.tp.name)
    return torch.relu(c10d.wait_tensor(total.view(-1))).view(4, 4)


def view_unwaited(mesh, x, w):
    total = c10d.all_reduce(x @ w, "sum", mesh.tp.name)
    view = torch.relu(total.view(-1)).view(4, 4)
    c10d.wait_tensor(total)
    return view


def scattered(mesh, x, w):
    part = c10d.reduce_scatter_tensor(x @ w, "sum", 2, mesh.tp.name)
    part = torch.relu(c10d.wait_tensor(part))
    return c10d.wait_tensor(c10d.all_gather_into_tensor(part, 2, mesh.tp.name))


def gathered_unwaited(mesh, x, w):
    part = c10d.reduce_scatter_tensor(x @ w, "sum", 2, mesh.tp.name)
    whole = c10d.all_gather_into_tensor(part, 2, mesh.tp.name)
    return torch.relu(c10d.wait_tensor(whole))


def coalesced(mesh, x, w):
    total, _ = c10d.all_reduce_coalesced([x @ w, w], "sum", mesh.tp.name)
    return torch.relu(c10d.wait_tensor(total))


def coalesced_unwaited(mesh, x, w):
    total, _ = c10d.all_reduce_coalesced([x @ w, w], "sum", mesh.tp.name)
    return torch.relu(total)


def returned_unwaited(mesh, x, w):
    part = c10d.wait_tensor(c10d.reduce_scatter_tensor(x @ w, "sum", 2, mesh.tp.name))
    return c10d.all_gather_into_tensor(torch.relu(part), 2, mesh.tp.name)


@pytest.mark.parametrize("ranks", [waited, waited_by_effect, waited_as_view, scattered, coalesced])
def test_ranks_that_wait_refine_the_reference(ranks, tmp_path):
    program = captured(ranks)
    assert program.difference() < EQUAL
    verdict = verdicts.verify(program, tmp_path)
    assert verdict.exit_code == 0, verdict.text
    # Whatever passes make of the program, they keep the wait.
    optimized = tmp_path / "optimized.pt2"
    process = run_commute("opt", tmp_path / "rank.pt2", "-o", optimized, "--policy=always")
    assert process.returncode == 0, process.stderr
    assert run_commute("verify", tmp_path / "rank.pt2", optimized).returncode == 0


@pytest.mark.parametrize(
    "ranks, collective, reader",
    [
        (unwaited, "all_reduce", "relu"),
        (view_unwaited, "all_reduce", "relu"),
        (gathered_unwaited, "reduce_scatter_tensor", "all_gather_into_tensor"),
        (coalesced_unwaited, "", "relu"),
    ],
)
def test_ranks_that_do_not_wait_do_not_refine(ranks, collective, reader, tmp_path):
    verdict = verdicts.verify(captured(ranks), tmp_path)
    assert verdict.exit_code == 1, verdict.text
    assert verdict.report["verdict"] == "does not refine"
    message = verdict.difference["message"]
    assert message.startswith(f"read before it has arrived: {collective}")
    assert f", by {reader}" in message
    assert verdict.difference["node"] == reader
    # Nor is it equivalent to a program that waits, and nothing is optimized.
    correct = tmp_path / "correct.pt2"
    capture.save(captured(waited).modules[0], correct, MESH)
    racing = tmp_path / "rank.pt2"
    for first, second in ((correct, racing), (racing, correct), (racing, racing)):
        process = run_commute("verify", first, second)
        assert process.returncode == 1
        assert "different: read before it has arrived" in process.stdout
    process = run_commute("opt", racing, "-o", tmp_path / "optimized.pt2")
    assert process.returncode == 2
    assert "read before it has arrived" in process.stderr
    assert "wait for it with wait_tensor" in process.stderr
    assert not (tmp_path / "optimized.pt2").exists()


def test_ranks_that_return_what_has_not_arrived_do_not_refine(tmp_path):
    verdict = verdicts.verify(captured(returned_unwaited), tmp_path)
    assert verdict.exit_code == 1
    assert verdict.difference["message"].startswith("returned before it has arrived: output 0")


def layer(read, x, w, up):
    total = c10d.all_reduce(x @ w, "sum", dist.group.WORLD.group_name)
    return read(total) @ torch.cat([up, up])


def traced(read):
    arguments = torch.ones(4, 8), torch.ones(8, 6), torch.ones(3, 6)
    return make_fx(functools.partial(layer, read), tracing_mode="fake")(*arguments)


def wait_by_effect(total):
    c10d.wait_tensor(total)
    return total


@pytest.mark.in_process
def test_live_graphs(fake_group):
    racing, correct = (
        commute.load(traced(read))
        for read in (torch.relu, lambda x: torch.relu(c10d.wait_tensor(x)))
    )
    assert commute.verify(correct, correct).verdict == "equivalent"
    for first, second in ((correct, racing), (racing, correct), (racing, racing)):
        verdict = commute.verify(first, second)
        assert verdict.verdict == "different"
        assert "read before it has arrived: all_reduce" in str(verdict)
    # The graph stays, with a remark; an archive is refused.
    before = str(racing.graph_module.graph)
    remarks = optimize_graph(racing.graph_module.graph, policy="always", is_functional_graph=True)
    assert str(racing.graph_module.graph) == before
    assert [remark.verdict for remark in remarks if remark.node == "relu"] == ["refused"]
    assert any("read before it has arrived: all_reduce" in remark.message for remark in remarks)
    assert commute.optimize(racing, policy="always").program is racing


@pytest.mark.in_process
def test_passes_keep_a_wait_that_only_the_order_of_the_program_needs(fake_group):
    module = traced(wait_by_effect)
    before = commute.load(module)
    remarks = optimize_graph(
        module.graph, passes="split-linear", policy="always", is_functional_graph=True
    )
    assert any(remark.verdict == "applied" for remark in remarks)
    (wait,) = module.graph.find_nodes(op="call_function", target=c10d.wait_tensor.default)
    assert wait.users
    assert commute.verify(before, commute.load(module)).verdict == "equivalent"


@pytest.mark.in_process
def test_a_graph_may_wait_for_an_input(fake_group):
    # torch.compile passes collectives that are under way to graphs.
    def function(x, w, waits):
        if waits:
            c10d.wait_tensor(x)
        return x * w

    waiting, racing = (
        commute.load(
            make_fx(functools.partial(function, waits=waits), tracing_mode="fake")(
                torch.ones(4, 8), torch.ones(4, 8)
            ),
            groups={"0": [0, 1]},
        )
        for waits in (True, False)
    )
    assert commute.verify(waiting, waiting).verdict == "equivalent"
    assert commute.verify(racing, racing).verdict == "equivalent"
    verdict = commute.verify(waiting, racing)
    assert verdict.verdict == "different"
    assert "read before it has arrived" in str(verdict)


@pytest.mark.in_process
def test_archives_are_refused(tmp_path):
    captured(unwaited).write(tmp_path)
    with pytest.raises(CommuteError, match="read before it has arrived: all_reduce"):
        commute.optimize(tmp_path / "rank.pt2")
