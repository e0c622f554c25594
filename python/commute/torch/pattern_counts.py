# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Rewritten all_reduces by the patterns that TensorCast's sequence-parallel pass reports.

P1: the all_reduce is normed, P2: it is added to the residual and normed, and both are
returned, P3: it is the last summand of the residual, which is then normed. All others
(moved past other ops, of other libraries) are "other".
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from torch.fx import Graph, Node

from commute.torch.live_graph import Remark

# Ops that only mark or reshape a value.
_PASS_ON = (
    "tensor_cast._internal_mark_region_begin.default",
    "tensor_cast._internal_mark_region_end.default",
    "tensor_cast._internal_copy_region.default",
    "aten.view.default",
    "aten.reshape.default",
)


def _pattern_of(value: Node) -> str | None:
    """The pattern by the first user that is one of TensorCast's norms, or leads to one."""
    for user in value.users:
        name = str(user.target)
        if name in _PASS_ON:
            pattern = _pattern_of(user)
        elif name == "tensor_cast.rms_norm.default":
            pattern = "P1"
        elif name == "tensor_cast.add_rms_norm.default":
            pattern = "P1" if user.args[0] is value else "P3"
        elif name == "tensor_cast.add_rms_norm2.default":
            pattern = "P2"
        elif name == "aten.add.Tensor":
            pattern = "P3" if _pattern_of(user) is not None else None
        else:
            pattern = None
        if pattern is not None:
            return pattern
    return None


def patterns_of(graph: Graph) -> dict[str, str]:
    """The pattern of every all_reduce, by name, before any is rewritten."""
    return {
        node.name: _pattern_of(node) or "other"
        for node in graph.nodes
        if str(node.target).split(".")[-2:-1] == ["all_reduce"]
    }


def count(patterns: Mapping[str, str], remarks: Sequence[Remark]) -> dict[str, int]:
    """How many all_reduces of each pattern the remarks say are rewritten."""
    rewritten = {remark.node for remark in remarks if remark.verdict == "applied"}
    found = Counter(pattern for name, pattern in patterns.items() if name in rewritten)
    return {pattern: found[pattern] for pattern in ("P1", "P2", "P3", "other")}
