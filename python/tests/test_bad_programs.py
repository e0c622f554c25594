# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs that are no legal documents of the export schema, or make no sense.

Beside each change stands a legal twin where there is one: a change of the same
place that is accepted.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from commute_tool import optimize
from records import (
    PROGRAM,
    argument_of,
    copy_of_node,
    edit_program,
    edit_records,
    graph_of,
    node_of,
    read_program,
)
from refusals import FIXTURE, check_accepted, check_refused


@dataclass
class Bad:
    """A change of an archive and what its error message has to hold."""

    change: Callable
    says: tuple
    legal: Callable | None = None


PROGRAMS = {}


def bad(*says, legal=None):
    """Registers a change of a program's document as an illegal one."""

    def register(change):
        PROGRAMS[change.__name__] = Bad(change, says, legal)
        return change

    return register


def legal_for(name):
    """Registers a change as the legal twin of an illegal one."""

    def register(change):
        PROGRAMS[name].legal = change
        return change

    return register


def sizes_of(document, name):
    return graph_of(document)["tensor_values"][name]["sizes"]


def inputs_of(document):
    return document["graph_module"]["signature"]["input_specs"]


@bad("schema_version", "9.0", "only major version 8")
def other_major_version(document):
    document["schema_version"] = {"major": 9, "minor": 0}


@legal_for("other_major_version")
def later_minor_version(document):
    document["schema_version"]["minor"] += 1


@bad("required key 'schema_version' is missing")
def no_schema_version(document):
    del document["schema_version"]


@bad("required key 'graph_module' is missing")
def no_graph_module(document):
    del document["graph_module"]


@bad("expected an object, found")
def document_is_a_list(document):
    return [document]


@bad("graph_module.graph: the required key 'tensor_values' is missing")
def no_tensor_values(document):
    del graph_of(document)["tensor_values"]


@legal_for("no_tensor_values")
def no_custom_object_values(document):
    del graph_of(document)["custom_obj_values"]


@bad("graph_module.graph.nodes: expected an array, found")
def nodes_are_an_object(document):
    graph_of(document)["nodes"] = {"0": graph_of(document)["nodes"][0]}


@bad("node 'all_gather_into_tensor'", "target", "expected a string, found a number")
def target_is_a_number(document):
    node_of(document, "all_gather_into_tensor")["target"] = 3


@bad("node #", "name", "expected a string, found a number")
def node_name_is_a_number(document):
    node_of(document, "wait_tensor")["name"] = 7


@bad("node 'transpose'", "inputs", "expected an array, found null")
def inputs_are_null(document):
    node_of(document, "transpose")["inputs"] = None


@bad("node 'transpose'", "inputs[1].arg.as_int", "expected a number, found a string")
def integer_is_a_string(document):
    argument_of(node_of(document, "transpose"), "dim0")["as_int"] = "0"


@bad("node 'transpose'", "inputs[1].arg.as_int", "expected an integer of 64 bits, found 1e+40")
def integer_is_too_large(document):
    argument_of(node_of(document, "transpose"), "dim0")["as_int"] = 1e40


@legal_for("integer_is_too_large")
def integer_counts_from_the_end(document):
    argument_of(node_of(document, "transpose"), "dim0")["as_int"] = -3


@bad("node 'rms_norm'", "as_floatt", "unknown")
def unknown_argument_tag(document):
    argument = argument_of(node_of(document, "rms_norm"), "eps")
    argument["as_floatt"] = argument.pop("as_float")


@bad("node 'rms_norm'", "expected an object with exactly one key", "found 2 keys")
def two_argument_tags(document):
    argument_of(node_of(document, "rms_norm"), "eps")["as_int"] = 3


@bad("node 'rms_norm'", "expected an object with exactly one key", "found 0 keys")
def no_argument_tag(document):
    argument_of(node_of(document, "rms_norm"), "eps").clear()


@bad("node 'rms_norm'", "unknown argument kind 9")
def unknown_argument_kind(document):
    node_of(document, "rms_norm")["inputs"][0]["kind"] = 9


@legal_for("unknown_argument_kind")
def no_argument_kind(document):
    node_of(document, "rms_norm")["inputs"][0]["kind"] = None


