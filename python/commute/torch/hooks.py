# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Commute's passes inside torch.compile: where each is installed, and how it goes again.

All passes are chosen among in joint_custom_post_pass: forward and backward are one graph
there, so that what excludes what is seen, and the shards of both are decided together. It is
after PyTorch's own rewrites of that graph, which know no shards. What is chosen runs

sequence-parallel, split-linear   there: shards, and parts instead of their concatenation,
                        are then what is saved for the backward graph
micro-pipeline          in post_grad_custom_post_pass: where PyTorch's pass is, which is off
                        in the meantime; forward and backward graph each have their
                        products in their final form
contiguous-collectives  after micro-pipeline, which may make strided inputs

Where the user names passes, these run as they are, each in its place, and split-linear
before autograd, which then differentiates the new form.

Custom passes that are already there keep running: before Commute's on graphs before and
on joint graphs, since they may bring a graph into a form that Commute knows, and after
Commute's on graphs after autograd, where they run after PyTorch's micro-pipeline pass.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from torch.fx import Graph

from commute.errors import CommuteError
from commute.torch import drop_ins
from commute.torch.compatibility import CustomGraphPass, CustomPass, has_option
from commute.torch.compatibility import inductor_config as config
from commute.torch.containment import contained
from commute.torch.cpu_symmetric_memory import register_cpu_fused_ops
from commute.torch.drop_ins import Context, Target
from commute.torch.graph_passes import (
    ConfiguredPass,
    ContiguousCollectivesPass,
    JointGraphPass,
    MicroPipelinePass,
    SequenceParallelPass,
    custom_passes,
    join_passes,
)
from commute.torch.live_graph import check_rank_options
from commute.torch.node_prices import runtime_estimation
from commute.torch.rank_programs import compiled_target
from commute.torch.traced_inputs import TracedInputs

if TYPE_CHECKING:
    from commute.torch.validation import PassReport

PASSES = ("split-linear", "sequence-parallel", "micro-pipeline", "contiguous-collectives")

_PRE_GRAD = "pre_grad_custom_pass"
_JOINT = "joint_custom_post_pass"
_POST_GRAD = "post_grad_custom_post_pass"
# PyTorch's own pass.
_MICRO_PIPELINE = "_micro_pipeline_tp"
# What PyTorch's overlap scheduling asks for the times of nodes.
_OVERLAP = "aten_distributed_optimizations"


def _before_autograd(
    graph: Graph, *, splits_linears: bool, with_checksums: bool, fatal: bool, **options: Any
) -> None:
    """Records what only this graph says of its inputs, then splits linears."""
    contained(
        "the inputs of torch.compile",
        lambda: TracedInputs.record(graph, with_checksums=with_checksums),
        None,
        fatal=fatal,
    )
    if splits_linears:
        drop_ins.fuse_cat_linear_in_graph(graph, fatal=fatal, **options)


class _PreGradPass(ConfiguredPass):
    def __init__(self, **options: Any) -> None:
        super().__init__(_before_autograd, options)


class _MicroPipelinePass(MicroPipelinePass):
    """With the fused ops for the CPU, where PyTorch has none: what is compiled must run."""

    def __call__(self, graph: Graph) -> None:
        super().__call__(graph)
        register_cpu_fused_ops()


def _selected(passes: str | Sequence[str] | None) -> tuple[str, ...]:
    if passes is None:
        return PASSES
    names = tuple(
        name.strip() for name in (passes.split(",") if isinstance(passes, str) else passes)
    )
    for name in names:
        if name not in PASSES:
            raise CommuteError(
                f"{name!r} is no pass that runs in torch.compile; it has {', '.join(PASSES)}"
            )
    return names


@dataclasses.dataclass(frozen=True)
class Settings:
    """What `enable` was told."""

    target: Target = "h100x8"
    policy: str = "profitable"
    passes: str | Sequence[str] | None = None
    verify: bool = True
    context: Context = None
    check_ranks: bool = False
    fatal: bool = False
    runtime_estimation: bool = False
    ranks: str | None = None
    rank_timeout: float = 60
    plain_parameters: str = "unknown"

    def make_passes(self) -> dict[str, list[CustomGraphPass]]:
        """Commute's passes by the option of Inductor that holds them."""
        names = _selected(self.passes)
        common = dict(
            target=compiled_target(str(self.target)),
            policy=self.policy,
            verify=self.verify,
            fatal=self.fatal,
        )
        stated = dict(
            common,
            context=self.context,
            allow_unused_context=True,
            check_ranks=self.check_ranks,
            ranks=self.ranks,
            rank_timeout=self.rank_timeout,
            plain_parameters=self.plain_parameters,
        )
        check_rank_options(self.ranks, self.rank_timeout, self.plain_parameters)
        joint: list[CustomGraphPass] = []
        if self.passes is None:
            joint.append(JointGraphPass(**stated))
        elif "sequence-parallel" in names:
            joint.append(SequenceParallelPass(**stated))
        after: list[CustomGraphPass] = []
        if "micro-pipeline" in names:
            after.append(_MicroPipelinePass(**stated))
        if "contiguous-collectives" in names:
            after.append(ContiguousCollectivesPass(**stated))
        return {
            _PRE_GRAD: [
                _PreGradPass(
                    splits_linears=self.passes is not None and "split-linear" in names,
                    with_checksums=self.plain_parameters == "replicated",
                    **common,
                )
            ],
            _JOINT: joint,
            _POST_GRAD: after,
        }


