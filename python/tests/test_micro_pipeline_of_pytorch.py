# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The test cases of PyTorch's micro-pipeline pass, rebuilt: at least what PyTorch fuses is
fused, and values are right where PyTorch's are wrong.

Both passes run on the same graph, and the results run on all ranks in lockstep, on small
whole numbers, whose sums are exact. PyTorch's tests only look at graphs.
"""

import dataclasses
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.fx_passes.micro_pipeline_tp import micro_pipeline_tp_pass
from torch._inductor.fx_passes.post_grad import remove_noop_ops, view_to_reshape
from torch.distributed._symmetric_memory import _test_mode
from torch.distributed.tensor import DTensor, Replicate, Shard, init_device_mesh
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

import commute.torch
from lockstep import LockstepError, run_in_lockstep

pytestmark = [
    pytest.mark.in_process,
    pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning"),
]

FP8, BF16 = torch.float8_e4m3fn, torch.bfloat16
# PyTorch does not fuse a gather along the contraction of fewer columns.
COLUMNS = 1024


@dataclasses.dataclass
class Case:
    """A function of one rank's tensors, and the sizes of these."""

    function: Callable
    sizes: list
    ranks: int = 2
    dtypes: tuple = ()
    # Of operands, by number, that are the same on all ranks.
    replicated: tuple = ()
    # What PyTorch's pass makes of it: "right", "wrong" (a value, or an error), "apart".
    pytorch: str = "right"
    # How many collectives Commute fuses.
    fused: int = 1


def group():
    return dist.group.WORLD


def gather(x, dim):
    return functional.all_gather_tensor(x, dim, group())


def scatter(x, dim, operation="sum"):
    return functional.reduce_scatter_tensor(x, operation, dim, group())


CASES = {}


def scaled_product(x, w, scale, w_scale):
    """Of the last dim of x; `_scaled_mm` takes matrices."""
    flat = x.flatten(0, -2) if x.dim() > 2 else x
    scale = scale.flatten(0, -2) if scale.dim() > 2 else scale
    product = torch._scaled_mm(flat, w.t(), scale, w_scale, out_dtype=BF16)
    return product.view(*x.shape[:-1], -1) if x.dim() > 2 else product


def case(name, sizes, **options):
    def add(function):
        CASES[name] = Case(function, sizes, **options)
        return function

    return add


#
# All-gather and products
#

for dims in (2, 3):
    for dim in range(dims):
        shape = (4, 8) if dims == 2 else (2, 4, 8)
        for is_returned in (False, True):
            # Of a gather along the contraction PyTorch fuses wide ones that only products read.
            is_last = dim == dims - 1

            def gather_matmul(x, w, v, dim=dim, is_returned=is_returned):
                gathered = gather(x, dim)
                products = gathered @ w, gathered @ v
                return (gathered, *products) if is_returned else products

            columns = COLUMNS if is_last else 8
            rows = columns * 2 if is_last else columns
            is_apart = is_last and is_returned
            case(
                f"all_gather_{dims}d_dim{dim}{'_returned' if is_returned else ''}",
                [(*shape[:-1], columns), (rows, 6), (rows, 4)],
                pytorch="apart" if is_apart else "right",
                fused=0 if is_apart else 1,
            )(gather_matmul)

        if dim < dims - 1:

            def gather_scaled(x, w, scale, w_scale, dim=dim):
                return scaled_product(gather(x, dim), w, scale, w_scale)

            case(
                f"all_gather_scaled_{dims}d_dim{dim}",
                [(*shape[:-1], 16), (32, 16), (), ()],
                dtypes=(FP8, FP8),
                replicated=(2,),
            )(gather_scaled)

            # float8 is sent as bytes.
            def gather_bytes(x, w, scale, w_scale, dim=dim):
                gathered = gather(x.view(torch.uint8), dim).view(FP8)
                return scaled_product(gathered, w, scale, w_scale)

            case(
                f"all_gather_scaled_bytes_{dims}d_dim{dim}",
                [(*shape[:-1], 16), (32, 16), (), ()],
                dtypes=(FP8, FP8),
                replicated=(2,),
                pytorch="any",
            )(gather_bytes)


@case("all_gather_of_both_operands", [(8, 8)], pytorch="apart", fused=0)
def gather_on_both_sides(x):
    gathered = gather(x, 0)
    return gathered.t() @ gathered


@case("all_gather_as_right_operand", [(8, 8), (4, 16)], pytorch="apart", fused=0)
def gather_on_the_right(x, w):
    return w @ gather(x, 0)


@case("all_gather_of_4_ranks", [(2, 4, 8), (8, 6)], ranks=4)
def gather_of_four(x, w):
    return gather(x, 1) @ w


def pieces(value, bounds):
    return [value[start:end] for start, end in bounds]


