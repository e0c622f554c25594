# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Linears of concatenations before autograd: rewritten graphs against eager execution.

The graphs are torch.compile's; autograd then works on what was made of them. Exported
graphs are in test_split_linear_exported.py.
"""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.utils import counters

from captured_graphs import Captured, check_metadata, results_and_gradients
from commute.torch import (
    CatLinearFusedPreGradPass,
    fuse_cat_linear_in_graph,
    graph_passes,
)
from commute_tool import REPOSITORY
from concatenated_linears import PARTS, SPELLINGS, check_close, tensors

pytestmark = pytest.mark.in_process


def rewrite(graph, **options):
    return fuse_cat_linear_in_graph(graph, **{"policy": "always", **options})


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic rows"])
@pytest.mark.parametrize("name", SPELLINGS)
def test_rewritten_before_autograd(name, dynamic):
    function, shapes = SPELLINGS[name]
    inputs = tensors(*shapes)
    rows = [value for value in inputs if value.shape[0] == 3]
    if dynamic:
        for part in rows:
            torch._dynamo.mark_dynamic(part, 0)
    captured = Captured(function, rewrite)
    check_close(results_and_gradients(captured, inputs), results_and_gradients(function, inputs))
    assert captured.changes == [1]
    assert not {"cat", "concat", "concatenate"} & set(captured.targets())
    check_metadata(captured.graph)
    sizes = [size for node in captured.graph.nodes if node.op != "output"
             for size in getattr(node.meta["example_value"], "shape", ())]  # fmt: skip
    assert any(isinstance(size, torch.SymInt) for size in sizes) == bool(dynamic and rows)


def test_linear_module_keeps_its_parameters():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(24, 5, dtype=torch.float64)

        def forward(self, a, b):
            return self.linear(torch.cat([a, b], dim=-1)).relu()

    model = Model()
    inputs = tensors(*PARTS[:2])
    captured = Captured(model, rewrite)
    found = captured(*inputs)
    found.square().sum().backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    expected = model(*inputs)
    expected.square().sum().backward()
    check_close([found, *gradients], [expected, *(p.grad for p in model.parameters())])
    assert captured.changes == [1]


def test_second_run_finds_nothing_more():
    function, shapes = SPELLINGS["cat"]
    counts = []

    def change(graph):
        counts.append(rewrite(graph))
        before = list(graph.nodes)
        counts.append(rewrite(graph))
        assert list(graph.nodes) == before

    Captured(function, change)(*tensors(*shapes))
    assert counts == [1, 0]


@pytest.mark.parametrize("dtype, worse", [(torch.float32, 2.0), (torch.bfloat16, 2.0)])
@pytest.mark.parametrize("parts", [2, 3, 6])
def test_error_is_like_that_of_the_unsplit_linear(dtype, worse, parts):
    """Root mean square of what both lose against double precision.

    The sums of the parts are rounded each: in bf16 that is more than the one rounding
    of the whole, but no more than `worse` times as much for so few parts.
    """
    shapes = [*[(64, 96)] * parts, (80, 96 * parts), (80,)]

    def function(*inputs):
        *operands, weight, bias = inputs
        return F.linear(torch.cat(operands, -1), weight, bias)

    exact = tensors(*shapes)
    rounded = [value.detach().to(dtype).requires_grad_() for value in exact]
    exact = [value.detach().double().requires_grad_() for value in rounded]
    reference = results_and_gradients(function, exact)
    captured = Captured(function, rewrite)
    before = results_and_gradients(function, rounded)
    after = results_and_gradients(captured, rounded)
    assert captured.changes == [1]
    for old, new, true in zip(before, after, reference, strict=True):
        old_error = (old.double() - true).square().mean().sqrt()
        new_error = (new.double() - true).square().mean().sqrt()
        assert new_error <= worse * old_error + torch.finfo(dtype).tiny


def test_exact_rounding_leaves_sums_alone():
    function, shapes = SPELLINGS["cat"]
    captured = Captured(function, lambda graph: rewrite(graph, exact_rounding=True))
    captured(*tensors(*shapes))
    assert captured.changes == [0]
    assert "cat" in captured.targets()


def test_joined_rows_round_as_before():
    def function(a, b, w):
        return F.linear(torch.cat([a, b], 0), w)

    shapes = ((16, 24), (32, 24), (5, 24))
    captured = Captured(function, lambda graph: rewrite(graph, exact_rounding=True))
    inputs = tensors(*shapes)
    check_close(results_and_gradients(captured, inputs), results_and_gradients(function, inputs))


#
# What is left alone
#


def mutated_part(a, b, w):
    joined = torch.cat([a, b], -1)
    a.mul_(2)
    return F.linear(joined, w), a


def mutated_view(a, b, w):
    first = a[:, :4]
    joined = torch.cat([a, b], -1)
    first.add_(1)
    return F.linear(joined, w), a


def written_index(a, b, w):
    joined = torch.cat([a, b], -1)
    b[0] = 1
    return F.linear(joined, w), b


def in_place_operator(a, b, w):
    joined = torch.cat([a, b], -1)
    a += 1
    return F.linear(joined, w), a


def in_place_activation(a, b, w):
    joined = torch.cat([a, b], -1)
    return F.leaky_relu(a, 0.1, inplace=True), F.linear(joined, w)


def out_argument(a, b, w):
    joined = torch.cat([a, b], -1)
    torch.add(a, 1, out=a)
    return F.linear(joined, w), a


def mutated_weight(a, b, w):
    first = F.linear(torch.cat([a, b], -1), w)
    w.mul_(0.5)
    return first, F.linear(torch.cat([b, a], -1), w)


REFUSALS = [
    mutated_part,
    mutated_view,
    written_index,
    in_place_operator,
    in_place_activation,
    out_argument,
    mutated_weight,
]


@pytest.mark.parametrize("function", REFUSALS, ids=lambda function: function.__name__)
def test_written_memory_is_left_alone(function):
    inputs = [value.detach() for value in tensors((3, 8), (3, 16), (5, 24))]
    captured = Captured(function, rewrite)

    def run(call):
        own = [value.clone() for value in inputs]
        return [*call(*own), *own]

    check_close(run(captured), run(function), tolerance=0)
    assert captured.changes == [0]
    assert "cat" in captured.targets()


def test_writes_into_other_memory_are_not_in_the_way():
    """A copy is written into, and no part."""

    def function(a, b, w):
        copy = a.clone()
        copy.mul_(2)
        return F.linear(torch.cat([a, b], -1), w), copy

    inputs = [value.detach() for value in tensors((3, 8), (3, 16), (5, 24))]
    captured = Captured(function, rewrite)
    check_close(captured(*inputs), function(*inputs))
    assert captured.changes == [1]


def test_mixed_element_types_are_left_alone():
    def function(a, b, w):
        return F.linear(torch.cat([a, b], -1), w)

    a, b, w = tensors((3, 8), (3, 16), (5, 24))
    inputs = [a.detach().float().requires_grad_(), b, w]
    captured = Captured(function, rewrite)
    check_close(results_and_gradients(captured, inputs), results_and_gradients(function, inputs), 0)
    assert captured.changes == [0]


def test_concatenation_that_others_read_is_not_computed_twice():
    def function(a, b, w):
        joined = torch.cat([a, b], -1)
        return F.linear(joined, w), joined

    inputs = tensors((3, 8), (3, 16), (5, 24))
    captured = Captured(function, lambda graph: rewrite(graph, policy="profitable"))
    check_close(results_and_gradients(captured, inputs), results_and_gradients(function, inputs), 0)
    assert captured.changes == [0]
    assert captured.targets().count("cat") == 1


def test_autocast_is_left_alone():
    def function(a, b, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.linear(torch.cat([a, b], -1), w)

    inputs = tensors((3, 8), (3, 16), (5, 24), dtype=torch.float32)
    captured = Captured(function, rewrite)
    check_close(results_and_gradients(captured, inputs), results_and_gradients(function, inputs), 0)
    assert captured.changes == [0]


def test_upstream_policy_has_upstreams_gates():
    counts = {}
    for name, widths in {
        "two parts": (8, 16),
        "narrow part": (7, 16),
        "wide": (200, 200),
        "four parts": (8, 8, 8, 8),
    }.items():

        def function(*inputs):
            *parts, weight = inputs
            return F.linear(torch.cat(parts, -1), weight)

        shapes = [*((3, width) for width in widths), (5, sum(widths))]
        captured = Captured(function, lambda graph: rewrite(graph, policy="upstream"))
        inputs = tensors(*shapes)
        check_close(captured(*inputs)[None], function(*inputs)[None])
        counts[name] = captured.changes
    assert counts == {"two parts": [1], "narrow part": [0], "wide": [0], "four parts": [0]}


@pytest.mark.parametrize(
    ("widths", "limits"),
    [
        ((7, 16), {"min_piece_width": 7}),
        ((200, 200), {"max_total_cat_width": 400}),
        ((8, 8, 8, 8), {"max_parts": 4}),
    ],
)
def test_upstreams_limits_are_options(widths, limits):
    def function(*inputs):
        *parts, weight = inputs
        return F.linear(torch.cat(parts, -1), weight)

    inputs = tensors(*((3, width) for width in widths), (5, sum(widths)))
    captured = Captured(function, lambda graph: rewrite(graph, policy="upstream", **limits))
    check_close(captured(*inputs)[None], function(*inputs)[None])
    assert captured.changes == [1]


#
# Inside torch.compile
#


def test_custom_pass_of_inductor():
    function, shapes = SPELLINGS["cat"]
    inputs = tensors(*shapes, dtype=torch.float32)
    custom_pass = CatLinearFusedPreGradPass(policy="always")
    torch._dynamo.reset()
    counters.clear()
    with torch._inductor.config.patch(pre_grad_custom_pass=custom_pass, force_disable_caches=True):
        compiled = torch.compile(function)
        found = results_and_gradients(compiled, inputs)
    assert counters["inductor"]["cat_linear_fused"] == 1
    check_close(found, results_and_gradients(function, inputs), 1e-5)


def test_compiled_code_is_cached_by_options_and_sources(tmp_path, monkeypatch):
    def uuid(**options):
        graph_passes._package_hash.cache_clear()
        return CatLinearFusedPreGradPass(**options).uuid()

    read, files = Path.read_bytes, []
    monkeypatch.setattr(Path, "read_bytes", lambda path: files.append(path.name) or read(path))
    uuid()
    assert {"graph_edits.py", "graph_passes.py"} <= set(files)
    assert any(name.startswith("_commute") for name in files)
    assert uuid(policy="always") == uuid(policy="always")
    assert uuid(policy="always") != uuid(policy="profitable")
    target = tmp_path / "machine.json"
    known = REPOSITORY / "lib" / "Target" / "targets" / "h100x8.json"
    target.write_text(known.read_text())
    before = uuid(target=target)
    target.write_text(known.read_text() + "\n")
    assert uuid(target=target) != before
