# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Groups and meshes that a process knows from the moment they are made."""

import gc
import json
import threading

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import Replicate, distribute_tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

from commute.torch import (
    CaptureError,
    capture,
    check,
    contiguous_collectives_pass,
    optimize_graph,
    register_group_name,
)
from commute.torch.graph_program import GraphProgram
from commute.torch.known_groups import known_groups
from commute.torch.process_groups import ProcessGroups, framework_name
from commute.torch.rank_exchange import Identity, RankExchange
from commute.torch.stated_context import StatedContext
from commute.torch.traced_inputs import _layout_of
from ranks import call_on_ranks
from records import SIDECAR, read_records

gather = torch.ops._c10d_functional.all_gather_into_tensor
wait = torch.ops._c10d_functional.wait_tensor


def start(world_size, rank=0):
    dist.init_process_group(backend="fake", world_size=world_size, rank=rank, store=FakeStore())


def find(group):
    return ProcessGroups().find(group if isinstance(group, str) else group.group_name)


def make(*groups, description=None):
    """This rank's group among some that are made."""
    made = [dist.new_group(ranks, group_desc=description) for ranks in groups]
    (own,) = [group for group in made if isinstance(group, dist.ProcessGroup)]
    return own


@pytest.fixture(autouse=True)
def without_the_garbage_collectors_list(monkeypatch):
    def refuse(*_):
        raise AssertionError("objects are looked for")

    monkeypatch.setattr(gc, "get_objects", refuse)


@pytest.mark.parametrize("rank", [0, 5])
def test_groups_that_were_made_one_by_one(rank):
    """As frameworks make them: a loop over the groups of each axis."""
    start(8, rank)
    tp = make([0, 1], [2, 3], [4, 5], [6, 7])
    dp = make([0, 2], [1, 3], [4, 6], [5, 7])
    pairs = [(first, first + 4) for first in range(4)]
    pp = make(*map(list, pairs))
    assert find(tp) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert find(dp) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert find(pp) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert find(dist.group.WORLD) == [[*range(8)]]


def test_two_groups_of_the_same_ranks_that_were_made_together():
    """Megatron makes a group for NCCL and one for Gloo in each round of its loop."""
    start(4, 3)
    made = [dist.new_group(ranks) for ranks in ([0, 1], [0, 1], [2, 3], [2, 3])]
    first, second = [group for group in made if isinstance(group, dist.ProcessGroup)]
    assert first is not second
    assert find(first) == find(second) == [[0, 1], [2, 3]]


def test_groups_that_ranks_use_in_other_places_are_not_joined():
    start(4)
    own, other = dist.new_group([0, 1]), dist.new_group([0, 2])
    # Rank 1 has another group before, rank 3 has none of the kind.
    dist.new_group([1, 2])
    assert find(own) is None and find(other) is None


def test_groups_of_another_kind_do_not_count():
    start(4)
    dist.new_group([0, 3], group_desc="ends of the pipeline")
    tp = make([0, 1], [2, 3], description="tp")
    assert find(tp) == [[0, 1], [2, 3]]


def test_a_mesh_that_nobody_holds():
    start(4)
    name = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))["tp"].get_group().group_name
    gc.collect()
    assert find(name) == [[0, 1], [2, 3]]


