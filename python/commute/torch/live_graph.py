# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute's passes over a live fx.Graph, in place.

The graph is read as a program, optimized in the memory of this process, and edited:
untouched nodes stay the objects that they are. What the passes did, and why they left
something alone, comes back as remarks.
"""

import contextlib
import dataclasses
import json
import logging
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

import commute
from commute.errors import CommuteError
from commute.native import native, native_errors
from commute.remarks import Remark
from commute.torch.compatibility import OpOverload
from commute.torch.containment import warn_of
from commute.torch.effects import switches_mode
from commute.torch.graph_edits import GraphEdits
from commute.torch.graph_program import GraphProgram, get_value
from commute.torch.graph_transaction import GraphTransaction
from commute.torch.process_groups import (
    ProcessGroups,
    collectives_among,
    get_rank,
    group_name_of,
    group_names,
    has_computed_group,
    names_with_size,
    process_group_name,
    waits_for,
)
from commute.torch.rank_exchange import (
    Identity,
    RankExchange,
    RanksAbsent,
    RanksDisagree,
    check_timeout,
    choose_mode,
)
from commute.torch.rank_programs import (
    CommonGroups,
    RankPrograms,
    add_own_groups,
    chosen_target,
    members_of,
    offered_target,
    split_target,
)
from commute.torch.schema_arguments import SCALAR_TYPES
from commute.torch.source_lines import user_line
from commute.torch.stated_context import StatedContext

_log = logging.getLogger("commute")


def _remarks(entries: Sequence[tuple[str, ...]], graph: Graph) -> list[Remark]:
    """With the lines of the user's program, which only nodes with remarks are asked for."""
    nodes = {node.name: node for node in graph.nodes} if entries else {}

    def remark(verdict: str, pass_name: str, name: str, message: str, suggestion: str) -> Remark:
        node = nodes.get(name)
        file, line = ("", 0) if node is None else user_line(node.meta.get("stack_trace") or "")
        return Remark(verdict, pass_name, name, message, file, line, suggestion)

    return [remark(*entry) for entry in entries]


def _runs(graph: Graph, left_alone: Collection[Node]) -> list[list[Node]]:
    """The nodes between those that switch a mode (gradients, autocast, ...) or are left
    alone: what is on one side of such a node must not move to the other."""
    runs: list[list[Node]] = [[]]
    switches: set[Node] = set()
    for node in graph.nodes:
        if node in left_alone:
            runs.append([])
        elif isinstance(node.target, OpOverload):
            runs[-1].append(node)
        elif switches_mode(node, get_value(node), switches):
            switches.add(node)
            runs.append([])
        else:
            runs[-1].append(node)
    return [run for run in runs if any(node.op in ("call_function", "call_method") for node in run)]


def _collectives_of(graph: Graph, groups: Collection[str]) -> list[Node]:
    """The nodes that communicate in some groups, each with its wait."""
    found: dict[Node, None] = {}
    for node in graph.nodes if groups else ():
        if group_name_of(node) in groups or waits_for(node, found):
            found[node] = None
    return list(found)


def _without_known_ranks(
    graph: Graph, stated: StatedContext, *, verify: bool, passes: str
) -> set[str]:
    """The groups of which too little is known to read their collectives.

    The only group of a graph may have any ranks: what holds for one group of that size
    holds for all. Of several groups the proof must know which ranks they share. In a
    distributed program, new collectives need a group that the process has; copies do not.
    """
    unknown = stated.unknown_groups()
    if not unknown:
        return unknown
    foreign: set[str] = set()
    if get_rank() is not None and passes.partition("{")[0] != "contiguous-collectives":
        process = ProcessGroups()
        foreign = {name for name in unknown if process.own_members(name) is None}
    if not (verify and stated.has_several_groups()):
        unknown -= names_with_size(graph.nodes)
    return unknown | foreign


def _own_groups(names: Collection[str]) -> set[str]:
    """The groups that this process has."""
    process = ProcessGroups()
    return {name for name in names if process.own_members(name) is not None}


