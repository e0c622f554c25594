# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Writes captured programs: archives with their sidecar, without weights."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram


def _put_largest_first(state: dict[str, Any]) -> None:
    """Orders weights that are not stored so that PyTorch can load the archive.

    PyTorch 2.13 gives all of them one empty record, reads it back as zeros of the first
    weight's size, and makes all weights views of that.
    """
    fake = {name: value for name, value in state.items() if isinstance(value, FakeTensor)}
    real = {name: value for name, value in state.items() if name not in fake}
    state.clear()
    state.update(sorted(fake.items(), key=lambda item: -item[1].numel()))
    state.update(real)


def _is_storable(value: Any) -> bool:
    """Whether PyTorch loads an example argument again: tensors with values, in plain
    containers."""
    if isinstance(value, (list, tuple)):
        return all(_is_storable(part) for part in value)
    if isinstance(value, dict):
        return all(_is_storable(part) for part in value.values())
    if isinstance(value, torch.Tensor):
        return not isinstance(value, FakeTensor) and not value.is_meta
    return value is None or isinstance(value, (bool, int, float, str))


def save(program: ExportedProgram, path: Path) -> None:
    if not _is_storable(program.example_inputs):
        program.example_inputs = None
    _put_largest_first(program.state_dict)
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.export.save(program, path)


def add_sidecar(path: Path, sidecar: Mapping[str, Any]) -> None:
    """Adds the sidecar to an archive: what it says of constants is known when all ranks
    have been traced."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        root = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{root}/extra/commute.json", json.dumps(sidecar, indent=1))


def input_names(program: ExportedProgram) -> dict[str, str]:
    """The graph names of what callers pass, by the path that leads to them."""
    return {name: name for name in program.graph_signature.user_inputs if isinstance(name, str)}


def parameter_names(program: ExportedProgram) -> list[str]:
    """The names of parameters and buffers that the program reads."""
    signature = program.graph_signature
    return [*signature.inputs_to_parameters.values(), *signature.inputs_to_buffers.values()]