def test_a_mesh_of_groups_that_were_made_for_this_rank_alone():
    """Only the mesh says what the groups of the others are."""
    start(4)
    tp, dp = (dist.new_group(r, use_local_synchronization=True) for r in ([0, 1], [0, 2]))
    assert find(tp) is None
    DeviceMesh.from_group([dp, tp], "cpu", mesh=[[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))
    gc.collect()
    assert find(tp) == [[0, 1], [2, 3]] and find(dp) == [[0, 2], [1, 3]]


def test_names_that_are_given_again():
    start(4)
    first = make([0, 1], [2, 3])
    name = first.group_name
    dist.destroy_process_group()
    assert find(name) is None
    start(4)
    again = dist.new_group([0, 3])
    assert again.group_name == name and find(name) is None


def test_names_of_frameworks():
    start(4)
    plain = make([0, 1], [2, 3])
    megatron = make([0, 2], [1, 3], description="DATA_PARALLEL_GROUP")
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    assert framework_name(plain.group_name) == ""
    assert framework_name(megatron.group_name) == "DATA_PARALLEL_GROUP"
    assert framework_name(mesh.get_group("tp").group_name) == "tp"
    register_group_name("tp:0", plain)
    try:
        assert framework_name(plain.group_name) == "tp:0"
    finally:
        register_group_name("tp:0", None)


def sums_over(*groups):
    def function(x):
        for group in groups:
            x = fc.all_reduce(x, "sum", group)
        return x

    return function


def sidecar_of(folder, rank):
    _, records = read_records(folder / f"rank{rank}.pt2")
    return json.loads(records[SIDECAR])


def test_capture_names_the_groups_of_frameworks(tmp_path):
    """All ranks' programs, with groups that are no axes of the mesh."""
    start(4)
    tp = make([0, 1], [2, 3], description="TENSOR_MODEL_PARALLEL_GROUP")
    ends = make([0, 3], [1, 2], description="ENDS")
    capture(sums_over(tp, ends), (torch.randn(4, 4),), mesh={"all": 4}, folder=tmp_path)
    for rank in range(4):
        assert sidecar_of(tmp_path, rank)["groups"] == {
            "TENSOR_MODEL_PARALLEL_GROUP": {"ranks": [[0, 1], [2, 3]]},
            "ENDS": {"ranks": [[0, 3], [1, 2]]},
        }


# ----------------------------------------------------------------------------
# Without a mesh
# ----------------------------------------------------------------------------


def test_mesh_of_the_groups_of_a_framework(tmp_path):
    start(8)
    make(*([rank] for rank in range(8)), description="PIPELINE")
    tp = make([0, 1], [2, 3], [4, 5], [6, 7], description="TP")
    make([0, 1, 2, 3], [4, 5, 6, 7], description="TP with CP")
    cp = make([0, 2], [1, 3], [4, 6], [5, 7], description="CP")
    make([0, 4], [1, 5], [2, 6], [3, 7], description="DP")
    captured = capture(
        sums_over(tp, cp),
        {"x": torch.randn(4, 4)},
        input_placements={"x": {"TP": "partial", "CP": "shard(0)"}},
        folder=tmp_path,
    )
    mesh = json.loads(captured.relations.read_text())["mesh"]
    assert [*mesh] == ["DP", "CP", "TP"]
    assert mesh["CP"] == [[0, 2], [1, 3], [4, 6], [5, 7]]
    placed = sidecar_of(tmp_path, 5)
    assert placed["inputs"]["x"] == {"TP": "partial(sum)", "CP": "shard(0)"}


def test_mesh_of_dtensors():
    """The mesh from which the axis of the plan is cut."""
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

    start(4)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8))
    parallel = torch.nn.Sequential(torch.nn.Linear(8, 8))
    parallelize_module(
        parallel,
        init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))["tp"],
        {"0": ColwiseParallel(output_layouts=Replicate())},
    )
    assert check(model, parallel, (torch.randn(4, 8),))


def test_meshes_that_are_not_known():
    with pytest.raises(CaptureError, match="no process group"):
        capture(sums_over(), (torch.randn(4),))
    start(4)
    make([0, 1], [2, 3])
    with pytest.raises(CaptureError, match="not the axes of one mesh"):
        # Nothing says what the other axis is.
        capture(sums_over(), (torch.randn(4),))


# ----------------------------------------------------------------------------
# Groups that are older than the import of commute.torch
# ----------------------------------------------------------------------------


def test_the_mesh_of_a_dtensor_is_known():
    start(4)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    tensor = distribute_tensor(torch.zeros(4, 4), mesh["tp"], [Replicate()])
    known_groups.forget()
    assert find(mesh.get_group("tp")) is None
    _layout_of(tensor)
    assert find(mesh.get_group("tp")) == [[0, 1], [2, 3]]
    # The axis of the tensor is cut from it.
    assert find(mesh.get_group("dp")) == [[0, 2], [1, 3]]


def two_gathers(*groups):
    """The graph of gathers over groups, of a strided value."""

    def function(x):
        return [wait(gather(x.t(), 2, group.group_name)) for group in groups]

    return make_fx(function, tracing_mode="fake")(torch.randn(8, 4))


def copies_in(module):
    return sum(node.target is torch.ops.aten.clone.default for node in module.graph.nodes)


def test_groups_of_a_mesh_in_row_major_order_are_completed():
    start(4)
    module = two_gathers(make([0, 1], [2, 3]), make([0, 2], [1, 3]))
    known_groups.forget()
    remarks = optimize_graph(
        module.graph, passes="contiguous-collectives", is_functional_graph=True
    )
    (premise,) = (remark for remark in remarks if "row-major" in remark.message)
    assert premise.verdict == "noted"
    assert "0,2 is one of the groups 0,2/1,3" in premise.message
    assert copies_in(module) > 0


def test_groups_of_this_rank_alone_are_not_completed():
    """That the other ranks have none is known."""
    start(4)
    module = two_gathers(dist.new_group([0, 1]), dist.new_group([0, 2]))
    remarks = optimize_graph(
        module.graph, passes="contiguous-collectives", is_functional_graph=True
    )
    assert sum("are not known on all ranks" in remark.message for remark in remarks) == 2
    assert copies_in(module) == 0


