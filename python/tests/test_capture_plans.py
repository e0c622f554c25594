# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Which plan a captured model of `transformers` has, from where its configuration comes, and
what every command says of a model that its plan leaves on all ranks alike."""

import json

import pytest

from commute.capture.__main__ import main
from commute_tool import commute, show, succeed
from records import edit_records

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 1,
    "vocab_size": 128,
}
# Its only tensor-parallel rule is that of the head.
GPT_OSS = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "hidden_size": 64,
    "intermediate_size": 64,
    "head_dim": 16,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 1,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "vocab_size": 128,
    "sliding_window": 16,
}
# It has no tensor-parallel rule at all.
OPT = {
    "architectures": ["OPTForCausalLM"],
    "model_type": "opt",
    "hidden_size": 64,
    "word_embed_proj_dim": 64,
    "ffn_dim": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 1,
    "vocab_size": 128,
    "max_position_embeddings": 64,
}
WITHOUT_PLAN = "transformers has no tensor-parallel plan for the layers of GptOssForCausalLM"
ALIKE = "compute the same on all 2 ranks"


@pytest.fixture(scope="module")
def configurations(tmp_path_factory):
    folder = tmp_path_factory.mktemp("configurations")
    for name, content in (("llama", LLAMA), ("gpt_oss", GPT_OSS), ("opt", OPT)):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(content))
    return folder


def capture(capsys, *arguments):
    code = main([*map(str, arguments), "--seq", "16", "--ranks", "0"])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.in_process
def test_unchanged_graph_says_why(configurations, tmp_path, capsys):
    folder = tmp_path / "out"
    model = configurations / "gpt_oss"
    code, printed, _ = capture(capsys, model, "--tp", "2", "--dtype", "bfloat16", "-o", folder)
    assert code == 0
    remedy = "it has an expert-parallel one: capture with --ep 2, or with a plan of your own"
    for text in (ALIKE, f"{WITHOUT_PLAN}; {remedy}: --plan=FILE.json\n"):
        assert text in printed
    archive = folder / "rank0.pt2"
    # All commands count the nodes alike.
    nodes = show(archive)["nodes"]
    assert f"rank0.pt2  {nodes} nodes" in printed
    optimized = succeed("opt", archive, "-o", tmp_path / "optimized.pt2")
    assert f"the graph is unchanged, {nodes} nodes" in optimized
    for text in (optimized, succeed("show", archive), succeed("estimate", archive)):
        assert ALIKE in text and WITHOUT_PLAN in text
    report = json.loads(succeed("opt", archive, "-o", tmp_path / "optimized.pt2", "--json"))
    assert report["notes"] == show(archive)["notes"]
    assert report["notes"][0].startswith(WITHOUT_PLAN)

    def break_notes(records):
        records["extra/commute.json"] = records["extra/commute.json"].replace(
            b'"notes": [', b'"notes": [3, '
        )

    edit_records(archive, archive, break_notes)
    process = commute("show", archive)
    assert process.returncode == 2
    assert '"notes" must be a list of sentences' in process.stderr


def test_plan_of_a_file(configurations, tmp_path, capsys):
    options = (f"transformers:{configurations / 'opt'}", "--tp", "2", "-o", tmp_path / "out")
    code, _, errors = capture(capsys, *options)
    assert code == 2
    assert "transformers has no tensor-parallel plan for the layers of OPTForCausalLM" in errors
    assert "--plan=FILE.json" in errors
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps(
            {"model.decoder.layers.*.fc1": "colwise", "model.decoder.layers.*.fc2": "rowwise"}
        )
    )
    code, _, errors = capture(capsys, *options, f"--plan={plan}")
    assert code == 0, errors
    described = show(tmp_path / "out" / "rank0.pt2")
    assert [one["kind"] for one in described["collectives"]] == ["all_reduce"]
    assert not described["notes"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "plan.json: Expecting"),
        ("[]", "expected an object of rules by module"),
        ('{"model.norm": "column"}', "the rule of 'model.norm' is 'column'; the rules of"),
        ('{"model.norms": "colwise"}', "match nothing in LlamaForCausalLM"),
    ],
)
def test_bad_plans(text, message, configurations, tmp_path, capsys):
    plan = tmp_path / "plan.json"
    plan.write_text(text)
    options = ("--tp", "2", f"--plan={plan}", "-o", tmp_path / "out")
    code, _, errors = capture(capsys, configurations / "llama", *options)
    assert code == 2
    assert message in errors and errors.count("\n") == 1


def test_sources_of_configurations(configurations, tmp_path, monkeypatch):
    from commute.capture.errors import CaptureError
    from commute.capture.transformers_models import find_configuration

    folder = configurations / "llama"
    file = folder / "config.json"
    assert find_configuration(str(folder)) == file
    assert find_configuration(str(file)) == file
    # As the hub's client lays out its cache.
    revision = "0123456789abcdef0123456789abcdef01234567"
    model = tmp_path / "models--maker--model"
    (model / "snapshots" / revision).mkdir(parents=True)
    (model / "snapshots" / revision / "config.json").write_text(json.dumps(LLAMA))
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(revision)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    cached = find_configuration("maker/model")
    assert cached == model / "snapshots" / revision / "config.json"
    for name, message in (
        (str(configurations), "has no config.json"),
        ("maker/other", "no model in the local cache"),
        ("a model", "no model in the local cache"),
    ):
        with pytest.raises(CaptureError, match=message):
            find_configuration(name)
