# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Archives whose container is damaged or hostile, sidecars, and bad usage."""

import struct
import zipfile

import pytest

from commute_tool import commute
from records import PROGRAM, SIDECAR, edit_records, read_records, write_records
from refusals import FIXTURE, check_accepted, check_refused

# ----------------------------------------------------------------------------
# Records
# ----------------------------------------------------------------------------

RECORDS = {
    "no_archive_format": (lambda r: r.pop("archive_format"), ("record archive_format is missing",)),
    "other_archive_format": (
        lambda r: r.update({"archive_format": b"pt3"}),
        ("record archive_format", "expected 'pt2', found 'pt3'"),
    ),
    "no_archive_version": (
        lambda r: r.pop("archive_version"),
        ("record archive_version is missing",),
    ),
    "other_archive_version": (
        lambda r: r.update({"archive_version": b"1"}),
        ("record archive_version", "expected '0', found '1'"),
    ),
    "no_program": (lambda r: r.pop(PROGRAM), ("no program", "models/NAME.json")),
    "two_programs": (
        lambda r: r.update({"models/a.json": r[PROGRAM], "models/b.json": r.pop(PROGRAM)}),
        ("several programs", "'a', 'b'"),
    ),
    "compiled_code_only": (
        lambda r: (r.pop(PROGRAM), r.update({"data/aotinductor/model/a.so": b""})),
        ("AOTInductor",),
    ),
}

SIDECARS = {
    "empty": (b"", ()),
    "not_json": (b"version: 1", ()),
    "a_list": (b"[]", ("a sidecar must be a JSON object",)),
    "no_version": (b"{}", ('"version" is missing',)),
    "other_version": (b'{"version": 2}', ('"version" is missing or not 1',)),
    "rank_is_text": (b'{"version": 1, "rank": "0"}', ('"rank"',)),
    "negative_rank": (b'{"version": 1, "rank": -1}', ('"rank"', "-1")),
    "groups_are_a_list": (b'{"version": 1, "groups": []}', ('"groups" must be an object',)),
    "group_without_ranks": (b'{"version": 1, "groups": {"0": {}}}', ("groups.0", '"ranks"')),
    "group_of_nobody": (b'{"version": 1, "groups": {"0": {"ranks": []}}}', ("has no ranks",)),
    "member_twice": (b'{"version": 1, "groups": {"0": {"ranks": [0, 0]}}}', ("rank 0", "twice")),
    "negative_member": (b'{"version": 1, "groups": {"0": {"ranks": [0, -1]}}}', ("-1",)),
    "member_is_no_integer": (b'{"version": 1, "groups": {"0": {"ranks": [0.5, 1]}}}', ("0.5",)),
    "unequal_groups": (
        b'{"version": 1, "groups": {"0": {"ranks": [[0, 1], [2]]}}}',
        ("'0' have different sizes",),
    ),
    "ranks_and_lists": (b'{"version": 1, "groups": {"0": {"ranks": [[0, 1], 2]}}}', ("groups.0",)),
    "inputs_are_a_list": (b'{"version": 1, "inputs": ["x"]}', ('"inputs" must be an object',)),
    "unknown_placement": (
        b'{"version": 1, "inputs": {"x": {"0": "sharded"}}}',
        ("inputs.x.0", "'sharded' is not a placement", "expected replicated"),
    ),
    "dim_out_of_range": (
        b'{"version": 1, "inputs": {"x": {"0": "shard(3)"}}}',
        ("input 'x' has 3 dims", "shard(3)"),
    ),
    "unknown_input": (
        b'{"version": 1, "inputs": {"y": {"0": "replicated"}}}',
        ("'y'", "no input of that name"),
    ),
    "group_of_another_size": (
        b'{"version": 1, "groups": {"0": {"ranks": [0, 1, 2, 3]}}}',
        ("node 'all_gather_into_tensor'",),
    ),
}

# ----------------------------------------------------------------------------
# Zip files
# ----------------------------------------------------------------------------

CENTRAL_ENTRY = b"PK\x01\x02"
END_RECORD = b"PK\x05\x06"


def rename_record(old, new):
    def change(source, target):
        root, records = read_records(source)
        names = {name: (new if name == old else f"{root}/{name}") for name in records}
        with zipfile.ZipFile(target, "w") as archive:
            for name, content in records.items():
                archive.writestr(names[name], content)

    return change


