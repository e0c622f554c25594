# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Inputs made to exhaust time, memory or the stack, and files that are none.

Every command must end in time with a legal exit code and, where it refuses, with a
message that a terminal can show. What only the proof makes grow is not tested here.
"""

import os
import subprocess
import zipfile

import pytest

from commute_tool import IS_SANITIZED, TOOL, commute
from handmade_programs import HandmadeProgram

# In KiB, as ulimit -v takes it.
MEMORY = 4 << 20
SECONDS = 200 if IS_SANITIZED else 20


def run_bounded(*arguments):
    """The finished process, under the limits above; a crash or a hang fails."""
    limit = "unlimited" if IS_SANITIZED else MEMORY
    command = ["bash", "-c", f'ulimit -v {limit}; exec "$@"', "commute", str(TOOL)]
    process = subprocess.run(
        command + [str(argument) for argument in arguments],
        capture_output=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
    )
    assert process.returncode in (0, 1, 2, 4), process.stderr[-2000:]
    errors = process.stderr.decode()
    for line in errors.splitlines():
        assert line.isprintable(), line
    if process.returncode == 2:
        assert "error: " in errors and len(errors) < 5000
    return process


COMMANDS = {
    "show": lambda file, folder: ("show", file),
    "opt": lambda file, folder: ("opt", file, "-o", folder / "out.pt2", "--no-verify"),
    "run": lambda file, folder: ("run", file),
    "estimate": lambda file, folder: ("estimate", file),
}

# ----------------------------------------------------------------------------
# Programs
# ----------------------------------------------------------------------------


def _gathered(sizes, group_size=2, groups=None):
    """A gather along dim 0 that slices and a concatenation move to dim 1."""
    program = HandmadeProgram()
    rows, columns = sizes
    whole = rows * group_size if isinstance(rows, int) else f"Mul({group_size}, {rows})"
    gathered = program.all_gather(program.input("x", sizes), [whole, columns], "0", group_size)
    program.output(program.call("aten.neg.default", {"self": gathered}, [whole, columns]))
    return program, groups


def product_of_sums(count):
    text = "*".join(f"(a{index} + b{index})" for index in range(count))
    return _gathered([text, 4])


def power_of_a_sum(count):
    return _gathered(["*".join(["(a + b + c)"] * count), 4])


def nested(function, depth):
    return _gathered([f"{function}(" * depth + "s0" + ", 2)" * depth, 4])


def one_large_group(size):
    return _gathered([4, 4], size)


def stated_world(size):
    return _gathered([4, 4], size, {"0": list(range(size))})


def mesh_world(first, second, third):
    """Three axes of a mesh, with collectives over each and over two in a row."""
    ranks = range(first * second * third)
    by_axis = {"a": {}, "b": {}, "c": {}}
    for rank in ranks:
        x, y, z = rank // (second * third), rank // third % second, rank % third
        by_axis["a"].setdefault((y, z), []).append(rank)
        by_axis["b"].setdefault((x, z), []).append(rank)
        by_axis["c"].setdefault((x, y), []).append(rank)
    groups = {name: list(members.values()) for name, members in by_axis.items()}
    sizes = {"a": first, "b": second, "c": third}
    program = HandmadeProgram()
    value = program.input("x", [8, 8])
    for _ in range(20):
        for name in groups:
            value = program.all_reduce(value, name)
            value = program.call("aten.relu.default", {"self": value}, [8, 8])
    rows = 8
    for name in groups:
        rows *= sizes[name]
        value = program.all_gather(value, [rows, 8], name, sizes[name])
    program.output(value)
    return program, groups


def many_names(count, groups):
    program = HandmadeProgram()
    value = program.input("x", [8])
    for index in range(count):
        size = 8 << (index + 1)
        value = program.all_gather(value, [size], f"g{index}", 2) if index < 3 else value
        value = program.all_reduce(value, f"g{index % 3}")
    program.output(value)
    return program, groups


def growing_gathers(count):
    program = HandmadeProgram()
    size = 8
    value = program.input("x", [size])
    for _ in range(count):
        size *= 8
        value = program.all_gather(value, [size], "0", 8)
    program.output(value)
    return program, {"0": list(range(8))}


def doubling_concatenations(count):
    program = HandmadeProgram()
    size = 8
    value = program.input("x", [size])
    for _ in range(count):
        size *= 2
        value = program.call("aten.cat.default", {"tensors": [value, value]}, [size])
    program.output(value)
    return program, None


def large_constant(size):
    program = HandmadeProgram()
    full = program.call("aten.full.default", {"size": [size, size], "fill_value": 1.0}, [size] * 2)
    lower = program.call("aten.tril.default", {"self": full}, [size, size])
    program.output(program.call("aten.sum.default", {"self": lower}, []))
    return program, None


def many_users(count):
    program = HandmadeProgram()
    gathered = program.all_gather(program.input("x", [8, 8]), [16, 8], "0", 2)
    weight = program.input("w", [8, 8])
    for _ in range(count):
        arguments = {"self": gathered, "mat2": weight}
        program.output(program.call("aten.mm.default", arguments, [16, 8]))
    return program, {"0": [0, 1]}


PROGRAMS = {
    "product_of_14_sums": lambda: product_of_sums(14),
    "product_of_40_sums": lambda: product_of_sums(40),
    "power_of_a_sum": lambda: power_of_a_sum(60),
    "nested_quotients": lambda: nested("FloorDiv", 90),
    "nested_remainders": lambda: nested("Mod", 90),
    "nested_beyond_reading": lambda: nested("FloorDiv", 20000),
    "group_of_a_million": lambda: one_large_group(10**6),
    "group_too_large": lambda: one_large_group(2**40),
    "group_of_nobody": lambda: one_large_group(0),
    "world_of_5000": lambda: stated_world(5000),
    "world_of_20000": lambda: stated_world(20000),
    "mesh_of_4096": lambda: mesh_world(16, 16, 16),
    "mesh_of_16384": lambda: mesh_world(64, 32, 8),
    "three_unstated_names": lambda: many_names(3, None),
    "three_names_of_one_group": lambda: many_names(3, {f"g{i}": [0, 1] for i in range(3)}),
    "names_in_other_orders": lambda: many_names(3, {f"g{i}": [i % 2, 1 - i % 2] for i in range(3)}),
    "growing_gathers": lambda: growing_gathers(20),
    "doubling_concatenations": lambda: doubling_concatenations(40),
    "large_constant": lambda: large_constant(1 << 15),
    "many_users": lambda: many_users(5000),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, command, tmp_path):
    program, groups = PROGRAMS[name]()
    archive = program.write(tmp_path / "hostile.pt2", groups)
    run_bounded(*COMMANDS[command](archive, tmp_path))


def test_world_too_large_to_run(tmp_path):
    program, groups = stated_world(5000)
    archive = program.write(tmp_path / "large.pt2", groups)
    process = run_bounded("run", archive)
    assert process.returncode == 2
    assert b"5000 ranks; up to 256 run as threads" in process.stderr
    program, groups = stated_world(8)
    assert run_bounded("run", program.write(tmp_path / "small.pt2", groups)).returncode == 0


def test_ranks_of_large_groups_are_abbreviated(tmp_path):
    program, groups = stated_world(20000)
    archive = program.write(tmp_path / "large.pt2", groups)
    shown = run_bounded("show", archive).stdout
    assert b"0: ranks 0-19999" in shown and len(shown) < 2000
    module = run_bounded("opt", archive, "-o", "-", "--quiet", "--no-verify").stdout
    assert b'#tp.group<"0", [0 to 19999]>' in module and len(module) < 4000
    # The text can be read again.
    text = tmp_path / "large.mlir"
    text.write_bytes(module)
    assert run_bounded("show", text).returncode == 0


# ----------------------------------------------------------------------------
# Names
# ----------------------------------------------------------------------------

CONTROLS = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "carriage_return": "safe\rhidden",
    "delete": "a\x7f",
    "latin_controls": "\x9b2J",
    "backspaces": "a\b\b\b",
}


@pytest.mark.parametrize("command", ["show", "opt", "run", "estimate", "verify"])
@pytest.mark.parametrize("form", CONTROLS)
def test_control_characters(form, command, tmp_path):
    name = "n" + CONTROLS[form]
    program = HandmadeProgram()
    reduced = program.all_reduce(program.input("x" + name, [8]), "g" + name)
    called = program.call(
        f"mylib.f{name}.default",
        {"x": reduced},
        [8],
        name=name,
        stack_trace=f'File "{name}", line 1, in forward',
    )
    program.output(called)
    archive = program.write(tmp_path / "named.pt2", {"g" + name: [0, 1]})
    arguments = ("verify", archive, archive)
    if command != "verify":
        arguments = COMMANDS[command](archive, tmp_path)
    process = run_bounded(*arguments)
    for output in (process.stdout, process.stderr):
        text = output.decode()
        assert not any(not c.isprintable() and c not in "\n\t" for c in text), text


def test_letters_beyond_ascii_stay(tmp_path):
    program = HandmadeProgram()
    program.output(program.call("mylib.größe.default", {"x": program.input("x", [8])}, [8]))
    archive = program.write(tmp_path / "named.pt2")
    assert "mylib.größe" in run_bounded("show", archive).stdout.decode()


# ----------------------------------------------------------------------------
# Files that are none
# ----------------------------------------------------------------------------


def _link_to_zeros(path):
    path.symlink_to("/dev/zero")


FILES = {
    "endless": _link_to_zeros,
    "folder": lambda path: path.mkdir(),
    "pipe_without_writer": os.mkfifo,
    "missing": lambda path: None,
    "empty": lambda path: path.touch(),
    "huge": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 16),
    "unfinished_text": lambda path: path.write_bytes(b'func.func @main "x\\'),
}
OPTIONS = {
    "in.pt2": lambda file, legal: ("show", file),
    "in.mlir": lambda file, legal: ("show", file),
    "vocabulary.json": lambda file, legal: ("show", legal, f"--vocabulary={file}"),
    "target.json": lambda file, legal: ("estimate", legal, f"--target={file}"),
    "inputs.safetensors": lambda file, legal: ("run", legal, f"--inputs={file}"),
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", FILES)
def test_file(kind, option, tmp_path):
    program, groups = stated_world(2)
    legal = program.write(tmp_path / "legal.pt2", groups)
    file = tmp_path / option
    FILES[kind](file)
    process = run_bounded(*OPTIONS[option](file, legal))
    # An empty module is a module.
    if option == "in.mlir" and kind in ("empty", "pipe_without_writer"):
        return
    assert process.returncode == 2
    assert str(file).encode() in process.stderr


def test_bad_target_inside_passes(tmp_path):
    program, groups = stated_world(2)
    legal = program.write(tmp_path / "legal.pt2", groups)
    for target in ("nowhere", tmp_path / "missing.json"):
        passes = f"--passes=micro-pipeline{{target={target}}}"
        process = run_bounded("opt", legal, "-o", tmp_path / "out.pt2", passes)
        assert process.returncode == 2
        assert str(target).encode() in process.stderr
    passes = "--passes=micro-pipeline{target=b200x8}"
    assert run_bounded("opt", legal, "-o", tmp_path / "out.pt2", passes).returncode == 0


# ----------------------------------------------------------------------------
# Archives that inflate
# ----------------------------------------------------------------------------


def _write_deflated(path, content):
    program, groups = stated_world(2)
    program.write(path, groups)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for index, record in enumerate(content):
            archive.writestr(f"model/extra/zeros_{index}", record)
    return path


def test_inflation(tmp_path):
    archive = _write_deflated(tmp_path / "zeros.pt2", [bytes(16 << 20)])
    process = run_bounded("show", archive)
    assert process.returncode == 2
    assert b"more than a factor of 200 (--max-inflation=FACTOR" in process.stderr
    assert run_bounded("show", archive, "--max-inflation=2000").returncode == 0
    few = _write_deflated(tmp_path / "few.pt2", [bytes(1 << 20)] * 3)
    assert run_bounded("show", few).returncode == 0
    process = run_bounded("show", few, f"--max-inflated-bytes={2 << 20}")
    assert process.returncode == 2
    assert b"more than 2097152 bytes (--max-inflated-bytes=N" in process.stderr


# ----------------------------------------------------------------------------
# Regular expressions
# ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{100}){100}){100}",
        "(x{999}){999}",
        "((((x{0,200}){0,200}){0,200}){0,200})",
        r"(x|xx)*\1\1\1y",
        "x" * 2000,
        "(" * 500 + "x" + ")" * 500,
    ],
)
def test_hostile_pattern(pattern, tmp_path):
    program = HandmadeProgram()
    program.output(program.all_reduce(program.input("x" * 200, [8]), "0"))
    archive = program.write(tmp_path / "named.pt2", {"0": [0, 1]})
    process = run_bounded("show", archive, f"--input-placement={pattern}=replicated")
    assert process.returncode == 2


@pytest.mark.parametrize("pattern", ["x{200}", "(x+x+)+", "(x|xx)*", "((x*)*)*", "x.{10,255}"])
def test_legal_pattern_in_linear_time(pattern, tmp_path):
    program = HandmadeProgram()
    program.output(program.all_reduce(program.input("x" * 200, [8]), "0"))
    archive = program.write(tmp_path / "named.pt2", {"0": [0, 1]})
    process = run_bounded("show", archive, f"--input-placement={pattern}=replicated")
    assert process.returncode == 0


# ----------------------------------------------------------------------------
# Text of modules
# ----------------------------------------------------------------------------

DEEP = 100_000
MAIN = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{ return %x : tensor<4xf32>{0} }}"

NESTED = {
    "locations": MAIN.format(" loc(" + "fused[" * DEEP + "unknown" + "]" * DEEP + ")"),
    "call_sites": MAIN.format(" loc(" + 'callsite("a" at ' * DEEP + "unknown" + ")" * DEEP + ")"),
    "names": MAIN.format(" loc(" + '"a"(' * DEEP + "unknown" + ")" * DEEP + ")"),
    "lists": "module attributes {a = " + "[" * DEEP + "]" * DEEP + "} {}",
    "dictionaries": "module attributes {a = " + "{a = " * DEEP + "1" + "}" * DEEP + "} {}",
    "types": "module attributes {a = " + "tuple<" * DEEP + "f32" + ">" * DEEP + "} {}",
    "functions": "module attributes {a = " + "(" * DEEP + ")" * DEEP + "} {}",
    "modules": "module {" * DEEP + "}" * DEEP,
    "maps": f"module attributes {{a = affine_map<(d) -> ({'(' * DEEP}d{')' * DEEP})>}} {{}}",
    "signs": f"module attributes {{a = affine_map<(d) -> ({'-' * DEEP}d)>}} {{}}",
    "sums": f"module attributes {{a = affine_map<(d) -> (d{' + d' * DEEP})>}} {{}}",
    "quotients": f"module attributes {{a = affine_map<(d) -> (d{' floordiv 2' * DEEP})>}} {{}}",
    "compared": "module attributes {a = "
    + "[affine_set<(d) : (d >= 0)>, " * DEEP
    + "]" * DEEP
    + "} {}",
    "sizes": "func.func @main(%x: tensor<?xf32, #tp.layout<[s] sizes = ["
    + "(" * DEEP
    + "s"
    + ")" * DEEP
    + "]>>) { return }",
}


@pytest.mark.parametrize("form", NESTED)
def test_nested_text(form, tmp_path):
    text = tmp_path / "nested.mlir"
    text.write_text(NESTED[form])
    for command in (("show", text), ("opt", text, "-o", "-"), ("verify", text, text)):
        process = run_bounded(*command)
        assert process.returncode == 2
        assert str(text).encode() in process.stderr


BRACKETS_IN_STRINGS = MAIN.format(' loc("' + "[({<" * 1000 + '")')


def test_brackets_in_strings_do_not_nest(tmp_path):
    text = tmp_path / "legal.mlir"
    text.write_text(f"// {'(' * 1000}\n{BRACKETS_IN_STRINGS}")
    assert run_bounded("show", text).returncode == 0


def _module(attributes="", argument="", result=""):
    return (
        f"module {attributes} {{ func.func @main(%x: tensor<4xf32> {argument})"
        f" -> tensor<4xf32> {{ %0 = tp.map neg(%x) {result} : (tensor<4xf32>) -> tensor<4xf32>"
        " return %0 : tensor<4xf32> } }"
    )


ATTRIBUTES = {
    "groups_of_anything": _module('attributes {tp.groups = [3, "x", #tp.group<"0", [0, 1]>]}'),
    "groups_are_a_number": _module("attributes {tp.groups = 3}"),
    "group_without_members": _module('attributes {tp.groups = [#tp.group<"0", []>]}'),
    "group_of_negative_size": _module('attributes {tp.groups = [#tp.group<"0", size = -2>]}'),
    "rank_is_text": _module('attributes {tp.rank = "zero"}'),
    "rank_is_negative": _module("attributes {tp.rank = -1 : i64}"),
    "rank_is_narrow": _module("attributes {tp.rank = 1 : i8}"),
    "assumptions_are_numbers": _module("attributes {tp.assumptions = [3]}"),
    "assumption_is_none": _module('attributes {tp.assumptions = ["s0 is even"]}'),
    "hints_are_a_list": _module("attributes {tp.symbol_hints = [3]}"),
    "hint_is_text": _module('attributes {tp.symbol_hints = {s0 = "8"}}'),
    "hint_is_wide": _module("attributes {tp.symbol_hints = {s0 = 8 : i128}}"),
    "name_is_a_number": _module(argument="{tp.name = 3}"),
    "kind_is_a_list": _module(argument="{tp.kind = []}"),
    "parameter_is_a_number": _module(argument="{tp.parameter = 3}"),
    "placements_are_a_list": _module(argument="{tp.placements = []}"),
    "placement_is_text": _module(argument='{tp.placements = {"0" = "replicated"}}'),
    "placement_of_no_dim": _module(argument='{tp.placements = {"0" = #tp.placement<shard(7)>}}'),
    "names_are_numbers": _module(result="{tp.names = [3]}"),
    "too_many_names": _module(result='{tp.names = ["a", "b"]}'),
    "no_names": _module(result="{tp.names = []}"),
    "target_is_a_number": _module(result="{tp.target = 3}"),
}


@pytest.mark.parametrize("form", ATTRIBUTES)
def test_bad_attribute(form, tmp_path):
    text = tmp_path / "bad.mlir"
    text.write_text(ATTRIBUTES[form])
    for command in ("show", "run", "estimate"):
        process = run_bounded(command, text)
        assert process.returncode == 2
        assert b"bad.mlir: 1:" in process.stderr


def test_good_attributes(tmp_path):
    text = tmp_path / "good.mlir"
    text.write_text(
        _module(
            'attributes {tp.groups = [#tp.group<"0", [0, 1]>], tp.rank = 1 : i64,'
            ' tp.assumptions = ["s0 >= 2"], tp.symbol_hints = {s0 = 8 : i64}}',
            '{tp.name = "x", tp.kind = "user_input",'
            ' tp.placements = {"0" = #tp.placement<shard(0)>}}',
            '{tp.names = ["y"], tp.target = "torch.ops.aten.neg.default"}',
        )
    )
    assert commute("show", text).returncode == 0
    assert commute("run", text).returncode == 0
