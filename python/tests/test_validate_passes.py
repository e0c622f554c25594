# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The passes of torch.compile, validated while they run."""

import json

import pytest
import torch

import commute
import commute.torch
from commute_tool import commute as run_commute
from inductor_passes import run_compiled

pytestmark = [
    pytest.mark.in_process,
    pytest.mark.skipif(not hasattr(torch, "compile"), reason="needs torch.compile"),
]

aten = torch.ops.aten


class Net(torch.nn.Module):
    def __init__(self, training):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
        self.dropout = torch.nn.Dropout(0.1)
        self.train(training)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(self.first(x).permute(1, 0).permute(1, 0))
        return self.dropout(self.second(hidden)) + x


def compile_and_run(training=False, **options):
    torch.manual_seed(0)
    model = Net(training)
    x = torch.randn(4, 8, requires_grad=training)
    return model, x, run_compiled(model, x, training=training, **options)


def negate_first(graph):
    """A pass that is wrong."""
    for node in graph.nodes:
        if node.target is aten.add.Tensor:
            node.target = aten.sub.Tensor
            return


def sort_products(graph):
    """A pass that is right."""
    for node in graph.nodes:
        if node.target is aten.mul.Tensor:
            node.args = tuple(reversed(node.args))


@pytest.mark.parametrize("training", [False, True])
def test_passes_of_inductor_are_proven(training):
    with commute.torch.validate_passes() as report:
        compile_and_run(training)
    assert report.runs and report, report
    assert not report.problems
    names = {run.name for run in report.runs}
    assert any("partition" in name for name in names)
    assert report.num_unchanged > 10
    assert "equivalent" in str(report).splitlines()[-1]


def test_a_wrong_custom_pass_is_found_and_saved(tmp_path):
    options = {"post_grad_custom_post_pass": negate_first}
    with (
        pytest.raises(commute.torch.PassesDiffer, match="post_grad_custom_post_pass"),
        commute.torch.validate_passes() as report,
    ):
        compile_and_run(**options)
    (run,) = report.differences
    assert run.name == "post_grad_custom_post_pass"
    assert "test_validate_passes.py" in str(run)
    assert "DIFFERENT" in str(run)
    (folder,) = report.save(tmp_path, pytest=True)
    again = run_commute("verify", folder / "before.mlir", folder / "after.mlir")
    assert again.returncode == 1
    saved = json.loads((tmp_path / "report.json").read_text())
    assert saved["verdicts"]["different"] == 1
    assert (tmp_path / "test_passes.py").exists()


def test_differences_may_be_noted_or_warned_of():
    options = {"post_grad_custom_pre_pass": negate_first}
    with commute.torch.validate_passes("report") as report:
        compile_and_run(**options)
    assert len(report.differences) == 1
    with (
        pytest.warns(UserWarning, match="DIFFERENT"),
        commute.torch.validate_passes("warn"),
    ):
        compile_and_run(**options)


def test_passes_are_chosen_by_name():
    options = {"post_grad_custom_post_pass": sort_products}
    with commute.torch.validate_passes(passes=["post_grad_custom_post_pass"]) as report:
        compile_and_run(training=True, **options)
    assert {run.name for run in report.runs} == {"post_grad_custom_post_pass"}
    assert report


def test_an_error_of_the_validation_ends_no_program(monkeypatch):
    from commute.torch.validation import pass_observer

    def fail(*_, **__):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(pass_observer, "judge", fail)
    with commute.torch.validate_passes() as report:
        model, x, result = compile_and_run()
    assert torch.allclose(result, model(x), atol=1e-5)
    assert any("on purpose" in problem for problem in report.problems)


def test_hooks_are_removed():
    from torch._inductor import compile_fx
    from torch.fx.passes.graph_transform_observer import GraphTransformObserver

    before = GraphTransformObserver.__enter__, compile_fx.post_grad_passes
    with commute.torch.validate_passes():
        assert GraphTransformObserver.__enter__ is not before[0]
    assert before == (GraphTransformObserver.__enter__, compile_fx.post_grad_passes)


def test_wrong_options_are_refused():
    for options in ({"on_difference": "stop"}, {"precision": "exact"}, {"keep": "none"}):
        with pytest.raises(commute.CommuteError), commute.torch.validate_passes(**options):
            pass


def test_enabled_passes_are_validated_beside_others():
    from torch.fx.passes.graph_transform_observer import GraphTransformObserver

    before = GraphTransformObserver.__enter__
    with commute.torch.enable(validate=True) as enabled:
        compile_and_run()
    assert enabled.report.runs and enabled.report, enabled.report
    assert GraphTransformObserver.__enter__ is before


SCRIPT = """
import sys
from inductor_passes import run_compiled
from test_validate_passes import Net, negate_first
import torch

options = {"post_grad_custom_post_pass": negate_first} if sys.argv[1:] == ["wrong"] else {}
run_compiled(Net(False), torch.randn(4, 8), **options)
"""


def test_a_script_is_run_with_validation(tmp_path, capsys):
    from commute.validate import main

    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert main([str(script)]) == 0
    table, last = capsys.readouterr().out.strip().rsplit("\n", 1)
    assert "remove_noop_ops" in table
    assert "equivalent" in last
    assert main(["--save", str(tmp_path / "saved"), str(script), "wrong"]) == 1
    assert "post_grad_custom_post_pass" in capsys.readouterr().out
    assert (tmp_path / "saved" / "report.json").exists()
    assert main([str(tmp_path / "none.py")]) == 2