# Reassembled along the contraction: of two ranks, each with 4 rows.
SLICES = {
    "in_order": ([(0, 4), (4, 8)], "right", 1),
    "reversed": ([(4, 8), (0, 4)], "wrong", None),
    "twice_the_same": ([(0, 4), (0, 4)], "wrong", None),
    "shifted": ([(1, 5), (4, 8)], "wrong", None),
    "of_halves": ([(0, 2), (2, 4), (4, 6), (6, 8)], "wrong", None),
}
for name, (bounds, verdict, count) in SLICES.items():

    def sliced_gather(x, w, bounds=bounds):
        return torch.cat(pieces(gather(x, 0), bounds), 1) @ w

    case(
        f"slices_{name}",
        [(4, COLUMNS), (len(bounds) * COLUMNS, 6)],
        pytorch=verdict,
        fused=count,
    )(sliced_gather)


@case(
    "slices_of_4_ranks_by_2", [(4, COLUMNS), (2 * COLUMNS, 6)], ranks=4, pytorch="wrong", fused=None
)
def two_slices_of_four_shards(x, w):
    gathered = gather(x, 0)
    return torch.cat([gathered[:8], gathered[8:]], 1) @ w


@case("slices_trimmed", [(4, COLUMNS), (2 * COLUMNS - 8, 6)], pytorch="wrong", fused=None)
def trimmed(x, w):
    whole = torch.cat(pieces(gather(x, 0), [(0, 4), (4, 8)]), 1)
    return whole[:, : 2 * COLUMNS - 8] @ w


@case("slices_trimmed_by_nothing", [(4, COLUMNS), (2 * COLUMNS, 6)])
def trimmed_by_nothing(x, w):
    whole = torch.cat(pieces(gather(x, 0), [(0, 4), (4, 8)]), 1)
    return torch.ops.aten.slice.Tensor(whole, 1, 0, 2 * COLUMNS) @ w


#
# Products and reduce-scatter
#

for dims in (2, 3):
    for dim in range(dims):
        shape = (8, 16) if dims == 2 else (4, 8, 16)

        def matmul_scatter(x, w, dim=dim):
            return scatter(x @ w, dim)

        case(f"reduce_scatter_{dims}d_dim{dim}", [shape, (16, 12)])(matmul_scatter)

        def average(x, w, dim=dim):
            return scatter(x @ w, dim, "avg")

        case(f"reduce_scatter_average_{dims}d_dim{dim}", [shape, (16, 12)])(average)

        if dim < dims - 1:

            def scaled_scatter(x, w, scale, w_scale, dim=dim):
                return scatter(scaled_product(x, w, scale, w_scale), dim)

            # PyTorch cuts the flattened rows, which are those of batches.
            is_wrong = dims == 3 and dim == 1
            case(
                f"reduce_scatter_scaled_{dims}d_dim{dim}",
                [shape, (32, 16), (), ()],
                dtypes=(FP8, FP8),
                replicated=(3,),
                pytorch="wrong" if is_wrong else "right",
            )(scaled_scatter)

            case(
                f"reduce_scatter_rowwise_{dims}d_dim{dim}",
                [shape, (32, 16), (*shape[:-1], 1), (1, 32)],
                dtypes=(FP8, FP8),
                pytorch="any",
                fused=None,
            )(scaled_scatter)


@case("reduce_scatter_saved", [(8, 16), (16, 12)])
def saved_for_backward(x, w):
    """The scatter is also returned, as forward graphs do with what the backward reads."""
    total = torch.ops._c10d_functional.reduce_scatter_tensor(x @ w, "sum", 2, group().group_name)
    waited = torch.ops._c10d_functional.wait_tensor(total)
    return torch.relu(waited), waited


@case("reduce_scatter_of_a_shared_product", [(8, 16), (16, 12)], pytorch="apart", fused=0)
def shared_product(x, w):
    product = x @ w
    return scatter(product, 0), product


@case("reduce_scatter_of_a_maximum", [(8, 16), (16, 12)], pytorch="wrong", fused=0)
def maximum(x, w):
    return scatter(x @ w, 0, "max")


# Blocks of 6 columns of two ranks.
COLUMN_SLICES = {
    "in_order": ([(0, 6), (6, 12)], "right", 1),
    "reversed": ([(6, 12), (0, 6)], "wrong", None),
    "twice_the_same": ([(0, 6), (0, 6)], "wrong", None),
    "of_4": ([(0, 3), (3, 6), (6, 9), (9, 12)], "wrong", None),
}
for name, (bounds, verdict, count) in COLUMN_SLICES.items():

    def sliced_scatter(x, w, bounds=bounds):
        product = x @ w
        return scatter(torch.cat([product[:, start:end] for start, end in bounds]), 0)

    case(f"column_slices_{name}", [(8, 16), (16, 12)], pytorch=verdict, fused=count)(sliced_scatter)


