# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Every command in the documentation runs in a fresh shell and prints what the page shows,
links lead somewhere, and Python code compiles.

The shell has what `make demo` leaves: the folder .venv/bin on its PATH, and nothing else of
this environment. A console block after `<!-- not run: REASON -->` is not run. Lines without
`$` are expected output, in which `...` stands for any lines, or for any part of a line. A
comment that begins with `exit code N` states an exit code other than 0.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commute_tool import BUILD, REPOSITORY

PAGES = sorted(
    [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]
    + [path for path in (REPOSITORY / "docs").rglob("*.md") if path.parent.name != "reference"]
)
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>.*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```",
    re.DOTALL,
)
# A small Llama in place of the reader's.
CONFIGURATION = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 1,
    "vocab_size": 128,
    "max_position_embeddings": 128,
}
# "where `model.py` is", and its text.
FILE = re.compile(r"`(\w+\.py)` is\n\n```python\n(.*?)```", re.DOTALL)
# Of captures, which take seconds for each rank; tests/newcomer runs them as printed.
SMALLER = {"--tp 8": "--tp 2", "--layers 2": "--layers 1"}
VOCABULARY = {
    "version": 1,
    "operators": {
        "torch.ops.mylib.rms_norm.default": {
            "same_as": "torch.ops.tensor_cast.rms_norm.default",
            "arguments": {"weight": "gamma"},
        }
    },
}


def name(page):
    return str(page.relative_to(REPOSITORY))


def blocks(page, language):
    return [match for match in BLOCK.finditer(page.read_text()) if match["language"] == language]


def commands(text):
    """[(command, its exit code, its expected output)] of a console block."""
    found = []
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            command, _, comment = line[2:].partition("  #")
            stated = re.search(r"exit code (\d)", comment)
            found.append((command.rstrip(), int(stated[1]) if stated else 0, []))
        elif found:
            found[-1][2].append(line)
    return found


def matches(expected, shown):
    """Whether the lines are those, `...` being any lines, or anything within a line."""

    def pattern_of(line):
        return ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n"

    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else pattern_of(line) for line in expected
    )
    return re.fullmatch(pattern, shown if shown.endswith("\n") else shown + "\n")


@pytest.fixture(scope="module")
def fresh_shell():
    """The environment of a shell after `make demo`."""
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C.UTF-8"}
    ask = "import commute, os; print(os.path.dirname(os.path.dirname(commute.__file__)))"
    process = subprocess.run(
        ["python", "-c", ask], env=environment, cwd="/", capture_output=True, text=True
    )
    if process.stdout.strip() != str(BUILD / "python"):
        pytest.fail(
            f"{sys.prefix} does not have the package of {BUILD}, which make test puts there:"
            f" {sys.executable} build_tools/link_package.py {BUILD}"
        )
    return environment


@pytest.fixture(scope="module")
def captured(tmp_path_factory, fresh_shell):
    """The small model captured once, by the command of docs/capture.md."""
    folder = tmp_path_factory.mktemp("captured")
    (folder / "config.json").write_text(json.dumps(CONFIGURATION))
    command = "python -m commute.capture transformers:config.json --tp 8 --seq 128 -o out"
    assert command in (REPOSITORY / "docs" / "capture.md").read_text()
    run(command, folder, fresh_shell)
    return command, folder / "out"


@pytest.fixture
def reader(tmp_path, captured, fixtures_folder):
    """A folder with the files that the pages speak of."""
    for entry in ("examples", "test", "build_tools"):
        (tmp_path / entry).symlink_to(REPOSITORY / entry)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "release").symlink_to(BUILD)
    (tmp_path / "config.json").write_text(json.dumps(CONFIGURATION))
    (tmp_path / "mylib.json").write_text(json.dumps(VOCABULARY))
    shutil.copy(fixtures_folder / "llama_tp2.pt2", tmp_path / "model.pt2")
    shutil.copy(fixtures_folder / "llama_tp2_dynamic.pt2", tmp_path / "dynamic.pt2")
    shutil.copytree(captured[1], tmp_path / "out")
    return tmp_path


def run(command, folder, environment, code=0):
    for old, new in SMALLER.items():
        command = command.replace(old, new)
    # `commute calibrate` writes there.
    environment = {**environment, "XDG_CONFIG_HOME": str(folder)}
    process = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == code, f"{command}\n{process.stdout}{process.stderr}"
    return process.stdout


@pytest.mark.in_process
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=name)
def test_commands(page, reader, captured, fresh_shell):
    for file, text in FILE.findall(page.read_text()):
        (reader / file).write_text(text)
    for block in blocks(page, "console"):
        assert commands(block["text"]), f"a block without commands: {block['text']}"
        if block["reason"]:
            continue
        for command, code, expected in commands(block["text"]):
            if command == captured[0]:
                continue
            shown = run(command, reader, fresh_shell, code)
            if expected:
                assert matches(expected, shown), f"{command}\n{shown}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_code_compiles(page):
    for block in blocks(page, "python"):
        ast.parse(block["text"])


def anchors(page):
    """Those of its headings, as GitHub and MkDocs make them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", [*PAGES, REPOSITORY / "examples" / "README.md"], ids=name)
def test_links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{name(page)}: there is no {target}"
        if anchor:
            assert anchor in anchors(path), f"{name(page)}: {target} has no heading #{anchor}"


def test_every_page_is_in_the_site():
    listed = re.findall(r"[\w/-]+\.md", (REPOSITORY / "mkdocs.yml").read_text())
    pages = {
        str(path.relative_to(REPOSITORY / "docs")) for path in (REPOSITORY / "docs").rglob("*.md")
    }
    assert sorted(listed) == sorted(pages)


LIBRARIES = sorted(path.parent for path in (REPOSITORY / "lib").glob("*/CMakeLists.txt"))


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.name)
def test_every_source_is_named_on_a_page(library):
    pages = "\n".join(path.read_text() for path in (REPOSITORY / "docs").rglob("*.md"))
    named = set(re.findall(r"\w+", pages))
    public = REPOSITORY / "include" / "commute" / library.name
    files = [*library.rglob("*.cpp"), *library.rglob("*.h"), *public.rglob("*.h")]
    missing = sorted({path.stem for path in files} - named)
    assert not missing, f"`make docs` lists them: {missing}"


def test_switches_over_scalar_functions_are_listed():
    page = (REPOSITORY / "docs" / "extending.md").read_text()
    step = page[page.index("exhaustive switches") : page.index("A missing case")]
    for path in (REPOSITORY / "lib" / "Equivalence").glob("*.cpp"):
        uses = "ScalarFunctions.def" in path.read_text()
        assert uses == (f"`{path.name}`" in step), path.name


def test_dependencies_of_libraries_are_as_the_architecture_shows_them():
    page = (REPOSITORY / "docs" / "architecture.md").read_text()
    shown = {
        library: set(filter(None, uses.split(", ")))
        for library, uses in re.findall(r"^\| `(\w+)` \| ([\w, ]*?) ?\|", page, re.MULTILINE)
    }
    linked = {}
    for library in LIBRARIES:
        text = (library / "CMakeLists.txt").read_text()
        words = re.findall(r"\bCommute(\w+)", text[text.index("LINK") :])
        others = {path.name for path in LIBRARIES} - {library.name}
        linked[library.name] = set(words) & others
    assert shown == linked
