# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Ranks against the program of one device: `commute.verify(reference, ranks)`.

Each case is a function of one device, and what ranks run in its place. A correct one
refines; each fault is found, and the finding names the faulty op or its first reader.
"""

import json

import pytest
import torch
import torch.nn.functional as F

import commute
from commute_tool import commute as run_tool
from parallel_pairs import (
    Pair,
    all_gather,
    all_reduce,
    all_to_all,
    export,
    receive,
    reduce_scatter,
    send,
)

pytestmark = pytest.mark.in_process

MESH = {"tp": [[0, 1]]}
randn = torch.randn


def check(folder, pair, expected, *texts):
    """`texts` are in the first finding."""
    result = pair.verify(folder)
    assert result.verdict == expected, str(result)
    if texts:
        finding = result.differences[0]
        for text in texts:
            assert text in finding["message"] + finding["fix"] + finding["at"], str(result)
    return result


def relations(inputs, outputs=None, mesh=MESH, **more):
    stated = {"version": 1, "mesh": mesh, "inputs": inputs, **more}
    return stated if outputs is None else {**stated, "outputs": outputs}


#
# An MLP, split by columns and rows
#


def mlp(x, up, down, bias):
    return torch.relu(x @ up) @ down + bias


WHOLE = {"x": randn(4, 8), "up": randn(8, 16), "down": randn(16, 8), "bias": randn(8)}
LOCAL = {"x": randn(4, 8), "up": randn(8, 8), "down": randn(8, 8), "bias": randn(8)}
CUT = {"up": "shard(up, 1)", "down": "shard(down, 0)"}


def good(x, up, down, bias):
    return all_reduce(torch.relu(x @ up) @ down) + bias


def bias_on_every_rank(x, up, down, bias):
    return all_reduce(torch.relu(x @ up) @ down + bias)


def not_reduced(x, up, down, bias):
    return torch.relu(x @ up) @ down + bias


def reduced_twice(x, up, down, bias):
    return all_reduce(all_reduce(torch.relu(x @ up) @ down)) + bias


def averaged(x, up, down, bias):
    return all_reduce(torch.relu(x @ up) @ down, "avg") + bias


def without_bias(x, up, down, bias):
    return all_reduce(torch.relu(x @ up) @ down)


def other_activation(x, up, down, bias):
    return all_reduce(F.gelu(x @ up) @ down) + bias


def reduced_before_activation(x, up, down, bias):
    return all_reduce(torch.relu(all_reduce(x @ up)) @ down) + bias


@pytest.mark.parametrize(
    ("ranks", "texts"),
    [
        (bias_on_every_rank, ["'bias'", "summand", "one rank only"]),
        (not_reduced, ["no rank has reduced it", "all_reduce"]),
        (reduced_twice, ["2 times", "'all_reduce_1'"]),
        (averaged, ["1/2", "averaged"]),
        (without_bias, ["not of this output"]),
        (other_activation, ["'gelu'", "'relu'"]),
        (reduced_before_activation, ["'all_reduce'"]),
    ],
)
def test_faulty_mlp(ranks, texts, tmp_path):
    check(tmp_path, Pair(mlp, WHOLE, ranks, LOCAL, relations(CUT)), "does not refine", *texts)


def test_mlp(tmp_path):
    result = check(tmp_path, Pair(mlp, WHOLE, good, LOCAL, relations(CUT)), "refines")
    assert result
    assert result.outputs[0]["relation"] == "replicated"
    assert "input up: shard(up, 1)" in result.premises


def test_one_fault_in_several_outputs_is_one_finding(tmp_path):
    def whole(x, up, down):
        inner = torch.relu(x @ up)
        return inner @ down, inner.exp(), inner.sum()

    def right(x, up, down):
        inner = torch.relu(x @ up)
        return all_reduce(inner @ down), inner.exp(), all_reduce(inner.sum())

    def wrong(x, up, down):
        inner = torch.tanh(x @ up)
        return all_reduce(inner @ down), inner.exp(), all_reduce(inner.sum())

    inputs = {name: WHOLE[name] for name in ("x", "up", "down")}
    local = {name: LOCAL[name] for name in ("x", "up", "down")}
    stated = relations(CUT, {"1": "shard(1)"})
    check(tmp_path, Pair(whole, inputs, right, local, stated), "refines")
    pair = Pair(whole, inputs, wrong, local, stated)
    result = check(tmp_path, pair, "does not refine", "'tanh'", "'relu'")
    assert len(result.differences) == 1


def test_values_in_another_order_of_computation_are_not_blamed(tmp_path):
    """The ranks sum exponentials of their own columns, which are no value of the reference."""

    def whole(x, w, v):
        return torch.softmax(x @ w, 1) @ v

    def make(activation):
        def ranks(x, w, v):
            scores = x @ w
            largest = all_reduce(scores.amax(1, keepdim=True), "max")
            weights = (scores - largest).exp()
            total = all_reduce(weights.sum(1, keepdim=True))
            return all_reduce(activation(weights / total) @ v)

        return ranks

    inputs = {"x": randn(4, 8), "w": randn(8, 6), "v": randn(6, 5)}
    local = {"x": randn(4, 8), "w": randn(8, 3), "v": randn(3, 5)}
    stated = relations({"w": "shard(w, 1)", "v": "shard(v, 0)"})
    check(tmp_path, Pair(whole, inputs, make(lambda y: y), local, stated), "refines")
    pair = Pair(whole, inputs, make(torch.tanh), local, stated)
    check(tmp_path, pair, "does not refine", "'tanh'")


def test_relations_follow_from_names_and_shapes(tmp_path):
    pair = Pair(mlp, WHOLE, good, LOCAL, {"mesh": MESH})
    result = check(tmp_path, pair, "refines")
    assert "input up: shard(up, 1, tp) (inferred from name and shape)" in result.premises


def test_several_readings_are_a_question(tmp_path):
    def both(x, w):
        return all_reduce(all_reduce(x @ w, "sum", "a"), "sum", "b")

    mesh = {"a": [[0, 1], [2, 3]], "b": [[0, 2], [1, 3]]}
    whole = {"x": randn(4, 8), "w": randn(8, 8)}
    pair = Pair(lambda x, w: x @ w, whole, both,
                {"x": randn(4, 4), "w": randn(4, 8)}, {"mesh": mesh})  # fmt: skip
    with pytest.raises(commute.CommuteError, match=r"which of these is it\?.*or "):
        pair.verify(tmp_path)


def test_constant_tensors_are_told_apart_by_their_elements(tmp_path):
    # torch.export names them in the order in which they occur: the ranks' only constant
    # has the name of the reference's first one, and is its second.
    def reference(x):
        return torch.sin(x * torch.tensor([0.5, 1.5, 2.5])), x * torch.tensor([3.5, 4.5, 5.5])

    def second_alone(x):
        return torch.zeros(3), x * torch.tensor([3.5, 4.5, 5.5])

    def first_for_second(x):
        return torch.zeros(3), x * torch.tensor([0.5, 1.5, 2.5])

    def other(x):
        return torch.zeros(3), x * torch.tensor([0.5, 1.5, 2.0])

    whole, stated = {"x": randn(3)}, {"mesh": MESH}
    result = Pair(reference, whole, second_alone, whole, stated).verify(tmp_path)
    assert result.outputs[1]["relation"] == "replicated", str(result)
    result = Pair(reference, whole, first_for_second, whole, stated).verify(tmp_path)
    assert result.outputs[1]["relation"] != "replicated", str(result)
    with pytest.raises(commute.CommuteError, match="has other elements than that of the refer"):
        Pair(reference, whole, other, whole, stated).verify(tmp_path)


def test_sequence_parallel(tmp_path):
    def ranks(x, up, down, bias):
        return reduce_scatter(torch.relu(all_gather(x) @ up) @ down) + bias

    local = {**LOCAL, "x": randn(2, 8)}
    stated = relations({**CUT, "x": "shard(x, 0)"}, {"0": "any"})
    result = check(tmp_path, Pair(mlp, WHOLE, ranks, local, stated), "refines")
    assert result.outputs[0]["relation"] == "shard(0, tp)"
    stated = {**stated, "outputs": {"0": "replicated"}}
    check(tmp_path, Pair(mlp, WHOLE, ranks, local, stated), "does not refine", "must be replicated")


def test_an_output_that_nobody_states_is_whole(tmp_path):
    """A forgotten gather: each rank returns its own columns."""

    def whole(x, head):
        return torch.relu(x) @ head

    inputs, local = {"x": randn(4, 6), "head": randn(6, 8)}, {"x": randn(4, 6), "head": randn(6, 4)}
    stated = relations({"head": "shard(head, 1)"})
    result = check(
        tmp_path, Pair(whole, inputs, whole, local, stated), "does not refine",
        "output 0 (matmul) is sharded along dim 1 over tp: gather it, or state it",
        '"outputs": {"0": "shard(1, tp)"}',
    )  # fmt: skip
    assert len(result.differences) == 1, str(result)
    stated["outputs"] = {"0": "shard(1, tp)"}
    check(tmp_path, Pair(whole, inputs, whole, local, stated), "refines")

    def gathered(x, head):
        return all_gather(torch.relu(x) @ head, dim=1)

    stated["outputs"] = {}
    check(tmp_path, Pair(whole, inputs, gathered, local, stated), "refines")


def test_the_gradient_of_a_shard(tmp_path):
    """A gradient is cut as its parameter is, whatever the parameter's relation rests on."""

    def whole(x, up):
        return (x @ up).sum(), x.t() @ torch.ones(4, up.shape[1])

    def ranks(x, up):
        return all_reduce((x @ up).sum()), x.t() @ torch.ones(4, up.shape[1])

    inputs, local = {"x": randn(4, 6), "up": randn(6, 8)}, {"x": randn(4, 6), "up": randn(6, 4)}
    for inputs_stated in ({}, {"up": "shard(up, 1)"}, {"up": "cat([shard(up, 1)], 1)"}):
        stated = relations(inputs_stated, {"1": "gradient(up)"})
        result = check(tmp_path, Pair(whole, inputs, ranks, local, stated), "refines")
        assert result.outputs[1]["required"]
    # All gradients of `up` are equal here, so only shapes tell another relation.
    stated = relations({}, {"1": "replicated"})
    check(tmp_path, Pair(whole, inputs, ranks, local, stated), "does not refine")


