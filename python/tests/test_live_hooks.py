# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""enable, disable and the backend: what is installed where, beside what, and what an error
of a pass does to the compilation."""

import logging
import re

import pytest
import torch
import torch._dynamo
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch._guards import TracingContext, tracing
from torch._inductor import config
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._subclasses import FakeTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.fx import Graph
from torch.testing._internal.distributed.fake_pg import FakeStore

import commute.torch
from commute.torch import CommuteError, containment, drop_ins, hooks, optimize_graph
from commute.torch.backend import commute_backend
from commute.torch.graph_passes import PassSequence, custom_passes, join_passes
from commute.torch.traced_inputs import Layout, TracedInputs
from inductor_graphs import InductorGraphs
from parallel_modules import MODULES, make_input

pytestmark = pytest.mark.in_process

OPTIONS = (
    "pre_grad_custom_pass",
    "joint_custom_post_pass",
    "post_grad_custom_post_pass",
    "_micro_pipeline_tp",
)


def inductor_options():
    return [getattr(config, name) for name in OPTIONS]


class Watcher(CustomGraphPass):
    """A user's custom pass: it keeps the names of what it sees."""

    def __init__(self):
        self.seen = []

    def __call__(self, graph):
        self.seen.append({str(node.target) for node in graph.nodes})

    def uuid(self):
        return "watcher"


@pytest.fixture(autouse=True)
def nothing_left_enabled():
    torch._dynamo.reset()
    containment._logged.clear()
    yield
    commute.torch.disable()


@pytest.fixture
def mesh(fake_group):
    return init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))


def compile_step(mesh, name="functional_feed_forward"):
    """The graphs of one step of a module, which two ranks would run."""
    graphs = InductorGraphs()
    compiled = torch.compile(MODULES[name](mesh), backend=graphs)
    compiled(make_input(name, mesh)).sum().backward()
    return graphs


def num_fused(graphs):
    return sum(
        count
        for counts in graphs.communication()
        for name, count in counts.items()
        if name.startswith("fused")
    )


#
# enable and disable
#


def test_disable_restores_every_option():
    before = inductor_options()
    commute.torch.enable()
    assert all(getattr(config, name) for name in OPTIONS[:3])
    commute.torch.disable()
    after = inductor_options()
    assert all(old is new for old, new in zip(before, after, strict=True))
    commute.torch.disable()


def test_with_block_restores_after_an_error():
    before = inductor_options()
    with pytest.raises(KeyError), commute.torch.enable():
        raise KeyError
    assert all(old is new for old, new in zip(before, inductor_options(), strict=True))


def test_enabled_twice_is_an_error():
    with commute.torch.enable():
        inside = inductor_options()
        with pytest.raises(CommuteError, match="enabled already"):
            commute.torch.enable()
        assert all(old is new for old, new in zip(inside, inductor_options(), strict=True))


def test_pytorchs_own_pass_is_off_in_the_meantime():
    with config.patch(_micro_pipeline_tp=True):
        with commute.torch.enable():
            assert config._micro_pipeline_tp is False
        assert config._micro_pipeline_tp is True
        with commute.torch.enable(passes="split-linear"):
            assert config._micro_pipeline_tp is True


def test_passes_that_are_selected_alone_are_installed():
    with commute.torch.enable(passes=["sequence-parallel"]):
        assert config.post_grad_custom_post_pass is None
        assert len(custom_passes(config.joint_custom_post_pass)) == 1


@pytest.mark.parametrize("name", hooks.PASSES)
def test_each_pass_alone_gives_graphs_that_run(mesh, name):
    for module in MODULES:
        torch._dynamo.reset()
        with commute.torch.enable(passes=name, policy="always", fatal=True):
            graphs = compile_step(mesh, module)
        if name != "micro-pipeline":
            assert num_fused(graphs) == 0


@pytest.mark.parametrize(
    "options, message",
    [
        ({"passes": "micro-pipelines"}, "'micro-pipelines' is no pass"),
        ({"policy": "sometimes"}, "sometimes"),
        ({"target": "h1000"}, "h1000"),
    ],
)
def test_wrong_options_are_errors_and_install_nothing(options, message):
    before = inductor_options()
    with pytest.raises(CommuteError, match=message):
        commute.torch.enable(**options)
    assert all(old is new for old, new in zip(before, inductor_options(), strict=True))


def test_custom_passes_that_are_there_keep_running(mesh):
    joint, after = Watcher(), Watcher()
    found = join_passes([after])
    with config.patch(joint_custom_post_pass=joint, post_grad_custom_post_pass=found):
        with commute.torch.enable(policy="always", fatal=True):
            graphs = compile_step(mesh)
        assert config.joint_custom_post_pass is joint
        assert config.post_grad_custom_post_pass is found
    assert num_fused(graphs) == 4
    assert len(joint.seen) == 1 and len(after.seen) == 2
    # After Commute, as after PyTorch's own pass.
    assert all(any("symm_mem.fused" in name for name in seen) for seen in after.seen)


