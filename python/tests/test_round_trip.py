# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Archives go through `commute opt` and come back: the same, but for what was asked."""

import io
import json
import shutil
import zipfile

import pytest
import torch

from commute_tool import optimize, succeed
from fixtures import FIXTURES
from loaded_programs import description, load, same_tensor, tensors
from programs import PROGRAMS, export_program
from records import (
    PROGRAM,
    SIDECAR,
    edit_program,
    edit_records,
    graph_of,
    read_program,
    read_records,
    write_records,
)

REWRITTEN = ("llama_transposed_gather_tp2", "llama_transposed_gather_tp4")
UNCHANGED = [name for name in FIXTURES if name not in REWRITTEN]


def check_identical(source, target):
    """Same root folder, same records in the same order, same bytes in each."""
    root, before = read_records(source)
    target_root, after = read_records(target)
    assert target_root == root
    assert list(after) == list(before)
    assert [name for name in before if before[name] != after[name]] == []


def check_loads_alike(source, target):
    before, after = load(source), load(target)
    assert description(after) == description(before)
    old, new = tensors(before), tensors(after)
    assert list(old) == list(new)
    assert all(same_tensor(old[name], new[name]) for name in old)


# ----------------------------------------------------------------------------
# Nothing to rewrite
# ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNCHANGED)
def test_fixture_comes_back_identical(name, fixtures_folder, tmp_path):
    source, target = fixtures_folder / f"{name}.pt2", tmp_path / "out.pt2"
    assert optimize(source, target)["unchanged"]
    check_identical(source, target)
    check_loads_alike(source, target)


@pytest.fixture(scope="module")
def program_archives(tmp_path_factory):
    """The programs of programs.py, each exported when first asked for."""
    folder = tmp_path_factory.mktemp("programs")

    def archive(name):
        path = folder / f"{name}.pt2"
        if not path.exists():
            export_program(name, path)
        return path

    return archive


# PyTorch warns of complex numbers in halves, of storages shared in part, and
# of its own deprecated functions.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_comes_back_identical(name, program_archives, tmp_path):
    source, target = program_archives(name), tmp_path / "out.pt2"
    assert optimize(source, target)["unchanged"]
    check_identical(source, target)
    check_loads_alike(source, target)


def argument_tags(value):
    """All tags of arguments anywhere in a document."""
    if isinstance(value, dict):
        own = {key for key in value if key.startswith("as_")}
        return own.union(*map(argument_tags, value.values()))
    if isinstance(value, list):
        return set().union(*map(argument_tags, value))
    return set()


@pytest.mark.filterwarnings("ignore")
def test_programs_use_what_pytorch_writes(program_archives):
    """The round trips above show little if the programs use little."""
    documents = [read_program(program_archives(name)) for name in PROGRAMS]
    nodes = [graph_of(document)["nodes"] for document in documents]
    # Not written by PyTorch: as_optional_tensor. Written only for classes of
    # C++, for lists of symbolic numbers other than integers, and by
    # higher-order operators that need a compiler.
    rare = "custom_obj optional_tensor sym_bools sym_floats int_lists string_to_argument"
    tags = (
        "none tensor tensors int ints float floats string strings sym_int sym_ints scalar_type "
        "memory_format layout device bool bools sym_bool optional_tensors graph operator "
        "sym_float complex nested_tensors float_lists"
    )
    found = argument_tags(nodes) - {"as_expr", "as_name"}
    assert {f"as_{tag}" for tag in tags.split()} == found - {f"as_{tag}" for tag in rare.split()}
    signatures = [document["graph_module"]["signature"] for document in documents]
    kinds = {
        kind
        for signature in signatures
        for spec in signature["input_specs"] + signature["output_specs"]
        for kind in spec
    }
    assert kinds >= {"parameter", "buffer", "tensor_constant", "user_input", "constant_input"}
    assert kinds >= {"user_output", "buffer_mutation", "user_input_mutation"}


