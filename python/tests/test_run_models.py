# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute run` returns what models of experts of `transformers` return."""

import pytest
import torch

from captured_models import load, whole_tensors
from commute.torch import capture
from commute_tool import commute, show
from safetensors_files import read_safetensors, write_safetensors
from small_models import MODELS


# The first layer of DeepSeek-V3 has no experts.
@pytest.mark.parametrize(("name", "layers"), [("mixtral", 1), ("deepseek_v3", 2), ("gpt_oss", 1)])
def test_outputs(name, layers, tmp_path):
    small = MODELS[name]
    model, arguments = small.make(layers=layers), small.prefill()
    captured = capture(model, arguments, mesh={"tp": 2}, plan=small.plan, ranks=[0], folder=tmp_path)
    for archive in (captured.ranks[0], captured.reference):
        assert not show(archive.path)["opaque"]
    # Rank 0's program runs on both ranks: only its own part of the vocabulary is right.
    process = commute("run", captured.ranks[0].path, "--ranks=2")
    assert process.returncode == 0, process.stderr

    given, outputs = tmp_path / "in.st", tmp_path / "out.st"
    tensors = whole_tensors(model, arguments)
    signature = load(captured.reference).graph_signature
    names = {spec.arg.name: spec.target or spec.arg.name for spec in signature.input_specs}
    write_safetensors(
        given, {name: tensors[target] for name, target in names.items() if target in tensors}
    )
    process = commute("run", captured.reference.path, f"--inputs={given}", f"--outputs={outputs}")
    assert process.returncode == 0, process.stderr
    with torch.no_grad():
        expected = model(**arguments).logits
    ours = read_safetensors(outputs)["rank0.output0"]
    assert torch.allclose(ours, expected, rtol=1e-4, atol=1e-4), (ours - expected).abs().max()
