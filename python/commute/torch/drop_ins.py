# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Functions that stand in for the passes of other systems.

Each is called as its original is: it changes an fx.Graph or a GraphModule in place and
returns what the original returns. Graphs of AOTAutograd or of torch.export, after
functionalization, but for the pass over linears of concatenations, whose graphs are
Dynamo's. All take these options:

policy    "profitable": what pays on the target; "always": what is legal; "upstream", where
          the function has it: what the original would rewrite
target    the machine to price for: a name of `commute targets`, or a file, such as
          `commute calibrate` writes
verify    prove the result equal before the graph is changed
context   groups, placements of inputs and assumptions, as a dict in the form of a sidecar.
          What the process knows need not be stated (see `optimize_graph`)
allow_unused_context, check_ranks, compile_range, ranks, rank_timeout, plain_parameters
          as in `optimize_graph`
fatal     raise errors of Commute. Otherwise they are logged as warnings of the logger
          "commute", once for each cause, and the graph is left as it was

Wrong options always raise CommuteError.
"""

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch.fx import Graph, GraphModule

from commute.torch import pattern_counts
from commute.torch.compatibility import counters, is_symm_mem_enabled_for_group
from commute.torch.containment import contained
from commute.torch.live_graph import Remark, check_options, check_rank_options, optimize_graph
from commute.torch.process_groups import group_names, process_group_name
from commute.torch.stated_groups import find_groups

_log = logging.getLogger("commute")

# Collectives along any dim are recognized first and written as PyTorch's own last.
_ALONG_ANY_DIM = "normalize-collectives,{},lower-collectives"

Target = str | os.PathLike[str]
Context = Mapping[str, Any] | None


def _graph_of(module: Graph | GraphModule) -> Graph:
    return module.graph if isinstance(module, GraphModule) else module


def _recompile(module: Graph | GraphModule) -> None:
    if isinstance(module, GraphModule):
        module.recompile()


def _optimize(
    name: str,
    graph: Graph,
    passes: str,
    *,
    fatal: bool,
    policy: str,
    target: Target,
    **options: Any,
) -> Sequence[Remark]:
    check_options(passes=passes, policy=policy, target=target)
    check_rank_options(
        options.get("ranks"), options.get("rank_timeout", 60), options.get("plain_parameters")
    )
    return contained(
        name,
        lambda: optimize_graph(graph, passes=passes, policy=policy, target=target, **options),
        [],
        fatal=fatal,
    )


def micro_pipeline_tp_pass(
    graph: Graph,
    *,
    policy: str = "profitable",
    target: Target = "h100x8",
    verify: bool = True,
    context: Context = None,
    allow_unused_context: bool = False,
    check_ranks: bool = False,
    ranks: str | None = None,
    rank_timeout: float = 60,
    plain_parameters: str | None = None,
    groups: Collection[str] | None = None,
    only_enabled_groups: bool = False,
    compile_range: tuple[int, int] | None = None,
    fatal: bool = False,
) -> None:
    """Fuses collectives with matrix products: for PyTorch Inductor's pass of this name.

    groups               only collectives of these process groups are fused
    only_enabled_groups  only those of groups for which symmetric memory is enabled, which
                         is PyTorch's rule
    """
    if only_enabled_groups:
        names = group_names(graph.nodes) if groups is None else groups
        groups = [
            name
            for name in names
            if is_symm_mem_enabled_for_group(process_group_name(name))  # type: ignore[arg-type]
        ]
    _optimize(
        "micro_pipeline_tp_pass",
        graph,
        _ALONG_ANY_DIM.format("micro-pipeline"),
        fatal=fatal,
        policy=policy,
        target=target,
        verify=verify,
        context=context,
        allow_unused_context=allow_unused_context,
        check_ranks=check_ranks,
        ranks=ranks,
        rank_timeout=rank_timeout,
        plain_parameters=plain_parameters,
        groups=groups,
        compile_range=compile_range,
        is_functional_graph=True,
    )


def sequence_parallel_pass(
    gm: GraphModule,
    *,
    policy: str = "profitable",
    target: Target = "h100x8",
    verify: bool = True,
    context: Context = None,
    allow_unused_context: bool = False,
    check_ranks: bool = False,
    ranks: str | None = None,
    rank_timeout: float = 60,
    plain_parameters: str | None = None,
    counts: dict[str, int] | None = None,
    compile_range: tuple[int, int] | None = None,
    fatal: bool = False,
) -> GraphModule:
    """Runs row-wise ops on shards: for the passes of TensorCast and vLLM. Returns the module.

    counts  where the numbers of rewritten all_reduces by TensorCast's patterns are put
            (see `pattern_counts`)
    """
    graph = _graph_of(gm)
    patterns = pattern_counts.patterns_of(graph)
    remarks = _optimize(
        "sequence_parallel_pass",
        graph,
        _ALONG_ANY_DIM.format("sequence-parallel"),
        fatal=fatal,
        policy=policy,
        target=target,
        verify=verify,
        context=context,
        allow_unused_context=allow_unused_context,
        check_ranks=check_ranks,
        ranks=ranks,
        rank_timeout=rank_timeout,
        plain_parameters=plain_parameters,
        compile_range=compile_range,
        is_functional_graph=True,
    )
    if counts is not None:
        counts.clear()
        counts.update(pattern_counts.count(patterns, remarks))
    _recompile(gm)
    return gm


def optimize_joint_graph(
    graph: Graph,
    *,
    policy: str = "profitable",
    target: Target = "h100x8",
    fatal: bool = False,
    **options: Any,
) -> None:
    """Chooses among all passes, and makes those rewrites that the graphs of forward and
    backward cannot make: for the joint graph of torch.compile. The options are those of
    `commute.torch.optimize_graph`; `fatal` as in the passes here."""
    _optimize(
        "optimize_joint_graph",
        graph,
        "",
        fatal=fatal,
        policy=policy,
        target=target,
        postponed=("micro-pipeline", "contiguous-collectives"),
        is_functional_graph=True,
        **options,
    )


def fuse_cat_linear_in_graph(
    graph: Graph,
    *,
    policy: str = "upstream",
    target: Target = "h100x8",
    exact_rounding: bool = False,
    max_parts: int = 3,
    min_piece_width: int = 8,
    max_total_cat_width: int = 384,
    verify: bool = True,
    fatal: bool = False,
) -> int:
    """Splits linears of concatenations into sums of linears of the parts: for the function
    of this name proposed for PyTorch Inductor. Returns the number of rewrites, which is
    also added to `counters["inductor"]["cat_linear_fused"]`.

    policy          by default "upstream": the concatenations that the original splits
    exact_rounding  only rewrites that round as before
    max_parts, min_piece_width, max_total_cat_width
                    the original's limits, for policy="upstream": a concatenation has 2
                    parts or more
    """
    options = {
        "exact-rounding": str(exact_rounding).lower(),
        # Passes after autograd may fuse these with the products.
        "keep-collectives": "true",
        "max-parts": max_parts,
        "min-part-width": min_piece_width,
        "max-width": max_total_cat_width,
    }
    stated = " ".join(f"{name}={value}" for name, value in options.items())
    remarks = _optimize(
        "cat_linear_fused_pre_grad_pass",
        graph,
        f"split-linear{{{stated}}}",
        fatal=fatal,
        policy=policy,
        target=target,
        verify=verify,
    )
    count = sum(remark.verdict == "applied" for remark in remarks)
    counters["inductor"]["cat_linear_fused"] += count
    return count


def cat_linear_fused_pre_grad_pass(graph: Graph, **options: Any) -> Graph:
    """`fuse_cat_linear_in_graph` with its options, as a custom pass before autograd: for the
    pass of this name proposed for PyTorch Inductor. Returns the graph."""
    fuse_cat_linear_in_graph(graph, **options)
    return graph


def _has_unknown_groups(graph: Graph, context: Context) -> bool:
    names, stated = group_names(graph.nodes), (context or {}).get("groups", {})
    # What has another form is refused where it is read.
    return isinstance(stated, Mapping) and bool(names - {*find_groups(stated, names)})


def contiguous_collectives_pass(
    gm: Graph | GraphModule,
    *,
    policy: str = "profitable",
    target: Target = "h100x8",
    verify: bool = True,
    context: Context = None,
    allow_unused_context: bool = False,
    check_ranks: bool = False,
    ranks: str | None = None,
    rank_timeout: float = 60,
    plain_parameters: str | None = None,
    fatal: bool = False,
) -> None:
    """Makes the inputs of collectives contiguous.

    policy  "upstream": copies every input that is no contiguous copy already, as
            AutoParallel's pass does; otherwise those that are not proven contiguous
    verify  whether to prove the result. With groups whose ranks nobody knows there is no
            proof: a copy is the same whichever ranks communicate
    """
    graph = _graph_of(gm)
    is_upstream = policy == "upstream"
    if verify and _has_unknown_groups(graph, context):
        _log.info("contiguous_collectives_pass: not verified: the graph has unknown groups")
        verify = False
    _optimize(
        "contiguous_collectives_pass",
        graph,
        f"contiguous-collectives{{upstream-rule={str(is_upstream).lower()}}}",
        fatal=fatal,
        policy="always" if is_upstream else policy,
        target=target,
        verify=verify,
        context=context,
        allow_unused_context=allow_unused_context,
        check_ranks=check_ranks,
        ranks=ranks,
        rank_timeout=rank_timeout,
        plain_parameters=plain_parameters,
        is_functional_graph=True,
    )


def make_collectives_contiguous(gm: GraphModule, **options: Any) -> None:
    """`contiguous_collectives_pass` with its options, after which the module is recompiled:
    for AutoParallel's function of this name."""
    contiguous_collectives_pass(gm, **options)
    gm.recompile()
