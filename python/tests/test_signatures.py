# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs whose values are equal, but not what callers see of them."""

import json

import pytest

from commute_tool import commute, succeed
from handmade_programs import LEAF, HandmadeProgram

TUPLE = {"type": "builtins.tuple", "context": "null"}


def write_program(
    path,
    *,
    parameter="layer.weight",
    kind="parameter",
    mutated="running.mean",
    mutation="buffer_mutation",
    constant=3,
    constant_input=0.5,
    in_spec=None,
    out_spec=None,
    names=None,
):
    program = HandmadeProgram()
    program.in_spec, program.out_spec = in_spec, out_spec
    weight = program.input("p_w", [8], kind, parameter)
    mean = program.input("b_mean", [8], "buffer", "running.mean")
    program.input("b_other", [8], "buffer", "running.other")
    value = program.input("x", [8])
    program.constant_input("scale", constant_input)
    reduced = program.all_reduce(value, "0")
    program.output(
        program.call("aten.add.Tensor", {"self": mean, "other": reduced}, [8]), mutation, mutated
    )
    program.output(program.call("aten.mul.Tensor", {"self": reduced, "other": weight}, [8]))
    program.output(constant)
    document = program.document()
    if names:
        call = document["graph_module"]["module_call_graph"][0]["signature"]
        call["forward_arg_names"] = names
    return program.write(path, {"0": [0, 1]}, document=document)


def structure(*children):
    return json.dumps([1, TUPLE | {"children_spec": list(children)}])


CHANGES = {
    "name_of_a_parameter": ({"parameter": "layer.bias"}, ("'layer.weight'", "'layer.bias'")),
    "parameter_or_buffer": ({"kind": "buffer"}, ("'p_w'", "'parameter'", "'buffer'")),
    "mutated_buffer": ({"mutated": "running.other"}, ("output 0", "running.other")),
    "mutated_input": (
        {"mutated": "x", "mutation": "user_input_mutation"},
        ("output 0", "user_input_mutation of 'x'"),
    ),
    "mutation_or_result": ({"mutation": "user_output", "mutated": None}, ("output 0",)),
    "constant_output": ({"constant": 4}, ("output 2", "constant 3", "constant 4")),
    "type_of_a_constant_output": ({"constant": 3.0}, ("output 2", "constant 3.0")),
    "missing_output": ({"constant": None}, ("output 2", "constant None")),
    "constant_input": ({"constant_input": 0.25}, ("constant 0.5", "constant 0.25")),
    "structure_of_inputs": (
        {"in_spec": structure(LEAF, LEAF)},
        ("the structure of the inputs",),
    ),
    "structure_of_outputs": (
        {"out_spec": structure(TUPLE | {"children_spec": [LEAF, LEAF]})},
        ("the structure of the outputs",),
    ),
    "names_of_arguments": ({"names": ["hidden"]}, ("parameter 0", "'x'", "'hidden'")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_difference(name, tmp_path):
    changes, says = CHANGES[name]
    first = write_program(tmp_path / "a.pt2", names=["x"])
    second = write_program(tmp_path / "b.pt2", **({"names": ["x"]} | changes))
    files = [first, second]
    # As text the programs say the same.
    for archive in (first, second):
        text = archive.with_suffix(".mlir")
        options = ("--quiet", "--no-verify", "--passes=lower-collectives")
        succeed("opt", archive, "-o", text, *options)
        files.append(text)
    for a, b in (files[:2], files[2:], (files[0], files[3])):
        process = commute("verify", a, b)
        assert process.returncode == 1, (process.stdout, process.stderr)
        for words in says:
            assert words in process.stdout
    for a, b in (files[::2], files[1::2]):
        assert commute("verify", a, b).returncode == 0


def test_optimized_program_keeps_its_signature(tmp_path):
    archive = write_program(tmp_path / "a.pt2", names=["x"])
    succeed("opt", archive, "-o", tmp_path / "b.pt2", "--policy=always", "--quiet")
    assert commute("verify", archive, tmp_path / "b.pt2").returncode == 0
