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
    captured = capture(
        model, arguments, mesh={"tp": 2}, plan=small.plan, ranks=[0], folder=tmp_path
    )
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


def export_plainly(model, arguments):
    """As users call it: no decompositions, operators as the model's code calls them."""
    model.config.use_cache = False
    with torch.no_grad():
        return torch.export.export(model.eval(), (), arguments, strict=False)


@pytest.mark.parametrize("name", ["llama", "gemma3", "phi", "gpt2", "opt", "bert"])
def test_plain_exports(name, tmp_path):
    model, arguments = MODELS[name].make(layers=1), MODELS[name].prefill()
    path, outputs = tmp_path / "model.pt2", tmp_path / "out.st"
    torch.export.save(export_plainly(model, arguments), path)
    assert not show(path)["opaque"]
    given = tmp_path / "in.st"
    tensors = {key: value for key, value in arguments.items() if isinstance(value, torch.Tensor)}
    write_safetensors(given, tensors)
    process = commute("run", path, f"--inputs={given}", f"--outputs={outputs}")
    assert process.returncode == 0, process.stderr
    with torch.no_grad():
        expected = model(**arguments)[0]
    ours = read_safetensors(outputs)["rank0.output0"]
    assert torch.allclose(ours, expected, rtol=1e-4, atol=1e-4), (ours - expected).abs().max()


def test_graph_that_changes_tensors_in_place(tmp_path):
    small = MODELS["mixtral"]
    program = export_plainly(small.make(layers=1), small.prefill())
    torch.export.save(program, tmp_path / "as_it_is.pt2")
    process = commute("run", tmp_path / "as_it_is.pt2")
    assert process.returncode == 2
    assert "shares memory with a tensor that the graph changes in place" in process.stderr
    assert "run_decompositions({})" in process.stderr
    torch.export.save(program.run_decompositions({}), tmp_path / "functional.pt2")
    assert not show(tmp_path / "functional.pt2")["opaque"]
    process = commute("run", tmp_path / "functional.pt2")
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize("name", ["mixtral", "deepseek_v3"])
def test_dynamic_sizes(name, tmp_path):
    """Of batch and sequence: everything is modelled, and what opt writes loads and runs."""
    small = MODELS[name]
    model, arguments = small.make(layers=1), small.prefill()
    any_size = torch.export.Dim.AUTO
    captured = capture(
        model, arguments, mesh={"tp": 2}, plan=small.plan, folder=tmp_path,
        dynamic_shapes={
            key: {0: any_size, 1: any_size} if key == "input_ids" else None for key in arguments
        },
    )  # fmt: skip
    described = show(captured.folder)
    assert not described["opaque"]
    # Strides are products of these alone.
    assert not [symbol for symbol in described["symbols"] if not symbol.startswith("s")]
    optimized = tmp_path / "optimized"
    # Which experts a token is sent to is drawn.
    process = commute("opt", captured.folder, "-o", optimized, "--policy=always", "--allow-drawn")
    assert process.returncode == 0, process.stderr
    assert "proof: equivalent on 2 ranks" in process.stdout
    rank = torch.export.load(optimized / "rank0.pt2")
    assert rank.range_constraints
    for command in ("run", "estimate"):
        process = commute(command, optimized)
        assert process.returncode == 0, process.stderr