# ----------------------------------------------------------------------------
# Something to rewrite
# ----------------------------------------------------------------------------


def remove_copies(document):
    """Takes the new dense copies out of a document, and gives their number."""
    graph = graph_of(document)
    copied = {}
    for node in list(graph["nodes"]):
        arguments = {entry["name"]: entry["arg"] for entry in node["inputs"]}
        is_clone = node["target"] == "torch.ops.aten.clone.default"
        if is_clone and arguments.get("memory_format") == {"as_memory_format": 1}:
            copied[node["name"]] = arguments["self"]["as_tensor"]["name"]
            graph["nodes"].remove(node)
            meta = graph["tensor_values"].pop(node["name"])
            assert meta["storage_offset"] == {"as_int": 0}
    for node in graph["nodes"]:
        for entry in node["inputs"]:
            if entry["arg"].get("as_tensor", {}).get("name") in copied:
                entry["arg"]["as_tensor"]["name"] = copied[entry["arg"]["as_tensor"]["name"]]
    return len(copied)


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewrite_changes_nothing_else(name, fixtures_folder, tmp_path):
    source, target = fixtures_folder / f"{name}.pt2", tmp_path / "out.pt2"
    summary = optimize(source, target, "--passes=contiguous-collectives")
    assert not summary["unchanged"]
    assert summary["nodes_after"] == summary["nodes_before"] + 1
    root, before = read_records(source)
    target_root, after = read_records(target)
    assert target_root == root
    assert list(after) == list(before)
    assert [record for record in before if before[record] != after[record]] == [PROGRAM]
    document = json.loads(after[PROGRAM])
    assert remove_copies(document) == 1
    # json keeps the order of keys, so that this compares it too.
    assert json.dumps(document) == json.dumps(json.loads(before[PROGRAM]))
    old, new = load(source), load(target)
    assert str(new.graph_signature) == str(old.graph_signature)
    assert len(new.graph.nodes) == len(old.graph.nodes) + 1


def plain_node(target, name, **arguments):
    inputs = [{"name": key, "arg": value, "kind": 1} for key, value in arguments.items()]
    outputs = [{"as_tensor": {"name": name}}]
    result = {"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}}
    return {**result, "is_hop_single_tensor_return": None, "name": name}


def add_transposed_gather(document):
    """Puts something to rewrite in front of a program, and a check that reads it."""

    def operator(name):
        return f"torch.ops.{name}.default"

    def tensor(name):
        return {"as_tensor": {"name": f"test_{name}"}}

    nodes = [
        plain_node(operator("aten.ones"), "test_ones", size={"as_ints": [4, 8]}),
        plain_node(operator("aten.t"), "test_t", self=tensor("ones")),
        plain_node(
            operator("_c10d_functional.all_gather_into_tensor"),
            "test_gather",
            input=tensor("t"),
            group_size={"as_int": 2},
            group_name={"as_string": "0"},
        ),
        plain_node(operator("_c10d_functional.wait_tensor"), "test_wait", tensor=tensor("gather")),
    ]
    check = plain_node(operator("aten._assert_tensor_metadata"), "test_check", a=tensor("wait"))
    check["outputs"] = []
    graph = graph_of(document)
    graph["nodes"][:0] = [*nodes, check]
    layouts = [([4, 8], [8, 1]), ([8, 4], [1, 8]), ([16, 4], [4, 1]), ([16, 4], [4, 1])]
    for node, (sizes, strides) in zip(nodes, layouts, strict=True):
        graph["tensor_values"][node["name"]] = {
            "dtype": 7,
            "sizes": [{"as_int": size} for size in sizes],
            "requires_grad": False,
            "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": stride} for stride in strides],
            "storage_offset": {"as_int": 0},
            "layout": 7,
        }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_rewrite_beside_odd_neighbours(name, program_archives, tmp_path):
    source, target = tmp_path / "in.pt2", tmp_path / "out.pt2"
    edit_program(program_archives(name), source, add_transposed_gather)
    optimize(source, target, "--passes=contiguous-collectives")
    document = read_program(target)
    assert remove_copies(document) == 1
    old, new = load(source), load(target)
    if name == "mutation_in_the_signature":
        # What aten.copy writes over is read by nobody: it goes, and the copy is a clone.
        assert len(new.graph.nodes) == len(old.graph.nodes)
        assert torch.ops.aten.copy.default not in {node.target for node in new.graph.nodes}
        return
    assert json.dumps(document) == json.dumps(read_program(source))
    assert len(new.graph.nodes) == len(old.graph.nodes) + 1