@pytest.mark.parametrize("second", [[0, 2], [0, 3]], ids=["mesh", "no_mesh"])
@pytest.mark.parametrize("stated", ["none", "one", "both"])
@pytest.mark.parametrize("policy", ["profitable", "always", "upstream"])
@pytest.mark.parametrize("verify", [True, False])
def test_contiguous_collectives_of_groups_that_are_not_known(second, stated, policy, verify):
    """A copy is the same whichever ranks communicate."""
    start(4)
    groups = dist.new_group([0, 1]), dist.new_group(second)
    module = two_gathers(*groups)
    context = {
        "version": 1,
        "groups": {
            group.group_name: {"ranks": dist.get_process_group_ranks(group)}
            for group in {"none": (), "one": groups[:1], "both": groups}[stated]
        },
    }
    contiguous_collectives_pass(module, policy=policy, verify=verify, context=context, fatal=True)
    assert copies_in(module) > 0


def gathers_on_a_rank(rank, second):
    """Which gathers are fused, and the remarks, where no rank knows others' groups."""
    names = [
        next(
            group.group_name
            for group in [dist.new_group(ranks) for ranks in groups]
            if isinstance(group, dist.ProcessGroup)
        )
        for groups in ([[0, 1], [2, 3]], second)
    ]

    def function(x, w):
        for name in names:
            x = wait(gather(x, 2, name)) @ w
        return x

    module = make_fx(function, tracing_mode="fake")(torch.randn(16, 16), torch.randn(16, 16))
    known_groups.forget()
    remarks = optimize_graph(
        module.graph, passes="micro-pipeline", policy="always", is_functional_graph=True
    )
    fused = torch.ops.symm_mem.fused_all_gather_matmul.default
    return (
        [node.args[3] for node in module.graph.find_nodes(op="call_function", target=fused)],
        names,
        [remark.message for remark in remarks if remark.verdict != "applied"],
    )


def test_ranks_tell_each_other_their_groups():
    """In no usual order; none of this rests on a premise."""
    for fused, names, remarks in call_on_ranks(gathers_on_a_rank, 4, [[0, 3], [1, 2]]):
        assert fused == names
        assert not any("row-major" in remark or "left alone" in remark for remark in remarks)


@pytest.mark.parametrize("members", [[1, 3], [1, 3, 4, 5]], ids=["axis", "other_size"])
def test_groups_that_ranks_have_in_the_same_place(members):
    store = dist.HashStore()
    groups = {
        0: {"1": [0, 1], "2": [0, 2]},
        1: {"1": [0, 1], "3": members},
        2: {"4": [2, 3], "2": [0, 2]},
        3: {"4": [2, 3], "3": members},
    }
    groups |= {rank: {"5": [rank], "3": members} for rank in members if rank > 3}
    found = {}

    def take_part(rank):
        exchange = RankExchange(
            Identity("f", "f/0", "f/"),
            {member for ranks in groups[rank].values() for member in ranks},
            options="",
            offers={},
            timeout=20,
            groups={str(ranks): (name, ranks) for name, ranks in groups[rank].items()},
            store=store,
            rank=rank,
        )
        exchange.meet()
        found[rank] = exchange.groups_of_all()

    threads = [threading.Thread(target=take_part, args=(rank,)) for rank in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if len(members) == 2:
        assert found[3] == {"4": [[0, 1], [2, 3]], "3": [[0, 2], [1, 3]]}
        assert found[0] == {"1": [[0, 1], [2, 3]], "2": [[0, 2], [1, 3]]}
    else:
        assert found == dict.fromkeys(groups)


def test_contexts_may_use_the_names_of_axes():
    start(4)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    group = mesh.get_group("tp")
    module = make_fx(lambda x: fc.all_reduce(x, "sum", group), tracing_mode="fake")(torch.ones(4))
    (x,) = module.graph.find_nodes(op="placeholder")
    for name in ("tp", group.group_name):
        context = {"version": 1, "inputs": {x.name: {name: "replicated"}}}
        program = GraphProgram([*module.graph.nodes], is_functional_graph=True)
        placed = StatedContext(context, [program]).of(program)["inputs"]
        assert placed == {x.name: {group.group_name: "replicated"}}


def test_capture_refuses_older_groups_of_other_ranks(tmp_path):
    start(4)
    tp = make([0, 1], [2, 3])
    known_groups.forget()
    with pytest.raises(CaptureError, match="rank 2 communicates in process group"):
        capture(sums_over(tp), (torch.randn(4),), mesh={"all": 4}, folder=tmp_path)
    # A mesh knows them.
    mesh = DeviceMesh.from_group(
        [dist.new_group([0, 2]), tp], "cpu", mesh=[[0, 1], [2, 3]], mesh_dim_names=("dp", "tp")
    )
    capture(sums_over(tp), (torch.randn(4),), mesh=mesh, folder=tmp_path)