def _noted(node: Node, message: str, suggestion: str = "") -> Remark:
    return Remark(
        verdict="noted",
        pass_name="import",
        node=node.name,
        message=f"left alone: {message}",
        suggestion=suggestion,
    )


def _left_alone(nodes: Collection[Node]) -> list[Remark]:
    return [
        _noted(
            node,
            f"the ranks of process group {group_name_of(node)!r} are not known on all ranks",
            "make the group an axis of a DeviceMesh of all ranks, or state its"
            ' ranks in context["groups"]',
        )
        for node in nodes
        if group_name_of(node) is not None
    ]


def _of_computed_groups(nodes: Iterable[Node]) -> list[Remark]:
    return [
        _noted(
            node,
            "its process group is a value that the graph computes, and its ranks are not known",
            "compile with the group's name as a constant",
        )
        for node in nodes
        if has_computed_group(node)
    ]


def _of_unknown_types(nodes: Iterable[Node]) -> list[Remark]:
    """About collectives of elements that the export schema lacks, such as those of NVFP4."""
    remarks = []
    for node in nodes:
        value = get_value(node)
        if (
            group_name_of(node) is not None
            and isinstance(value, torch.Tensor)
            and value.dtype not in SCALAR_TYPES
        ):
            dtype = str(value.dtype).removeprefix("torch.")
            fused = " (NVFP4 or MXFP4)" if dtype.startswith("float4") else ""
            message = f"its elements are {dtype}{fused}, for which PyTorch has no fused products"
            remarks.append(_noted(node, message))
    return remarks


_OF_UNKNOWN_RANKS = Remark(
    "noted",
    "import",
    "",
    "the graph is the program of one rank, and those of the other ranks are not known: only"
    " rewrites are made that hold whatever the other ranks compute between their collectives",
    suggestion='if all ranks run this program, state ranks="same"',
)


def _of_unknown_parameters(names: Sequence[str], now: float, stated: float) -> Remark:
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    are = "is" if len(names) == 1 else "are"
    kind = "a plain parameter" if len(names) == 1 else "plain parameters"
    return Remark(
        "noted",
        "import",
        "",
        f"{stated * 1e6:.1f} us instead of {now * 1e6:.1f} us would be saved if {listed} {are}"
        f" replicated: of {kind}, nothing is known on other ranks",
        suggestion='state plain_parameters="replicated"',
    )


def _decisions(remarks: Sequence[Remark], all_ranks: RankPrograms | None) -> list[str]:
    """The rewrites, without the lines of code: ranks may have their files elsewhere."""
    texts = [
        f"{remark.pass_name} {remark.node}: {remark.message}"
        for remark in remarks
        if remark.verdict == "applied"
    ]
    return [*map(all_ranks.common_text, texts)] if all_ranks else texts


# Options that are right: a pass checks its options at every call.
_checked: set[tuple[str, str | None, str]] = set()


def check_options(
    *,
    passes: str = "",
    policy: str | None = None,
    target: str | os.PathLike[str] | None = None,
) -> None:
    """Raises CommuteError where `optimize_graph` would for its options, with any graph."""
    options = (passes, policy, str(target))
    # What a file says may change.
    if options in _checked and not os.path.exists(split_target(str(target))[0]):
        return
    with native_errors():
        native().check_options(
            passes=passes,
            policy="profitable" if policy is None else policy,
            target="h100x8" if target is None else str(target),
        )
    _checked.add(options)


def check_rank_options(
    ranks: str | None, rank_timeout: float, plain_parameters: str | None
) -> None:
    """Raises CommuteError where `optimize_graph` would for what is said of other ranks."""
    choose_mode(ranks)
    check_timeout(rank_timeout)
    if plain_parameters not in (None, "unknown", "replicated"):
        raise CommuteError(
            f'plain_parameters={plain_parameters!r}: expected "unknown" or "replicated"'
        )


@dataclasses.dataclass
class OptimizedRuns:
    """What passes did with the runs of a graph."""

    remarks: list[Remark]
    is_changed: bool = False
    proofs: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """The reports of the proofs, of the runs that have one."""


