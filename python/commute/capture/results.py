# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What a capture returns, and the files that depend on all ranks."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from commute.capture import archives, rank_constants
from commute.capture.axes import Axes
from commute.capture.descriptions import Descriptions
from commute.torch.compatibility import pytree


@dataclasses.dataclass(frozen=True)
class CapturedProgram:
    """One archive that was written."""

    path: Path
    rank: int | None
    nodes: int
    """The calls of its graph, without inputs and outputs."""
    seconds: float


@dataclasses.dataclass(frozen=True)
class Capture:
    """What `capture` wrote."""

    folder: Path
    ranks: tuple[CapturedProgram, ...]
    reference: CapturedProgram | None
    reference_refusal: str | None
    """Why no reference.pt2 was written; None if it was."""
    relations: Path
    constants_of_rank: tuple[rank_constants.RankConstant, ...]
    """The constants that differ between the programs of the captured ranks."""
    ambiguities: tuple[str, ...] = ()
    """Parameters of ranks whose relation has several readings, each with the entry of
    relations.json that settles it. Only a capture by a factory lists them."""
    axes: Axes | None = None
    """The axes of the process groups, with all of their names, after a capture by a factory."""
    memory: int | None = None
    """The bytes that the largest process of a capture by a factory took of its own."""
    notes: tuple[str, ...] = ()
    """Sentences about the capture, such as why most of the model is not sharded. They are in
    the sidecars too, and `commute` repeats them where they explain a result."""

    def relations_with(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the content of `relations` in which the entries of `more` replace those of
        the same names. An entry that is None removes the captured one. An axis may have any of
        its names."""
        if self.axes is not None:
            more = pytree.tree_map_only(str, self.axes.in_own_names, dict(more))
        stated: dict[str, Any] = json.loads(self.relations.read_text(encoding="utf-8"))
        for key, value in more.items():
            known = stated.get(key)
            merged = {**known, **value} if isinstance(known, dict) else value
            if isinstance(merged, dict):
                merged = {name: entry for name, entry in merged.items() if entry is not None}
            if merged is None:
                stated.pop(key, None)
            else:
                stated[key] = merged
        return stated


def write_descriptions(
    descriptions: Descriptions, folder: Path, notes: Sequence[str] = ()
) -> tuple[rank_constants.RankConstant, ...]:
    """Writes the sidecars and relations, which depend on all ranks."""
    sidecars, constants = descriptions.sidecars()
    for rank, sidecar in sidecars.items():
        if notes:
            sidecar["notes"] = list(notes)
        archives.add_sidecar(folder / f"rank{rank}.pt2", sidecar)
    text = json.dumps(descriptions.relations(), indent=1) + "\n"
    (folder / "relations.json").write_text(text, encoding="utf-8")
    return constants