def test_the_gradient_of_a_summand_is_whole(tmp_path):
    def program(x):
        return all_reduce(x), torch.ones(4, 8)

    def whole(x):
        return x * 1, torch.ones(4, 8)

    inputs = {"x": randn(4, 8)}
    stated = relations({"x": "partial(x)"}, {"1": "gradient(x)"})
    result = check(tmp_path, Pair(whole, inputs, program, inputs, stated), "refines")
    assert result.outputs[1]["relation"] == "replicated"


def test_premises_of_the_user(tmp_path):
    stated = relations(CUT, premises=["callers pass x whole"])
    result = check(tmp_path, Pair(mlp, WHOLE, good, LOCAL, stated), "refines")
    assert "callers pass x whole" in result.premises


def test_blocks_in_another_order(tmp_path):
    def ranks(x, up, down, bias):
        gathered = torch.cat(all_gather(x).chunk(2)[::-1])
        return reduce_scatter(torch.relu(gathered @ up) @ down) + bias

    local = {**LOCAL, "x": randn(2, 8)}
    stated = relations({**CUT, "x": "shard(x, 0)"})
    pair = Pair(mlp, WHOLE, ranks, local, stated)
    check(tmp_path, pair, "does not refine", "the blocks [1, 0] of 2 along dim 0")


