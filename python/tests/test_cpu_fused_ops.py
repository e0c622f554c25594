# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.torch.register_cpu_fused_ops`: fused graphs run under gloo."""

import json

import pytest
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory  # registers symm_mem
from torch.testing._internal.distributed.fake_pg import FakeStore

from commute.torch import register_cpu_fused_ops
from commute_tool import succeed
from ranks import RankError, run_on_ranks
from records import read_records
from test_run import check_close

fused = torch.ops.symm_mem
F8 = torch.float8_e4m3fn


def export(path, function, ranks, *inputs, exported_for=None):
    """Exports a function as a module, with the shape functions that PyTorch has.

    These ask for the size of the group, and may be told another one.
    """

    class Program(torch.nn.Module):
        def forward(self, *values):
            return function(*values)

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=exported_for or ranks)
    try:
        program = torch.export.export(Program(), inputs)
    finally:
        dist.destroy_process_group()
    sidecar = {"version": 1, "groups": {"0": {"ranks": list(range(ranks))}}}
    torch.export.save(program, path, extra_files={"commute.json": json.dumps(sidecar)})
    types = [node.meta["val"] for node in program.graph.find_nodes(op="output")[0].all_input_nodes]
    return [(value.shape, value.stride(), value.dtype) for value in types]


def whole(sizes, seed, dtype=torch.float32, low=-3, high=4):
    """Small whole numbers, of which sums of products are exact."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, sizes, generator=generator).to(dtype)


def run(tmp_path, function, inputs):
    """Outputs of all ranks; their types are as PyTorch's shape functions say."""
    path = tmp_path / "program.pt2"
    types = export(path, function, len(inputs), *inputs[0])
    outputs = run_on_ranks(path, len(inputs), inputs=inputs, prepare=register_cpu_fused_ops)
    for own in outputs:
        assert [(value.shape, value.stride(), value.dtype) for value in own] == types
    return outputs


def check_equal(ours, theirs):
    assert len(ours) == len(theirs)
    for value, expected in zip(ours, theirs):
        assert torch.equal(value.double(), expected.double())


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("sizes", "dim"), [((4, 6), 0), ((3, 4, 6), 1), ((4, 6), 1)])
def test_all_gather_matmul(sizes, dim, dtype, ranks, tmp_path):
    def program(shard, first, second):
        gathered, products = fused.fused_all_gather_matmul(shard, [first, second], dim, "0")
        nothing, others = fused.fused_all_gather_matmul(shard, [first], dim, "0", return_A=False)
        assert nothing is None
        return gathered, *products, *others

    inner = 6 * (ranks if dim == len(sizes) - 1 else 1)
    operands = [sizes, (inner, 5), (inner, 2)]
    inputs = [
        [whole(size, 10 * place + rank, dtype) for place, size in enumerate(operands)]
        for rank in range(ranks)
    ]
    gathered = torch.cat([own[0] for own in inputs], dim).double()
    for own, (_, first, second) in zip(run(tmp_path, program, inputs), inputs):
        products = [(gathered @ rhs.double()).to(dtype) for rhs in (first, second, first)]
        check_equal(own, [gathered, *products])


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("op", ["sum", "avg"])
@pytest.mark.parametrize(("sizes", "dim"), [((8, 6), 0), ((3, 8, 6), 1), ((3, 6), 1), ((8, 6), -1)])
def test_matmul_reduce_scatter(sizes, dim, op, ranks, tmp_path):
    def program(lhs, rhs, narrow, other):
        return (
            fused.fused_matmul_reduce_scatter(lhs, rhs, op, dim, "0"),
            fused.fused_matmul_reduce_scatter(narrow, other, op, dim, "0"),
        )

    inputs = []
    for rank in range(ranks):
        operands = whole(sizes, rank), whole((6, 8), 10 + rank)
        # So large that bf16 rounds: of the exact sum, once.
        inputs.append([*operands, *(100 * value.bfloat16() for value in operands)])
    outputs = run(tmp_path, program, inputs)
    for index, dtype in enumerate([torch.float32, torch.bfloat16]):
        products = [own[2 * index].double() @ own[2 * index + 1].double() for own in inputs]
        total = sum(products).float() / (ranks if op == "avg" else 1)
        for own, block in zip(outputs, total.chunk(ranks, dim)):
            check_equal([own[index]], [block.to(dtype)])


