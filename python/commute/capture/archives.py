# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Writes captured programs as archives with a sidecar and without weights."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from commute.torch.compatibility import FakeTensor, saving_without_canonical_form


def _put_largest_first(state: dict[str, Any]) -> None:
    """Orders weights without storage so that PyTorch can load the archive.

    PyTorch 2.13 writes one empty record for all of them, reads it back as zeros of the
    first weight's size, and makes all weights views of these zeros.
    """
    fake = {name: value for name, value in state.items() if isinstance(value, FakeTensor)}
    real = {name: value for name, value in state.items() if name not in fake}
    state.clear()
    state.update(sorted(fake.items(), key=lambda item: -item[1].numel()))
    state.update(real)


def _is_storable(value: Any) -> bool:
    """Returns true if PyTorch can load an example argument back: tensors with values, in
    plain containers."""
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
    with saving_without_canonical_form():
        torch.export.save(program, path)


def add_sidecar(path: Path, sidecar: Mapping[str, Any]) -> None:
    """Adds the sidecar to an archive. It lists the constants that differ between ranks, so
    it is complete only after all ranks have been traced."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        root = archive.namelist()[0].split("/")[0]
        archive.writestr(f"{root}/extra/commute.json", json.dumps(sidecar, indent=1))


def count_nodes(path: Path) -> int:
    """Returns the number of nodes of an archive's graph, as all commands of `commute` count
    them: calls, without inputs and outputs."""
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/models/model.json")]
        return len(json.loads(archive.read(name))["graph_module"]["graph"]["nodes"])


def input_names(program: ExportedProgram) -> dict[str, str]:
    """Returns the graph names of the user inputs, keyed by their path in the arguments."""
    return {name: name for name in program.graph_signature.user_inputs if isinstance(name, str)}


def parameter_names(program: ExportedProgram) -> list[str]:
    """Returns the names of the parameters and buffers that the program uses."""
    signature = program.graph_signature
    return [*signature.inputs_to_parameters.values(), *signature.inputs_to_buffers.values()]
