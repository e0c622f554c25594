# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute as custom passes of torch.compile.

    torch._inductor.config.pre_grad_custom_pass = (
        commute.torch.CatLinearFusedPreGradPass(target="local.json"))
"""

import functools
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch._dynamo.utils import counters
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch.fx import Graph

import commute
from commute.torch.live_graph import optimize_graph


def cat_linear_fused_pre_grad_pass(
    graph: Graph,
    *,
    policy: str = "profitable",
    target: str | os.PathLike[str] = "h100x8",
    exact_rounding: bool = False,
    verify: bool = True,
) -> int:
    """Splits linears of concatenations into sums of linears of the parts.

    Takes the place of PyTorch's pass of this name: a graph of Dynamo is changed in
    place. Gives the number of rewrites, which is also added to
    `counters["inductor"]["cat_linear_fused"]`; why something was left alone is logged
    (`logging.getLogger("commute")`).

    policy          "profitable": where it pays on the target; "always": where it is
                    legal; "upstream": where PyTorch's own pass would
    target          the machine to price for, by name or file
    exact_rounding  only rewrites that round as before
    verify          prove the result equal
    """
    options = "{exact-rounding=true}" if exact_rounding else ""
    remarks = optimize_graph(
        graph, passes=f"split-linear{options}", policy=policy, target=target, verify=verify
    )
    count = sum(remark.verdict == "applied" for remark in remarks)
    counters["inductor"]["cat_linear_fused"] += count
    return count


@functools.cache
def _package_hash() -> str:
    """Of everything that decides what a pass does: the sources and the module."""
    digest = hashlib.sha256()
    files = [
        Path(folder) / name
        for top in commute.__path__
        # In a build tree the folders are links.
        for folder, _, names in os.walk(top, followlinks=True)
        for name in names
        if name.endswith((".py", ".so"))
    ]
    for path in sorted(files):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _ConfiguredPass(CustomGraphPass):
    """A pass with its options, by which torch.compile may cache what it compiled."""

    def __init__(self, function: Callable[..., int], options: dict[str, Any]) -> None:
        self._function = function
        self._options = options

    def __call__(self, graph: Graph) -> None:
        self._function(graph, **self._options)

    def uuid(self) -> tuple[str, str, str]:
        options = dict(self._options)
        # A target in a file is what the file says.
        if Path(str(options.get("target", ""))).is_file():
            options["target"] = Path(options["target"]).read_text()
        return (
            _package_hash(),
            self._function.__name__,
            json.dumps(options, sort_keys=True, default=str),
        )


class CatLinearFusedPreGradPass(_ConfiguredPass):
    """`cat_linear_fused_pre_grad_pass` with options, for
    `torch._inductor.config.pre_grad_custom_pass`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(cat_linear_fused_pre_grad_pass, options)
