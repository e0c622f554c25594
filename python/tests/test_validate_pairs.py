# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Operators and forms that graph passes write, compared with what they stand for."""

import math

import pytest
import torch
import torch._inductor.inductor_prims  # registers the operators
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

import commute
import commute.torch

pytestmark = pytest.mark.in_process

aten, prims = torch.ops.aten, torch.ops.prims


def trace(function, *args):
    return make_fx(function, tracing_mode="fake")(*args)


def verdict(first, second, args, **options):
    graphs = trace(first, *args), trace(second, *args)
    return commute.torch.validate(*graphs, **options).verdict


def x():
    return torch.randn(4, 8)


def in_place(x, y):
    sum = x * 1
    aten.add_.Tensor(sum, y)
    return sum * 2


def write_rows(x, y):
    return aten.index_put_.default(x * 1, [torch.tensor([1, 2])], y[:2])


def seed():
    return prims.inductor_seed.default(torch.device("cpu"))


def draw(seed):
    return prims.inductor_random.default([4, 8], seed, "rand")


def lookup(seeds, index):
    return draw(prims.inductor_lookup_seed.default(seeds, index))


def two_draws(first, second):
    def draws(x):
        seeds = prims.inductor_seeds.default(2, torch.device("cpu"))
        return x + lookup(seeds, first) * lookup(seeds, second)

    return draws


def softmax_statistics(x):
    largest = torch.amax(x, 1, True)
    return largest, torch.exp(x - largest).sum(1, True)


EQUAL = {
    "fma": (lambda x, y: prims.fma.default(x, y, x), lambda x, y: x * y + x),
    "strides that the operand has": (
        lambda x, y: prims.inductor_force_stride_order.default(x, (8, 1)) + y,
        lambda x, y: x + y,
    ),
    "strides in between": (
        lambda x, y: prims.inductor_force_stride_order.default(x.t(), (4, 1)) @ y,
        lambda x, y: x.t() @ y,
    ),
    "softmax statistics": (
        lambda x, y: prims.prepare_softmax_online.default(x, 1),
        lambda x, y: softmax_statistics(x),
    ),
    "as_strided rows": (
        lambda x, y: aten.as_strided.default(x, [2, 8], [8, 1], 8) + 1,
        lambda x, y: x[1:3] + 1,
    ),
    "as_strided columns": (
        lambda x, y: aten.as_strided.default(x, [3, 4], [2, 8], 1) + 1,
        lambda x, y: x[:, 1:6:2].t() + 1,
    ),
    "view_copy": (
        lambda x, y: aten.view_copy.default(x, [8, 4]),
        lambda x, y: x.view(8, 4).clone(),
    ),
    "split_copy": (
        lambda x, y: aten.split_copy.Tensor(x, 4, 1)[1],
        lambda x, y: x[:, 4:].contiguous(),
    ),
    "foreach with alpha": (
        lambda x, y: aten._foreach_add.List([x, y], [y, x], alpha=2),
        lambda x, y: [x + 2 * y, y + 2 * x],
    ),
    "foreach of numbers": (
        lambda x, y: aten._foreach_mul.Scalar([x, y], 2.0)[1],
        lambda x, y: y * 2,
    ),
    "foreach power": (
        lambda x, y: aten._foreach_pow.Scalar([x, y], 2)[0],
        lambda x, y: x * x,
    ),
    "in-place": (in_place, lambda x, y: (x + y) * 2),
    "index_put_": (
        write_rows,
        lambda x, y: aten.index_put.default(x, [torch.tensor([1, 2])], y[:2]),
    ),
    "write of a copy": (
        lambda x, y: aten.copy_.default(x, aten.copy.default(x, y * 2)),
        lambda x, y: aten.copy_.default(x, y * 2),
    ),
    "random numbers": (
        lambda x, y: x + torch.rand(4, 8) * torch.rand(4, 8),
        lambda x, y: two_draws(0, 1)(x),
    ),
    "one seed": (lambda x, y: x + torch.rand(4, 8), lambda x, y: x + draw(seed())),
    "constant": (lambda x, y: x + torch.tensor(2.0), lambda x, y: x + 2.0),
    "constants": (
        lambda x, y: x * torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8]),
        lambda x, y: x * torch.arange(1, 9),
    ),
    "gelu": (
        lambda x, y: torch.nn.functional.gelu(x),
        lambda x, y: x * 0.5 * (1 + torch.erf(x * 0.7071067811865476)),
    ),
    "gelu by tanh": (
        lambda x, y: torch.nn.functional.gelu(x, approximate="tanh"),
        lambda x, y: 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))),
    ),
    "scale of 8": (lambda x, y: x / math.sqrt(8), lambda x, y: x * (1 / math.sqrt(8))),
    "scale of 80": (lambda x, y: x / math.sqrt(80), lambda x, y: x * (1 / math.sqrt(80))),
}