def change_bytes(change):
    def apply(source, target):
        # Written anew: PyTorch's archives state most numbers twice, in records
        # for files above 4 GiB.
        content = bytearray(write_records(target, *read_records(source)).read_bytes())
        target.write_bytes(change(content))

    return apply


def directory_entry(content, record):
    """The offset of a record's entry in the zip file's directory."""
    return content.rindex(CENTRAL_ENTRY, 0, content.rindex(record))


@change_bytes
def lie_about_the_size(content):
    at = directory_entry(content, b"models/model.json")
    (size,) = struct.unpack_from("<I", content, at + 24)
    struct.pack_into("<II", content, at + 20, size + 100_000, size + 100_000)
    return content


@change_bytes
def state_an_enormous_size(content):
    at = directory_entry(content, b"models/model.json")
    struct.pack_into("<II", content, at + 20, 0xFFFFFFF0, 0xFFFFFFF0)
    return content


@change_bytes
def flip_a_bit_of_the_program(content):
    content[content.index(b'"graph_module"') + 3] ^= 1
    return content


@change_bytes
def mark_as_encrypted(content):
    content[directory_entry(content, b"models/model.json") + 8] |= 1
    return content


@change_bytes
def state_an_unknown_method(content):
    at = directory_entry(content, b"models/model.json")
    struct.pack_into("<H", content, at + 10, 93)
    return content


@change_bytes
def state_too_many_entries(content):
    at = content.rindex(END_RECORD)
    struct.pack_into("<HH", content, at + 8, 60_000, 60_000)
    return content


@change_bytes
def point_the_directory_elsewhere(content):
    at = content.rindex(END_RECORD)
    struct.pack_into("<I", content, at + 16, 3)
    return content


def change_stated_size_of_deflated_program(size):
    """A program that inflates to 64 MiB, with another size in the directory."""

    def change(source, target):
        root, records = read_records(source)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in records.items():
                if name == PROGRAM:
                    content += b" " * (64 << 20)
                archive.writestr(f"{root}/{name}", content)
        content = bytearray(target.read_bytes())
        at = directory_entry(content, PROGRAM.encode())
        struct.pack_into("<I", content, at + 24, size)
        target.write_bytes(content)

    return change


def record_twice(source, target):
    root, records = read_records(source)
    write_records(target, root, records)
    with pytest.warns(UserWarning), zipfile.ZipFile(target, "a") as archive:
        archive.writestr(f"{root}/{PROGRAM}", records[PROGRAM])


def flat_archive_of_old_pytorch(source, target):
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("version", "8.5")
        archive.writestr("serialized_exported_program.json", read_records(source)[1][PROGRAM])


