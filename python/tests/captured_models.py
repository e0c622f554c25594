# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Judges captured archives by the model itself: what it returns on one device, with the
same weights, is what the programs of the ranks return together.

    check(capture(model, ...), model, {"x": x})
"""

import dataclasses
import json
import re

import torch
from torch.export.graph_signature import InputKind

from commute.torch import register_cpu_fused_ops
from lockstep import run_in_lockstep
from ranks import run_on_ranks


class Relations:
    """relations.json, evaluated on tensors of one device."""

    def __init__(self, path):
        stated = json.loads(path.read_text())
        self.mesh = stated["mesh"]
        self.inputs = stated["inputs"]
        self.outputs = stated["outputs"]

    def _place(self, axis, rank):
        for group in self.mesh[axis]:
            if rank in group:
                return group.index(rank), len(group)
        raise ValueError(f"rank {rank} is not on axis {axis}")

    def cut(self, name, tensors, rank):
        """A rank's input, from those of the reference; whole where nothing is stated, as plain
        parameters of a parallel module are."""
        return self.evaluate(self.inputs.get(name, name), tensors, rank)

    def evaluate(self, text, tensors, rank):
        def shard(value, dim, axis):
            place, size = self._place(axis, rank)
            parts = torch.chunk(value, size, dim)
            if place < len(parts):
                return parts[place]
            return value.narrow(dim, 0, 0)

        def split(value, sizes, dim):
            return torch.split(value, sizes, dim)

        names = sorted(tensors, key=len, reverse=True)
        pattern = "|".join(rf"(?<![\w.]){re.escape(name)}(?![\w.])" for name in names)
        code = re.sub(pattern, lambda match: f"T[{match[0]!r}]", text) if names else text
        axes = {axis: axis for axis in self.mesh}
        functions = {
            "shard": shard,
            "split": split,
            "cat": lambda parts, dim: torch.cat(list(parts), dim),
        }
        return eval(code, {**functions, **axes, "T": tensors})


def in_folder(captured, folder):
    """The same capture, with the archives of this folder for its ranks."""
    ranks = tuple(
        dataclasses.replace(program, path=folder / program.path.name) for program in captured.ranks
    )
    return dataclasses.replace(captured, ranks=ranks)


def load(captured_program):
    return torch.export.load(captured_program.path)


def _values(program, find):
    values = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.CONSTANT_TENSOR:
            values.append(program.constants[spec.target])
        elif spec.kind is InputKind.USER_INPUT:
            name = getattr(spec.arg, "name", None)
            values.append(find(name) if not hasattr(spec.arg, "value") else spec.arg.value)
        else:
            values.append(find(spec.target))
    return values


def _leaves(values):
    return [
        leaf for leaf in torch.utils._pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)
    ]


def whole_tensors(model, arguments):
    """All that a program of one device reads, by name."""
    found = {**dict(model.named_parameters(remove_duplicate=False)),
             **dict(model.named_buffers(remove_duplicate=False))}  # fmt: skip
    found = {name: value.detach() for name, value in found.items()}
    for name, value in arguments.items():
        leaves = torch.utils._pytree.tree_leaves_with_path(value)
        for path, leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                key = name + torch.utils._pytree.keystr(path)
                found["_".join(filter(None, re.split(r"\W+", key)))] = leaf
    return found


def run_reference(captured, tensors):
    program = load(captured.reference)
    (outputs,) = run_in_lockstep(program.graph_module, [_values(program, tensors.get)], {})
    return outputs


def _inputs_of_ranks(captured, programs, tensors):
    relations = Relations(captured.relations)
    return [
        _values(program, lambda name, rank=rank: relations.cut(name, tensors, rank))
        for rank, program in enumerate(programs)
    ]


def run_ranks_in_processes(captured, tensors):
    """The outputs of every rank, each a process of its own, under gloo."""
    inputs = _inputs_of_ranks(captured, [load(program) for program in captured.ranks], tensors)
    paths = [program.path for program in captured.ranks]
    return run_on_ranks(
        paths, len(paths), weights="given", inputs=inputs, prepare=register_cpu_fused_ops
    )


def run_ranks(captured, tensors):
    """The outputs of every rank, all in this process."""
    programs = [load(program) for program in captured.ranks]
    inputs = _inputs_of_ranks(captured, programs, tensors)
    extra = {"commute.json": ""}
    torch.export.load(captured.ranks[0].path, extra_files=extra)
    groups = {}
    for name, group in json.loads(extra["commute.json"])["groups"].items():
        ranks = group["ranks"]
        groups[name] = ranks if isinstance(ranks[0], list) else [ranks]
    with torch.no_grad():
        return run_in_lockstep([program.graph_module for program in programs], inputs, groups)


def _close(found, value, what, tolerances):
    torch.testing.assert_close(found, value, msg=lambda text: f"{what}: {text}", **tolerances)


def check(
    captured, model, arguments, *, expected=None, outputs=None, gradients=None, run=run_ranks,
    rtol=1e-4, atol=1e-5,
):  # fmt: skip
    """Compares the ranks' outputs, and the reference's, with the model's own.

    expected: what the model returns, where calling it does not tell
    outputs: the relations of outputs by index, where relations.json does not tell
    gradients: by index of an output, the parameter whose gradient it is, and which it is cut
        like where relations.json does not tell
    run: `run_ranks`, or `run_ranks_in_processes`
    """
    tolerances = {"rtol": rtol, "atol": atol}
    if expected is None:
        with torch.no_grad():
            expected = _leaves(model(**arguments))
    relations = Relations(captured.relations)
    tensors = whole_tensors(model, arguments)
    if captured.reference is not None:
        pairs = zip(run_reference(captured, tensors), expected, strict=True)
        for index, (found, value) in enumerate(pairs):
            _close(found, value, f"reference, output {index}", tolerances)
    stated = relations.outputs if outputs is None else outputs
    for rank, results in enumerate(run(captured, tensors)):
        for index, (found, value) in enumerate(zip(results, expected, strict=True)):
            text = stated.get(str(index), "replicated")
            if str(index) not in stated and index in (gradients or {}):
                name = gradients[index]
                value = relations.cut(name, {name: value}, rank)
            elif "output" in text:
                value = relations.evaluate(text, {"output": value}, rank)
            elif text.startswith("shard("):
                value = relations.evaluate(text.replace("(", "(whole, ", 1), {"whole": value}, rank)
            _close(found, value, f"rank {rank}, output {index}", tolerances)
