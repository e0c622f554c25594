# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.verify`: do two programs compute the same?

Two forms of one program, which `commute.load` and `commute.optimize` return:

    assert commute.verify(result.original, result.program)

Ranks, which together compute what one device computes:

    result = commute.verify("out/reference.pt2", "out", relations="out/relations.json")
    assert result, str(result)
"""

import dataclasses
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from commute.errors import CommuteError
from commute.native import native, native_errors
from commute.programs import Program, as_program, is_live_graph


@dataclasses.dataclass(frozen=True, repr=False)
class Verification:
    """The verdict on two programs. True if they are equivalent, or if the ranks refine the
    reference."""

    verdict: str
    """Of two forms: "equivalent", "other layout" (the same values), "different" or "not
    proven". Of ranks and their reference: "refines", "does not refine", "deadlock" or "not
    proven"."""
    differences: tuple[Mapping[str, Any], ...]
    """What is computed instead: "message", and of two forms "kind" ("value", "layout", or
    "place" for the first value in which they part), "first" and "second", the places; of
    ranks "fix", "at", "node", "file", "line", and "other" in "other_program"."""
    outputs: tuple[Mapping[str, Any], ...]
    """What the ranks hold of each output; empty for two forms."""
    premises: tuple[str, ...]
    """What the verdict rests on: what is stated of inputs, and what is assumed of the others."""
    report: Mapping[str, Any]
    """The output of `commute verify --json`."""
    text: str
    accepts_layouts: bool = False

    def __bool__(self) -> bool:
        return self.verdict in ("equivalent", "refines") or (
            self.accepts_layouts and self.verdict == "other layout"
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        # Of a failed assertion, pytest prints this, cut to a line.
        return f"Verification({self.verdict!r})"


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


def compare(first: Program, second: Program, **settings: Any) -> Verification:
    """Compares two forms of one program, as they are read."""
    handles = [program._native() for program in (first, second)]
    with native_errors():
        report, text = handles[0].verify(handles[1], **settings)
    content = json.loads(report)
    return Verification(
        content["verdict"],
        tuple(content["differences"]),
        (),
        (*content["premises"], *content["assumptions"]),
        content,
        text.rstrip("\n"),
    )


def _compare(first: Any, second: Any, **settings: Any) -> Verification:
    """Compares two forms of one program; those of live graphs as passes leave them."""
    programs = [as_program(program) for program in (first, second)]
    if all(program.is_live for program in programs):
        from commute.torch.validation.judging import compare_live

        return compare_live(*programs, **settings)
    return compare(*programs, **settings)


def verify(
    reference: Any,
    ranks: Any,
    relations: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    groups: Sequence[str] = (),
    show_relations: bool = False,
    precision: str = "algebraic",
    accept_layouts: bool = False,
    seed: int = 1,
    real_sizes: bool = False,
    proof_time: float = 60.0,
    proof_memory: int | None = None,
) -> Verification:
    """Checks that two programs compute the same.

    If one of them is a Program or a live graph, they are two forms of one program, and the
    check is that of `commute verify A B`; the other may be anything that `load` takes.
    Otherwise, the check is that of `commute verify --reference`: do ranks compute together
    what one device computes?

    reference: the archive of the program on one device, or its ExportedProgram.
    ranks: the program of all ranks, a list with that of each rank, or the folder of
        rank0.pt2, rank1.pt2, ...
    relations: relations.json, as a path or as a dict. What it does not state follows from
        names and shapes where there is only one reading.
    groups: members of process groups, as in --group: "tp=0-3". `load` takes those of forms.
    show_relations: also find what each value of the ranks is of the reference.
    precision: "algebraic", as if numbers were not rounded; of two forms also "strict": a cast
        to a narrower float is an unknown function, so that a rounding that is lost, or moves
        across a sum, is a difference.
    accept_layouts: of two forms, the result is true if only layouts in memory differ.
    proof_time, proof_memory: the budget in seconds and bytes; by default, of memory 4 GiB, or
        half of what is free if that is less.

    Raises CommuteError for programs and relations that do not fit together.
    """
    if any(isinstance(one, Program) or is_live_graph(one) for one in (reference, ranks)):
        if relations is not None or groups or show_relations:
            raise CommuteError(
                "two forms of one program have no relations, and load() takes their groups; to"
                " compare ranks with a reference, give the paths of their archives"
            )
        found = _compare(
            reference,
            ranks,
            precision=precision,
            seed=seed,
            real_sizes=real_sizes,
            max_seconds=proof_time,
            max_bytes=-1 if proof_memory is None else proof_memory,
        )
        return dataclasses.replace(found, accepts_layouts=accept_layouts)
    if precision != "algebraic" or accept_layouts:
        raise CommuteError(
            "precision and accept_layouts are about two forms of one program; load() one of them"
        )
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
    with tempfile.TemporaryDirectory() as temporary, native_errors():
        folder = Path(temporary)
        report, printed = native().refine(
            _path_of(reference, folder / "reference.pt2"),
            _paths_of(ranks, folder),
            relations=text,
            relations_name=name,
            groups=list(groups),
            seed=seed,
            real_sizes=real_sizes,
            show_relations=show_relations,
            max_seconds=proof_time,
            max_bytes=-1 if proof_memory is None else proof_memory,
        )
    content = json.loads(report)
    return Verification(
        content["verdict"],
        tuple(content["differences"]),
        tuple(content["outputs"]),
        tuple(content["premises"]),
        content,
        printed,
    )
