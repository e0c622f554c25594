# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute's passes as objects, for the custom passes of torch.compile.

    torch._inductor.config.post_grad_custom_post_pass = (
        commute.torch.MicroPipelinePass(target="local.json"))

What `torch.compile` compiled is cached by their `uuid()`.
"""

import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.fx import Graph, GraphModule

import commute
from commute.torch import drop_ins
from commute.torch.compatibility import (
    CustomGraphPass,
    CustomPass,
    group_names_and_ranks,
    stable_topological_sort,
    takes_lists_of_passes,
)
from commute.torch.known_groups import known_groups
from commute.torch.live_graph import check_options
from commute.torch.process_groups import get_rank
from commute.torch.rank_exchange import choose_mode
from commute.torch.rank_programs import split_target
from commute.torch.traced_inputs import TracedInputs


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


def _process_state() -> str:
    """What a pass reads besides the graph. Ranks share caches, and their programs may
    differ; names of groups mean other ranks in another run."""
    rank = get_rank()
    if rank is None:
        return ""
    groups = sorted(
        (name, ranks, known_groups.find(name)) for name, ranks in group_names_and_ranks()
    )
    return f"{rank} of {dist.get_world_size()} {groups} {TracedInputs.current()}"


class PassSequence(CustomGraphPass):
    """Several custom passes as one, for a PyTorch whose options hold one pass."""

    def __init__(self, passes: Sequence[CustomPass]) -> None:
        self.passes = tuple(passes)

    def __call__(self, graph: Graph) -> None:
        for custom in self.passes:
            custom(graph)

    def uuid(self) -> Any:
        """None, with which nothing is cached, if a pass has none."""
        uuids = [getattr(custom, "uuid", lambda: None)() for custom in self.passes]
        return None if None in uuids else tuple(uuids)


def custom_passes(option: Any) -> tuple[CustomPass, ...]:
    """The passes in an option of Inductor."""
    if option is None:
        return ()
    if isinstance(option, PassSequence):
        return option.passes
    return tuple(option) if isinstance(option, (list, tuple)) else (option,)


def join_passes(passes: Sequence[CustomPass]) -> Any:
    """An option of Inductor that holds these passes."""
    if takes_lists_of_passes():
        return list(passes)
    if len(passes) < 2:
        return passes[0] if passes else None
    return PassSequence(passes)


class ConfiguredPass(CustomGraphPass):
    """A pass with its options, by which torch.compile may cache what it compiled."""

    # Whether its rewrites must be made on all ranks.
    decides_for_all_ranks = False

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        check_options(
            policy="always" if options.get("policy") == "upstream" else options.get("policy"),
            target=options.get("target"),
        )
        self._function = function
        self._options = options

    def __call__(self, graph: Graph) -> Any:
        return self._function(graph, **self._options)

    def uuid(self) -> tuple[str, str, str, str] | None:
        """None, with which nothing is cached, where ranks decide together: a rank that takes
        its code from a cache does not tell the others what it runs."""
        options = dict(self._options)
        if self.decides_for_all_ranks and choose_mode(options.get("ranks")) == "exchange":
            return None
        # A target in a file is what the file says.
        machine, suffix = split_target(str(options.get("target", "")))
        if Path(machine).is_file():
            options["target"] = Path(machine).read_text() + suffix
        return (
            _package_hash(),
            self._function.__name__,
            json.dumps(options, sort_keys=True, default=str),
            _process_state(),
        )


class CatLinearFusedPreGradPass(ConfiguredPass):
    """`cat_linear_fused_pre_grad_pass` with options, whose policy is "profitable" unless
    stated, for `torch._inductor.config.pre_grad_custom_pass`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            drop_ins.cat_linear_fused_pre_grad_pass, {"policy": "profitable", **options}
        )


class RangedPass(ConfiguredPass):
    """A pass over graphs that are compiled for a range of a symbolic size, as vLLM's are."""

    decides_for_all_ranks = True

    def is_applicable_for_range(self, compile_range: Any) -> bool:
        """vLLM's question before a pass runs: the next graph is compiled for the sizes from
        `compile_range.start` to `compile_range.end`. True: each rewrite is decided by itself."""
        self._options["compile_range"] = (compile_range.start, compile_range.end)
        return True


class MicroPipelinePass(RangedPass):
    """`micro_pipeline_tp_pass` with options, for
    `torch._inductor.config.post_grad_custom_post_pass`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(drop_ins.micro_pipeline_tp_pass, options)


class ContiguousCollectivesPass(ConfiguredPass):
    """`contiguous_collectives_pass` with options, for
    `torch._inductor.config.post_grad_custom_post_pass`, after passes that may make
    strided inputs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(drop_ins.contiguous_collectives_pass, options)


class JointGraphPass(ConfiguredPass):
    """Chooses among all passes in the joint graph of torch.compile, and leaves it to passes
    after autograd to fuse collectives, for `torch._inductor.config.joint_custom_post_pass`."""

    decides_for_all_ranks = True

    def __init__(self, **options: Any) -> None:
        super().__init__(drop_ins.optimize_joint_graph, options)

    def __call__(self, graph: Graph) -> Any:
        # Inductor's own rewrites, such as those of dropout, leave it to later to sort.
        stable_topological_sort(graph)
        return super().__call__(graph)


def _is_off_in_tensor_cast() -> bool:
    """Whether TensorCast is there, and its flag for sequence parallelism is off."""
    config: Any = sys.modules.get("tensor_cast.config")
    return config is not None and not config.compilation.passes.enable_sequence_parallel


class SequenceParallelPass(RangedPass):
    """`sequence_parallel_pass` with options, for TensorCast's pipeline, in the place and
    under the flag of its pass of this name, and for
    `torch._inductor.config.joint_custom_post_pass`.

    `counts` has the numbers of all_reduces that the last call rewrote, by pattern.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(drop_ins.sequence_parallel_pass, options)
        self.counts: dict[str, int] = {}

    def __call__(self, gm: Graph | GraphModule) -> Any:
        if _is_off_in_tensor_cast():
            self.counts = {}
            return gm
        if isinstance(gm, Graph):
            # As in `JointGraphPass`.
            stable_topological_sort(gm)
        return self._function(gm, counts=self.counts, **self._options)
