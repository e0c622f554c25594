# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Running archives on ranks: reproducible values, and no hang when one fails."""

import pytest
import torch

from ranks import RankError, run_on_ranks

ARCHIVE = "llama_tp2.pt2"


@pytest.fixture(scope="module")
def lonely_archive(tmp_path_factory):
    """A program that waits for nobody."""
    path = tmp_path_factory.mktemp("lonely") / "lonely.pt2"
    program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    torch.export.save(program, path)
    return path


def test_seed_decides_all_values(fixtures_folder):
    first, again, other = (
        run_on_ranks(fixtures_folder / ARCHIVE, 2, seed=seed) for seed in (1, 1, 2)
    )
    for rank in range(2):
        assert torch.equal(first[rank][0], again[rank][0])
        assert not torch.equal(first[rank][0], other[rank][0])


def test_input_without_placement_differs_between_ranks(lonely_archive):
    ranks = run_on_ranks(lonely_archive, 2)
    assert not torch.equal(ranks[0][0], ranks[1][0])


def test_given_inputs_are_used(lonely_archive):
    inputs = [[torch.tensor([-1.0, 2.0])], [torch.tensor([3.0, -4.0])]]
    ranks = run_on_ranks(lonely_archive, 2, inputs=inputs)
    assert [output.tolist() for (output,) in ranks] == [[0.0, 2.0], [3.0, 0.0]]


def test_failing_rank_ends_all_with_its_traceback(fixtures_folder, tmp_path):
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(b"not a zip")
    with pytest.raises(RankError, match="rank 1 failed\nTraceback") as error:
        run_on_ranks([fixtures_folder / ARCHIVE, broken], 2)
    assert error.value.rank == 1
    assert "broken.pt2" in str(error.value)


def test_waiting_rank_is_ended_and_says_where_it_stands(fixtures_folder, lonely_archive):
    with pytest.raises(RankError, match=r"no answer from ranks \[0"):
        run_on_ranks([fixtures_folder / ARCHIVE, lonely_archive], 2, timeout=10)


def test_sidecar_that_contradicts_the_world(fixtures_folder):
    with pytest.raises(RankError, match=r"group 0 has ranks \[0, 1, 2, 3\], there are 2"):
        run_on_ranks(fixtures_folder / "llama_tp4.pt2", 2)
