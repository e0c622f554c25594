# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Linears of concatenations in exported graphs, of the forward direction and of forward
and backward in one: rewritten by `commute opt`, against eager execution."""

import operator

import pytest
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from captured_graphs import results_and_gradients
from commute_tool import optimize
from concatenated_linears import BIAS, PARTS, SPELLINGS, WEIGHT, check_close, tensors

ALWAYS = ("--passes=split-linear", "--policy=always")

# Of PyTorch about itself, when it exports.
pytestmark = pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.")


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def reload(function, inputs, folder, *options, dynamic_shapes=None):
    """The function as `commute opt` rewrites its exported graph, and the remarks."""
    program = torch.export.export(
        Module(function), tuple(inputs), dynamic_shapes=dynamic_shapes, strict=False
    )
    source, target = folder / "in.pt2", folder / "out.pt2"
    torch.export.save(program, source)
    summary = optimize(source, target, *(options or ALWAYS))
    assert summary["unchanged"] or summary["verification"]["equivalent"]
    return torch.export.load(target), summary["remarks"]


def aten_targets(program):
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def applied(remarks):
    return [remark for remark in remarks if remark["verdict"] == "applied"]


@pytest.mark.parametrize("name", SPELLINGS)
def test_exported_graph(name, tmp_path):
    function, shapes = SPELLINGS[name]
    inputs = tensors(*shapes)
    program, remarks = reload(function, inputs, tmp_path)
    assert applied(remarks)
    assert "aten.cat.default" not in aten_targets(program)
    check_close(
        results_and_gradients(program.module(), inputs), results_and_gradients(function, inputs)
    )


def test_exported_graph_with_symbolic_rows(tmp_path):
    function, shapes = SPELLINGS["cat"]
    rows = torch.export.Dim("rows")
    per_input = tuple({0: rows} for _ in PARTS) + (None, None)
    program, remarks = reload(function, tensors(*shapes), tmp_path, dynamic_shapes=(per_input,))
    assert applied(remarks)
    inputs = tensors((7, 8), (7, 16), (7, 12), WEIGHT, BIAS)
    check_close(
        results_and_gradients(program.module(), inputs), results_and_gradients(function, inputs)
    )


#
# Forward and backward in one graph
#


def joint(function, shapes):
    """A function that gives a result and the gradients of all inputs, and what it
    takes: those inputs, and the gradient of the result."""

    def both(*inputs):
        *operands, tangent = inputs
        operands = [value.detach().requires_grad_() for value in operands]
        result = function(*operands)
        return (result, *torch.autograd.grad(result, operands, tangent))

    inputs = [value.detach() for value in tensors(*shapes)]
    tangent = torch.randn_like(function(*inputs))
    return make_fx(both)(*inputs, tangent), [*inputs, tangent]


# Many rows, so that joining the gradient of the weight is less than joining them.
JOINT = {
    "linear": (
        lambda a, b, w: F.linear(torch.cat([a * 2, b * 3], -1), w),
        ((64, 8), (64, 16), (5, 24)),
    ),
    "bias": (
        lambda a, b, w, v: F.linear(torch.cat([a * 2, b * 3], -1), w, v),
        ((64, 8), (64, 16), (5, 24), (5,)),
    ),
    "three dims": (
        lambda a, b, w, v: F.linear(torch.cat([a * 2, b * 3], -1), w, v),
        ((2, 32, 8), (2, 32, 16), (5, 24), (5,)),
    ),
    "matmul": (
        lambda a, b, w: torch.cat([a * 2, b * 3], -1) @ w,
        ((64, 8), (64, 16), (24, 5)),
    ),
    "addmm": (
        lambda a, b, w, v: torch.addmm(v, torch.cat([a * 2, b * 3], -1), w),
        ((64, 8), (64, 16), (24, 5), (5,)),
    ),
    "bmm": (
        lambda a, b, w: torch.bmm(torch.cat([a * 2, b * 3], -1), w),
        ((2, 64, 8), (2, 64, 16), (2, 24, 5)),
    ),
}
PRODUCTS = tuple(
    getattr(torch.ops.aten, name).default
    for name in ("mm", "addmm", "bmm", "baddbmm", "matmul", "linear")
)


@pytest.mark.parametrize("name", JOINT)
def test_joint_graph(name, tmp_path):
    """Forward, and both gradients, in one product for each part."""
    function, shapes = JOINT[name]
    both, inputs = joint(function, shapes)
    program, remarks = reload(both, inputs, tmp_path)
    check_close(program.module()(*inputs), both(*inputs))
    assert applied(remarks)
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    assert sum(node.target in PRODUCTS for node in calls) == 6
    joined = [node for node in calls if node.target is torch.ops.aten.cat.default]
    # Only the gradient of the weight is put together.
    assert [node.meta["val"].numel() for node in joined] == [inputs[2].numel()]


def test_gradients_that_are_returned_keep_their_layout(tmp_path):
    """What lies in memory as before cannot be a product of its own."""
    function, shapes = SPELLINGS["without bias"]
    both, inputs = joint(function, shapes)
    program, _ = reload(both, inputs, tmp_path)
    found, expected = program.module()(*inputs), both(*inputs)
    check_close(found, expected)
    assert [value.stride() for value in found] == [value.stride() for value in expected]


def test_operators_of_the_joint_graph_stay_operators(tmp_path):
    function, shapes = SPELLINGS["cat"]
    both, inputs = joint(function, shapes)
    program, _ = reload(both, inputs, tmp_path)
    for node in program.graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            assert isinstance(node.target, torch._ops.OpOverload), node.target