@bad("graph_module.graph.tensor_values.rms_norm.dtype", "unknown element type 99")
def unknown_element_type(document):
    graph_of(document)["tensor_values"]["rms_norm"]["dtype"] = 99


@bad("input_specs[0]", "unknown kind 'param'", "known kinds are user_input")
def unknown_input_kind(document):
    inputs_of(document)[0]["param"] = inputs_of(document)[0].pop("parameter")


@bad("module_call_graph[0].signature", "the required key 'inputs' is missing")
def call_signature_without_inputs(document):
    del document["graph_module"]["module_call_graph"][0]["signature"]["inputs"]


# Names and order


@bad("node 'transpose'", "use of 'rms_norm' before its definition at node 'rms_norm'")
def use_before_definition(document):
    nodes = graph_of(document)["nodes"]
    norm = node_of(document, "rms_norm")
    nodes.remove(norm)
    nodes.append(norm)


@legal_for("use_before_definition")
def definition_moved_up(document):
    # Reads a buffer only.
    nodes = graph_of(document)["nodes"]
    table = node_of(document, "slice_1")
    nodes.remove(table)
    nodes.insert(0, table)


@bad("node 'transpose'", "use of 'nothing', which neither an input nor a node defines")
def use_of_nothing(document):
    argument_of(node_of(document, "transpose"), "self")["as_tensor"]["name"] = "nothing"


@bad("graph.outputs[0]", "use of 'nothing'")
def output_of_nothing(document):
    graph_of(document)["outputs"][0]["as_tensor"]["name"] = "nothing"
    specs = document["graph_module"]["signature"]["output_specs"]
    specs[0]["user_output"]["arg"]["as_tensor"]["name"] = "nothing"


@bad("node 'transpose'", "use of 'transpose' before its definition at node 'transpose'")
def use_of_itself(document):
    argument_of(node_of(document, "transpose"), "self")["as_tensor"]["name"] = "transpose"


@bad("the name 'rms_norm' is already defined by node 'rms_norm'", "names are unique")
def name_defined_twice(document):
    nodes = graph_of(document)["nodes"]
    nodes.insert(1, copy_of_node(node_of(document, "rms_norm"), "rms_norm"))


@legal_for("name_defined_twice")
def second_node_of_another_name(document):
    nodes = graph_of(document)["nodes"]
    nodes.insert(1, copy_of_node(node_of(document, "rms_norm"), "other_norm"))
    values = graph_of(document)["tensor_values"]
    values["other_norm"] = values["rms_norm"]


@bad("the name 'x' is already defined by the graph's inputs")
def name_of_an_input(document):
    nodes = graph_of(document)["nodes"]
    nodes.insert(0, copy_of_node(node_of(document, "rms_norm"), "x"))


@bad("node 'transpose'", "the tensor 'transpose' has no entry in graph.tensor_values")
def result_without_type(document):
    del graph_of(document)["tensor_values"]["transpose"]


@legal_for("result_without_type")
def type_without_result(document):
    values = graph_of(document)["tensor_values"]
    values["left_over"] = values["transpose"]


@bad("node 'transpose'", "the name is empty")
def empty_name(document):
    node_of(document, "transpose")["outputs"][0]["as_tensor"]["name"] = ""


# Shapes


@bad("tensor_values.transpose", "the size -4 is negative")
def negative_size(document):
    sizes_of(document, "transpose")[0] = {"as_int": -4}


@bad("tensor_values.transpose", "there are 2 sizes, but 3 strides")
def fewer_sizes_than_strides(document):
    sizes_of(document, "transpose").pop()


@bad("node 'all_gather_into_tensor'", "group")
def group_of_another_size(document):
    argument_of(node_of(document, "all_gather_into_tensor"), "group_size")["as_int"] = 4


@bad("tensor_values.x.sizes[0]", "unknown tag 'as_symbol'")
def unknown_size_tag(document):
    sizes_of(document, "x")[0] = {"as_symbol": "s0"}


# Signature


@bad("input_specs", "input specifications, but the graph has")
def one_specification_less(document):
    inputs_of(document).pop()


@bad("input_specs[0]", "the specification is for", "but the graph's input at this position is")
def specifications_exchanged(document):
    specs = inputs_of(document)
    specs[0], specs[1] = specs[1], specs[0]