#
# Relations
#


def test_packed_weights(tmp_path):
    def whole(x, q, k, v):
        return torch.cat([x @ q, x @ k, x @ v], 1)

    def ranks(x, qkv):
        q, k, v = (x @ qkv).chunk(3, 1)
        return torch.cat([all_gather(part, dim=1) for part in (q, k, v)], 1)

    def mixed(x, qkv):
        return all_gather(x @ qkv, dim=1)

    inputs = {"x": randn(4, 8), "q": randn(8, 4), "k": randn(8, 4), "v": randn(8, 4)}
    local = {"x": randn(4, 8), "qkv": randn(8, 6)}
    stated = relations({"qkv": "cat([shard(q, 1), shard(k, 1), shard(v, 1)], 1)"})
    check(tmp_path, Pair(whole, inputs, ranks, local, stated), "refines")
    pair = Pair(whole, inputs, mixed, local, stated)
    check(tmp_path, pair, "does not refine", "'all_gather_into_tensor'", "order")


def test_uneven_shards_as_torch_chunk_cuts(tmp_path):
    def ranks0(x, w):
        return all_reduce(x[:, :3] @ w)

    def ranks1(x, w):
        return all_reduce(x[:, 3:] @ w)

    whole = {"x": randn(4, 5), "w": randn(5, 6)}

    export(lambda x, w: x @ w, whole, tmp_path / "reference.pt2")
    export(ranks0, {"x": randn(4, 5), "w": randn(3, 6)}, tmp_path / "rank0.pt2")
    export(ranks1, {"x": randn(4, 5), "w": randn(2, 6)}, tmp_path / "rank1.pt2")
    reference = tmp_path / "reference.pt2"
    result = commute.verify(reference, tmp_path, relations({"w": "shard(w, 0)"}))
    assert result, str(result)
    of_rank = [{"w": "slice(w, 0, 0, 3)"}, {"w": "split(w, [3, 2], 0)[1]"}]
    result = commute.verify(reference, tmp_path, relations({}, inputs_of_rank=of_rank))
    assert result, str(result)


