# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute estimate` on the fixtures, its traces, and `commute calibrate`."""

import json

import pytest

from commute_tool import TOOL, commute, mpirun, succeed

TARGETS = ["h100x8", "h200x8", "b200x8", "mi300x8", "ascend-910b-x8"]


def estimate(path, *options):
    return json.loads(succeed("estimate", path, "--json", *options))


@pytest.fixture(scope="module")
def fixture_paths(fixtures_folder):
    return sorted(fixtures_folder.glob("*.pt2"))


def test_every_fixture_has_an_estimate(fixture_paths):
    for path in fixture_paths:
        result = estimate(path)
        compute, exposed = result["compute_seconds"], result["exposed_communication_seconds"]
        assert result["step_seconds"] == pytest.approx(compute + exposed), path
        assert 0 <= exposed <= result["communication_seconds"] + 1e-12, path
        assert result["peak_activation_bytes"] > 0, path
        shares = sum(op["seconds"] for op in result["ops"])
        assert shares == pytest.approx(compute + result["communication_seconds"]), path


@pytest.mark.parametrize("target", TARGETS)
def test_a_step_grows_with_its_tokens(fixtures_folder, target):
    path = fixtures_folder / "llama_tp2_dynamic.pt2"
    before = None
    for tokens in (8, 64, 512, 4096):
        result = estimate(path, f"--target={target}", "--size", f"s27={tokens}")
        assert result["sizes"]["s27"] == tokens
        if before:
            # Products of weights grow in proportion, attention by the square.
            factor = result["matmul_flops"] / before["matmul_flops"]
            assert 8 <= factor <= 64
            for what in ("wire_bytes", "peak_activation_bytes"):
                assert result[what] == pytest.approx(8 * before[what])
            assert result["weight_bytes"] == before["weight_bytes"]
            assert result["step_seconds"] > before["step_seconds"]
        before = result


def test_an_assumed_size_is_a_size(fixtures_folder):
    path = fixtures_folder / "llama_tp2_dynamic.pt2"
    assumed = estimate(path, "--assume=s27 == 512")
    assert assumed["sizes"]["s27"] == 512
    assert assumed["step_seconds"] == estimate(path, "--size=s27=512")["step_seconds"]


def test_the_trace_is_a_chrome_trace(fixtures_folder, tmp_path):
    path = fixtures_folder / "llama_sequence_parallel_tp2.pt2"
    succeed("estimate", path, f"--trace={tmp_path / 'trace.json'}")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["displayTimeUnit"] == "ms"
    events = trace["traceEvents"]
    names = {
        (event["name"], event["tid"]): event["args"]["name"]
        for event in events
        if event["ph"] == "M"
    }
    assert names["thread_name", 0] == "compute"
    assert names["thread_name", 1] == "communication"
    assert "h100x8" in names["process_name", 0]
    complete = [event for event in events if event["ph"] != "M"]
    end = {0: 0.0, 1: 0.0}
    for event in complete:
        assert event["ph"] == "X" and event["pid"] == 0 and event["dur"] > 0
        # One thing after the other on each lane.
        assert event["ts"] >= end[event["tid"]] - 1e-6
        end[event["tid"]] = event["ts"] + event["dur"]
        arguments = event["args"]
        assert "tensor<" in arguments["results"] and arguments["bound"]
        assert arguments["source"].partition(":")[2].isdigit()
    step = estimate(path)["step_seconds"]
    assert max(end.values()) == pytest.approx(step * 1e6)
    gathers = [event for event in complete if event["cat"] == "all_gather"]
    assert gathers and all(event["tid"] == 1 for event in gathers if "copy" not in event["name"])
    assert all(event["args"]["wire_bytes"] > 0 for event in gathers)


def test_gathering_another_dim_costs_a_copy(tmp_path):
    def step(axis, shape):
        whole = list(shape)
        whole[axis] *= 8
        small, large = ("x".join(map(str, sizes)) + "xf32" for sizes in (shape, whole))
        path = tmp_path / "gather.mlir"
        path.write_text(
            f"func.func @main(%x: tensor<{small}>) -> tensor<{large}> {{"
            f" %0 = tp.all_gather %x gather_axis {axis}"
            ' group <"0", [0, 1, 2, 3, 4, 5, 6, 7]>'
            f" : tensor<{small}> -> tensor<{large}> return %0 : tensor<{large}> }}"
        )
        return estimate(path)

    first, second = step(0, (512, 4096)), step(1, (4096, 512))
    assert first["communication_seconds"] == second["communication_seconds"]
    bytes_moved = 2 * 4 * 4096 * 4096
    assert second["memory_bytes"] - first["memory_bytes"] == bytes_moved
    copy = bytes_moved / (0.85 * 3.35e12) + 2e-6
    assert second["step_seconds"] - first["step_seconds"] == pytest.approx(copy)


def calibrate_under_mpirun(processes, *options):
    return mpirun("--oversubscribe", "-n", processes, TOOL, "calibrate", "--quick", *options)


def check_target(path, ranks):
    target = json.loads(path.read_text())
    assert target["name"] == "local" and target["devices"]["value"] == ranks
    for lines in target["collectives"].values():
        assert [line["group_size"] for line in lines][-1] == ranks
        assert all("measured by commute calibrate on 20" in line["source"] for line in lines)
    assert set(target["collectives"]) == {
        "all_gather", "all_reduce", "all_to_all", "reduce_scatter",
    }  # fmt: skip
    # What is written can be read, and is what was measured.
    assert json.loads(succeed("targets", path, "--json")) == target


def test_calibrate_with_threads(fixtures_folder, tmp_path):
    path = tmp_path / "local.json"
    # There may be a note that there are fewer cores.
    process = commute("calibrate", "--quick", "-o", path, "--ranks=4")
    assert process.returncode == 0, process.stderr
    check_target(path, 4)
    assert estimate(fixtures_folder / "llama_tp4.pt2", f"--target={path}")["step_seconds"] > 0


def test_calibrate_under_mpirun(tmp_path):
    path = tmp_path / "local.json"
    process = calibrate_under_mpirun(2, "-o", path)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("wrote") == 1
    check_target(path, 2)
    assert "2 processes under mpirun" in json.loads(path.read_text())["description"]


def test_calibrate_refuses_another_number_of_processes(tmp_path):
    process = calibrate_under_mpirun(2, "--ranks=3", "-o", tmp_path / "x.json")
    assert process.returncode != 0
    assert "--ranks=3: mpirun started 2 processes" in process.stderr
    assert not (tmp_path / "x.json").exists()
