# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The choice among passes inside torch.compile: collectives along other dims than the first,
beside products, which can be fused, or split at a loss or at a smaller gain. And that it is
the choice that `commute opt` takes in the exported program."""

import itertools
import logging
import re
from collections import Counter

import pytest
import torch
import torch._dynamo
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

import commute
import commute.torch
from fixtures import FIXTURES
from gathered_products import FUNCTIONS, fused_op, shapes_of
from inductor_graphs import InductorGraphs
from ranks import call_on_ranks, load

pytestmark = pytest.mark.in_process

TOY = 16


class Compiled(Exception):
    """Raised in place of the first run."""


class OnlyCompiled(InductorGraphs):
    """A backend whose graphs do not run: they can be of any size."""

    def _compile(self, *arguments, **options):
        super()._compile(*arguments, **options)

        def run(_):
            raise Compiled

        run._boxed_call = True
        return run


def join_ranks(ranks):
    """A default group of some ranks, of which only the first exists."""
    dist.init_process_group(backend="fake", world_size=ranks, rank=0, store=FakeStore())


def compile_only(function, inputs, *, trains=False, **options):
    """The graphs of a function."""
    torch._dynamo.reset()
    graphs = OnlyCompiled()
    # Nobody can ask the other ranks of a fake group.
    with (
        commute.torch.enable(ranks="same", fatal=True, **options),
        torch.set_grad_enabled(trains),
        pytest.raises(Compiled),
    ):
        torch.compile(function, backend=graphs)(*inputs)
    return graphs


def communication(name, ranks, size, *, trains=False, **options):
    """What the graphs of a function of square matrices communicate with."""
    join_ranks(ranks)
    inputs = [
        torch.empty(shape, dtype=torch.bfloat16, requires_grad=trains)
        for shape in shapes_of(name, size, size, size, ranks)
    ]
    return compile_only(FUNCTIONS[name], inputs, trains=trains, **options).communication()


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_fused_when_every_legal_rewrite_is_asked_for(name, ranks):
    assert communication(name, ranks, TOY, policy="always") == [{fused_op(name): 1}]


# Without 4096 on 8 ranks, where the fusion does not pay: its price is 359 us instead of 341.
@pytest.mark.parametrize("ranks, size", [(2, 4096), (2, 8192), (8, 8192)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_fused_by_default_where_it_pays(name, ranks, size):
    assert communication(name, ranks, size) == [{fused_op(name): 1}]


@pytest.mark.parametrize("policy", ["always", "profitable"])
def test_gathered_value_that_the_backward_graph_needs_is_a_reason(policy, caplog):
    """PyTorch's fused op along the contraction does not return what it gathers."""
    caplog.set_level(logging.DEBUG, logger="commute")
    found = communication("product_of_chunks", 2, 4096, policy=policy, trains=True)
    assert found == [{"all_gather_into_tensor": 1}]
    assert "gathers along the contraction dimension, and the gathered value has other users" in (
        caplog.text
    )


def compute_on_rank(rank):
    """On one rank: every function in eager execution and compiled."""
    results = {}
    for name, function in FUNCTIONS.items():
        torch._dynamo.reset()
        generator = torch.Generator().manual_seed(rank)
        inputs = [
            torch.randn(shape, generator=generator, dtype=torch.float64)
            for shape in shapes_of(name, TOY, 2 * TOY, 3 * TOY, dist.get_world_size())
        ]
        graphs = InductorGraphs()
        with commute.torch.enable(policy="always", fatal=True), torch.no_grad():
            found = torch.compile(function, backend=graphs)(*inputs)
            expected = function(*inputs)
        results[name] = {
            "found": found.clone(),
            "expected": expected.clone(),
            "communication": graphs.communication(),
        }
    return results