def test_custom_pass_added_in_the_meantime_stays():
    added = Watcher()
    commute.torch.enable()
    ours = custom_passes(config.post_grad_custom_post_pass)
    config.post_grad_custom_post_pass = join_passes([*ours, added])
    commute.torch.disable()
    try:
        assert custom_passes(config.post_grad_custom_post_pass) == (added,)
    finally:
        config.post_grad_custom_post_pass = None


def test_options_that_hold_one_pass(mesh, monkeypatch):
    """As those of PyTorch 2.10."""
    monkeypatch.setattr("commute.torch.graph_passes.takes_lists_of_passes", lambda: False)
    after = Watcher()
    with config.patch(post_grad_custom_post_pass=after):
        with commute.torch.enable(policy="always", fatal=True):
            joined = config.post_grad_custom_post_pass
            assert isinstance(joined, CustomGraphPass) and isinstance(joined, PassSequence)
            *ours, last = joined.uuid()
            assert last == "watcher" and len(ours) == 2 and all(ours)
            # One pass is itself.
            assert isinstance(config.pre_grad_custom_pass, hooks._PreGradPass)
            graphs = compile_step(mesh)
        assert config.post_grad_custom_post_pass is after
        assert config.joint_custom_post_pass is None
    assert num_fused(graphs) == 4 and len(after.seen) == 2
    # A pass without a uuid must not be cached.
    assert PassSequence([after, print]).uuid() is None


def test_nothing_is_changed_after_disable(mesh):
    with commute.torch.enable(policy="always"):
        assert num_fused(compile_step(mesh)) == 4
    torch._dynamo.reset()
    assert num_fused(compile_step(mesh)) == 0


#
# Errors
#


def plant_error(monkeypatch, message="no such thing"):
    """An error in the middle of a pass: the graph has been edited by then."""

    def fail(self):
        raise RuntimeError(message)

    monkeypatch.setattr("commute.torch.graph_transaction.GraphTransaction.commit", fail)


def test_error_in_a_pass_does_not_end_the_compilation(mesh, monkeypatch, caplog):
    plant_error(monkeypatch)
    caplog.set_level(logging.WARNING, logger="commute")
    with commute.torch.enable(policy="always"):
        graphs = compile_step(mesh)
    assert graphs.communication() == [
        {"all_gather_into_tensor": 1, "reduce_scatter_tensor": 1},
        {"all_gather_into_tensor": 1, "reduce_scatter_tensor": 1},
    ]
    # Once, although it happens in the forward and in the backward graph.
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "micro_pipeline_tp_pass" in record.message and "no such thing" in record.message


def test_fatal_errors_are_raised(mesh, monkeypatch):
    plant_error(monkeypatch)
    commute.torch.enable(policy="always", fatal=True)
    with pytest.raises(Exception, match="no such thing"):
        compile_step(mesh)


def test_other_causes_are_logged_as_well(caplog):
    def fail(error):
        raise error

    with caplog.at_level(logging.WARNING, logger="commute"):
        for error in (ValueError("a"), ValueError("a"), ValueError("b"), TypeError("a")):
            assert containment.contained("pass", lambda e=error: fail(e), 7, fatal=False) == 7
    assert len(caplog.records) == 3


#
# The backend
#


def test_backend_is_known_by_name_and_takes_options():
    commute.torch.register_backend()
    assert torch._dynamo.lookup_backend("commute") is commute_backend
    options = hooks.options_of_inductor(hooks.Settings(policy="always"))
    assert set(options) == set(OPTIONS)
    assert options["_micro_pipeline_tp"] is False


def test_backend_beside_enable_has_its_own_passes_alone():
    watcher = Watcher()
    with config.patch(post_grad_custom_post_pass=watcher), commute.torch.enable():
        options = hooks.options_of_inductor(hooks.Settings(policy="always"))
        passes = custom_passes(options["post_grad_custom_post_pass"])
        assert passes[-1] is watcher and len(passes) == 3
        assert not set(passes[:-1]) & set(custom_passes(config.post_grad_custom_post_pass))


#
# What the traced graph says
#


def test_placements_and_names_come_from_the_traced_graph(mesh, monkeypatch):
    stated = []

    def keep(graph, **options):
        traced = TracedInputs.current()
        inputs = graph.find_nodes(op="placeholder")
        stated.append(
            {
                traced.name(node): layout.is_replicated([[0, 1]])
                for node in inputs
                if (layout := traced.layout(node)) is not None
            }
        )
        return optimize_graph(graph, **options)

    monkeypatch.setattr(drop_ins, "optimize_graph", keep)
    with commute.torch.enable(passes="sequence-parallel", policy="always", fatal=True):
        compile_step(mesh, "replicated_block")
    (joint,) = stated
    # The input is made a replicated DTensor by the module.
    assert joint.pop("x")
    assert joint.pop("block.attention_norm.weight") and joint.pop("block.norm.weight")
    assert len(joint) == 7 and not any(joint.values())
    assert "block.feed_forward.down.weight" in joint