def is_local(passes: str) -> bool:
    """Whether passes change nothing but what a rank computes by itself."""
    names = re.sub(r"\{[^}]*\}", "", passes).split(",")
    return {*names} <= {"split-linear", "contiguous-collectives"}


@dataclasses.dataclass(frozen=True)
class RankOptions:
    """What a caller says of the other ranks; see `optimize_graph`."""

    mode: str = "same"
    timeout: float = 60
    checks_decisions: bool = False
    plain_parameters: str | None = None

    @contextlib.contextmanager
    def open_exchange(
        self,
        name: str,
        members: Collection[int],
        groups: CommonGroups | None,
        options: Mapping[str, Any],
    ) -> Iterator[RankExchange | None]:
        """The exchange of a graph with the ranks that it connects; None if they are not asked.
        Where this rank fails, the others are told."""
        if self.mode != "exchange" and not (self.checks_decisions and get_rank() is not None):
            yield None
            return
        everyone = range(torch.distributed.get_world_size())
        exchange = RankExchange(
            Identity.take(name),
            members if self.mode == "exchange" else everyone,
            options=json.dumps(
                [commute.__version__, {**options, "target": ""}], sort_keys=True, default=str
            ),
            offers=offered_target(options["target"]),
            timeout=self.timeout,
            groups=groups.own if groups is not None and self.mode == "exchange" else None,
        )
        try:
            yield exchange if len(exchange.meet()) > 1 else None
        except RanksDisagree:
            raise
        except BaseException as error:
            exchange.abandon(f"{type(error).__name__}: {error}")
            raise
        finally:
            exchange.close()


def optimize_runs(
    graph: Graph,
    *,
    context: Mapping[str, Any] | None,
    is_functional_graph: bool,
    allow_unused_context: bool,
    groups: Collection[str] | None,
    compile_range: tuple[int, int] | None,
    ranks: RankOptions,
    options: Mapping[str, Any],
) -> OptimizedRuns:
    """Optimizes each run of a graph, and changes the graph if all ranks take the same
    decisions. Raises RanksDisagree if they do not."""

    def get_program(nodes: Sequence[Node]) -> GraphProgram:
        return GraphProgram(nodes, is_functional_graph=is_functional_graph)

    runs = _runs(graph, ())
    programs = [get_program(nodes) for nodes in runs]
    stated = StatedContext(
        context,
        programs,
        allow_unused=allow_unused_context,
        compile_range=compile_range,
        plain_parameters=ranks.plain_parameters,
        completes_groups=ranks.mode != "exchange",
    )
    excluded = _without_known_ranks(
        graph, stated, verify=options["verify"], passes=options["passes"]
    )
    unknown = {*excluded}
    rank = get_rank()
    # Ranks that exchange their programs also tell each other their groups.
    untold = _own_groups(stated.unknown_groups()) if ranks.mode == "exchange" else set()
    if groups is not None:
        excluded |= group_names(graph.nodes) - {*groups}
        untold &= {*groups}

    def runs_without(names: Collection[str]) -> list[list[Node]]:
        return _runs(graph, _collectives_of(graph, names)) if names else runs

    told, rest = runs_without(excluded - untold), runs_without(excluded)
    names = group_names(graph.nodes) - (excluded - untold)
    stated_groups = {"groups": dict(stated.groups)}
    if rank is not None:
        add_own_groups(stated_groups, names)
    members = set() if rank is None else members_of(stated_groups, names, rank)
    common_groups = None if rank is None else CommonGroups(stated_groups, graph.nodes, names, rank)
    common = {**options, "runs": [len(told), len(rest)], "range": compile_range}
    with ranks.open_exchange(
        options["passes"] or "all", members, common_groups, common
    ) as exchange:
        all_groups = exchange.groups_of_all() if exchange is not None and untold else None
        if all_groups is not None and rank is not None:
            stated.know({name: all_groups[process_group_name(name)] for name in untold})
            excluded -= untold
            stated_groups["groups"].update(stated.groups)
            common_groups = CommonGroups(stated_groups, graph.nodes, names, rank)
        names = group_names(graph.nodes) - excluded
        if excluded:
            runs = told if all_groups is not None else rest
            programs = [get_program(nodes) for nodes in runs]
        collectives = collectives_among(graph.nodes)
        done = OptimizedRuns(
            _left_alone(_collectives_of(graph, excluded & unknown))
            + _of_computed_groups(collectives)
            + _of_unknown_types(collectives)
        )
        if ranks.mode == "unknown" and names and not is_local(options["passes"]):
            done.remarks.append(_OF_UNKNOWN_RANKS)

        def attempt() -> OptimizedRuns:
            attempted = dataclasses.replace(done, remarks=[*done.remarks], proofs=[])
            all_ranks = None
            if exchange is not None and ranks.mode == "exchange" and common_groups is not None:
                all_ranks = RankPrograms(exchange, exchange.rank, common_groups)
            _optimize_runs(
                graph,
                runs,
                programs,
                get_program,
                stated,
                ranks,
                exchange,
                all_ranks,
                options,
                attempted,
            )
            return attempted

        try:
            return attempt()
        except RanksAbsent:
            # Those that have come follow the last agreement, if there is one.
            if exchange is None or not exchange.follow():
                raise
            return attempt()


