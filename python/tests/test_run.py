# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute run` computes what PyTorch computes, on threads and on processes."""

import json
import zipfile

import pytest
import torch

from collective_programs import Case, gather
from commute_tool import commute, succeed
from fixtures import FIXTURES
from ranks import run_on_ranks, values_of_rank
from safetensors_files import read_safetensors, write_safetensors

# Of the largest value: sums are made in another order, and what is rounded
# differently once is rounded again by every op that follows.
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 3e-2}

# In eager PyTorch the collective reduces other bytes than those of its operand.
WRONG_IN_PYTORCH = "in_place_with_holes_tp2"


def write_inputs(archive, world_size, seed, path):
    """What PyTorch's ranks are given, for ours; returns the user inputs."""
    tensors, users = {}, []
    for rank in range(world_size):
        weights, inputs = values_of_rank(archive, world_size, rank, seed)
        for name, tensor in (weights | inputs).items():
            tensors[f"rank{rank}.{name}"] = tensor
        users.append(list(inputs.values()))
    write_safetensors(path, tensors)
    return users


def read_outputs(path, world_size):
    tensors = read_safetensors(path)
    return [
        [tensors[f"rank{rank}.output{index}"] for index in range(len(tensors) // world_size)]
        for rank in range(world_size)
    ]


def run(archive, tmp_path, *options):
    outputs = tmp_path / "outputs.safetensors"
    succeed("run", archive, f"--outputs={outputs}", *options)
    return outputs


def check_close(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    ours, expected = ours.double(), theirs.double()
    largest = expected.abs().max()
    assert torch.isfinite(largest) and largest > 0
    assert (ours - expected).abs().max() <= TOLERANCES[theirs.dtype] * largest


def test_ranks_read_deflated_weights_at_once(fixtures_folder, tmp_path):
    """Records that cannot be mapped are read by all ranks, which are threads."""
    deflated = tmp_path / "deflated.pt2"
    with (
        zipfile.ZipFile(fixtures_folder / "llama_tp4.pt2") as before,
        zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            after.writestr(name, before.read(name))
    for _ in range(10):
        assert "ran on 4 ranks" in succeed("run", deflated)


def test_every_fixture_is_here(fixtures_folder):
    assert {path.stem for path in fixtures_folder.glob("*.pt2")} == set(FIXTURES)


# Of PyTorch about itself, when it exports.
@pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.")
@pytest.mark.parametrize("world_size", [2, 4])
@pytest.mark.parametrize("name", sorted(set(FIXTURES) - {WRONG_IN_PYTORCH}))
def test_fixture_gives_what_pytorch_gives(name, world_size, archive_for, tmp_path):
    archive = archive_for(name, world_size)
    inputs = tmp_path / "inputs.safetensors"
    write_inputs(archive, world_size, 5, inputs)
    ours = read_outputs(run(archive, tmp_path, f"--inputs={inputs}"), world_size)
    theirs = run_on_ranks(archive, world_size, seed=5)
    for our_rank, their_rank in zip(ours, theirs, strict=True):
        for our_output, their_output in zip(our_rank, their_rank, strict=True):
            check_close(our_output, their_output)


@pytest.mark.parametrize("world_size", [2, 4])
def test_reduction_in_place_skips_the_holes(world_size, archive_for, tmp_path):
    archive = archive_for(WRONG_IN_PYTORCH, world_size)
    inputs = tmp_path / "inputs.safetensors"
    users = write_inputs(archive, world_size, 5, inputs)
    expected = sum((x * 2)[:, ::2] for (x,) in users)
    for (output,) in read_outputs(run(archive, tmp_path, f"--inputs={inputs}"), world_size):
        check_close(output, expected)


def with_running_product(self, x, size):
    return gather(x.cumprod(0), size)


# Of the transposed parameter, which does not fill its storage in order.
@pytest.mark.filterwarnings("ignore:No complete tensor")
def test_opaque_operator_is_named(tmp_path):
    Case(with_running_product, copies=0).export(tmp_path / "opaque.pt2", world_size=2)
    process = commute("run", tmp_path / "opaque.pt2")
    assert process.returncode == 2
    assert "operator torch.ops.aten.cumprod.default is not modelled" in process.stderr
    assert "collective_programs.py:" in process.stderr


def test_weights_of_the_archive_are_used(fixtures_folder, tmp_path):
    archive = fixtures_folder / "llama_tp2.pt2"
    inputs = tmp_path / "inputs.safetensors"
    x = torch.linspace(-1, 1, 2 * 8 * 32).reshape(2, 8, 32)
    write_safetensors(inputs, {"x": x})
    ours = read_outputs(run(archive, tmp_path, f"--inputs={inputs}"), 2)
    theirs = run_on_ranks(archive, 2, weights="archive", inputs=[[x], [x]])
    for rank in range(2):
        check_close(ours[rank][0], theirs[rank][0])


class Scaled(torch.nn.Module):
    def forward(self, x):
        return x * torch.tensor([1.0, 2.0, 3.0])


def test_constants_that_a_model_makes(tmp_path):
    # torch.export lifts them, and detaches the copy in place.
    x = torch.tensor([0.5, -1.0, 2.0])
    program = torch.export.export(Scaled(), (x,))
    assert "detach_" in str(program.graph)
    torch.export.save(program, tmp_path / "scaled.pt2")
    assert json.loads(succeed("show", tmp_path / "scaled.pt2", "--json"))["opaque"] == {}
    inputs = tmp_path / "inputs.safetensors"
    write_safetensors(inputs, {"x": x})
    (ours,) = read_outputs(run(tmp_path / "scaled.pt2", tmp_path, f"--inputs={inputs}"), 1)
    check_close(ours[0], Scaled()(x))


def test_symbols_follow_the_inputs(fixtures_folder, tmp_path):
    archive = fixtures_folder / "llama_tp2_dynamic.pt2"
    inputs = tmp_path / "inputs.safetensors"
    x = torch.linspace(-1, 1, 3 * 5 * 32).reshape(3, 5, 32).bfloat16()
    write_safetensors(inputs, {"x": x})
    ours = read_outputs(run(archive, tmp_path, f"--inputs={inputs}"), 2)
    theirs = run_on_ranks(archive, 2, weights="archive", inputs=[[x], [x]])
    for rank in range(2):
        check_close(ours[rank][0], theirs[rank][0])


def test_optimized_archive_gives_the_same_bits(fixtures_folder, tmp_path):
    source = fixtures_folder / "llama_transposed_gather_tp2.pt2"
    optimized = tmp_path / "optimized.pt2"
    succeed("opt", source, "-o", optimized, "--passes=contiguous-collectives", "--quiet")
    before = run(source, tmp_path, "--seed=7").read_bytes()
    assert run(optimized, tmp_path, "--seed=7").read_bytes() == before


def test_random_inputs_respect_placements(fixtures_folder, tmp_path):
    archive = fixtures_folder / "llama_tp2.pt2"
    report = json.loads(succeed("run", archive, "--weights=seeded", "--json"))
    assert report["ranks"] == 2
    assert report["assumptions"] == []
    assert [output["equal_on_all_ranks"] for output in report["outputs"]] == [True]
    option = "--input-placement=x=varying"
    report = json.loads(succeed("run", archive, "--weights=seeded", "--json", option))
    assert [output["equal_on_all_ranks"] for output in report["outputs"]] == [False]


class UnsignedArithmetic(torch.nn.Module):
    """What PyTorch 2.13 computes with uint64 on the CPU."""

    def forward(self, a, b, floats, signed):
        types = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
        types += [torch.int64, torch.int32, torch.uint8, torch.bool]
        return (
            *(a.to(dtype) for dtype in types),
            *(value.to(torch.uint64) for value in (floats, floats.float(), signed)),
            *(a * b, a * 3, torch.bitwise_and(a, b), torch.bitwise_xor(a, b)),
            *(a == b, a != b, torch.floor(a)),
            *(a / b, a / 3, torch.sqrt(a), torch.reciprocal(a), a + 1.5, a + floats, a > floats),
            *(a.sum(), a.cumsum(0), a.sum(dtype=torch.float64)),
        )


def test_unsigned_numbers_beyond_signed(tmp_path):
    half, last = 2**63, 2**64 - 1
    inputs = {
        "a": torch.tensor([half, last, 5, half + 12345, 7, 0], dtype=torch.uint64),
        "b": torch.tensor([3, half, last - 1, 2, 7, 1], dtype=torch.uint64),
        "floats": torch.tensor([2.0**63, 1.8e19, -1.0, 3.5, 1e30, 0.0], dtype=torch.float64),
        "signed": torch.tensor([-1, 2, -(2**63), 4, 5, 6]),
    }
    module = UnsignedArithmetic()
    archive = tmp_path / "unsigned.pt2"
    torch.export.save(torch.export.export(module, tuple(inputs.values())), archive)
    write_safetensors(tmp_path / "inputs.safetensors", inputs)
    options = [f"--inputs={tmp_path / 'inputs.safetensors'}"]
    (ours,) = read_outputs(run(archive, tmp_path, *options), 1)
    for index, (value, expected) in enumerate(zip(ours, module(**inputs), strict=True)):
        assert value.dtype == expected.dtype, index
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=0, msg=f"output {index}")
