# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Mistakes at the command line, and the output of --json."""

import json
import struct
import zipfile

import jsonschema
import pytest

from commute_tool import REPOSITORY, commute, succeed

FIXTURES = REPOSITORY / "test" / "fixtures"
LLAMA = FIXTURES / "llama_tp2.pt2"
COLLECTIVES = FIXTURES / "every_collective_tp4.pt2"
SCHEMAS = REPOSITORY / "docs" / "schemas"

# Arguments, where {a} is an archive, {t} an empty folder and {x} its file; and what the
# first line of the message says.
MISTAKES = [
    # Commands.
    ("", "usage: commute COMMAND"),
    ("shwo {a}", "no command 'shwo' (did you mean 'show'?)"),
    ("optimize {a}", "no command 'optimize'"),
    ("est {a}", "no command 'est' (did you mean 'estimate'?)"),
    ("Verify {a} {a}", "no command 'Verify' (did you mean 'verify'?)"),
    ("{a}", "no command '{a}'; 'commute help' lists the commands"),
    ("--json show {a}", "'--json' is given before any command"),
    ("-v", "'-v' is given before any command"),
    ("help frobnicate", "no command 'frobnicate'"),
    ("help opt show", "'show' is one argument too many"),
    ("manual optt", "no command 'optt' (did you mean 'opt'?)"),
    ("completion tcsh", "expected bash, zsh or fish"),
    ("completion", "expected bash|zsh|fish, but nothing is given"),
    # Missing, superfluous and empty arguments.
    ("show", "show: expected IN, but nothing is given"),
    ("opt", "opt: expected IN, but nothing is given"),
    ("opt -o {x}", "opt: expected IN, but nothing is given"),
    ("opt {a}", "opt: '-o OUT' is missing: Output file"),
    ("opt {a} -o", "opt: '-o' needs a value: -o OUT"),
    ("opt {a} -o=", "opt: '-o' has an empty value; expected -o OUT"),
    ("show {a} {a}", "is one argument too many; expected only IN"),
    ("passes more", "'more' is one argument too many; the command takes none"),
    ("verify", "verify: expected "),
    ("verify {a}", "there is no program to compare it with; expected A B"),
    ("diff {a}", "there is no graph to compare it with; expected A B"),
    ("explain", "explain: expected IN"),
    ("show {a} --group", "'--group' needs a value: --group=NAME=RANKS"),
    ("show {a} --rank --json", "'--rank' needs a value: --rank=R"),
    ("show {a} --group=", "'--group' has an empty value"),
    # Options.
    ("opt {a} -o {x} --polcy=always", "no option '--polcy' (did you mean '--policy'?)"),
    ("opt {a} -o {x} --noverify", "no option '--noverify' (did you mean '--no-verify'?)"),
    ("opt {a} -o {x} --trace=t.json", "no option '--trace'; it is an option of estimate"),
    ("show {a} --passes=micro-pipeline", "no option '--passes'; it is an option of opt, explain"),
    ("show {a} --frobnicate", "show: there is no option '--frobnicate'"),
    ("show {a} -j", "show: there is no option '-j'"),
    ("show {a} --json=yes", "'--json' takes no value, but 'yes' is given"),
    ("show {a} --json --json", "'--json' is given twice"),
    ("opt {a} -o {x} -o {x}", "'-o' is given twice"),
    ("run {a} --seed=1 --seed=2", "'--seed' is given twice"),
    # Values.
    ("run {a} --seed=x", "--seed=x: expected a number from 0 up"),
    ("run {a} --ranks=two", "--ranks=two: expected a number"),
    ("run {a} --ranks=3", "--ranks=3: the groups of the graph have 2 ranks"),
    ("run {a} --repeat=0", "--repeat=0: expected a number from 1"),
    ("run {a} --weights=mine", "--weights=mine: expected archive or seeded"),
    ("verify {a} {a} --precision=exact", "--precision=exact: expected algebraic or strict"),
    ("verify {a} {a} --proof-time=soon", "--proof-time=soon: expected a time such as 500ms"),
    ("opt {a} -o {x} --proof-memory=4G", "--proof-memory=4G: expected a size such as 512MiB"),
    ("opt {a} -o {x} --policy=upstream", "--policy=upstream: expected always or profitable"),
    ("opt {a} -o {x} --target=h100", "unknown target 'h100'; known targets are h100x8"),
    ("estimate {a} --target=mine.json", "mine.json: No such file"),
    ("estimate {a} --size=s0=8", "has no symbolic size 's0'; all of its sizes are numbers"),
    ("explain {a} --pass=fuse", "--pass=fuse: there is no such pass; expected normalize-"),
    (
        "explain {a} --pass=split-liner",
        "--pass=split-liner: there is no such pass (did you mean 'split-linear'?); expected",
    ),
    ("explain {a} --why=allreduce", "similar nodes: all_reduce"),
    # Passes.
    ("opt {a} -o {x} --passes=micropipeline", "(did you mean 'micro-pipeline'?)"),
    ("opt {a} -o {x} --passes=micro-pipeline{{foo=1}}", "micro-pipeline: there is no option 'foo'"),
    ("opt {a} -o {x} --passes=micro-pipeline{{margin=x}}", "expected a value such as 0.05"),
    ("opt {a} -o {x} --passes=lower-collectives{{x=1}}", "the pass has no options"),
    ("opt {a} -o {x} --passes=split-linear{{policy=all}}", "unknown policy 'all'; expected always"),
    ("opt {a} -o {x} --passes=split-linear{{margin=1", "missing closing '}'"),
    # What is stated about the program.
    ("show {a} --group=tp=0-1", "the program has no such group; its groups are '0'"),
    ("show {a} --group=0", "expected NAME=RANKS"),
    ("show {a} --input-placement=q=replicated", "no input matches"),
    ("show {a} --assume=s0", "is not an assumption about sizes"),
    # Files.
    ("show {t}/missing.pt2", "missing.pt2"),
    ("show {t}/model.onnx", "the suffix selects the file format: .pt2, .mlir or .mlirbc"),
    ("opt {a} -o {t}/out.onnx", "the suffix selects the file format"),
    ("opt {a} -o {t}/no/out.pt2", "no/out.pt2"),
    ("opt {t}/copy.pt2 -o {t}/copy.pt2", "this would overwrite the input; --force allows it"),
    ("opt {t}/copy.pt2 -o {t}/../{name}/copy.pt2", "this would overwrite the input"),
    ("estimate {t}/copy.pt2 --trace={t}/copy.pt2", "this would overwrite the input"),
    ("show {t}/checkpoint.pt2", "a checkpoint of torch.save, which holds tensors but no graph"),
    ("show {t}/old.pt", "a checkpoint of torch.save, which holds tensors but no graph"),
    ("show {t}/script.pt", "a TorchScript archive of torch.jit.save"),
    ("show {t}/model.safetensors", "a safetensors file, which holds tensors but no graph"),
]  # fmt: skip

