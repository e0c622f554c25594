# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The archives under test/fixtures are what their names say and run in PyTorch."""

import pytest
import torch

from fixtures import FIXTURES
from ranks import load, run_on_ranks
from tensor_parallel.archive import export_archive
from tensor_parallel.config import Config

# Without an all_reduce or all_gather at the end, every rank has its own shard.
SHARDED_RESULT = ("sequence", "transposed", "every_collective", "in_place")


def test_folder_holds_exactly_the_fixtures(fixtures_folder):
    assert {path.stem for path in fixtures_folder.glob("*.pt2")} == set(FIXTURES)


def test_readme_lists_every_fixture(fixtures_folder):
    readme = (fixtures_folder / "README.md").read_text()
    missing = [
        name
        for name, fixture in FIXTURES.items()
        if f"| `{name}` | {fixture.size} | {fixture.about} |" not in readme
    ]
    assert not missing


@pytest.mark.parametrize("name", FIXTURES)
def test_exporter_makes_these_bytes(name, fixtures_folder, tmp_path):
    path = tmp_path / f"{name}.pt2"
    FIXTURES[name].export(path)
    assert path.read_bytes() == (fixtures_folder / path.name).read_bytes()


@pytest.mark.parametrize("name", FIXTURES)
def test_sidecar_names_every_group_and_input(name, fixtures_folder):
    program, sidecar = load(fixtures_folder / f"{name}.pt2")
    assert sidecar["version"] == 1
    assert sidecar["rank"] == 0
    assert sidecar["groups"]["0"]["ranks"] == list(range(FIXTURES[name].size))
    named = {
        node.args[-1]
        for node in program.graph.nodes
        if str(node.target).startswith("_c10d_functional") and "wait" not in str(node.target)
    }
    assert named == set(sidecar["groups"])
    specs = program.graph_signature.input_specs
    assert {spec.target or spec.arg.name for spec in specs} == set(sidecar["inputs"])


@pytest.mark.parametrize("name", FIXTURES)
def test_runs_on_its_ranks(name, fixtures_folder):
    size = FIXTURES[name].size
    ranks = run_on_ranks(fixtures_folder / f"{name}.pt2", size, seed=1)
    assert len(ranks) == size
    for outputs in ranks:
        assert all(output.isfinite().all() for output in outputs)
    if not any(word in name for word in SHARDED_RESULT):
        for outputs in ranks[1:]:
            assert all(torch.equal(a, b) for a, b in zip(ranks[0], outputs, strict=True))


@pytest.mark.parametrize(
    "model, config, gathered_dim",
    [
        ("llama", {}, None),
        ("llama_model", {}, None),
        ("llama_sequence_parallel", {}, 1),
        ("llama_sequence_parallel", dict(layout="sequence_first"), 0),
        ("llama_transposed_gather", {}, 1),
        ("qwen", dict(fused_norm=False), None),
        ("gpt2", {}, None),
        ("bert", {}, None),
    ],
)
def test_two_ranks_compute_what_one_does(model, config, gathered_dim, tmp_path):
    """The parallel program is the model: checked in double precision."""
    config = Config(dtype=torch.float64, layers=2, **config)

    def run(size):
        paths = [tmp_path / f"{size}_{rank}.pt2" for rank in range(size)]
        for rank, path in enumerate(paths):
            export_archive(path, model, config, size, rank)
        inputs = [list(load(path)[0].example_inputs[0]) for path in paths]
        ranks = run_on_ranks(paths, size, weights="archive", inputs=inputs)
        outputs = [output for (output,) in ranks]
        return outputs[0] if gathered_dim is None else torch.cat(outputs, gathered_dim)

    torch.testing.assert_close(run(2), run(1), rtol=1e-4, atol=1e-6)


def test_reduction_in_place_ignores_strides_in_eager(fixtures_folder):
    """The reason for in-place forms in the contiguity pass: silently wrong."""
    path = fixtures_folder / "in_place_with_holes_tp2.pt2"
    generator = torch.Generator().manual_seed(0)
    inputs = [[torch.randn(4, 8, generator=generator)] for _ in range(2)]
    ranks = run_on_ranks(path, 2, inputs=inputs)
    right = sum(x * 2 for (x,) in inputs)[:, ::2]
    assert ranks[0][0].shape == right.shape
    assert not torch.allclose(ranks[0][0], right)