def test_partial_inputs_and_outputs(tmp_path):
    pair = Pair(
        lambda x: x * 2, {"x": randn(4, 8)}, lambda x: x + x, {"x": randn(4, 8)},
        relations({"x": "partial(x)"}),
    )  # fmt: skip
    check(tmp_path, pair, "does not refine", "no rank has reduced it")
    stated = {**pair.relations, "outputs": {"0": "partial"}}
    check(
        tmp_path, Pair(pair.reference, pair.inputs, pair.ranks, pair.rank_inputs, stated), "refines"
    )


def test_permuted_reshaped_and_zeros(tmp_path):
    def ranks(x, w, rest):
        return (torch.cat([x, rest], 1) @ w.reshape(16, 4)).t()

    pair = Pair(
        lambda x, w: (x @ w).t(), {"x": randn(4, 8), "w": randn(8, 4)}, ranks,
        {"x": randn(4, 8), "w": randn(2, 8, 4), "rest": randn(4, 8)},
        relations({"w": "reshape(cat([w, w], 0), [2, 8, 4])", "rest": "zeros([4, 8])"}),
    )  # fmt: skip
    check(tmp_path, pair, "refines")


def test_vocabulary_parallel_embedding(tmp_path):
    def embedding(first, last):
        def ranks(ids, table):
            mask = (ids < first) | (ids >= last)
            local = torch.where(mask, 0, ids - first)
            rows = F.embedding(local, table).masked_fill(mask.unsqueeze(-1), 0)
            return all_reduce(rows)

        return ranks

    whole = {"ids": torch.arange(6), "table": randn(5000, 8)}
    local = {"ids": torch.arange(6), "table": randn(2500, 8)}
    stated = relations({"table": "shard(table, 0)"}, ranges={"ids": [0, 5000]})

    def reference(ids, table):
        return F.embedding(ids, table)

    ranks = [embedding(0, 2500), embedding(2500, 5000)]
    check(tmp_path, Pair(reference, whole, ranks, local, stated), "refines")
    off_by_one = [embedding(0, 2500), embedding(2501, 5000)]
    check(tmp_path, Pair(reference, whole, off_by_one, local, stated), "does not refine")


def test_several_axes(tmp_path):
    mesh = {"dp": [[0, 2], [1, 3]], "tp": [[0, 1], [2, 3]]}
    stated = relations({**CUT, "x": "shard(x, 0, dp)"}, {"0": "any"}, mesh=mesh)
    stated["inputs"] = {
        "x": "shard(x, 0, dp)",
        "up": "shard(up, 1, tp)",
        "down": "shard(down, 0, tp)",
    }
    local = {**LOCAL, "x": randn(2, 8)}
    result = check(tmp_path, Pair(mlp, WHOLE, good, local, stated), "refines")
    assert result.outputs[0]["relation"] == "shard(0, dp)"

    def wrong_axis(x, up, down, bias):
        return all_reduce(torch.relu(x @ up) @ down, "sum", "dp") + bias

    check(tmp_path, Pair(mlp, WHOLE, wrong_axis, local, stated), "does not refine", "'all_reduce'")


def test_all_to_all(tmp_path):
    def reference(x):
        return x * 2

    def ranks(x):
        # From shards of rows to shards of columns.
        sent = torch.cat(x.chunk(2, 1))
        return all_to_all(sent) * 2

    inputs, local = {"x": randn(4, 8)}, {"x": randn(2, 8)}
    result = check(
        tmp_path,
        Pair(reference, inputs, ranks, local, relations({"x": "shard(x, 0)"}, {"0": "any"})),
        "refines",
    )
    assert result.outputs[0]["relation"] == "shard(1, tp)"


#
# Programs of their own
#


def test_a_rank_that_differs(tmp_path):
    pair = Pair(mlp, WHOLE, [good, without_bias], LOCAL, relations(CUT))
    check(tmp_path, pair, "does not refine")
    check(tmp_path, Pair(mlp, WHOLE, [good, good], LOCAL, relations(CUT)), "refines")


def test_mismatched_collectives(tmp_path):
    def maximum(x, up, down, bias):
        return all_reduce(torch.relu(x @ up) @ down, "max") + bias

    pair = Pair(mlp, WHOLE, [good, maximum], LOCAL, relations(CUT))
    check(tmp_path, pair, "does not refine", "rank 0 runs", "rank 1 runs", "sum", "max")


def test_a_collective_that_a_rank_leaves_out(tmp_path):
    pair = Pair(mlp, WHOLE, [good, not_reduced], LOCAL, relations(CUT))
    check(tmp_path, pair, "deadlock", "rank 0 runs", "waits for rank 1")


