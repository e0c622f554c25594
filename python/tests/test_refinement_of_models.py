# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.torch.check`: models as users write them, captured and verified in one call."""

import os
import subprocess
import sys

import pytest
import torch
import torch.distributed._functional_collectives as functional
import torch.nn.functional as F
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

import commute.torch
from commute_tool import BUILD, REPOSITORY
from commute_tool import commute as run_tool
from small_models import MODELS

pytestmark = pytest.mark.in_process


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(8, eps=1e-5)
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 8)

    def forward(self, x):
        return (x + self.down(torch.relu(self.up(self.norm(x))))).square().mean()


PLAN = {"up": ColwiseParallel(), "down": RowwiseParallel()}


def test_forward_and_backward():
    model = Mlp()
    result = commute.torch.check(
        model, model, (torch.randn(4, 8),), {"tp": 2}, plan=PLAN, backward=True
    )
    assert result, result
    # The loss, and a gradient of each parameter.
    assert [output["relation"] for output in result.outputs] == [
        "replicated", "replicated", "shard(0, tp)", "shard(0, tp)", "shard(1, tp)", "replicated",
    ]  # fmt: skip


class OwnCollectives(torch.nn.Module):
    """Tensor parallelism by hand, over the rank's own parts of the weights."""

    def __init__(self, group, reductions=1):
        super().__init__()
        self.norm = torch.nn.RMSNorm(8, eps=1e-5)
        self.up = torch.nn.Linear(8, 8)
        self.down = torch.nn.Linear(8, 8)
        self.group, self.reductions = group, reductions

    def forward(self, x):
        y = F.linear(torch.relu(self.up(self.norm(x))), self.down.weight)
        for _ in range(self.reductions):
            y = functional.all_reduce(y, "sum", self.group)
        return (x + y + self.down.bias).square().mean()


RELATIONS = {
    "inputs": {
        "up.weight": "shard(up.weight, 0)",
        "up.bias": "shard(up.bias, 0)",
        "down.weight": "shard(down.weight, 1)",
    }
}


def test_collectives_by_hand():
    x = torch.randn(4, 8)
    mesh = commute.torch.fake_mesh({"tp": 2})
    name = mesh.get_group(0).group_name

    # Relations follow from the shapes of parameters.
    result = commute.torch.check(Mlp(), OwnCollectives(name), (x,), mesh)
    assert result, result
    faulty = OwnCollectives(name, reductions=2)
    twice = commute.torch.check(Mlp(), faulty, (x,), mesh, relations=RELATIONS)
    assert twice.verdict == "does not refine"
    (finding,) = twice.differences
    assert "2 times" in finding["message"]
    assert finding["file"].endswith("test_refinement_of_models.py")


@pytest.mark.parametrize("name", ["llama"])
def test_models_of_transformers(name, tmp_path):
    small = MODELS[name]
    model = small.make(layers=1)
    result = commute.torch.check(
        model, model, small.prefill(), {"tp": 2}, plan=small.plan, show_relations=True
    )
    assert result, result
    relations = {value["relation"] for value in result.report["values"]}
    assert {"replicated", "partial(tp)", "shard(1, tp)"} <= relations


@pytest.mark.parametrize("name", ["mixtral", "qwen3_moe"])
def test_gradients_of_packed_experts(name):
    # An expert that gets no token has a gradient of zeros.
    small = MODELS[name]
    model, inputs = small.make(layers=1), small.prefill()
    result = commute.torch.check(
        model, model, {**inputs, "labels": inputs["input_ids"].clone()}, {"tp": 2}, backward=True
    )
    assert result, result
    packed = [o for o in result.outputs if o["relation"].startswith("cat([shard(split(output")]
    assert len(packed) == 1, result.outputs


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", ["mixtral", "gpt_oss"])
def test_expert_parallel(name, ranks):
    # Tokens are sorted by experts whose numbers are the rank's own.
    small = MODELS[name]
    model = small.make(layers=1)
    result = commute.torch.check(model, model, small.prefill(), {"ep": ranks})
    assert result, result


def test_decoding_with_a_cache():
    # The ranks' programs have more empty constants than the reference's.
    small = MODELS["llama"]
    model = small.make(layers=1)
    _, given, placements = small.decode(model, 2)
    result = commute.torch.check(
        model, model, given, {"tp": 2}, plan=small.plan, input_placements=placements
    )
    assert result, result
    assert [output["relation"] for output in result.outputs] == [
        "replicated", "shard(1, tp)", "shard(1, tp)",
    ]  # fmt: skip


def test_commands_of_the_page(tmp_path):
    """docs/verify-a-parallel-model.md."""
    page = (REPOSITORY / "docs" / "verify-a-parallel-model.md").read_text()
    commands = page.split("```console\n")[1].split("```")[0].splitlines()
    code = page.split("`model.py` is\n\n```python\n")[1].split("```")[0]
    (tmp_path / "model.py").write_text(code)
    assert len(commands) == 5
    for command in commands:
        words = command.removeprefix("$ ").split("#")[0].split()
        if words[0] == "python":
            environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
            process = subprocess.run(
                [sys.executable, *words[1:]], cwd=tmp_path, env=environment, timeout=300
            )
            assert process.returncode == 0
            continue
        process = subprocess.run(
            [str(BUILD / "bin" / "commute"), *words[1:]],
            cwd=tmp_path, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        if words[1] == "verify" and "--json" not in words:
            assert process.stdout.startswith("refines on 2 ranks\noutput 0")


def test_unknown_files(tmp_path):
    process = run_tool("verify", f"--reference={tmp_path / 'none.pt2'}", tmp_path / "none.pt2")
    assert process.returncode == 2
    assert "none.pt2" in process.stderr