#
# Programs
#


@case("all_gather_and_reduce_scatter", [(4, 8), (8, 12), (12, 6)], fused=2)
def mlp(x, up, down):
    return scatter(torch.relu(gather(x, 0) @ up) @ down, 0)


# Made outside of traces, which cannot compute a mesh's coordinates.
MESHES = []


def sequence_parallel(shard_dim):
    def function(x, up, down):
        """As parallelize_module with SequenceParallel writes it."""
        mesh = MESHES[-1]

        def tensor(value, placement):
            return DTensor.from_local(value, mesh, [placement], run_check=False)

        hidden = tensor(x, Shard(shard_dim)).redistribute(mesh, [Replicate()])
        hidden = torch.relu(hidden @ tensor(up, Shard(1)))
        partial = hidden @ tensor(down, Shard(0))
        return partial.redistribute(mesh, [Shard(shard_dim)]).to_local()

    return function


for shard_dim in (0, 1):
    case(f"dtensor_dim{shard_dim}", [(2, 4, 8), (8, 12), (12, 6)], fused=2)(
        sequence_parallel(shard_dim)
    )


@pytest.fixture
def start(monkeypatch):
    """Starts the ranks, of which this process is the first."""
    # PyTorch's pass gives up without NCCL, which it does not use here.
    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)

    def start(ranks):
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
        MESHES.append(init_device_mesh("cpu", (ranks,)))

    yield start
    MESHES.clear()


def inputs_of(tested):
    generator = torch.Generator().manual_seed(0)
    drawn = []
    for place, size in enumerate(tested.sizes):
        dtype = tested.dtypes[place] if place < len(tested.dtypes) else torch.float32
        low, high = (1, 3) if dtype == torch.float32 and tested.dtypes else (-1, 2)
        count = 1 if place in tested.replicated else tested.ranks
        values = [
            torch.randint(low, high, size, generator=generator).to(dtype) for _ in range(count)
        ]
        drawn.append(values * tested.ranks if count == 1 else values)
    return [list(of_rank) for of_rank in zip(*drawn)]


def post_grad_graph(tested, inputs):
    """As Inductor has graphs before its micro-pipeline pass."""
    # make_fx takes parameters with defaults for inputs.
    trace = make_fx(
        lambda *args: tested.function(*args), select_decomp_table(), tracing_mode="fake"
    )
    module = trace(*inputs)
    remove_noop_ops(module.graph)
    view_to_reshape(module)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def run(module, inputs, ranks):
    name = group().group_name
    outputs = run_in_lockstep(module, inputs, {name: [list(range(ranks))]})
    return [as_list(of_rank) for of_rank in outputs]


def fused(module):
    return sum("symm_mem.fused" in str(node.target) for node in module.graph.nodes)


def differ(found, expected):
    """The first difference between the outputs of all ranks."""
    for rank, (own, wanted) in enumerate(zip(found, expected, strict=True)):
        for place, (one, other) in enumerate(zip(own, wanted, strict=True)):
            if one.shape != other.shape or not torch.equal(one.float(), other.float()):
                return f"output {place} on rank {rank}"
    return None


def by_pytorch(tested, inputs, expected):
    """What PyTorch's pass makes of the graph, and how many collectives it fuses."""
    module = post_grad_graph(tested, inputs[0])
    try:
        with _test_mode():
            micro_pipeline_tp_pass(module.graph)
        module.recompile()
        count = fused(module)
        found = run(module, inputs, tested.ranks)
    except (AssertionError, RuntimeError, ValueError, LockstepError):
        return "wrong", 0
    if count == 0:
        return "apart", 0
    return ("wrong" if differ(found, expected) else "right"), count


@pytest.mark.parametrize("name", CASES)
def test_case(name, start):
    tested = CASES[name]
    start(tested.ranks)
    inputs = inputs_of(tested)
    module = post_grad_graph(tested, inputs[0])
    expected = run(module, inputs, tested.ranks)
    commute.torch.micro_pipeline_tp_pass(module.graph, policy="always", fatal=True)
    module.recompile()
    difference = differ(run(module, inputs, tested.ranks), expected)
    assert difference is None, f"{difference}\n{module.graph}"
    verdict, count = by_pytorch(tested, inputs, expected)
    # At least what PyTorch fuses rightly.
    if verdict == "right":
        assert fused(module) >= count, module.graph
    if tested.fused is not None:
        assert fused(module) >= tested.fused, module.graph
    # Other versions of PyTorch may do better or worse.
    if tested.pytorch != "any" and torch.__version__.startswith("2.13."):
        assert verdict == tested.pytorch
