# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Graphs of this process as programs of `commute.load`."""

import copy
import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Node

from commute.errors import CommuteError
from commute.native import native, native_errors
from commute.programs import PassOptions, Program, Ranks
from commute.remarks import Remark
from commute.torch.compatibility import HigherOrderOperator, OpOverload
from commute.torch.effects import switches_mode
from commute.torch.graph_program import GraphProgram, get_value
from commute.torch.live_graph import RankOptions, optimize_runs
from commute.torch.process_groups import group_names
from commute.torch.stated_context import StatedContext

if TYPE_CHECKING:
    from commute import _commute


def _calls_operators(graph: torch.fx.Graph) -> bool:
    """Whether a graph calls nothing but operators, as AOTAutograd and torch.export leave it."""
    return all(
        node.op in ("placeholder", "get_attr", "output")
        or isinstance(node.target, (OpOverload, HigherOrderOperator))
        or getattr(node.target, "__module__", None) == "_operator"
        for node in graph.nodes
    )


def _placements(
    module: GraphModule, stated: Mapping[str, str | Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Returns the placements of inputs by name, given those by regular expression."""
    names = [node.name for node in module.graph.nodes if node.op in ("placeholder", "get_attr")]
    groups = sorted(group_names(module.graph.nodes))
    inputs: dict[str, dict[str, str]] = {}
    for pattern, placement in stated.items():
        try:
            matching = [name for name in names if re.fullmatch(pattern, name)]
        except re.error as error:
            raise CommuteError(f"input placement {pattern!r}: {error}") from None
        if not matching:
            raise CommuteError(
                f"input placement {pattern!r}: the graph has no such input; it has"
                f" {', '.join(names) or 'none'}"
            )
        by_group = (
            dict.fromkeys(groups, placement) if isinstance(placement, str) else dict(placement)
        )
        for name in matching:
            inputs.setdefault(name, {}).update(by_group)
    return inputs


class LiveProgram(Program):
    """A GraphModule as a program. Its operations leave the GraphModule as it is."""

    is_live = True

    def __init__(
        self,
        graph_module: GraphModule,
        context: Mapping[str, Any],
        vocabulary: str,
        *,
        is_functional: bool,
    ) -> None:
        self.graph_module = graph_module
        """The GraphModule; of a result of `optimize`, a new one with the same parameters."""
        self._context = context
        self._vocabulary = vocabulary
        self._is_functional = is_functional

    @classmethod
    def read(
        cls,
        graph_module: GraphModule,
        *,
        groups: Mapping[str, Ranks],
        input_placements: Mapping[str, str | Mapping[str, str]],
        assumptions: Sequence[str],
        rank: int | None,
        vocabularies: Sequence[tuple[str, str]],
        is_functional_graph: bool | None,
    ) -> "LiveProgram":
        """Implements `commute.load`."""
        if len(vocabularies) > 1:
            raise CommuteError("a live graph has one vocabulary; join the files into one")
        context: dict[str, Any] = {"version": 1}
        if groups:
            context["groups"] = {
                name: {"ranks": [one if isinstance(one, int) else list(one) for one in ranks]}
                for name, ranks in groups.items()
            }
        if input_placements:
            context["inputs"] = _placements(graph_module, input_placements)
        if assumptions:
            context["assumptions"] = list(assumptions)
        if rank is not None:
            context["rank"] = rank
        return cls(
            graph_module,
            context,
            vocabularies[0][1] if vocabularies else "",
            is_functional=_calls_operators(graph_module.graph)
            if is_functional_graph is None
            else is_functional_graph,
        )

    @functools.cached_property
    def _parsed(self) -> "_commute.Program":
        nodes = list(self.graph_module.graph.nodes)
        switches: set[Node] = set()
        for node in nodes:
            if switches_mode(node, get_value(node), switches):
                raise CommuteError(
                    f"{node.name} switches a mode, such as autocast or gradients, so that the"
                    " graph is several programs; commute.optimize optimizes each, and the other"
                    " functions need one program"
                )
        program = GraphProgram(
            nodes, is_functional_graph=self._is_functional, has_source_lines=True
        )
        stated = StatedContext(self._context, [program])
        with native_errors():
            return native().Program.take(
                program.native,
                context=json.dumps(stated.of(program)),
                vocabulary=self._vocabulary,
            )

    def _native(self) -> "_commute.Program":
        return self._parsed

    def with_graph(self, graph_module: GraphModule) -> "LiveProgram":
        """A program of a graph of functional operators, of which the same is stated."""
        return LiveProgram(graph_module, self._context, self._vocabulary, is_functional=True)

    def _optimize(
        self, options: PassOptions, **proof: Any
    ) -> tuple[Program, str, str, list[Remark], dict[str, Any] | None]:
        graph = copy.deepcopy(self.graph_module.graph)
        done = optimize_runs(
            graph,
            context=self._context,
            is_functional_graph=self._is_functional,
            allow_unused_context=False,
            groups=None,
            compile_range=None,
            # As an archive, the program is that of all ranks that it states.
            ranks=RankOptions("same"),
            options=dict(options.as_keywords(), vocabulary=self._vocabulary, **proof),
        )
        report = done.proofs[-1] if done.proofs else None
        unproven = [remark.message for remark in done.remarks if remark.pass_name == "verify"]
        if not done.is_changed:
            verdict = "not proven" if unproven else "unchanged"
            return self, verdict, "; ".join(unproven), done.remarks, report
        module = GraphModule(self.graph_module, graph)
        module.meta = copy.copy(self.graph_module.meta)
        program = LiveProgram(
            module, self._context, self._vocabulary, is_functional=self._is_functional
        )
        if not proof["verify"]:
            verdict = "not verified"
        elif proof["allow_unproven"] and any(one["verdict"] == "not proven" for one in done.proofs):
            verdict = "not proven"
        else:
            # A part without a proof is as it was.
            verdict = "equivalent"
        return program, verdict, "; ".join(unproven), done.remarks, report
