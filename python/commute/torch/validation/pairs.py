# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""`commute.torch.validate`: does a graph compute what another one does?"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Node

from commute.errors import CommuteError
from commute.programs import Ranks
from commute.torch.live_program import LiveProgram
from commute.torch.validation.graph_states import GraphState, set_attribute
from commute.torch.validation.judging import compare_live
from commute.verification import Verification


def validate(
    before: Any,
    after: Any,
    *,
    precision: str = "algebraic",
    accept_layouts: bool = False,
    groups: Mapping[str, Ranks] | None = None,
    proof_time: float = 60.0,
    proof_memory: int = 4 << 30,
) -> Verification:
    """Compares two graphs: GraphModules or ExportedPrograms.

        assert commute.torch.validate(before, after)

    The result is that of `commute.verify`. Parameters, buffers and constants are compared by
    value, writes into inputs by what the inputs hold at the end.

    precision       "algebraic", or "strict": a lost rounding is a difference
    accept_layouts  the result is true if only strides differ
    groups          the ranks of process groups that torch.distributed does not know, as in
                    `commute.load`
    proof_time, proof_memory  the budget

    Raises CommuteError for graphs that cannot be compared, such as those with other inputs.
    """
    if precision not in ("algebraic", "strict"):
        raise CommuteError(f"precision={precision!r}: expected 'algebraic' or 'strict'")
    programs = [
        LiveProgram.read(
            graph_of(one),
            groups=groups or {},
            input_placements={},
            assumptions=(),
            rank=None,
            vocabularies=(),
            is_functional_graph=True,
        )
        for one in (before, after)
    ]
    found = compare_live(
        *programs,
        precision=precision,
        seed=1,
        real_sizes=False,
        max_seconds=proof_time,
        max_bytes=proof_memory,
    )
    return dataclasses.replace(found, accepts_layouts=accept_layouts)


def graph_of(program: Any) -> GraphModule:
    """The graph of a program. That of an ExportedProgram reads parameters, buffers and
    constants as attributes, and writes what it mutates."""
    if isinstance(program, GraphModule):
        return program
    if not isinstance(program, ExportedProgram):
        raise CommuteError(
            "expected a GraphModule or an ExportedProgram, not a " + type(program).__name__
        )
    module = GraphState(program.graph_module.graph, program.graph_module).build()
    graph = module.graph
    states = {**program.state_dict, **program.constants}
    kinds = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
    by_name = {node.name: node for node in graph.nodes}
    held: dict[str, Node] = {}
    for spec in program.graph_signature.input_specs:
        target = spec.target
        if spec.kind not in kinds or target is None or target not in states:
            continue
        node = by_name[spec.arg.name]
        name = "state." + target
        set_attribute(module, name, states[target])
        with graph.inserting_after(node):
            new = graph.create_node("get_attr", name)
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
        held[target] = new
    # Attributes stand behind the inputs.
    inputs = graph.find_nodes(op="placeholder")
    for new in held.values():
        if inputs:
            inputs[-1].append(new)
    _write_mutations(program, graph, held, by_name)
    return module


def _write_mutations(
    program: ExportedProgram, graph: Any, held: dict[str, Node], by_name: dict[str, Node]
) -> None:
    """Writes buffers and inputs, whose new values an ExportedProgram returns first."""
    import torch

    output = graph.output_node()
    returned = []
    for spec, value in zip(program.graph_signature.output_specs, output.args[0]):
        target = spec.target
        written = None
        if spec.kind is OutputKind.BUFFER_MUTATION and target is not None:
            written = held.get(target)
        elif spec.kind is OutputKind.USER_INPUT_MUTATION and target is not None:
            written = by_name.get(target)
        if written is None:
            returned.append(value)
            continue
        with graph.inserting_before(output):
            graph.call_function(torch.ops.aten.copy_.default, (written, value))
    output.args = (tuple(returned),)