DIFFERENT = {
    "fma": (lambda x, y: prims.fma.default(x, y, x), lambda x, y: x * y + y),
    "as_strided rows": (
        lambda x, y: aten.as_strided.default(x, [2, 8], [8, 1], 8) + 1,
        lambda x, y: x[0:2] + 1,
    ),
    "split_copy": (
        lambda x, y: aten.split_copy.Tensor(x, 4, 1)[1],
        lambda x, y: x[:, :4].contiguous(),
    ),
    "foreach": (
        lambda x, y: aten._foreach_add.List([x, y], [y, x], alpha=2),
        lambda x, y: [x + y, y + 2 * x],
    ),
    "read before the write": (in_place, lambda x, y: x * 2),
    "write of another value": (
        lambda x, y: aten.copy_.default(x, y * 2),
        lambda x, y: aten.copy_.default(x, y * 3),
    ),
    "no write": (lambda x, y: (aten.copy_.default(x, y), y + 1)[1], lambda x, y: y + 1),
    "one seed for two draws": (
        lambda x, y: two_draws(0, 1)(x),
        lambda x, y: two_draws(1, 1)(x),
    ),
    "another law": (lambda x, y: x + torch.randn(4, 8), lambda x, y: x + draw(seed())),
    "constant": (lambda x, y: x + torch.tensor(2.0), lambda x, y: x + 3.0),
    "gelu": (
        lambda x, y: torch.nn.functional.gelu(x),
        lambda x, y: torch.nn.functional.gelu(x, approximate="tanh"),
    ),
    "scale": (lambda x, y: x / math.sqrt(8), lambda x, y: x * (1 / math.sqrt(8) + 1e-12)),
    "scale of another size": (lambda x, y: x / math.sqrt(8), lambda x, y: x / math.sqrt(7)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_passes_write_is_what_it_stands_for(name):
    assert verdict(*EQUAL[name], (x(), x())) == "equivalent"


@pytest.mark.parametrize("name", DIFFERENT)
def test_faults_in_what_passes_write_are_found(name):
    assert verdict(*DIFFERENT[name], (x(), x())) == "different"


def test_another_layout_is_a_verdict_of_its_own():
    first, second = (
        trace(function, x())
        for function in (lambda x: (x + 1).t(), lambda x: (x + 1).t().contiguous())
    )
    found = commute.torch.validate(first, second)
    assert found.verdict == "other layout" and not found
    (difference,) = found.differences
    assert difference["kind"] == "layout"
    assert "strides = [1, 8]" in difference["message"]
    assert commute.torch.validate(first, second, accept_layouts=True)
    assert commute.verify(first, second, accept_layouts=True)
    wrong = trace(lambda x: (x + 2).t(), x())
    assert commute.torch.validate(first, wrong, accept_layouts=True).verdict == "different"


def test_a_lost_rounding_needs_the_strict_precision():
    def rounded(x):
        return x.to(torch.bfloat16).to(torch.float32).sum(1)

    graphs = trace(rounded, x()), trace(lambda x: x.sum(1), x())
    assert commute.verify(*graphs)
    assert commute.verify(*graphs, precision="strict").verdict == "different"
    with pytest.raises(commute.CommuteError, match="precision"):
        commute.torch.validate(*graphs, precision="exact")


def test_an_operator_without_a_meaning_is_named():
    found = commute.torch.validate(trace(torch.special.bessel_j0, x()), trace(lambda x: x + 1, x()))
    assert found.verdict == "not proven"
    assert "special_bessel_j0" in found.report["undecided"]["operator"]


def test_functions_are_traced_again():
    class Before(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x):
            return torch.nan_to_num(self.linear(x).flatten().unflatten(0, (4, 8)).clamp(max=1))

    module = Before()

    class After(torch.nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.linear, self.factor = module.linear, factor

        def forward(self, x):
            product = x @ (self.linear.weight * self.factor).t() + self.linear.bias
            return torch.nan_to_num(torch.minimum(product, torch.ones(())))

    def symbolic(own):
        graph = torch.fx.symbolic_trace(own)
        with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True) as mode:
            for node in graph.graph.find_nodes(op="placeholder"):
                node.meta["example_value"] = mode.from_tensor(x())
        return graph

    before = symbolic(module)
    assert commute.torch.validate(before, symbolic(After(1)))
    assert commute.torch.validate(before, symbolic(After(2))).verdict == "different"


def test_a_graph_that_is_not_sorted_is_read():
    module = trace(lambda x: (x + 1) * 2, x())
    graph = Graph()
    values = {}
    for node in module.graph.nodes:
        values[node] = graph.node_copy(node, values.__getitem__)
    product = next(node for node in graph.nodes if node.name == "mul")
    first = next(node for node in graph.nodes if node.op == "placeholder")
    first.append(product)
    assert commute.torch.validate(module, GraphModule({}, graph))


def test_the_order_and_number_of_results_are_compared():
    first = trace(lambda x: (x + 1, x), x())
    assert commute.torch.validate(first, trace(lambda x: (x, x + 1), x())).verdict == "different"
    assert commute.torch.validate(first, trace(lambda x: x + 1, x())).verdict == "different"
    with pytest.raises(commute.CommuteError, match="take 1 and 2 inputs"):
        commute.torch.validate(first, trace(lambda x, y: (x + y, x), x(), x()))


def test_decompositions_of_an_exported_program():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return torch.nn.functional.gelu(self.linear(x)) * self.count

    program = torch.export.export(Net(), (x(),))
    decomposed = program.run_decompositions()
    assert commute.torch.validate(program, decomposed)
    for node in decomposed.graph.nodes:
        if node.target is aten.gelu.default:
            node.target = aten.silu.default
    assert commute.torch.validate(program, decomposed).verdict == "different"


def attention(query, key, value, gradient):
    """As decompositions write it, forward and backward."""
    weights = (query @ key.transpose(-1, -2) / math.sqrt(8)).softmax(-1)
    of_weights = gradient @ value.transpose(-1, -2)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdim=True))
    return (
        weights @ value,
        of_scores @ key / math.sqrt(8),
        of_scores.transpose(-1, -2) @ query / math.sqrt(8),
        weights.transpose(-1, -2) @ gradient,
    )