@pytest.mark.parametrize("ranks", [2, 4])
def test_scaled_forms(ranks, tmp_path):
    def program(shard, rhs, rows, columns, one, lhs):
        gathered, (first, second) = fused.fused_all_gather_scaled_matmul(
            *(shard, [rhs, rhs], rows, [columns, columns], 1, "0"),
            *([None, None], [None, None], [torch.bfloat16] * 2, [False] * 2),
        )
        _, (third,) = fused.fused_all_gather_scaled_matmul(
            *(shard, [rhs], one, [one], 0, "0", [None], [None], [torch.bfloat16], [False])
        )
        # A of three dims, flattened.
        scattered = fused.fused_scaled_matmul_reduce_scatter(
            *(lhs, rhs, one, one, "sum", 1, 0, "0", [2, 16, 16]), out_dtype=torch.bfloat16
        )
        return first, second, third, scattered, gathered

    inputs = []
    for rank in range(ranks):
        rows = 2.0 ** whole((2, 8, 1), 30 + rank, low=-2, high=1)
        columns = 2.0 ** whole((1, 16), 40 + rank, low=-2, high=1)
        shard, lhs = whole((2, 8, 32), rank, F8), whole((32, 32), 10 + rank, F8)
        rhs = whole((16, 32), 20 + rank, F8).t()
        inputs.append([shard, rhs, rows, columns, torch.tensor(0.5), lhs])
    values = [[value.double() for value in own] for own in inputs]
    outputs = run(tmp_path, program, inputs)
    rows = torch.cat([own[0] * own[2] for own in values], 1)
    whole_shards = torch.cat([own[0] for own in values], 0)
    parts = [(own[5] @ own[1] * 0.25).view(2, 16, 16) for own in values]
    blocks = sum(parts).bfloat16().chunk(ranks, 1)
    for rank, own in enumerate(outputs):
        _, rhs, _, columns, _, _ = values[rank]
        expected = [
            (rows @ (rhs * columns)).bfloat16(),
            (rows @ (rhs * columns)).bfloat16(),
            (whole_shards @ rhs * 0.25).bfloat16(),
            blocks[rank],
            torch.cat([other[0] for other in values], 1),
        ]
        check_equal(own, expected)


def test_blocks_that_are_not_equal_are_refused(tmp_path):
    register_cpu_fused_ops()
    register_cpu_fused_ops()  # Once more is no harm.

    def program(lhs, rhs):
        return fused.fused_matmul_reduce_scatter(lhs, rhs, "sum", 0, "0")

    inputs = [[whole((6, 4), rank), whole((4, 5), rank)] for rank in range(4)]
    path = tmp_path / "program.pt2"
    export(path, program, 4, *inputs[0], exported_for=2)
    with pytest.raises(RankError, match="dim 0 of size 6 cannot be cut into 4 equal blocks"):
        run_on_ranks(path, 4, inputs=inputs, prepare=register_cpu_fused_ops)


# The last one has values that PyTorch calls getitem, as its loader calls lists.
@pytest.mark.parametrize("name", ["llama_tp2", "llama_tp4", "llama_model_tp2"])
def test_optimized_fixture_gives_what_it_gave(name, fixtures_folder, tmp_path):
    source, target = fixtures_folder / f"{name}.pt2", tmp_path / "fused.pt2"
    succeed("opt", source, "-o", target, "--policy=always", "--quiet")
    _, records = read_records(target)
    assert b"symm_mem.fused_all_gather_matmul" in records["models/model.json"]
    assert b"symm_mem.fused_matmul_reduce_scatter" in records["models/model.json"]
    ranks = int(name[-1])
    if name == "llama_model_tp2":
        assert b'"getitem"' in read_records(source)[1]["models/model.json"]
    before = run_on_ranks(source, ranks)
    after = run_on_ranks(target, ranks, prepare=register_cpu_fused_ops)
    for own, theirs in zip(after, before, strict=True):
        for value, expected in zip(own, theirs, strict=True):
            check_close(value, expected)
