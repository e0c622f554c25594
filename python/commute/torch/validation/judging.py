# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Verdicts on two live graphs, as graph passes take and leave them."""

import dataclasses
from typing import TYPE_CHECKING, Any

from torch.fx import GraphModule

from commute.errors import CommuteError
from commute.torch.validation.comparable_graphs import ComparablePair
from commute.torch.validation.functional_graphs import needs_tracing
from commute.torch.validation.graph_states import GraphState, find_attribute
from commute.verification import Verification, compare

if TYPE_CHECKING:
    from commute.programs import Program
    from commute.torch.live_program import LiveProgram

_EQUAL = ("equivalent", "other layout")


def compare_live(first: "Program", second: "Program", **settings: Any) -> Verification:
    """Compares the graphs of two live programs.

    They are first read as they are. Where that proves nothing, they are traced again to
    functional operators: a pass may have left types that are out of date, and operators that
    write into tensors or call Python functions have no meaning by themselves.
    """
    live: tuple[LiveProgram, LiveProgram] = (first, second)  # type: ignore[assignment]
    modules = [_as_sorted(program.graph_module) for program in live]
    found: Verification | None = None
    problem: CommuteError | None = None
    foreign = any(needs_tracing(module) for module in modules)
    for retraces in (False, True):
        try:
            verification = _compare_once(live, modules, retraces, settings)
        except CommuteError as error:
            problem = problem or error
            if not retraces and not foreign and not _has_subgraphs(modules):
                raise
            continue
        if verification.verdict in _EQUAL:
            return verification
        # A difference of graphs that are read as they are stays one, unless the types that
        # the passes left are wrong.
        if found is None or foreign or found.verdict == "not proven":
            found = verification
    if found is None:
        raise problem or CommuteError("the graphs cannot be compared")
    return found


def _has_subgraphs(modules: list[GraphModule]) -> bool:
    return any(
        isinstance(find_attribute(module, str(node.target)), GraphModule)
        for module in modules
        for node in module.graph.find_nodes(op="get_attr")
    )


def _as_sorted(module: GraphModule) -> GraphModule:
    return GraphState(module.graph, module).build()


def _compare_once(
    live: "tuple[LiveProgram, LiveProgram]",
    modules: list[GraphModule],
    retraces: bool,
    settings: dict[str, Any],
) -> Verification:
    pair = ComparablePair(*modules, retraces=retraces)
    if pair.structures:
        message = "the graphs return other structures: {} and {}".format(*pair.structures)
        differences = [{"message": message, "kind": "value", "first": "", "second": ""}]
        report = {"verdict": "different", "equivalent": False, "differences": differences}
        return Verification(
            "different", tuple(differences), (), (), report, f"different: {message}"
        )
    programs = [
        program.with_graph(module) for program, module in zip(live, (pair.first, pair.second))
    ]
    return compare(*programs, **settings)


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What is known of two graphs."""

    verdict: str
    """"equivalent", "other layout", "different" or "not proven"."""
    reason: str
    """The first difference, or why nothing is proven; empty for equivalent graphs."""
    operator: str
    """The operator that has no meaning, if the graphs are not proven for its sake."""
    where: str
    """Where the graphs part: the value and the line of the user's program."""
    verification: Verification | None = None
    notes: tuple[str, ...] = ()
    """What callers have to know of an equivalent graph: another order of collectives."""

    def __bool__(self) -> bool:
        return self.verdict == "equivalent"


def judge(first: GraphModule, second: GraphModule, **settings: Any) -> Judgement:
    """Compares two graphs. Never raises for what a graph contains."""
    from commute.torch.live_program import LiveProgram

    try:
        programs = [
            LiveProgram(module, {"version": 1}, "", is_functional=True)
            for module in (first, second)
        ]
        verification = compare_live(*programs, **settings)
    except CommuteError as error:
        return Judgement("not proven", str(error), "", "")
    except Exception as error:
        # A graph of a kind that no test has seen must not end the user's program.
        return Judgement("not proven", f"{type(error).__name__}: {error}", "", "")
    return judgement_of(verification)


def judgement_of(verification: Verification) -> Judgement:
    """The reason and the place of a verdict."""
    verdict = verification.verdict
    report = verification.report
    if verdict == "not proven":
        undecided = report.get("undecided") or {}
        reason = str(report.get("not_proven") or undecided.get("reason") or "")
        return Judgement(
            verdict, reason, str(undecided.get("operator", "")), str(undecided.get("at", "")),
            verification,
        )  # fmt: skip
    kinds = {"different": ("value", "layout"), "other layout": ("layout",)}.get(verdict, ())
    for kind in kinds:
        for difference in verification.differences:
            if difference.get("kind") == kind:
                places = [difference.get(one, "") for one in ("first", "second")]
                where = " against ".join(place for place in places if place)
                return Judgement(verdict, difference["message"], "", where, verification)
    notes = [note for note in report.get("notes", ()) if "another order" in note]
    return Judgement(verdict, "", "", "", verification, tuple(notes))
