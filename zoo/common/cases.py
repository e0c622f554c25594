# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A reference, programs of ranks, and how they are related: captured, judged, written."""

import dataclasses
import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path

import torch

from zoo.common import capture, judge
from zoo.common.collectives import Mesh
from zoo.common.relations import compare_output, output_relation, rank_inputs

ZOO = Path(__file__).resolve().parents[1]

# In float64: rounding stays far below, and a fault far above.
EQUAL = 1e-9
DIFFERENT = 1e-7


@dataclasses.dataclass(frozen=True)
class Integers:
    """An input of integers from `low` up to `high`, exclusive."""

    sizes: tuple
    low: int
    high: int


def make_inputs(specs, seed=0):
    """Random values, of float32 numbers where floats are."""
    generator = torch.Generator().manual_seed(seed)
    values = {}
    for name, spec in specs.items():
        if isinstance(spec, Integers):
            values[name] = torch.randint(spec.low, spec.high, spec.sizes, generator=generator)
        else:
            values[name] = torch.randn(spec, generator=generator)
    return values


@dataclasses.dataclass(eq=False)
class Case:
    """A parallel program beside its reference.

    reference: a function of the inputs, which returns a tensor or several.
    ranks: a function of the mesh as one rank sees it, and of the rank's inputs.
    """

    name: str
    mesh: dict
    inputs: dict
    relations: dict
    reference: Callable
    ranks: Callable

    @property
    def world_size(self):
        return Mesh(self.mesh, 0).world_size

    @functools.cached_property
    def meshes(self):
        return [Mesh(self.mesh, rank) for rank in range(self.world_size)]

    @functools.cached_property
    def values(self):
        return make_inputs(self.inputs)

    def values_of_ranks(self, dtype=torch.float32):
        names = capture.argument_names(self.ranks, skip=1)
        values = {n: v.to(dtype) if v.is_floating_point() else v for n, v in self.values.items()}
        return [rank_inputs(names, values, self.relations, mesh) for mesh in self.meshes]

    def relations_file(self):
        """The content of relations.json."""
        integers = {n: s for n, s in self.inputs.items() if isinstance(s, Integers)}
        ranges = {name: [spec.low, spec.high] for name, spec in integers.items()}
        return {
            "version": 1,
            "mesh": self.mesh,
            **({"ranges": ranges} if ranges else {}),
            **self.relations,
        }

    def capture(self):
        """The programs of the reference and of all ranks; equal ones are one object."""
        names = capture.argument_names(self.reference)
        reference = _trace_reference(self.reference, {name: self.values[name] for name in names})
        modules, known, shared = [], {}, {}
        for mesh, values in zip(self.meshes, self.values_of_ranks()):
            shapes = tuple(tuple(value.shape) for value in values.values())
            if shapes in shared:
                modules.append(shared[shapes])
                continue
            mesh.depends_on_rank = False
            module = capture.trace(functools.partial(self.ranks, mesh), values)
            module = known.setdefault((shapes, capture.outline(module)), module)
            if not mesh.depends_on_rank:
                shared[shapes] = module
            modules.append(module)
        return Captured(self, reference, modules)


_references = {}


def _trace_reference(function, values):
    """The faulty and the mended program share a reference."""
    key = (function, tuple((name, tuple(value.shape)) for name, value in values.items()))
    if key not in _references:
        _references[key] = capture.trace(function, values)
    return _references[key]


@dataclasses.dataclass(eq=False)
class Captured:
    case: Case
    reference: torch.fx.GraphModule
    modules: list

    @property
    def is_uniform(self):
        return all(module is self.modules[0] for module in self.modules)

    @functools.cached_property
    def expected(self):
        names = [node.name for node in self.reference.graph.find_nodes(op="placeholder")]
        return judge.run_reference(self.reference, [self.case.values[name] for name in names])

    def difference(self):
        """How far the ranks are from the reference by PyTorch, relative to the numbers.

        Raises judge.JudgeError where the ranks' programs do not run together.
        """
        of_ranks = self.case.values_of_ranks(torch.float64)
        inputs = [list(values.values()) for values in of_ranks]
        found = judge.run_ranks(self.modules, inputs, self.case.mesh)
        worst = 0.0
        for index, expected in enumerate(self.expected):
            relation, place = output_relation(self.case.relations, index)
            tensors = [outputs[place] if place < len(outputs) else None for outputs in found]
            worst = max(worst, compare_output(relation, expected, tensors, self.case.meshes))
        return worst

    def write(self, folder):
        """Writes the archives and relations.json; returns the arguments of commute verify."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        capture.save(self.reference, folder / "reference.pt2")
        paths = []
        if self.is_uniform:
            paths.append(folder / "rank.pt2")
            capture.save(self.modules[0], paths[0], self.case.mesh)
        else:
            for rank, module in enumerate(self.modules):
                paths.append(folder / f"rank{rank}.pt2")
                capture.save(module, paths[-1], self.case.mesh, rank)
        relations = folder / "relations.json"
        relations.write_text(json.dumps(self.case.relations_file(), indent=1))
        return [
            f"--reference={folder / 'reference.pt2'}",
            *map(str, paths),
            f"--relations={relations}",
        ]


@dataclasses.dataclass(eq=False)
class Defect:
    """A public defect: its folder's program.py holds the three programs."""

    name: str
    module: object

    def case(self, form):
        """`form`: "faulty" or "mended"."""
        m = self.module
        ranks = getattr(m, form)
        relations = getattr(m, f"RELATIONS_{form.upper()}", m.RELATIONS)
        return Case(f"{self.name} {form}", m.MESH, m.INPUTS, relations, m.reference, ranks)

    @property
    def says(self):
        """Words of which the explanation has one."""
        return self.module.SAYS

    def marked_lines(self):
        """The lines that may be named: the fault, and what first reads its result."""
        lines = Path(self.module.__file__).read_text().splitlines()
        marks = ("# the fault", "# its first reader")
        return [n for n, line in enumerate(lines, 1) if any(mark in line for mark in marks)]


def load_defects():
    folders = sorted(path.parent.name for path in ZOO.glob("*/program.py"))
    return [Defect(name, importlib.import_module(f"zoo.{name}.program")) for name in folders]