def _optimize_runs(
    graph: Graph,
    runs: Sequence[Sequence[Node]],
    programs: Sequence[GraphProgram],
    get_program: Callable[[Sequence[Node]], GraphProgram],
    stated: StatedContext,
    ranks: RankOptions,
    exchange: RankExchange | None,
    all_ranks: RankPrograms | None,
    options: Mapping[str, Any],
    done: OptimizedRuns,
) -> None:
    if exchange is not None and all_ranks is not None:
        # Prices, and so decisions, are those of one machine.
        options = {**options, "target": chosen_target(exchange, options["target"])}
    transaction = None
    try:
        for index, nodes in enumerate(runs):
            # Edits of the runs before may have replaced what this one reads.
            program = programs[index] if transaction is None else get_program(nodes)
            own = stated.of(program)
            others: dict[str, Any] = {}
            if all_ranks is not None:
                add_own_groups(own, program.group_names())
                met = all_ranks.exchange(str(index), program, own, stated.checksums_of(program))
                own = met.context
                others = dict(other_ranks=met.ranks, rank=get_rank(), group_names=met.group_names)
            with native_errors():
                edits, entries, proof, difference, gain = native().optimize(
                    program.native,
                    **options,
                    **others,
                    context=json.dumps(own),
                    has_other_groups=stated.has_other_groups(program),
                    ranks_are_unknown=ranks.mode == "unknown",
                    assumes_norm_weights=ranks.plain_parameters is None,
                    unstated_inputs=list(unknown := stated.unknown_parameters(program)),
                )
            if difference:
                raise RanksDisagree(difference)
            if gain:
                now, with_statement, lacking = gain
                names = [unknown[name] for name in lacking]
                done.remarks.append(_of_unknown_parameters(names, now, with_statement))
            if proof:
                done.proofs.append(json.loads(proof))
            # Nodes have the names that remarks use until they are edited.
            done.remarks += _remarks(entries, graph)
            if edits is not None:
                transaction = transaction or GraphTransaction(graph)
                GraphEdits(graph, program, edits, transaction).apply()
        if exchange is not None:
            exchange.decide(_decisions(done.remarks, all_ranks))
        if transaction is not None:
            transaction.commit()
            done.is_changed = True
    except BaseException:
        if transaction is not None:
            transaction.roll_back()
        raise