@pytest.mark.parametrize("name", REWRITTEN)
def test_optimizing_twice_is_optimizing_once(name, fixtures_folder, tmp_path):
    once, twice = tmp_path / "once.pt2", tmp_path / "twice.pt2"
    optimize(fixtures_folder / f"{name}.pt2", once)
    assert optimize(once, twice)["unchanged"]
    assert twice.read_bytes() == once.read_bytes()


def test_output_may_be_the_input(fixtures_folder, tmp_path):
    archive, other = tmp_path / "archive.pt2", tmp_path / "other.pt2"
    shutil.copy(fixtures_folder / "llama_transposed_gather_tp2.pt2", archive)
    optimize(archive, other)
    optimize(archive, archive, "--force")
    assert archive.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive.pt2", "other.pt2"]


def test_payloads_are_aligned_as_pytorch_aligns_them(fixtures_folder, tmp_path):
    target = tmp_path / "out.pt2"
    optimize(fixtures_folder / "llama_transposed_gather_tp2.pt2", target)
    content = target.read_bytes()
    with zipfile.ZipFile(target) as archive:
        for entry in archive.infolist():
            lengths = content[entry.header_offset + 26 : entry.header_offset + 30]
            name_length = int.from_bytes(lengths[:2], "little")
            extra_length = int.from_bytes(lengths[2:], "little")
            payload = entry.header_offset + 30 + name_length + extra_length
            assert payload % 64 == 0, entry.filename
            assert entry.compress_type == zipfile.ZIP_STORED


# ----------------------------------------------------------------------------
# Archives that other writers make
# ----------------------------------------------------------------------------