def attention_of_gpus(query, key, value, gradient):
    result, sums, seed, offset = aten._scaled_dot_product_efficient_attention.default(
        query, key, value, None, True
    )
    gradients = aten._scaled_dot_product_efficient_attention_backward.default(
        gradient, query, key, value, None, result, sums, seed, offset, 0.0,
        [True, True, True, False],
    )  # fmt: skip
    return result, *gradients[:3]


def attention_of_cpus(query, key, value, gradient):
    result, sums = aten._scaled_dot_product_flash_attention_for_cpu.default(query, key, value)
    return result, *aten._scaled_dot_product_flash_attention_for_cpu_backward.default(
        gradient, query, key, value, result, sums, 0.0, False
    )


@pytest.mark.parametrize("kernel", [attention_of_cpus, attention_of_gpus])
def test_kernels_of_attention_are_their_decompositions(kernel):
    tensors = [torch.randn(2, 2, 6, 8) for _ in range(4)]
    before, after = trace(attention, *tensors), trace(kernel, *tensors)
    assert commute.torch.validate(before, after, accept_layouts=True)

    def wrong(query, key, value, gradient):
        result, *gradients = kernel(query, key, value, gradient)
        return result, gradients[1], gradients[0], gradients[2]

    found = commute.torch.validate(before, trace(wrong, *tensors), accept_layouts=True)
    assert found.verdict == "different"


def test_operators_under_control_dependencies_are_read():
    control = pytest.importorskip("torch._inductor.fx_passes.control_dependencies")
    before = trace(lambda x: (x * 2, torch.relu(x)), x())

    def controlled(target):
        module = trace(lambda x: (x * 2, torch.relu(x)), x())
        graph = module.graph
        relu = next(node for node in graph.nodes if node.target is aten.relu.default)
        product = next(node for node in graph.nodes if node.target is aten.mul.Tensor)
        inner = Graph()
        inner.output(inner.call_function(target, (inner.placeholder("value"),)))
        module.inner = GraphModule({}, inner)
        with graph.inserting_before(relu):
            subgraph = graph.get_attr("inner")
            call = graph.call_function(control.control_deps, ((product,), subgraph, relu.args[0]))
        call.meta = dict(relu.meta)
        relu.replace_all_uses_with(call)
        graph.erase_node(relu)
        return module

    assert commute.torch.validate(before, controlled(aten.relu.default))
    wrong = commute.torch.validate(before, controlled(aten.neg.default))
    assert wrong.verdict == "different"


def test_subgraphs_are_compared_by_structure():
    def chosen(first, second):
        def function(x):
            return torch.cond(x.sum() > 0, first, second, (x,)) + 1

        return trace(function, x())

    def sine(x):
        return x.sin()

    def cosine(x):
        return x.cos()

    before = chosen(sine, cosine)
    assert commute.torch.validate(before, chosen(sine, cosine))
    assert not commute.torch.validate(before, chosen(cosine, sine))


def test_writes_into_constants_are_results():
    count = torch.zeros(3)

    def counting(step):
        graph = Graph()
        operand = graph.placeholder("x")
        operand.meta["val"] = x()
        if step:
            held = graph.get_attr("count")
            held.meta["val"] = count
            graph.call_function(aten.add_.Tensor, (held, step)).meta["val"] = count
        product = graph.call_function(aten.mul.Tensor, (operand, 2))
        product.meta["val"] = x()
        graph.output((product,))
        return GraphModule({"count": count}, graph)

    first = counting(1)
    assert commute.torch.validate(first, counting(1))
    assert commute.torch.validate(first, counting(2)).verdict == "different"
    assert not commute.torch.validate(first, counting(0))
