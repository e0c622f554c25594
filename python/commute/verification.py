# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.verify`: does what the ranks compute together equal what one device computes?

    result = commute.verify("out/reference.pt2", "out", relations="out/relations.json")
    assert result, result
"""

import dataclasses
import importlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from commute.errors import CommuteError


@dataclasses.dataclass(frozen=True)
class Verification:
    """The verdict on ranks and their reference. True if the ranks refine the reference."""

    verdict: str
    """"refines", "does not refine", "deadlock" or "not proven"."""
    differences: tuple[Mapping[str, Any], ...]
    """What the ranks compute instead: "message", "fix", "at", "node", "file", "line", and
    "other" in "other_program"."""
    outputs: tuple[Mapping[str, Any], ...]
    premises: tuple[str, ...]
    report: Mapping[str, Any]
    """The output of `commute verify --reference --json`."""
    text: str

    def __bool__(self) -> bool:
        return self.verdict == "refines"

    def __str__(self) -> str:
        return self.text


def _paths_of(programs: Any, folder: Path) -> list[str]:
    """Returns the archives of the programs of ranks. Exported programs are saved."""
    if isinstance(programs, (str, os.PathLike)):
        path = Path(programs)
        if not path.is_dir():
            return [str(path)]
        found: list[str] = []
        while (own := path / f"rank{len(found)}.pt2").exists():
            found.append(str(own))
        if not found:
            raise CommuteError(f"{path}: the folder has no rank0.pt2")
        return found
    if not isinstance(programs, Sequence):
        programs = [programs]
    return [_path_of(program, folder / f"rank{rank}.pt2") for rank, program in enumerate(programs)]


def _path_of(program: Any, path: Path) -> str:
    if isinstance(program, (str, os.PathLike)):
        return os.fspath(program)
    from torch.export import ExportedProgram, save

    if not isinstance(program, ExportedProgram):
        raise CommuteError(
            f"expected the path of an archive or an ExportedProgram, not a {type(program).__name__}"
        )
    save(program, path)
    return str(path)


def verify(
    reference: Any,
    ranks: Any,
    relations: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    groups: Sequence[str] = (),
    show_relations: bool = False,
    seed: int = 1,
    real_sizes: bool = False,
    proof_time: float = 60.0,
    proof_memory: int = 4 << 30,
) -> Verification:
    """Checks that ranks compute together what one device computes.

    reference: the archive of the program on one device, or its ExportedProgram.
    ranks: the program of all ranks, a list with that of each rank, or the folder of
        rank0.pt2, rank1.pt2, ...
    relations: relations.json, as a path or as a dict. What it does not state follows from
        names and shapes where there is only one reading.
    groups: members of process groups, as in --group: "tp=0-3".
    show_relations: also find what each value of the ranks is of the reference.
    proof_time, proof_memory: the budget in seconds and bytes.

    Raises CommuteError for programs and relations that do not fit together.
    """
    # A path or a document.
    text, name = "", "relations"
    if isinstance(relations, Mapping):
        text = json.dumps(relations)
    elif relations is not None:
        name = os.fspath(relations)
        try:
            text = Path(relations).read_text(encoding="utf-8")
        except OSError as error:
            raise CommuteError(f"{name}: {error.strerror}") from None
    native = importlib.import_module("commute._commute")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            report, printed = native.refine(
                _path_of(reference, folder / "reference.pt2"),
                _paths_of(ranks, folder),
                relations=text,
                relations_name=name,
                groups=list(groups),
                seed=seed,
                real_sizes=real_sizes,
                show_relations=show_relations,
                max_seconds=proof_time,
                max_bytes=proof_memory,
            )
        except ValueError as error:
            raise CommuteError(str(error)) from None
    content = json.loads(report)
    return Verification(
        content["verdict"],
        tuple(content["differences"]),
        tuple(content["outputs"]),
        tuple(content["premises"]),
        content,
        printed,
    )
