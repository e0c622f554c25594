# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Ranks against one device, where results or sizes are unknown.

What an opaque operator does, and how large a size is that depends on values, nobody
knows: a verdict that rests on it is "not proven", and names it.
"""

import json

import pytest
import torch

from commute_tool import commute as run_tool
from parallel_pairs import Pair, all_gather, c10d

pytestmark = pytest.mark.in_process

randn = torch.randn
IDS = torch.tensor([0, 1, 1, 0, 1, 0, 0, 0])
X = {"x": randn(8, 4)}
INPUTS = {"x": randn(8, 4), "ids": IDS}


@torch.library.custom_op("unknown_results::mix", mutates_args=())
def mix(x: torch.Tensor) -> torch.Tensor:
    return x.flip(0).clone()


@mix.register_fake
def _(x):
    return torch.empty_like(x)


def stated(inputs=None, outputs=None):
    relations = {"version": 1, "mesh": {"tp": [[0, 1]]}, "inputs": inputs or {}}
    return relations if outputs is None else {**relations, "outputs": outputs}


def refine(folder, reference, ranks, inputs, local=None, relations=None, **options):
    pair = Pair(reference, inputs, ranks, local or inputs, relations or stated())
    return pair.verify(folder, **options)


def mixed(x):
    return torch.relu(mix(x))


def test_an_operator_that_nobody_describes(tmp_path):
    result = refine(tmp_path, mixed, mixed, X)
    assert result.verdict == "not proven", str(result)
    target = "torch.ops.unknown_results.mix.default"
    assert result.report["not_proven"].startswith(f"{target} (mix) has no description"), str(result)
    undecided = result.report["undecided"]
    assert undecided["operator"] == target
    # The entry that it proposes decides.
    vocabulary = tmp_path / "mix.json"
    entry = undecided["vocabulary_entry"]
    vocabulary.write_text(json.dumps({"version": 1, "operators": entry}))
    relations = tmp_path / "relations.json"
    relations.write_text(json.dumps(stated()))
    process = run_tool(
        "verify",
        f"--reference={tmp_path / 'reference.pt2'}",
        tmp_path / "rank.pt2",
        f"--relations={relations}",
        f"--vocabulary={vocabulary}",
    )
    assert "refines on 2 ranks" in process.stdout, process.stdout + process.stderr


def test_a_described_function_of_other_operands(tmp_path):
    """Nobody knows whether the operator returns something else."""

    def inverse(rows):
        def program(x):
            return torch.linalg.inv(x[rows : rows + 4])

        return program

    assert refine(tmp_path, inverse(0), inverse(0), X).verdict == "refines"
    result = refine(tmp_path, inverse(0), inverse(4), X)
    assert result.verdict == "not proven", str(result)
    assert "torch.ops.aten.linalg_inv.default" in result.report["not_proven"]


def test_a_fault_beside_an_operator_that_nobody_describes(tmp_path):
    def beside(x):
        return mix(x), torch.relu(x)

    def wrong(x):
        return mix(x), torch.sigmoid(x)

    result = refine(tmp_path, beside, wrong, X)
    assert result.verdict == "does not refine", str(result)
    assert "'sigmoid' is not the reference's 'relu'" in result.differences[0]["message"]


def test_an_exchange_whose_sizes_depend_on_values(tmp_path):
    """Equal operands on both ranks are not equal results."""

    def reference(x, ids):
        return x * 2

    def ranks(x, ids):
        count = (ids == 0).sum().item()
        torch._check(count >= 0)
        torch._check(count <= 8)
        sizes = [count, 8 - count]
        received = c10d.wait_tensor(c10d.all_to_all_single(x, sizes, sizes, "tp"))
        return received.new_zeros(8, 4) + received.sum(0) + x * 2

    result = refine(
        tmp_path, reference, ranks, INPUTS, relations=stated(outputs={"0": "replicated"})
    )
    assert result.verdict == "not proven", str(result)
    assert "all_to_all_single.default" in result.report["not_proven"], str(result)
    assert "its split sizes are symbolic" in result.report["not_proven"], str(result)


def counted(values, activation=torch.relu):
    """The first rows of x, as many as there are ids of a kind."""

    def program(x, ids):
        count = values(ids).sum().item()
        torch._check(count >= 0)
        torch._check(count <= 8)
        return activation(x[:count])

    return program


def test_a_size_that_both_compute(tmp_path):
    """What the program asserts of it bounds the number that it is evaluated at."""
    zeros = counted(lambda ids: ids == 0)
    assert refine(tmp_path, zeros, zeros, INPUTS).verdict == "refines"

    def gathered(x, ids):
        return zeros(x, all_gather(ids))

    local = {**INPUTS, "ids": IDS[:4]}
    shards = stated({"ids": "shard(ids, 0)"})
    assert refine(tmp_path, zeros, gathered, INPUTS, local, shards).verdict == "refines"
    # The ids of one rank only.
    result = refine(tmp_path, zeros, zeros, INPUTS, local, shards)
    assert result.verdict == "not proven", str(result)
    assert result.report["not_proven"] == "size u0 depends on values (item)", str(result)


@pytest.mark.parametrize(
    "other",
    [counted(lambda ids: ids == 1), counted(lambda ids: ids == 0, torch.sigmoid)],
    ids=["another size", "another function"],
)
def test_what_is_not_known_of_a_size(other, tmp_path):
    """The tensor may be empty, so that nothing of it is wrong."""
    result = refine(tmp_path, counted(lambda ids: ids == 0), other, INPUTS)
    assert result.verdict == "not proven", str(result)
    assert result.report["not_proven"] == "size u0 depends on values (item)", str(result)


def by_expert(activation):
    def program(x, ids):
        counts = torch.stack([(ids == 0).sum(), (ids == 1).sum()]).tolist()
        for count in counts:
            torch._check(count >= 0)
        return torch.cat([activation(part) for part in x.split(counts)])

    return program


def test_sizes_of_the_parts_of_a_list(tmp_path):
    """They add up to the rows of x, which the numbers tried need not do."""
    result = refine(tmp_path, by_expert(torch.relu), by_expert(torch.sigmoid), INPUTS)
    assert result.verdict == "not proven", str(result)
    assert "depends on values" in result.report["not_proven"], str(result)


def test_a_dispatcher_of_experts(tmp_path):
    """As Megatron's: counts are exchanged, then the rows of each expert."""

    def device(x, ids, w):
        order = ids.argsort(stable=True)
        counts = torch.stack([(ids == 0).sum(), (ids == 1).sum()]).tolist()
        for count in counts:
            torch._check(count >= 0)
        first, second = x[order].split(counts)
        computed = torch.cat([first @ w[0], second @ w[1]])
        return torch.zeros_like(x).index_copy(0, order, computed)

    def expert(x, ids, w):
        order = ids.argsort(stable=True)
        own = torch.stack([(ids == 0).sum(), (ids == 1).sum()])
        others = c10d.wait_tensor(c10d.all_to_all_single(own, [1, 1], [1, 1], "tp"))
        sent, received = own.tolist(), others.tolist()
        for count in [*sent, *received]:
            torch._check(count >= 0)
        torch._check(sent[0] + sent[1] == 4)
        exchange = c10d.all_to_all_single
        rows = c10d.wait_tensor(exchange(x[order], received, sent, "tp"))
        back = c10d.wait_tensor(exchange(rows @ w[0], sent, received, "tp"))
        return torch.zeros_like(x).index_copy(0, order, back)

    inputs = {**INPUTS, "w": randn(2, 4, 4)}
    local = {"x": randn(4, 4), "ids": IDS[:4], "w": randn(1, 4, 4)}
    shards = {name: f"shard({name}, 0)" for name in inputs}
    result = refine(tmp_path, device, expert, inputs, local, stated(shards, {"0": "any"}))
    assert result.verdict == "not proven", str(result)
    assert "depends on values" in result.report["not_proven"], str(result)
