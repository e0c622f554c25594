#!/usr/bin/env python3
# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Writes the pages of docs/reference that are made from the sources: sources.md, which names
every file of every library, and attributes.md, which names who writes and who reads each
attribute of the tp dialect.

    build_tools/source_pages.py FOLDER
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
NOTE = "<!-- Made by build_tools/source_pages.py (make docs). Do not edit. -->\n"
# Lowest first, as in docs/architecture.md.
LIBRARIES = [
    "Support", "Dialect", "Report", "Archive", "Analysis", "Target", "Vocabulary", "Transforms",
    "Equivalence", "Runtime", "ReportPage", "Compiler", "Refinement", "Calibration",
]  # fmt: skip
# "//===- Json.h - JSON with its bytes ---*- C++ -*-===//", often cut at 80 columns.
HEAD = re.compile(r"//===- \S+ - (.*)")


def summary(path):
    """What the first line of a file says of it."""
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    found = HEAD.match(first)
    if not found:
        sys.exit(f"{path}: its first line must be //===- {path.name} - what it is ---===//")
    return re.split(r" *-*\*- ", found[1])[0].rstrip("-=/ ")


def sources(folder, suffixes):
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes)


def library_table(library):
    """One row for a header and the source file of the same name."""
    rows = defaultdict(list)
    for root in (REPOSITORY / "include" / "commute" / library, REPOSITORY / "lib" / library):
        for path in sources(root, {".h", ".cpp", ".td", ".def"}):
            rows[path.relative_to(root).with_suffix("")].append((root.parts[-2] != "lib", path))
    lines = ["| file | what it is |", "|---|---|"]
    for name in sorted(rows):
        paths = [path for _, path in rows[name]]
        suffixes = ", ".join(dict.fromkeys(path.suffix for path in paths))
        public = any(is_public for is_public, _ in rows[name])
        lines.append(
            f"| {'**' if public else ''}`{name}`{'**' if public else ''} {suffixes} |"
            f" {summary(paths[0]).replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines)


def sources_page():
    text = "# Sources\n\n" + NOTE
    text += (
        "\nAll files of the libraries, by their first lines; those with a public header are bold."
        "\n[Architecture](../architecture.md) shows how the libraries fit together.\n"
    )
    for library in LIBRARIES:
        text += f"\n## {library}\n\n{library_table(library)}\n"
    return text


# --- attributes ----------------------------------------------------------------------------

CONSTANT = re.compile(
    r"(?P<comment>(?:^ *///.*\n)*)^[^\n]*\b(?P<constant>\w+AttrName)\s*=\s*\"tp\.(?P<name>\w+)\"",
    re.MULTILINE,
)
ROW = re.compile(r"^ *\| (?P<names>`tp\.[^|]*) \| (?P<place>[^|]*) \| (?P<meaning>[^|]*) \|$", re.M)
WRITES = re.compile(
    r"\b(?:set\w*|remove\w*|append|NamedAttribute|getNamedAttr|addAttribute|push_back|"
    r"emplace_back|copy\w*)\s*\("
)


def attributes():
    """By name: the constant that spells it, and what it means."""
    table = (REPOSITORY / "include/commute/Dialect/TPBase.td").read_text()
    meanings = {}
    for row in ROW.finditer(table):
        for name in re.findall(r"`tp\.(\w+)`", row["names"]):
            meanings[name] = f"of {row['place'].removeprefix('the ')}: {row['meaning']}"
    found = {}
    for root in ("include", "lib"):
        for path in sources(REPOSITORY / root, {".h", ".cpp", ".td"}):
            for match in CONSTANT.finditer(path.read_text()):
                comment = " ".join(
                    line.strip().removeprefix("///").strip()
                    for line in match["comment"].splitlines()
                )
                meaning = meanings.get(match["name"], comment)
                found[match["name"]] = (match["constant"], meaning.replace("|", "\\|"))
    return found


def statements(text):
    """The text between ends of statements, without comments."""
    text = re.sub(r"//.*", "", text)
    return re.split(r"[;{}]", text)


def attributes_page():
    known = attributes()
    writers, readers = defaultdict(set), defaultdict(set)
    by_constant = {constant: name for name, (constant, _) in known.items()}
    pattern = re.compile(r"\b(" + "|".join(by_constant) + r")\b")
    for root in ("lib", "tools", "python/bindings"):
        for path in sources(REPOSITORY / root, {".h", ".cpp"}):
            label = f"{path.stem}"
            for statement in statements(path.read_text()):
                if "StringLiteral" in statement:
                    continue
                for constant in pattern.findall(statement):
                    place = writers if WRITES.search(statement) else readers
                    place[by_constant[constant]].add(label)
    text = "# Attributes of the tp dialect\n\n" + NOTE
    text += (
        "\nThe discardable attributes `tp.*`, with the source files that set or remove each, and"
        "\nthose that read it ([sources](sources.md)). Attributes that are part of an op are in"
        "\n[the dialect](dialect.md).\n"
        "\n| attribute | meaning | written in | read in |\n|---|---|---|---|\n"
    )
    for name in sorted(known):
        written, read = (
            ", ".join(f"`{label}`" for label in sorted(place[name])) for place in (writers, readers)
        )
        text += f"| `tp.{name}` | {known[name][1]} | {written} | {read} |\n"
    return text


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: source_pages.py FOLDER")
    folder = Path(sys.argv[1])
    (folder / "sources.md").write_text(sources_page(), encoding="utf-8")
    (folder / "attributes.md").write_text(attributes_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