def options_of_inductor(settings: Settings) -> dict[str, Any]:
    """The options of Inductor under which Commute's passes run beside those that are there."""
    options: dict[str, Any] = {}
    for name, ours in settings.make_passes().items():
        if not ours:
            continue
        theirs = [
            custom
            for custom in custom_passes(getattr(config, name))
            if not any(custom in installed.ours for installed in _in_force)
        ]
        options[name] = join_passes([*ours, *theirs] if name == _POST_GRAD else [*theirs, *ours])
    if "micro-pipeline" in _selected(settings.passes):
        options[_MICRO_PIPELINE] = False
    if settings.runtime_estimation:
        options[f"{_OVERLAP}.custom_runtime_estimation"] = functools.partial(
            runtime_estimation, target=str(settings.target)
        )
        # With "benchmark", measurements take the place of the estimates.
        for name in (f"{_OVERLAP}.compute_estimator", f"{_OVERLAP}.collective_estimator"):
            if has_option(name):
                options[name] = "analytical"
    return options


@dataclasses.dataclass
class _Installed:
    """Options of Inductor as `enable` found them, and as it left them."""

    found: Mapping[str, Any]
    left: Mapping[str, Any]
    # Leaves the validation of all passes, if there is one.
    validation: contextlib.ExitStack

    @property
    def ours(self) -> list[CustomPass]:
        return [
            custom
            for name in (_PRE_GRAD, _JOINT, _POST_GRAD)
            for custom in custom_passes(self.left.get(name))
            if custom not in custom_passes(self.found.get(name))
        ]

    def restore(self) -> None:
        self.validation.close()
        for name, found in self.found.items():
            left, now = self.left[name], getattr(config, name)
            if now is left:
                setattr(config, name, found)
            elif name in (_PRE_GRAD, _JOINT, _POST_GRAD):
                # Somebody has changed the option since: only ours go.
                passes = custom_passes(now)
                others = [custom for custom in passes if custom not in self.ours]
                setattr(config, name, join_passes(others))


# The one that `enable` made, while it is in force.
_in_force: list[_Installed] = []


class Enabled:
    """What `enable` returns: leaving its `with` block disables the passes."""

    def __init__(self, report: "PassReport | None" = None) -> None:
        self.report = report
        """What is known of the passes that ran, with `validate`."""

    def __enter__(self) -> "Enabled":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        disable()


def enable(
    *,
    target: Target = "h100x8",
    policy: str = "profitable",
    passes: str | Sequence[str] | None = None,
    verify: bool = True,
    context: Context = None,
    check_ranks: bool = False,
    fatal: bool = False,
    runtime_estimation: bool = False,
    ranks: str | None = None,
    rank_timeout: float = 60,
    plain_parameters: str = "unknown",
    validate: bool = False,
) -> Enabled:
    """Installs Commute's passes in torch.compile, until `disable` or the end of a `with`.

    A backward graph is compiled when it first runs, which must be in the `with` as well.

    target, policy, verify, context, fatal
              as in `commute.torch.drop_ins`; the target is that of compiled programs, whose
              elementwise ops share kernels, unless it ends with ":eager". The context is of all graphs: what it states
              of other groups, inputs and sizes than a graph has is ignored; inputs go by
              the names of parameters and arguments
    passes    names of `PASSES`, each of which then runs in its place; if not stated, what
              pays best of all of them
    check_ranks  whether to compare the rewrites of all ranks, which must compile the same
              graphs: where they differ, the graph stays on all ranks
    ranks, rank_timeout
              what is known of the graphs of other ranks, and how long to wait for them: as
              in `optimize_graph`. With "exchange", nothing is taken from Inductor's caches
    plain_parameters  "unknown": parameters that are no DTensors may differ between ranks;
              "replicated": the caller states that they do not. Their checksums are compared
              where ranks exchange their graphs; ranks that hold different values leave the
              graph alone
    runtime_estimation  whether PyTorch's overlap scheduling, where it is enabled, takes the
              times of nodes from the target (see `commute.torch.runtime_estimation`)
    validate  whether to compare the graphs before and after each pass, Commute's and all
              others, as `commute.torch.validate_passes("warn")` does; the result has the
              `report`

    Raises CommuteError for wrong options, and where the passes are installed already.
    """
    if _in_force:
        raise CommuteError("Commute's passes are enabled already; call disable() first")
    options = options_of_inductor(
        Settings(
            target,
            policy,
            passes,
            verify,
            context,
            check_ranks,
            fatal,
            runtime_estimation,
            ranks,
            rank_timeout,
            plain_parameters,
        )
    )
    validation, report = contextlib.ExitStack(), None
    if validate:
        from commute.torch.validation import validate_passes

        report = validation.enter_context(validate_passes("warn"))
    found = {name: getattr(config, name) for name in options}
    _in_force.append(_Installed(found, options, validation))
    for name, value in options.items():
        setattr(config, name, value)
    return Enabled(report)


def disable() -> None:
    """Brings the options of Inductor back to what `enable` found. Does nothing where the
    passes are not installed."""
    if _in_force:
        _in_force.pop().restore()
