# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What `commute opt` does with an archive that it cannot or must not read."""

from commute_tool import commute

# The archive that all bad ones are made from.
FIXTURE = "llama_transposed_gather_tp2.pt2"


def check_refused(archive, tmp_path, says):
    target = tmp_path / "out.pt2"
    before = sorted(tmp_path.iterdir())
    process = commute("opt", archive, "-o", target)
    assert process.returncode == 2, process.stderr
    assert process.stdout == ""
    (line,) = process.stderr.splitlines()
    assert line.startswith(f"commute: error: {archive}: ")
    for words in says:
        assert words in line
    # For people: no raw bytes, no page of text.
    assert line.isprintable() and len(line) < 1000
    # Neither the file nor a temporary one.
    assert sorted(tmp_path.iterdir()) == before


def check_accepted(archive, tmp_path):
    target = tmp_path / "legal_out.pt2"
    process = commute("opt", archive, "-o", target, "--quiet")
    assert process.returncode == 0, process.stderr
    assert target.exists()
