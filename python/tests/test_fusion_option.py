# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`pre_grad_fusion_options["cat_linear"]`: the option of the pass proposed for PyTorch."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor import config

import commute.torch  # makes the option known
from commute_tool import BUILD

pytestmark = [
    pytest.mark.in_process,
    pytest.mark.skipif(
        "cat_linear" in commute.torch.compatibility.PRE_GRAD_FUSIONS,
        reason="this PyTorch has the option itself",
    ),
]


class Model(nn.Module):
    """A concatenation of 3 parts of 16, 24 and 40 columns, and a linear."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(80, 32)

    def forward(self, a, b, c):
        return torch.relu(self.linear(torch.cat([a, b, c], dim=-1)))


@pytest.fixture
def compiled(monkeypatch):
    """Compiles and runs the model with options; returns the number of rewrites."""
    torch._dynamo.reset()
    monkeypatch.setattr(config, "force_disable_caches", True)
    model = Model()
    inputs = [torch.randn(8, width, requires_grad=True) for width in (16, 24, 40)]
    expected = model(*inputs)
    expected.sum().backward()
    gradients = [value.grad.clone() for value in (*inputs, *model.parameters())]

    def run(options):
        counters.clear()
        for value in (*inputs, *model.parameters()):
            value.grad = None
        with config.patch(pre_grad_fusion_options=options):
            found = torch.compile(model, fullgraph=True)(*inputs)
        torch.testing.assert_close(found, expected)
        found.sum().backward()
        for value, gradient in zip((*inputs, *model.parameters()), gradients, strict=True):
            torch.testing.assert_close(value.grad, gradient)
        return counters["inductor"]["cat_linear_fused"]

    return run


def test_the_option_splits_what_the_original_splits(compiled):
    assert compiled({"cat_linear": {}}) == 1


def test_without_the_option_nothing_is_split(compiled):
    assert compiled({}) == 0


@pytest.mark.parametrize(
    ("limits", "count"),
    [
        ({"max_parts": 2}, 0),
        ({"max_total_cat_width": 79}, 0),
        ({"max_total_cat_width": 80}, 1),
        ({"min_piece_width": 17}, 0),
        ({"min_piece_width": 16, "counter": 1}, 1),
        # The shapes are too small to pay.
        ({"policy": "profitable"}, 0),
        ({"policy": "always"}, 1),
    ],
)
def test_limits_are_options(compiled, limits, count):
    assert compiled({"cat_linear": limits}) == count


def test_a_wrong_option_is_named(compiled):
    with pytest.raises(
        Exception, match=r"there is no option 'max_width'; it has policy, .*max_parts"
    ):
        compiled({"cat_linear": {"max_width": 3}})


@pytest.mark.parametrize("first", ["commute.torch", "torch._inductor.fx_passes.pre_grad"])
def test_imports_may_come_in_any_order(first):
    script = f"""
import importlib, sys
importlib.import_module({first!r})
import commute.torch
import torch._inductor.fx_passes.pre_grad as pre_grad
from torch._inductor.fx_passes import split_cat
assert "cat_linear" in pre_grad.PRE_GRAD_PATTERNS
assert type(split_cat.__loader__).__name__ == "SourceFileLoader"
assert not any(type(finder).__module__.startswith("commute") for finder in sys.meta_path)
"""
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        timeout=300,
        env={"PYTHONPATH": str(BUILD / "python"), "HOME": "/tmp"},
    )