LLVM_PHRASES = (
    "must be specified", "Pass-Options-Parser", "positional argument", "Unknown command line",
    "value invalid for", "Cannot find option", "SUBCOMMAND", "may only occur",
)  # fmt: skip


def write_zip(path, *names):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(f"{path.stem}/{name}", b"0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "copy.pt2").write_bytes(LLAMA.read_bytes())
    write_zip(folder / "checkpoint.pt2", "data.pkl", "data/0", "version")
    write_zip(folder / "script.pt", "data.pkl", "code/__torch__.py", "constants.pkl", "version")
    (folder / "old.pt").write_bytes(b"\x80\x02" + b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19." + bytes(64))
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"0000")
    return folder


def test_at_least_sixty_mistakes():
    assert len({arguments for arguments, _ in MISTAKES}) == len(MISTAKES) >= 60


@pytest.mark.parametrize("arguments, says", MISTAKES, ids=lambda text: text)
def test_mistake(arguments, says, folder):
    places = {"a": LLAMA, "t": folder, "x": folder / "out.pt2", "name": folder.name}
    before = {path: path.read_bytes() for path in folder.iterdir()}
    process = commute(*(argument.format(**places) for argument in arguments.split()))
    assert process.returncode == 2, process.stdout
    assert process.stdout == ""
    assert says.replace("{a}", str(LLAMA)) in process.stderr
    assert not any(phrase in process.stderr for phrase in LLVM_PHRASES), process.stderr
    # A message, and for bad usage a line on how the command is used.
    if arguments:
        assert process.stderr.startswith("commute: error: ")
        assert len(process.stderr.splitlines()) <= 2, process.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_overwriting_by_force(tmp_path):
    copy = tmp_path / "copy.pt2"
    copy.write_bytes(LLAMA.read_bytes())
    succeed("opt", copy, "-o", copy, "--force", "--quiet", "--no-verify")
    assert commute("show", copy).returncode == 0


# ----------------------------------------------------------------------------
# Schemas
# ----------------------------------------------------------------------------

ORDER = REPOSITORY / "test/Tools/Inputs/order-a.mlir"
# Several programs in one file, as split-file takes it.
REFINEMENT = REPOSITORY / "test/Equivalence/refinement.mlir"
JSON_OUTPUTS = {
    "show": [["show", LLAMA], ["show", COLLECTIVES], ["show", FIXTURES / "llama_tp2_dynamic.pt2"]],
    "opt": [["opt", FIXTURES / "llama_transposed_gather_tp2.pt2", "-o", "{out}"],
            ["opt", LLAMA, "-o", "{out}", "--policy=always", "--no-verify"]],
    "verify": [["verify", LLAMA, LLAMA, "--show-sizes"], ["verify", ORDER, "{wrong}"],
               ["verify", LLAMA, LLAMA, "--whole", "--proof-time=0s"]],
    "verify-reference": [["verify", "--reference={reference}", "{good}", "--show-relations"],
                         ["verify", "--reference={reference}", "{bad}"],
                         ["verify", "--reference={reference}", "{good}", "--proof-memory=1KiB"]],
    "run": [["run", LLAMA]],
    "estimate": [["estimate", LLAMA], ["estimate", FIXTURES / "llama_tp2_dynamic.pt2"]],
    "explain": [["explain", LLAMA], ["explain", COLLECTIVES],
                ["explain", REPOSITORY / "test/Tools/Inputs/opaque-scale.mlir"],
                ["explain", REPOSITORY / "test/Tools/Inputs/uneven-rows.mlir"],
                ["explain", COLLECTIVES, "--why=all_gather_into_tensor_1"]],
    "diff": [["diff", LLAMA, LLAMA], ["diff", LLAMA, FIXTURES / "llama_tp4.pt2"]],
    "passes": [["passes"]],
    "target": [["targets", "h100x8"]],
    "targets": [["targets"]],
    "vocabularies": [["vocabularies"], ["vocabularies", "vllm", "tensorrt-llm"]],
    "vocabulary": [["vocabularies", "vllm"], ["vocabularies", "tensorrt-llm"]],
}  # fmt: skip


def find_unknown_keys(value, schema, place="$"):
    """Keys that the schema does not describe."""
    for branch in schema.get("anyOf", ()):
        yield from find_unknown_keys(value, branch, place)
    if isinstance(value, list) and "items" in schema:
        for entry in value:
            yield from find_unknown_keys(entry, schema["items"], place + "[]")
    if isinstance(value, dict) and "properties" in schema:
        for key, entry in value.items():
            if key not in schema["properties"]:
                yield f"{place}.{key}"
            else:
                yield from find_unknown_keys(entry, schema["properties"][key], f"{place}.{key}")


@pytest.mark.parametrize("name", JSON_OUTPUTS)
def test_schema(name, tmp_path):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    places = {"out": tmp_path / "out.pt2", "wrong": tmp_path / "wrong.mlir"}
    places["wrong"].write_text(ORDER.read_text().replace("exp", "neg"))
    for part in REFINEMENT.read_text().split("//--- ")[1:]:
        file, _, content = part.partition("\n")
        places[file.partition(".")[0]] = tmp_path / file
        (tmp_path / file).write_text(content)
    for arguments in JSON_OUTPUTS[name]:
        process = commute(*(str(argument).format(**places) for argument in arguments), "--json")
        assert process.returncode in (0, 1, 4), process.stderr
        output = json.loads(process.stdout)
        validator.validate(output)
        assert set(find_unknown_keys(output, schema)) == set()


def test_each_command_has_a_schema():
    commands = {name.removesuffix(".json") for name in (path.name for path in SCHEMAS.iterdir())}
    assert commands == set(JSON_OUTPUTS)
    for name in commands - {"target", "verify-reference", "vocabulary"}:
        assert "--json" in succeed("help", name)
