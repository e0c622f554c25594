# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""From a model to a .pt2 archive with the sidecar record Commute reads."""

import contextlib
import json
from pathlib import Path

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore

from .layers import Group, initialize, placements, sharding
from .models import ONLY_COMMUNICATING, build

REPOSITORY = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def _fake_groups(size, rank):
    """Groups that exist for the tracer only: nothing is sent anywhere.

    The rank's pair is made first, so that it has the same name on every rank.
    """
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
    try:
        world = Group(dist.group.WORLD.group_name, size)
        pair = world
        if size >= 4 and size % 2 == 0:
            first = rank - rank % 2
            pair = Group(dist.new_group([first, first + 1]).group_name, 2)
        yield world, pair
    finally:
        dist.destroy_process_group()


@contextlib.contextmanager
def _default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _sidecar(program, model, world, pair, rank):
    """What the graph cannot say: members of groups, placements of inputs."""
    everyone = list(range(world.size))
    groups = {world.name: {"ranks": everyone}}
    used = {argument for node in program.graph.nodes for argument in node.args[-1:]}
    if pair.name != world.name and pair.name in used:
        groups[pair.name] = {"ranks": [everyone[i : i + 2] for i in range(0, world.size, 2)]}
    inputs = dict(placements(model.module))
    inputs.update({name: entry.placement for name, entry in model.inputs.items()})
    return {
        "version": 1,
        "rank": rank,
        "groups": groups,
        "inputs": {name: {world.name: placement} for name, placement in inputs.items()},
    }


def _relations(model, size):
    """How the ranks' tensors come from those of one device, where that is not plain: of fused
    projections, each rank has a shard of each part, and outputs are whole unless stated."""
    inputs = {}
    for name, parameter in model.module.named_parameters():
        cut = sharding(parameter)
        if cut and cut.parts > 1:
            part = parameter.shape[cut.dim] * size // cut.parts
            parts = f"split({name}, [{', '.join([str(part)] * cut.parts)}], {cut.dim})"
            shards = [f"shard({parts}[{index}], {cut.dim})" for index in range(cut.parts)]
            inputs[name] = f"cat([{', '.join(shards)}], {cut.dim})"
    outputs = {} if model.output == "replicated" else {"0": model.output}
    return {"version": 1, "inputs": inputs, "outputs": outputs}


def _make_reproducible(program):
    """Takes out of the metadata what differs between runs and machines.

    Source paths become relative to the repository. `from_node`, which only
    run_decompositions leaves behind, holds memory addresses.
    """
    site_packages = Path(torch.__file__).resolve().parents[1]
    for node in program.graph.nodes:
        node.meta.pop("from_node", None)
        trace = node.meta.get("stack_trace")
        if trace:
            trace = trace.replace(f"{site_packages}/", "")
            node.meta["stack_trace"] = trace.replace(f"{REPOSITORY}/", "")


def _to_aten(program, whole_attention):
    """The program in core ATen ops.

    `whole_attention` keeps CPU flash attention one op. PyTorch 2.13 decomposes
    it into ops whose result has other strides than the op itself, and then
    refuses a view that was legal before (GPT-2 here).
    """
    table = torch.export.default_decompositions()
    if whole_attention:
        table.pop(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default)
    return program.run_decompositions(table)


def _put_largest_first(state_dict):
    """Orders weights that are not stored so that PyTorch can load the archive.

    PyTorch 2.13 gives all of them one empty record, reads it back as zeros of
    the first weight's size, and makes all weights views of that.
    """
    ordered = sorted(state_dict.items(), key=lambda item: -item[1].numel())
    state_dict.clear()
    state_dict.update(ordered)


def export_program(name, config, size, rank=0, *, aten=None, dynamic=False, weights=True, seed=0):
    """The exported program of one rank and its sidecar.

    `aten` is None (as exported), "default" or "whole-attention".
    """
    if not 0 <= rank < size:
        raise ValueError(f"rank {rank} is not among the {size} ranks 0..{size - 1}")
    fake = contextlib.nullcontext() if weights else FakeTensorMode()
    with _fake_groups(size, rank) as (world, pair), fake, _default_dtype(config.dtype):
        model = build(name, config, world, pair)
        if weights:
            initialize(model.module, world, rank, seed)
            arguments = [
                entry.value(config.dtype, world, rank, seed + index)
                for index, entry in enumerate(model.inputs.values())
            ]
        else:
            arguments = [
                torch.empty(entry.shape, dtype=entry.dtype(config.dtype))
                for entry in model.inputs.values()
            ]
        shapes = model.dynamic_shapes() if dynamic else None
        program = torch.export.export(model.module.eval(), tuple(arguments), dynamic_shapes=shapes)
        if aten:
            program = _to_aten(program, whole_attention=aten == "whole-attention")
        if not weights:
            program.example_inputs = None
            _put_largest_first(program.state_dict)
        _make_reproducible(program)
        return program, _sidecar(program, model, world, pair, rank)


def export_folder(folder, name, config, size, **options):
    """What `commute verify --reference` reads: the programs of all ranks, that of one device,
    whose groups have one rank, and how their parameters are related."""
    if name in ONLY_COMMUNICATING:
        raise ValueError(f"{name} computes something else on one device than on {size}")
    folder.mkdir(parents=True, exist_ok=True)
    export_archive(folder / "reference.pt2", name, config, 1, **options)
    for rank in range(size):
        export_archive(folder / f"rank{rank}.pt2", name, config, size, rank, **options)
    with _fake_groups(size, 0) as (world, pair), FakeTensorMode(), _default_dtype(config.dtype):
        relations = _relations(build(name, config, world, pair), size)
    (folder / "relations.json").write_text(json.dumps(relations, indent=1))


def export_archive(path, name, config, size, rank=0, **options):
    program, sidecar = export_program(name, config, size, rank, **options)
    text = json.dumps(sidecar, indent=1)
    torch.export.save(program, path, extra_files={"commute.json": text})
    return program