def pickled(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def as_pytorch_28_writes(source, target):
    """Weights and constants as one pickle each, schema 8.8."""
    exported = load(source)
    root, old = read_records(source)
    records = {"data/weights/model.pt": pickled(dict(exported.state_dict))}
    records["data/constants/model.pt"] = pickled(dict(exported.constants))
    kept = [name for name in old if not name.startswith(("data/weights/", "data/constants/"))]
    records.update((name, old[name]) for name in kept)
    write_records(target, root, records)
    return edit_program(target, target, lambda document: set_version(document, 8, "2.8.0"))


def set_version(document, minor, torch_version):
    document["schema_version"]["minor"] = minor
    document["torch_version"] = torch_version


def without_what_old_schemas_lack(source, target):
    """Nodes without names, arguments without kinds, optional keys left out."""

    def edit(document):
        for node in graph_of(document)["nodes"]:
            for key in ("name", "is_hop_single_tensor_return"):
                node.pop(key, None)
            for entry in node["inputs"]:
                entry["kind"] = None
        for key in ("custom_obj_values", "sym_float_values", "is_single_tensor_return"):
            graph_of(document).pop(key, None)
        for key in ("metadata", "treespec_namedtuple_fields"):
            document["graph_module"].pop(key, None)
        document.pop("guards_code", None)
        set_version(document, 7, "2.7.1")

    return edit_program(source, target, edit)


def with_what_later_schemas_add(source, target):
    """Keys that nobody knows, in every kind of object."""

    def edit(document):
        graph = graph_of(document)
        objects = [document, document["graph_module"], graph, *graph["nodes"]]
        objects += [entry for node in graph["nodes"] for entry in node["inputs"]]
        objects += graph["tensor_values"].values()
        for value in objects:
            value["from_the_future"] = {"as_surprise": [1.5, None, {"deep": "\u00e9\U0001f600"}]}
        set_version(document, 21, "2.14.0")

    return edit_program(source, target, edit)


def with_other_white_space(source, target):
    def edit(records):
        records[PROGRAM] = json.dumps(json.loads(records[PROGRAM]), indent="\t").encode()

    return edit_records(source, target, edit)


def with_records_of_others(source, target):
    def edit(records):
        records["extra/notes.txt"] = "caf\u00e9".encode()
        records["data/mtia/blob"] = bytes(range(256)) * 300
        records["extra/\u00e9\u00e8.bin"] = b""

    return edit_records(source, target, edit)


def without_sidecar(source, target):
    return edit_records(source, target, lambda records: records.pop(SIDECAR))


def under_another_root(source, target):
    return write_records(target, "archive", read_records(source)[1])


def deflated(source, target):
    root, records = read_records(source)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in records.items():
            archive.writestr(f"{root}/{name}", content)
    return target


def edges(exported):
    """The graph without how arguments are spelled, which old schemas do not say."""
    nodes = exported.graph.nodes
    return [(node.name, str(node.target), str(node.all_input_nodes)) for node in nodes]


VARIANTS = [
    as_pytorch_28_writes,
    without_what_old_schemas_lack,
    with_what_later_schemas_add,
    with_other_white_space,
    with_records_of_others,
    without_sidecar,
    under_another_root,
    deflated,
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
def test_variant_of_an_archive(variant, fixtures_folder, tmp_path):
    """Comes back identical with nothing to do, and is rewritten as ever with it."""
    unchanged, target = tmp_path / "unchanged.pt2", tmp_path / "out.pt2"
    variant(fixtures_folder / "llama_tp2.pt2", unchanged)
    assert optimize(unchanged, target, "--group", "0=0-1")["unchanged"]
    root, before = read_records(unchanged)
    target_root, after = read_records(target)
    # Without a sidecar, what --group says becomes one.
    after = {name: after[name] for name in after if name in before}
    assert (target_root, list(after)) == (root, list(before))
    assert [name for name in before if before[name] != after[name]] == []

    fixture = fixtures_folder / "llama_transposed_gather_tp2.pt2"
    plain, rewritten = tmp_path / "plain.pt2", tmp_path / "rewritten.pt2"
    optimize(fixture, plain)
    summary = optimize(variant(fixture, tmp_path / "rewritable.pt2"), rewritten)
    assert summary["nodes_after"] == summary["nodes_before"] + 1
    loaded, expected = load(rewritten), load(plain)
    assert edges(loaded) == edges(expected)
    old, new = tensors(expected), tensors(loaded)
    assert sorted(old) == sorted(new)
    assert all(same_tensor(old[name], new[name]) for name in old)


def test_what_is_stated_goes_into_the_sidecar(fixtures_folder, tmp_path):
    archive, target = tmp_path / "archive.pt2", tmp_path / "out.pt2"
    without_sidecar(fixtures_folder / "llama_tp2.pt2", archive)
    options = ["--group", "0=2,5", "--rank", "5", "--input-placement", "x=replicated"]
    optimize(archive, target, *options)
    records = read_records(target)[1]
    sidecar = json.loads(records[SIDECAR])
    assert sidecar["groups"] == {"0": {"ranks": [2, 5]}}
    assert sidecar["rank"] == 5
    assert sidecar["inputs"] == {"x": {"0": "replicated"}}
    # PyTorch finds it where it puts extra files itself.
    extra = {"commute.json": ""}
    torch.export.load(target, extra_files=extra)
    assert json.loads(extra["commute.json"]) == sidecar
    # It is read back, and says the same.
    again = tmp_path / "again.pt2"
    succeed("opt", target, "-o", again, "--quiet")
    assert again.read_bytes() == target.read_bytes()