@pytest.fixture(scope="module")
def results_of_ranks():
    return call_on_ranks(compute_on_rank, 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_fused_values_are_those_of_eager_execution(results_of_ranks, name):
    for of_rank in results_of_ranks:
        assert of_rank[name]["communication"] == [{fused_op(name): 1}]
        torch.testing.assert_close(
            of_rank[name]["found"], of_rank[name]["expected"], rtol=1e-10, atol=1e-10
        )


#
# The same in the exported program and in torch.compile
#

SHAPES = tuple(itertools.product((4096, 16384), (4096, 16384), (512, 2048, 8192)))
COMPETING = ("sequence-parallel", "split-linear", "micro-pipeline", "contiguous-collectives")

# What torch.compile makes no graph of, or another one than the exporter.
NOT_COMPARED = {
    "every_collective_tp4": "it has groups that a process of the default group alone lacks",
    "in_place_collectives_tp2": "AOTAutograd does not functionalize all_reduce_",
    "in_place_with_holes_tp2": "AOTAutograd does not functionalize all_reduce_",
    "llama_tp2_dynamic": "it is exported for all sizes, and compiled for those of its inputs",
    "llama_tp2_no_weights": "it has no inputs either",
}


class Function(torch.nn.Module):
    """A function as the exporter takes it."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, weight):
        return self.function(x, weight)


def rewrites(remarks):
    """What was rewritten, how often, by pass: without names, which decompositions change, and
    what follows a semicolon, such as prices. A region of sequence parallelism is told by its
    all_reduces: how many ops are in it, and how its inputs get there, are matters of spelling
    and of whether the program is that of one rank."""
    return Counter(
        (remark.pass_name, re.sub("'[^']*'", "_", remark.message.partition(";")[0]))
        for remark in remarks
        if remark.verdict == "applied"
        and remark.pass_name in COMPETING
        and not remark.message.startswith(("sequence parallelism along", "this replicated value"))
    )


def has_refusals(remarks):
    return any(
        remark.verdict == "refused" and remark.pass_name in COMPETING and remark.message
        for remark in remarks
    )


def logged_remarks(caplog):
    """The remarks of all passes of a compilation."""
    arguments = [argument for record in caplog.records for argument in record.args or ()]
    return [argument for argument in arguments if isinstance(argument, commute.Remark)]


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_rewritten_as_by_opt(name, ranks, caplog):
    caplog.set_level(logging.DEBUG, logger="commute")
    join_ranks(ranks)
    found = Counter()
    for rows, depth, columns in SHAPES:
        inputs = [
            torch.empty(shape, dtype=torch.bfloat16)
            for shape in shapes_of(name, rows, depth, columns, ranks)
        ]
        exported = torch.export.export(Function(FUNCTIONS[name]), tuple(inputs), strict=False)
        optimized = commute.optimize(exported.graph_module)
        assert commute.optimize(optimized.program).verdict == "unchanged"
        caplog.clear()
        compile_only(FUNCTIONS[name], inputs)
        remarks = logged_remarks(caplog)
        assert rewrites(remarks) == rewrites(optimized.remarks), (rows, depth, columns)
        if not rewrites(remarks):
            assert has_refusals(remarks) and has_refusals(optimized.remarks)
        found += rewrites(remarks)
    assert {pass_name for pass_name, _ in found} == {"micro-pipeline"}


def compile_fixture(name, archive, **options):
    """Under the policy `always`, with all that the archive states."""
    program, sidecar = load(archive)
    join_ranks(FIXTURES[name].size)
    options = dict(options, policy="always", context=sidecar)
    return compile_only(program.module(), program.example_inputs[0], **options)


COMPARED = sorted({*FIXTURES} - {*NOT_COMPARED})


@pytest.mark.parametrize("name", COMPARED)
def test_models_are_rewritten_as_by_opt(name, fixtures_folder, caplog):
    caplog.set_level(logging.DEBUG, logger="commute")
    archive = fixtures_folder / f"{name}.pt2"
    optimized = commute.optimize(commute.load(archive), policy="always")
    compile_fixture(name, archive)
    assert rewrites(logged_remarks(caplog)) == rewrites(optimized.remarks)
    assert rewrites(optimized.remarks)


# Inductor's rewrites of dropout leave the graph of BERT unsorted.
@pytest.mark.parametrize("name", ["gpt2_tp2", "bert_tp2"])
def test_joint_graph_of_a_model_is_rewritten(name, fixtures_folder, caplog):
    caplog.set_level(logging.DEBUG, logger="commute")
    compile_fixture(name, fixtures_folder / f"{name}.pt2", trains=True)
    assert rewrites(logged_remarks(caplog))
