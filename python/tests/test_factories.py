# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""capture and check by a factory: each rank builds a model of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import commute.torch
import factories_for_capture as factories
from commute.capture.axes import Axes
from commute.torch import CaptureError, capture
from commute_tool import BUILD

pytestmark = pytest.mark.in_process


def relations_of(captured):
    return json.loads(captured.relations.read_text())


def test_a_factory_for_each_rank():
    """The loss and all gradients; equal seeds show which parameters the ranks share."""
    result = commute.torch.check(
        "factories_for_capture:with_loss", world=2, backward=True, mesh={"tp": 2}
    )
    assert result, result
    premises = result.premises
    assert "input up.weight: shard(up.weight, 0, tp) (inferred from name and shape)" in premises
    assert "scale, norm.weight, norm.bias: equal values at capture" in premises
    assert not torch.distributed.is_initialized()


def test_an_axis_has_all_names_of_its_groups():
    axes = Axes({"tp": [[0, 1]]}, {"tp": ("world", "MODEL_PARALLEL_GROUP")})
    assert axes.in_own_names("shard(world.w, 0, world)") == "shard(world.w, 0, tp)"
    assert axes.in_own_names("partial(MODEL_PARALLEL_GROUP)") == "partial(tp)"


def test_values_that_differ_are_not_taken_for_equal(tmp_path):
    captured = capture(factories.build, world=2, folder=tmp_path, ranks=[0, 1])
    relations = relations_of(captured)
    assert relations["inputs"]["norm.weight"] == "norm.weight"
    assert "scale" not in relations["inputs"]
    assert relations["mesh"] == {"world": [[0, 1]]}
    [text] = captured.ambiguities
    assert text.startswith("scale has the reference's shape, but other values on each rank")
    assert json.loads(text[text.index("{") :]) == {"inputs": {"scale": "scale"}}
    assert captured.memory > 0


def test_a_fault_is_found_at_its_line():
    result = commute.torch.check(factories.faulty, world=2, reference=factories.build)
    assert result.verdict == "does not refine"
    assert result.differences[0]["file"].endswith("factories_for_capture.py")


def test_attributes_and_groups_of_a_framework(tmp_path):
    captured = capture(factories.packed, world=4, folder=tmp_path)
    relations = relations_of(captured)
    axis = "TENSOR_MODEL_PARALLEL_GROUP"
    assert relations["mesh"] == {
        axis: [[0, 1], [2, 3]],
        "DATA_PARALLEL_GROUP": [[0, 2], [1, 3]],
        "world": [[0, 1, 2, 3]],
    }
    assert relations["inputs"]["down"] == f"shard(down, 1, {axis})"
    assert relations["inputs"]["gate_and_up"] == (
        f"cat([shard(split(gate_and_up, [8, 8], 0)[0], 0, {axis}),"
        f" shard(split(gate_and_up, [8, 8], 0)[1], 0, {axis})], 0)"
    )
    result = commute.verify(captured.reference.path, tmp_path, captured.relations)
    assert result, result

    other = {"outputs": {"0": "shard(0, DATA_PARALLEL_GROUP)"}}
    assert captured.relations_with(other)["outputs"] == other["outputs"]

    unmarked = capture(factories.unmarked, world=4, folder=tmp_path / "unmarked")
    assert relations_of(unmarked)["inputs"]["down"] == f"shard(down, 1, {axis})"
    assert "down: by shapes, and by equal values at capture" in relations_of(unmarked)["premises"]


def test_the_command_line(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "commute.capture", "factories_for_capture:build", "--world=2",
         "-o", str(tmp_path)],
        capture_output=True, text=True, cwd=Path(__file__).parent,
        env={"PYTHONPATH": str(BUILD / "python"), "PATH": "/usr/bin"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "rank1.pt2" in run.stdout and "not stated: scale has" in run.stdout


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ("factories_for_capture", {}, r"no factory; expected 'package.module:function'"),
        ("factories_for_capture:none", {}, r"factories_for_capture has no none"),
        ("no_such_module:build", {}, r"no_such_module cannot be imported: ModuleNotFoundError"),
        (nn.Linear(6, 6), {}, r"world= needs a factory, build\(rank, world\), not a Linear"),
        (lambda rank: None, {}, r"is no factory: it cannot be called with a rank and the number"),
        (factories.not_a_module, {}, r"rank 0: build\(0, 2\) returned \(int\); expected a module"),
        (factories.broken, {}, r"rank 0: broken\(0, 2\): the model cannot be built .*\.py:\d+\)"),
        (factories.build, {"plan": {}}, r"with world=, the factory applies the plan"),
        (factories.build, {"mesh": {"tp": 3}}, r"does not have world=2 ranks"),
        (factories.build, {"ranks": [2]}, r"rank 2 is not in the mesh"),
    ],
)
def test_wrong_factories(tmp_path, given, options, message):
    with pytest.raises(CaptureError, match=message):
        capture(given, world=2, folder=tmp_path, **options)