ZIPS = {
    "empty_file": (lambda source, target: target.write_bytes(b""), ()),
    "no_zip": (lambda source, target: target.write_text("model: llama\n" * 10), ("zip",)),
    "empty_zip": (lambda source, target: zipfile.ZipFile(target, "w").close(), ("empty",)),
    "first_half": (change_bytes(lambda content: content[: len(content) // 2]), ("zip",)),
    "without_its_last_byte": (change_bytes(lambda content: content[:-1]), ()),
    "second_half": (change_bytes(lambda content: content[len(content) // 2 :]), ()),
    "lie_about_the_size": (lie_about_the_size, (PROGRAM,)),
    "state_an_enormous_size": (state_an_enormous_size, ()),
    "flip_a_bit_of_the_program": (flip_a_bit_of_the_program, (f"record {PROGRAM}", "CRC")),
    "mark_as_encrypted": (mark_as_encrypted, ("encrypted",)),
    "state_an_unknown_method": (state_an_unknown_method, ("compression method 93",)),
    "state_too_many_entries": (state_too_many_entries, ()),
    "point_the_directory_elsewhere": (point_the_directory_elsewhere, ()),
    "inflates_to_more": (
        change_stated_size_of_deflated_program(1000),
        (f"record {PROGRAM}: damaged",),
    ),
    "inflates_to_less": (
        change_stated_size_of_deflated_program(300_000),
        (f"record {PROGRAM}: damaged",),
    ),
    "inflates_to_too_much": (
        change_stated_size_of_deflated_program(0xFFFFFFF0),
        (PROGRAM, "would inflate to 4294967280, by more than a factor of 200"),
    ),
    "record_twice": (record_twice, ("model.json", "twice")),
    "flat_archive_of_old_pytorch": (flat_archive_of_old_pytorch, ("PyTorch 2.7 or older",)),
    "climbs_out": (rename_record(SIDECAR, "a/../../etc/passwd"), ("component '..'",)),
    "absolute_path": (rename_record(SIDECAR, "/etc/passwd"), ("absolute path",)),
    "outside_the_root": (rename_record(SIDECAR, "elsewhere/commute.json"), ("root folder",)),
    "backslash": (rename_record(SIDECAR, "a\\..\\b"), ("backslash",)),
    "control_character": (rename_record(SIDECAR, "a/b\x1b[31m"), ("control character",)),
}

# ----------------------------------------------------------------------------
# The tests
# ----------------------------------------------------------------------------


@pytest.fixture
def fixture(fixtures_folder):
    return fixtures_folder / FIXTURE


@pytest.mark.parametrize("name", RECORDS)
def test_records(name, fixture, tmp_path):
    edit, says = RECORDS[name]
    check_refused(edit_records(fixture, tmp_path / "bad.pt2", edit), tmp_path, says)


@pytest.mark.parametrize("name", SIDECARS)
def test_sidecar(name, fixture, tmp_path):
    text, says = SIDECARS[name]
    archive = edit_records(
        fixture, tmp_path / "bad.pt2", lambda records: records.update({SIDECAR: text})
    )
    check_refused(archive, tmp_path, says)
    if name not in ("group_of_another_size", "dim_out_of_range", "unknown_input"):
        line = commute("show", archive).stderr
        assert f"record {SIDECAR}: " in line


def test_smallest_sidecar(fixture, tmp_path):
    def edit(records):
        records[SIDECAR] = b'{"version": 1}'

    check_accepted(edit_records(fixture, tmp_path / "legal.pt2", edit), tmp_path)


@pytest.mark.parametrize("name", ZIPS)
def test_zip(name, fixture, tmp_path):
    change, says = ZIPS[name]
    archive = tmp_path / "bad.pt2"
    change(fixture, archive)
    check_refused(archive, tmp_path, says)


def test_damaged_weight_is_found_before_anything_is_written(fixture, tmp_path):
    archive = tmp_path / "bad.pt2"
    root, records = read_records(fixture)
    with zipfile.ZipFile(fixture) as zipped:
        start = zipped.getinfo(f"{root}/data/weights/weight_1").header_offset
    content = bytearray(fixture.read_bytes())
    at = content.index(records["data/weights/weight_1"], start)
    content[at + 17] ^= 1
    archive.write_bytes(content)
    target = tmp_path / "out.pt2"
    target.write_bytes(b"what was there")
    process = commute("opt", archive, "-o", target)
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert "CRC" in line
    # The file that was there stays.
    assert target.read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.pt2", "out.pt2"]


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["opt", "{missing}", "-o", "{out}"], "missing.pt2"),
        (["opt", "{fixture}", "-o", "{folder}/no/such/folder/out.pt2"], "no/such/folder"),
        (
            ["opt", "{fixture}", "-o", "{folder}/out.onnx"],
            "the suffix selects the file format: .pt2, .mlir or .mlirbc",
        ),
        (["opt", "{fixture}", "-o", "{out}", "--passes=no-such-pass"], "no-such-pass"),
        (["opt", "{fixture}", "-o", "{out}", "--group=0=0,1,1"], "rank 1 is listed twice"),
        (["opt", "{fixture}", "-o", "{out}", "--group=0"], "expected NAME=RANKS"),
        (["opt", "{fixture}", "-o", "{out}", "--input-placement=(=replicated"], "regular"),
        (["opt", "{fixture}", "-o", "{out}", "--input-placement=q=replicated"], "no input matches"),
        (["opt", "{fixture}", "-o", "{out}", "--assume=s0"], "is not an assumption about sizes"),
        (["opt", "{fixture}", "-o", "{out}", "--rank=-1"], "the rank must not be negative"),
        (["show", "{folder}"], "suffix"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_usage(arguments, says, fixture, tmp_path):
    places = {
        "missing": tmp_path / "missing.pt2",
        "out": tmp_path / "out.pt2",
        "folder": tmp_path,
        "fixture": fixture,
    }
    process = commute(*(argument.format(**places) for argument in arguments))
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert says in line
    assert list(tmp_path.iterdir()) == []