def optimize_graph(
    graph: Graph,
    *,
    passes: str = "",
    policy: str = "profitable",
    target: str | os.PathLike[str] = "h100x8",
    verify: bool = True,
    context: Mapping[str, Any] | None = None,
    vocabulary: Mapping[str, Any] | None = None,
    is_functional_graph: bool = False,
    allow_unused_context: bool = False,
    groups: Collection[str] | None = None,
    compile_range: tuple[int, int] | None = None,
    check_ranks: bool = False,
    ranks: str | None = None,
    rank_timeout: float = 60,
    plain_parameters: str | None = None,
    postponed: Sequence[str] = (),
) -> list[Remark]:
    """Optimizes an fx.Graph in place, and gives the remarks of the passes.

    Nodes need the values that they gave when traced, as Dynamo and AOTAutograd leave
    them in `meta` (`example_value` or `val`); one without is left alone, with what
    reads it.

    passes      as in `commute opt --passes`, such as "split-linear{policy=always}";
                empty: all of them
    policy      "profitable": what pays on the target; "always": what is legal
    target      the machine to price for: a name of `commute targets`, or a file, such
                as `commute calibrate` writes for the machine at hand
    verify      prove the result equal; where that cannot be done the graph stays
    context     groups, placements and assumptions, as a dict in the form of a sidecar
                (extra/commute.json). Groups that this process knows on all ranks need
                not be stated: the group of all ranks, and axes of a DeviceMesh. In
                torch.compile, inputs may go by the names of parameters and arguments,
                and what a DTensor says of its placement need not be stated
    vocabulary  operators of your own, as a dict in the form of a vocabulary file
    is_functional_graph  the graph comes after functionalization (AOTAutograd's are)
    allow_unused_context  the context may state groups, inputs and sizes that the graph
                does not have
    groups      only collectives of these process groups are rewritten; None: of all. Those
                of groups whose ranks nobody knows are left alone, with a remark
    compile_range  the smallest and the largest value of the graph's only symbolic size, for
                which the graph is compiled. Rewrites must pay at the smallest value, and all of
                them together at the largest
    check_ranks  compare the rewrites of all ranks of the default group, each of which must
                optimize the same graph; where they differ the graph stays on all ranks.
                `ranks="exchange"` includes this for the ranks that the graph connects
    ranks       "exchange": ranks tell each other their graphs, and decide together;
                "same": all ranks run this graph; "unknown": nothing is known of other
                graphs. By default, "exchange" in a process group of several processes,
                "unknown" in one whose other ranks cannot be asked (a single process, the
                fake backend), and "same" without a process group, where the graph is the
                program of all ranks that the context states
    rank_timeout  how many seconds to wait for the graphs of other ranks. A graph that a
                rank does not compile in time is left alone on all ranks, and the function
                that it is of is not waited for again
    plain_parameters  what is known of parameters and buffers whose placement neither the
                context nor a DTensor states: "unknown", or "replicated" on all ranks. None:
                unknown, but for weights and biases of norms, which are replicated

    postponed   without `passes`: passes that take part in the choice among all of them, but
                do not run, because a later call runs them: torch.compile splits the graph
                of forward and backward before collectives are fused with products

    Raises CommuteError for options that are wrong, and for errors of Commute's own; the
    graph is then as it was, as after any other error.
    """
    check_rank_options(ranks, rank_timeout, plain_parameters)
    mode = choose_mode(ranks)
    if is_local(passes):
        # Neither needs nor changes what other ranks do.
        mode = "unknown" if mode == "exchange" else mode
    options = dict(
        passes=passes,
        policy=policy,
        target=str(target),
        verify=verify,
        postponed=list(postponed),
        vocabulary="" if vocabulary is None else json.dumps(vocabulary),
    )
    try:
        remarks = optimize_runs(
            graph,
            context=context,
            is_functional_graph=is_functional_graph,
            allow_unused_context=allow_unused_context,
            groups=groups,
            compile_range=compile_range,
            ranks=RankOptions(mode, rank_timeout, check_ranks, plain_parameters),
            options=options,
        ).remarks
    except RanksDisagree as error:
        warn_of(passes or "optimize_graph", error)
        remarks = [Remark("noted", "import", "", f"left alone on all ranks: {error}")]
    if _log.isEnabledFor(logging.INFO):
        for remark in remarks:
            _log.log(logging.INFO if remark.verdict == "applied" else logging.DEBUG, "%s", remark)
    return remarks
