# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A slice of benchmarks/models: models of `transformers` with plans of their own, captured
and judged by what they return on one device."""

import copy
import json
import subprocess
import sys

import pytest
import torch

from captured_models import Relations, check
from commute.capture.__main__ import main
from commute.torch import CaptureError, capture
from commute_tool import BUILD, REPOSITORY, commute, show
from small_models import MODELS


def captured(name, tmp_path, axis="tp", **options):
    small = MODELS[name]
    model, arguments = small.make(layers=1), small.prefill()
    plan = None if axis == "ep" else small.plan
    return (
        model, arguments,
        capture(model, arguments, mesh={axis: 2}, plan=plan, folder=tmp_path, **options),
    )  # fmt: skip


@pytest.mark.parametrize(("name", "axis"), [("gemma2", "tp"), ("mixtral", "ep")])
def test_values(name, axis, tmp_path):
    model, arguments, result = captured(name, tmp_path, axis)
    assert result.reference_refusal is None
    check(result, model, arguments)
    shown = show(result.ranks[0].path)
    # Copies of functionalized in-place collectives are gone, and every line is the model's.
    assert "torch.ops.aten.copy.default" not in shown["opaque"]
    assert all("/models/" in collective["source"] for collective in shown["collectives"])
    # The embedding is sharded over the vocabulary.
    if axis == "tp":
        assert any(
            sorted(constant.values.values()) == [0, 32] for constant in result.constants_of_rank
        )


def test_pytorch_alone_loads_the_archive(tmp_path):
    """Outputs are in plain containers, not in those of transformers."""
    *_, result = captured("opt", tmp_path, ranks=[0])
    code = "import sys, torch; torch.export.load(sys.argv[1]); assert 'transformers' not in sys.modules"
    command = [sys.executable, "-c", code, str(result.ranks[0].path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr


def test_packed_projections(tmp_path):
    """Gate and up in one weight: each is sharded on its own."""
    *_, result = captured("mixtral", tmp_path, ranks=[0])
    relations = Relations(result.relations).inputs
    (packed,) = [text for name, text in relations.items() if "gate_up_proj" in name]
    assert packed.startswith("cat([shard(split(")


# The cache of Mistral has a window, which the prompt fills.
@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_decode_with_a_cache(name, tmp_path):
    small = MODELS[name]
    model = small.make(layers=1)
    whole, local, placements = small.decode(model, 2)
    result = capture(model, local, mesh={"tp": 2}, input_placements=placements, folder=tmp_path)
    with torch.no_grad():
        outputs = model(**copy.deepcopy(whole))
    layers = outputs.past_key_values.layers
    relations = Relations(result.relations)
    assert relations.inputs["past_key_values_key_cache_0"] == (
        "shard(past_key_values_key_cache_0, 1, tp)"
    )
    # The caches that ranks return hold their own heads, as those that they are given.
    assert relations.outputs["1"] == relations.outputs["2"] == "shard(1, tp)"
    expected = [outputs.logits, layers[0].keys, layers[0].values]
    check(result, model, whole, expected=expected)


def test_gradients_of_tied_weights(tmp_path):
    """One gradient for both names. The loss reads beyond the vocabulary for labels that no
    program may get, on shards as on one device."""
    small = MODELS["opt"]
    model, given = small.make(layers=1), small.prefill()
    given["labels"] = given["input_ids"].clone()
    loss = model(**given).loss
    parameters = list(model.parameters())
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    result = capture(model, given, mesh={"tp": 2}, plan=small.plan, backward=True, folder=tmp_path)
    expected = [loss.detach(), *(value for value in found if value is not None)]
    check(result, model, given, expected=expected, outputs=None)
    optimized = tmp_path / "optimized"
    arguments = ("opt", result.folder, "-o", optimized, "--policy=always")
    # A law of truth values is used, for outcomes that are drawn.
    process = commute(*arguments, "--allow-drawn")
    assert process.returncode == 0, process.stderr


def test_a_module_that_no_rule_shards(tmp_path):
    small = MODELS["gpt2"]
    plan = {"transformer.h.*.ln_2": "colwise"}
    with pytest.raises(CaptureError) as error:
        capture(small.make(layers=1), small.prefill(), mesh={"tp": 2}, plan=plan, folder=tmp_path)
    assert "transformer.h.0.ln_2 (LayerNorm)" in str(error.value)
    assert "colwise shards linear layers" in str(error.value)


LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8192,
    "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
    "num_key_value_heads": 8, "vocab_size": 128256, "dtype": "bfloat16",
}  # fmt: skip


def test_from_the_shell(tmp_path, capsys):
    """A 70B shape, cut to one layer: no weights are made."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    out = tmp_path / "out"
    options = (
        f"transformers:{tmp_path / 'config.json'} --tp 8 --seq 64 --ranks 3 --layers 1 -o {out}"
    )
    assert main(options.split()) == 0
    assert "captured in" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [
        "rank3.pt2", "reference.pt2", "relations.json",
    ]  # fmt: skip
    assert show(out / "rank3.pt2")["groups"] == {"0": "[0, 1, 2, 3, 4, 5, 6, 7]"}
    assert sum(path.stat().st_size for path in out.iterdir()) < 4 << 20


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ("{", "", "config.json:"),
        ('{"model_type": "lama"}', "", "model_type is 'lama', which transformers"),
        ('{"model_type": "gpt2", "n_layer": 1}', "", "GPT2LMHeadModel is not parallel"),
        (json.dumps(LLAMA), "--ranks 9", "rank 9 is not in the mesh"),
    ],
)
def test_refusals_from_the_shell(config, options, message, tmp_path, capsys):
    (tmp_path / "config.json").write_text(config)
    line = (
        f"transformers:{tmp_path / 'config.json'} --tp 2 --seq 8 --layers 1 -o {tmp_path} {options}"
    )
    assert main(line.split()) == 2
    assert message in capsys.readouterr().err


@pytest.mark.in_process
def test_the_benchmark_prints_a_table():
    command = [sys.executable, REPOSITORY / "benchmarks" / "models" / "run.py", "--models", "opt",
               "--modes", "prefill", "--ranks", "2", "--layers", "1", "--build", BUILD]  # fmt: skip
    process = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stderr
    assert "| opt | prefill | 2 | yes |" in process.stdout
