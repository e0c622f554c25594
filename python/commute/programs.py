# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Programs in memory, and `commute.load`, which reads them."""

import functools
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commute.errors import CommuteError
from commute.native import native, native_errors
from commute.remarks import Remark, parse_remarks

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from commute import _commute

Ranks = Sequence[int] | Sequence[Sequence[int]]
PathName = str | os.PathLike[str]
Vocabulary = PathName | Mapping[str, Any]


class PassOptions:
    """The options of passes, as `commute opt` and `commute explain` have them."""

    def __init__(
        self,
        passes: str | Sequence[str],
        policy: str,
        target: PathName,
        exact_rounding: bool,
    ) -> None:
        self.passes = passes if isinstance(passes, str) else ",".join(passes)
        self.policy = policy
        self.target = os.fspath(target)
        self.exact_rounding = exact_rounding

    def as_keywords(self) -> dict[str, Any]:
        return dict(vars(self))


class Program:
    """A program that `load` has read, or the result of `optimize`.

    Its text, `str(program)`, is the module of the `tp` dialect.
    """

    def __init__(self, handle: "_commute.Program", *, keeps: object = None) -> None:
        self._handle = handle
        # Temporary files that the handle reads weights from.
        self._keeps = keeps

    @functools.cached_property
    def _facts(self) -> dict[str, Any]:
        return json.loads(self._native().describe())

    is_live = False
    """Whether the program is a graph of this process."""

    @property
    def origin(self) -> str:
        """The path that the program was read from, or a name for one in memory."""
        return self._facts["origin"]

    @property
    def groups(self) -> dict[str, int]:
        """The number of ranks of each process group, by name."""
        return self._facts["groups"]

    @property
    def num_archives(self) -> int:
        """The number of ranks whose programs were read; 1 if all ranks run the same."""
        return self._facts["ranks"] or 1

    def __repr__(self) -> str:
        groups = ", ".join(f"{name!r} of {size}" for name, size in self.groups.items())
        return (
            f"<commute.{type(self).__name__} {self.origin!r}: {self._facts['ops']} ops,"
            f" {f'groups {groups}' if groups else 'no groups'}>"
        )

    def __str__(self) -> str:
        return self._native().print()

    def _native(self) -> "_commute.Program":
        """The program as the native module holds it."""
        return self._handle

    def save(self, path: PathName) -> None:
        """Writes the program: a .pt2 archive, or the archives of all ranks into a folder;
        as .mlir or .mlirbc, its module."""
        with native_errors():
            self._native().write(os.fspath(path))

    def exported_program(self, rank: int = 0) -> "ExportedProgram":
        """Returns the program of a rank as PyTorch loads it."""
        import torch

        if not 0 <= rank < self.num_archives:
            raise CommuteError(f"{self.origin}: there is no archive of rank {rank}")
        with tempfile.TemporaryDirectory() as folder:
            is_folder = self._facts["ranks"] > 0
            path = Path(folder) / ("ranks" if is_folder else "program.pt2")
            self.save(path)
            return torch.export.load(path / f"rank{rank}.pt2" if is_folder else path)

    def _optimize(
        self, options: PassOptions, **proof: Any
    ) -> tuple["Program", str, str, list[Remark], dict[str, Any] | None]:
        """Returns the new program, the verdict, the reason for it, remarks and the report of
        the proof."""
        handle, verdict, reason, remarks, report = self._native().optimize(
            **options.as_keywords(), **proof
        )
        program = self if handle is None else Program(handle, keeps=self._keeps)
        return (
            program,
            verdict,
            reason,
            parse_remarks(remarks),
            json.loads(report) if report else None,
        )


def _group_option(name: str, ranks: Ranks) -> str:
    """Returns the statement of --group: "tp=0,1/2,3"."""
    rows = [[member] if isinstance(member, int) else list(member) for member in ranks]
    if all(isinstance(member, int) for member in ranks):
        rows = [[rank for row in rows for rank in row]]
    return f"{name}=" + "/".join(",".join(map(str, row)) for row in rows)


def _placement_options(placements: Mapping[str, str | Mapping[str, str]]) -> list[str]:
    """Returns the statements of --input-placement: "REGEX=PLACEMENT@GROUP"."""
    options = []
    for pattern, stated in placements.items():
        if isinstance(stated, str):
            options.append(f"{pattern}={stated}")
        else:
            options += [f"{pattern}={one}@{group}" for group, one in stated.items()]
    return options


def _vocabularies(
    vocabulary: Vocabulary | Sequence[Vocabulary] | None,
) -> list[tuple[str, str]]:
    """Returns names and texts of vocabulary files."""
    if vocabulary is None:
        return []
    if isinstance(vocabulary, (str, os.PathLike, Mapping)):
        vocabulary = [vocabulary]
    texts = []
    for one in vocabulary:
        if isinstance(one, Mapping):
            texts.append(("vocabulary", json.dumps(one)))
            continue
        try:
            texts.append((os.fspath(one), Path(one).read_text(encoding="utf-8")))
        except OSError as error:
            raise CommuteError(f"{os.fspath(one)}: {error.strerror}") from None
    return texts