def placeholders(*values):
    graph = Graph()
    for index, value in enumerate(values):
        graph.placeholder(f"input{index}").meta["example_value"] = value
    graph.output(())
    return graph


def test_inputs_that_cannot_be_told_apart_are_not_recorded():
    x = torch.empty(2)
    for graphs, known in (
        ([placeholders(x, x)], 2),
        ([placeholders(x, x), placeholders(x)], 0),
        ([placeholders([x], x)], 0),
        ([placeholders(None)], 0),
    ):
        with tracing(TracingContext(None)):
            for graph in graphs:
                TracedInputs.record(graph)
            assert len(TracedInputs.current().layouts) == known
    assert TracedInputs.current() == TracedInputs()


def test_layout_of_one_axis_and_of_a_whole_mesh():
    tp, dp = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
    everywhere = Layout((frozenset(range(4)),))
    assert everywhere.is_replicated(tp) and everywhere.is_replicated([[0, 1, 2, 3]])
    along_tp = Layout((frozenset({0, 1}), frozenset({2, 3})))
    assert along_tp.is_replicated(tp) and not along_tp.is_replicated(dp)
    # A mesh that is one group of the axis says nothing of other axes.
    one_group = Layout((frozenset({0, 1}),))
    assert one_group.is_replicated(tp)
    assert not one_group.is_replicated(dp) and not one_group.is_replicated([[2, 3]])
    shards = Layout((frozenset({0}), frozenset({1})))
    assert not shards.is_replicated(tp)


def test_axis_of_a_larger_mesh():
    """Of four ranks; the other axis is in no graph."""
    dist.init_process_group(backend="fake", world_size=4, rank=3, store=FakeStore())
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    with commute.torch.enable(policy="always", fatal=True, ranks="same"):
        forward, _ = compile_step(mesh["tp"], "replicated_block").communication()
    assert not {"all_reduce", "all_reduce_"} & set(forward)
    assert forward["fused_matmul_reduce_scatter"] == 2


def test_context_goes_by_the_names_of_users(mesh):
    """What the context states of other graphs' inputs and sizes is ignored."""
    seen = []

    class Residual(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(8))

        def forward(self, x, y):
            reduced = torch.ops._c10d_functional.all_reduce(x, "sum", mesh.get_group().group_name)
            summed = torch.ops._c10d_functional.wait_tensor(reduced) + y
            return torch.rms_norm(summed, (8,), self.weight) @ summed.t()

    def communication(context):
        torch._dynamo.reset()
        graphs = InductorGraphs()
        compiled = torch.compile(Residual(), backend=graphs)
        options = dict(policy="always", context=context, fatal=True, ranks="same")
        with commute.torch.enable(**options), torch.no_grad():
            compiled(torch.ones(8, 8), torch.ones(8, 8))
        seen.extend(graphs.communication())

    group = mesh.get_group().group_name
    communication(None)
    names = ("y", "weight", "other.weight")
    inputs = {name: {group: "replicated"} for name in names}
    communication({"version": 1, "inputs": inputs, "assumptions": ["s0 % 2 == 0"]})
    assert "all_reduce_" in seen[0] or "all_reduce" in seen[0]
    assert not {"all_reduce", "all_reduce_"} & set(seen[1])


class NormOfASum(torch.nn.Module):
    """A hand-written layer: its weights are plain parameters, equal on all ranks or not."""

    def __init__(self):
        super().__init__()
        self.down = torch.nn.Linear(512, 4096, bias=False)
        self.norm = torch.nn.RMSNorm(4096)
        self.up = torch.nn.Linear(4096, 512, bias=False)

    def forward(self, x):
        summed = functional.all_reduce(self.down(x), "sum", dist.group.WORLD)
        return self.up(self.norm(functional.wait_tensor(summed)))


@pytest.mark.parametrize("statement", ["unknown", "replicated"])
def test_parameters_of_which_nothing_is_known_are_named(fake_group, caplog, statement):
    caplog.set_level(logging.DEBUG, logger="commute")
    with (
        commute.torch.enable(target="h100x8", ranks="same", plain_parameters=statement, fatal=True),
        FakeTensorMode(allow_non_fake_inputs=True),
        torch.no_grad(),
    ):
        model = NormOfASum()
        torch.compile(model, backend=InductorGraphs())(torch.empty(8192, 512))
    named = [
        record.getMessage() for record in caplog.records if "would be saved" in record.getMessage()
    ]
    found = [
        re.search(r"([\d.]+) us instead of ([\d.]+) us .* if (\S+) is", text) for text in named
    ]
    if statement == "replicated":
        assert not named
        return
    (match,) = found
    assert float(match[1]) > float(match[2])
    assert match[3] == "norm.weight"
    assert 'state plain_parameters="replicated"' in named[0]