def test_deadlock(tmp_path):
    def in_order(first, second):
        def ranks(x):
            return all_reduce(all_reduce(x, "max", first), "max", second)

        return ranks

    # Two groups of the same ranks, in other orders of members.
    stated = {"mesh": {"a": [[0, 1]], "b": [[1, 0]]}}
    inputs = {"x": randn(4, 8)}
    pair = Pair(lambda x: x, inputs, [in_order("a", "b"), in_order("b", "a")], inputs, stated)
    check(tmp_path, pair, "deadlock", "wait for each other", "rank 0", "rank 1")
    pair = Pair(lambda x: x * 1, inputs, [in_order("a", "b")] * 2, inputs, stated)
    check(tmp_path, pair, "refines")


def test_pipeline_stages(tmp_path):
    def stage0(x, up, down):
        return send(torch.relu(x @ up), 1)

    def stage1(x, up, down):
        return receive(torch.empty(4, 16), 0) @ down

    inputs = {"x": randn(4, 8), "up": randn(8, 16), "down": randn(16, 8)}
    stated = relations({}, {"0": {"output": "matmul", "relation": "replicated"}})

    def reference(x, up, down):
        return torch.relu(x @ up) @ down

    check(tmp_path, Pair(reference, inputs, [stage0, stage1], inputs, stated), "refines")

    def stage0_alone(x, up, down):
        return torch.relu(x @ up)

    check(tmp_path, Pair(reference, inputs, [stage0_alone, stage1], inputs, stated), "deadlock",
          "waits for rank 0")  # fmt: skip


#
# The command line
#


def test_command(tmp_path):
    pair = Pair(mlp, WHOLE, good, LOCAL, relations(CUT))
    pair.verify(tmp_path)
    (tmp_path / "r.json").write_text(json.dumps(pair.relations))
    command = ["verify", f"--reference={tmp_path / 'reference.pt2'}", tmp_path / "rank.pt2"]
    stated = f"--relations={tmp_path / 'r.json'}"
    process = run_tool(*command, stated)
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("refines on 2 ranks\n")
    process = run_tool(*command, stated, "--json", "--show-relations",
                       f"--report={tmp_path / 'r.html'}")  # fmt: skip
    report = json.loads(process.stdout)
    assert {value["relation"] for value in report["values"]} >= {"shard(1, tp)", "partial(tp)"}
    assert "refines" in (tmp_path / "r.html").read_text()
    export(bias_on_every_rank, LOCAL, tmp_path / "rank.pt2")
    assert run_tool(*command, stated).returncode == 1
    process = run_tool(*command, stated, "--proof-memory=1KiB")
    assert process.returncode == 4, process.stdout + process.stderr


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"inputs": {"up": "shard(up, 7)"}}, "there is no dim 7"),
        ({"inputs": {"up": "shard(up"}}, "expected ','"),
        ({"inputs": {"up": "cut(up, 1)"}}, "not a function of relations"),
        ({"inputs": {"up": "up"}}, "but 'up' is tensor<8x16xf32>"),
        ({"inputs": {"up": "shard(nothing, 1)"}}, "no input 'nothing'"),
        ({"inputs": {"other": "x"}}, "no rank has an input of this name"),
        ({"inputs": {"up": "shard(up, 1, dp)"}}, "no mesh axis 'dp'"),
        ({"outputs": {"7": "replicated"}}, "none of this name"),
        ({"outputs": {"0": "sharded"}}, "not a relation of an output"),
        ({"outputs": {"0": "gradient(w)"}}, "no rank has an input 'w'"),
        ({"outputs": {"0": "gradient(up"}}, "not a function of relations"),
        ({"inputs": {"bias": "zeros([8])"}, "outputs": {"0": "gradient(bias)"}}, "must be stated"),
        ({"premises": "x"}, "premises is a string"),
        ({"ranges": {"x": [3, 3]}}, "FIRST < END"),
        ({"version": 2}, "expected 1"),
        ({"input": {}}, "unknown key 'input'"),
        ({"inputs": {"up": "reshape(up, [9223372036854775807, 4])"}}, "no sizes"),
        ({"inputs": {"up": "zeros([9223372036854775807, 9])"}}, "no sizes"),
    ],
)
def test_bad_relations(stated, message, tmp_path):
    pair = Pair(mlp, WHOLE, good, LOCAL, {"version": 1, "mesh": MESH, **stated})
    with pytest.raises(commute.CommuteError) as error:
        pair.verify(tmp_path)
    assert message in str(error.value)