def _is_torch(value: Any, *names: str) -> bool:
    """Whether a value is of one of some classes of PyTorch, which need not be loaded."""
    for name in names:
        module, _, attribute = name.rpartition(".")
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(value, getattr(loaded, attribute)):
            return True
    return False


def is_live_graph(value: Any) -> bool:
    """Whether a value is a graph of PyTorch in memory."""
    return _is_torch(value, "torch.fx.GraphModule")


def _known_groups(program: "ExportedProgram") -> dict[str, Ranks]:
    """Returns the groups of an ExportedProgram that this process knows on all ranks."""
    from commute.torch.process_groups import ProcessGroups, group_names

    process = ProcessGroups()
    found = {name: process.find(name) for name in sorted(group_names(program.graph.nodes))}
    return {name: ranks for name, ranks in found.items() if ranks is not None}


def _paths_of(source: Any) -> tuple[list[str], dict[str, Ranks], object]:
    """Returns the paths of archives, the groups of exported programs, and what keeps
    temporary files. Exported programs are saved."""
    sources = list(source) if isinstance(source, (list, tuple)) else [source]
    temporary: tempfile.TemporaryDirectory[str] | None = None
    paths, groups = [], {}
    for rank, one in enumerate(sources):
        if isinstance(one, (str, os.PathLike)):
            paths.append(os.fspath(one))
            continue
        if not _is_torch(one, "torch.export.ExportedProgram"):
            raise CommuteError(
                "expected the path of an archive, a list of the archives of all ranks, their"
                " folder, an ExportedProgram or a GraphModule, not a"
                f" {type(one).__name__}"
            )
        import torch

        temporary = temporary or tempfile.TemporaryDirectory(prefix="commute-")
        paths.append(str(Path(temporary.name) / f"rank{rank}.pt2"))
        torch.export.save(one, paths[-1])
        groups.update(_known_groups(one))
    return paths, groups, temporary


def load(
    source: Any,
    *,
    groups: Mapping[str, Ranks] | None = None,
    input_placements: Mapping[str, str | Mapping[str, str]] | None = None,
    assumptions: Sequence[str] = (),
    rank: int | None = None,
    vocabulary: Vocabulary | Sequence[Vocabulary] | None = None,
    is_functional_graph: bool | None = None,
) -> Program:
    """Reads a program.

    source            the path of a .pt2 archive or of a module (.mlir, .mlirbc); a list of
                      the archives of all ranks, or their folder; an ExportedProgram, or a
                      list of those of all ranks; a live GraphModule
    groups            ranks of process groups: {"tp": [0, 1, 2, 3]}; of a mesh axis, all of
                      its groups: {"tp": [[0, 1], [2, 3]]}. Those of ExportedPrograms and
                      live graphs are taken from torch.distributed, if it knows them
    input_placements  by regular expression of the names of inputs or parameters, how they
                      differ between ranks: {".*norm.*": "replicated"}; on several groups
                      {"x": {"tp": "shard(0)", "dp": "varying"}}
    assumptions       about symbolic sizes: ["s0 % 8 == 0"]
    rank              the rank that the program was captured on; the result may then be valid
                      for this rank only
    vocabulary        operators of your own: vocabulary files, or dicts of the same form
    is_functional_graph  of a live graph, that it comes after functionalization; by default,
                      that all of its calls are of operators

    Warns about the archive of one rank that is given for all ranks but holds constants of
    its rank. Raises CommuteError.
    """
    texts = _vocabularies(vocabulary)
    if is_live_graph(source):
        from commute.torch.live_program import LiveProgram

        return LiveProgram.read(
            source,
            groups=groups or {},
            input_placements=input_placements or {},
            assumptions=assumptions,
            rank=rank,
            vocabularies=texts,
            is_functional_graph=is_functional_graph,
        )
    if is_functional_graph is not None:
        raise CommuteError("is_functional_graph is about live graphs, not about archives")
    paths, known, keeps = _paths_of(source)
    known.update(groups or {})
    with native_errors():
        handle = native().Program.read(
            paths,
            groups=[_group_option(name, ranks) for name, ranks in known.items()],
            placements=_placement_options(input_placements or {}),
            assumptions=list(assumptions),
            rank=rank,
            vocabularies=texts,
        )
    program = Program(handle, keeps=keeps)
    for warning in program._facts["warnings"]:
        warnings.warn(warning, stacklevel=2)
    return program


def as_program(program: Any) -> Program:
    """Returns a program, which is loaded if it is none yet."""
    return program if isinstance(program, Program) else load(program)