@legal_for("specifications_exchanged")
def inputs_exchanged_altogether(document):
    for items in (inputs_of(document), graph_of(document)["inputs"]):
        items[0], items[1] = items[1], items[0]


@bad("output_specs", "0 output specifications, but the graph has 1 outputs")
def no_output_specification(document):
    document["graph_module"]["signature"]["output_specs"] = []


@bad("range_constraints.s0", "the range is empty: min_val 5 is above max_val 2")
def empty_range(document):
    document["range_constraints"]["s0"] = {"min_val": 5, "max_val": 2}


@legal_for("empty_range")
def open_range(document):
    document["range_constraints"]["s0"] = {"min_val": 5, "max_val": None}


# ----------------------------------------------------------------------------
# Text that is no such document
# ----------------------------------------------------------------------------


def deep(opening, closing, depth=200_000):
    return b'{"schema_version": ' + opening * depth + closing * depth + b"}"


TEXTS = {
    "empty": (b"", ()),
    "not_json": (b"PK\x03\x04", ()),
    "cut_off": (None, ()),
    "trailing_text": (b"{} {}", ()),
    "deep_arrays": (deep(b"[", b"]"), ("deep",)),
    "deep_objects": (deep(b'{"a":', b"}"), ()),
    "only_openings": (b"[" * 3_000_000, ()),
    "not_utf8": (b'{"graph_module": "\xff\xfe"}', ("line 1, column 19: Invalid encoding",)),
    "half_a_surrogate": (b'{"graph_module": "\\ud800"}', ()),
    "nul_bytes": (b"\0" * 100, ()),
    "key_twice": (b'{"schema_version": 1, "schema_version": 2}', ("schema_version",)),
    "not_a_number": (b'{"schema_version": NaN}', ()),
    "leading_zeros": (b'{"schema_version": 007}', ()),
}


# ----------------------------------------------------------------------------
# The tests
# ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, fixtures_folder, tmp_path):
    fixture = fixtures_folder / FIXTURE
    entry = PROGRAMS[name]
    archive = edit_program(fixture, tmp_path / "bad.pt2", entry.change)
    check_refused(archive, tmp_path, (f"record {PROGRAM}: ", *entry.says))
    if entry.legal:
        check_accepted(edit_program(fixture, tmp_path / "legal.pt2", entry.legal), tmp_path)


def wrong_size_of_a_result(document):
    sizes_of(document, "transpose")[2] = {"as_int": 33}


def gather_of_another_size(document):
    sizes_of(document, "all_gather_into_tensor")[0] = {"as_int": 6}


def weight_of_another_size(document):
    name = argument_of(node_of(document, "linear"), "weight")["as_tensor"]["name"]
    sizes_of(document, name)[1] = {"as_int": 31}


@pytest.mark.parametrize(
    "change, node",
    [
        (wrong_size_of_a_result, "transpose"),
        (gather_of_another_size, "all_gather_into_tensor"),
        (weight_of_another_size, "linear"),
    ],
)
def test_a_node_that_does_not_fit_is_left_alone(change, node, fixtures_folder, tmp_path):
    """Stale shapes are no reason to refuse the rest of a graph."""
    archive = edit_program(fixtures_folder / FIXTURE, tmp_path / "stale.pt2", change)
    report = optimize(archive, tmp_path / "out.pt2")
    complaints = {r["node"]: r for r in report["remarks"] if r["pass"] == "import"}
    assert complaints[node]["verdict"] == "refused"
    assert "contradicts the shapes that the graph states" in complaints[node]["message"]
    before, after = (node_of(read_program(path), node) for path in (archive, tmp_path / "out.pt2"))
    # Its operand may have become a dense copy.
    assert (before["target"], before["outputs"]) == (after["target"], after["outputs"])
    legal = optimize(fixtures_folder / FIXTURE, tmp_path / "legal.pt2")
    assert not [r for r in legal["remarks"] if r["pass"] == "import"]


@pytest.mark.parametrize("name", TEXTS)
def test_text(name, fixtures_folder, tmp_path):
    text, says = TEXTS[name]

    def edit(records):
        records[PROGRAM] = records[PROGRAM][:5000] if text is None else text

    archive = edit_records(fixtures_folder / FIXTURE, tmp_path / "bad.pt2", edit)
    check_refused(archive, tmp_path, (f"record {PROGRAM}: ", *says))
