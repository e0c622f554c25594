# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Every model of examples/ refines its form on one device."""

import sys

import pytest
import torch
from torch.distributed.tensor import Shard

import commute.torch
from commute_tool import REPOSITORY
from commute_tool import commute as run_tool
from tensor_parallel.archive import export_folder
from tensor_parallel.config import Config
from tensor_parallel.models import DESCRIPTIONS, ONLY_COMMUNICATING

MODELS = [name for name in DESCRIPTIONS if name not in ONLY_COMMUNICATING]

FORMS = {
    "as traced": {},
    "decomposed": dict(fused_norm=False, layers=2),
    "sequence first": dict(layout="sequence_first"),
}


def verify(folder, *options):
    return run_tool("verify", f"--reference={folder / 'reference.pt2'}", folder, *options)


# GPT-2 and BERT have one layout.
CASES = [
    (name, form)
    for name in MODELS
    for form in FORMS
    if name not in ("gpt2", "bert") or form != "sequence first"
]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name, form", CASES)
def test_ranks_refine_one_device(name, form, size, tmp_path):
    aten = "whole-attention" if form == "decomposed" else None
    export_folder(tmp_path, name, Config(**FORMS[form]), size, aten=aten)
    process = verify(tmp_path, f"--relations={tmp_path / 'relations.json'}")
    assert process.returncode == 0, process.stdout + process.stderr


def test_other_offset_of_a_shard_is_found(tmp_path):
    export_folder(tmp_path, "llama_model", Config(), 2)
    path = tmp_path / "rank1.pt2"
    extra = {"commute.json": ""}
    program = torch.export.load(path, extra_files=extra)
    program.state_dict["embedding.first_token"] -= 1
    torch.export.save(program, path, extra_files=extra)
    process = verify(tmp_path)
    assert process.returncode == 1, process.stdout + process.stderr
    assert "as stored (rank 0: 0, rank 1: 23, reference: 0)" in process.stdout


def test_fused_projections_are_no_plain_shards(tmp_path):
    export_folder(tmp_path, "gpt2", Config(), 2)
    process = verify(tmp_path)
    assert process.returncode == 1, process.stdout + process.stderr


@pytest.mark.parametrize("name", ONLY_COMMUNICATING)
def test_programs_without_a_form_on_one_device_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="on one device"):
        export_folder(tmp_path / "folder", name, Config(), 2)
    assert not (tmp_path / "folder").exists()


@pytest.mark.in_process
@pytest.mark.parametrize("backward", [False, True])
def test_model_of_the_torch_compile_example(backward, monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "examples"))
    import torch_compile as example

    monkeypatch.delitem(sys.modules, "torch_compile")

    class Loss(example.FeedForward):
        def forward(self, x):
            output = super().forward(x)
            return output.square().sum() if backward else output

    x = torch.randn(example.BATCH, example.TOKENS, example.WIDTH)
    model = Loss()
    # Each rank has its own tokens, and the loss of these.
    result = commute.torch.check(
        model,
        model,
        (x,),
        {"tp": 2},
        plan=example.PLAN,
        backward=backward,
        relations={"outputs": {"0": "partial" if backward else "shard(1)"}},
        input_placements={"x": {"tp": Shard(1)}},
    )
    assert result, result
