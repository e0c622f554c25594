# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Validation of the graph passes that run in this process.

Every pass that PyTorch's observer of passes sees is compared: its graph before with its graph
after. What a phase of the compiler changes between its passes is compared under the phase's
name, so that every change of a graph is compared once.
"""

import contextlib
import functools
import logging
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

from torch.fx import Graph, GraphModule

from commute.errors import CommuteError
from commute.torch.compatibility import pass_functions, pass_observer, without_compile_caches
from commute.torch.validation.graph_states import GraphState
from commute.torch.validation.joint_graphs import compose
from commute.torch.validation.judging import judge
from commute.torch.validation.pass_report import PassesDiffer, PassReport, PassRun

_log = logging.getLogger("commute")

_MODES = ("raise", "warn", "report")


class _Frame:
    """A pass that is running."""

    def __init__(self, name: str, graph: Graph, module: Any, state: GraphState) -> None:
        self.name = name
        self.graph = graph
        self.module = module
        # The last state that has been compared with the one before.
        self.state = state


def _graph_of(subject: Any) -> tuple[Graph, Any] | None:
    if isinstance(subject, Graph):
        return subject, subject.owning_module
    if isinstance(subject, GraphModule):
        return subject.graph, subject
    return None


class PassValidator:
    """Compares graphs before and after passes, and notes what it finds in a report."""

    def __init__(
        self,
        report: PassReport,
        *,
        on_difference: str,
        passes: Collection[str] | Callable[[str], bool] | None,
        settings: dict[str, Any],
        keeps: str,
    ) -> None:
        self.report = report
        self.on_difference = on_difference
        self._selects = _selection(passes)
        self._settings = settings
        self._keeps = keeps
        self._frames: list[_Frame] = []
        # Keeps graphs alive, so that their identities stay theirs.
        self._graphs: list[Any] = []
        # What is traced while two graphs are compared is nobody's pass.
        self._is_comparing = False

    #
    # Events
    #

    def begin(self, name: str, subject: Any) -> _Frame | None:
        """A pass begins. Returns what `end` takes."""
        return self._guarded(lambda: self._begin(name, subject))

    def end(self, frame: _Frame | None, subject: Any, *, failed: bool = False) -> None:
        """A pass has ended, of which the graph is `subject` now."""
        if frame is not None:
            self._guarded(lambda: self._end(frame, subject, failed))

    def compare(self, name: str, before: GraphModule, after: GraphModule) -> None:
        """Compares two graphs that a pass made of one another."""
        self._guarded(lambda: self._compare(name, before, after, before.graph))

    def _guarded(self, action: Callable[[], Any]) -> Any:
        if self._is_comparing:
            return None
        start = time.perf_counter()
        try:
            return action()
        except Exception as error:
            # No error of the validation may end the user's program.
            text = f"validation failed: {type(error).__name__}: {error}"
            if text not in self.report.problems:
                self.report.problems.append(text)
                _log.warning("%s", text, exc_info=_log.isEnabledFor(logging.DEBUG))
            return None
        finally:
            self.report.seconds += time.perf_counter() - start

    def _begin(self, name: str, subject: Any) -> _Frame | None:
        found = _graph_of(subject)
        if found is None:
            return None
        graph, module = found
        outer = self._outer(graph)
        if outer is not None:
            self._advance(outer, graph, module)
            state = outer.state
        else:
            state = GraphState(graph, module)
        frame = _Frame(name, graph, module, state)
        self._frames.append(frame)
        return frame

    def _outer(self, graph: Graph) -> _Frame | None:
        return next((one for one in reversed(self._frames) if one.graph is graph), None)

    def _end(self, frame: _Frame, subject: Any, failed: bool) -> None:
        while self._frames and self._frames.pop() is not frame:
            pass
        found = _graph_of(subject)
        if failed or found is None:
            return
        graph, module = found
        self._advance(frame, graph, module)
        outer = self._outer(frame.graph)
        if outer is not None:
            outer.state = frame.state

    def _advance(self, frame: _Frame, graph: Graph, module: Any) -> None:
        """Compares what a graph is with what it was when it was last looked at."""
        before = frame.state
        if before.is_current(graph, module):
            self.report.num_unchanged += 1
            return
        frame.state = after = GraphState(graph, module)
        if self._selects(frame.name):
            self._compare(frame.name, before.build(), after.build(), frame.graph)

    #
    # Verdicts
    #

    def _compare(self, name: str, before: GraphModule, after: GraphModule, graph: Graph) -> None:
        start = time.perf_counter()
        self._is_comparing = True
        try:
            judgement = judge(before, after, **self._settings)
        finally:
            self._is_comparing = False
        number = next((i for i, one in enumerate(self._graphs) if one is graph), None)
        if number is None:
            number = len(self._graphs)
            self._graphs.append(graph)
        keeps = self._keeps == "all" or judgement.verdict != "equivalent"
        run = PassRun(
            name,
            number,
            len(before.graph.nodes),
            len(after.graph.nodes),
            judgement,
            time.perf_counter() - start,
            before if keeps else None,
            after if keeps else None,
        )
        self.report.runs.append(run)
        if run.verdict == "different" and self.on_difference == "warn":
            warnings.warn(str(run), stacklevel=2)


def _selection(
    passes: Collection[str] | Callable[[str], bool] | None,
) -> Callable[[str], bool]:
    if passes is None:
        return lambda name: True
    if callable(passes):
        return passes
    chosen = {passes} if isinstance(passes, str) else {*passes}
    return lambda name: name in chosen


class _Hooks:
    """What is in place of PyTorch's functions while passes are validated."""

    def __init__(self, validator: PassValidator) -> None:
        self.validator = validator
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        self._observe()
        for holder, name, kind in pass_functions():
            original = getattr(holder, name)
            wrap = self._partition if kind == "partition" else self._pass
            self._replace(holder, name, wrap(original, name))

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace(self, holder: Any, name: str, value: Any) -> None:
        original = getattr(holder, name)
        setattr(holder, name, value)

        def undo() -> None:
            # Somebody else's hook on top of this one stays; this one passes calls on.
            if getattr(holder, name) is value:
                setattr(holder, name, original)

        self._undo.append(undo)

    def _observe(self) -> None:
        """PyTorch's observer is entered and left around most passes."""
        observer = pass_observer()
        enter, leave = observer.__enter__, observer.__exit__
        validator = self.validator
        frames: dict[int, list[_Frame | None]] = {}

        @functools.wraps(enter)
        def observed_enter(self: Any) -> Any:
            result = enter(self)
            frames.setdefault(id(self), []).append(validator.begin(self.passname, self.gm))
            return result

        @functools.wraps(leave)
        def observed_exit(self: Any, *error: Any) -> Any:
            found = frames.get(id(self))
            frame = found.pop() if found else None
            if not found:
                frames.pop(id(self), None)
            validator.end(frame, self.gm, failed=any(one is not None for one in error[:1]))
            return leave(self, *error)

        self._replace(observer, "__enter__", observed_enter)
        self._replace(observer, "__exit__", observed_exit)

    def _pass(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A function that changes its first argument, or returns what it made of it."""
        validator = self.validator

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            subject = args[0] if args else None
            frame = validator.begin(name, subject)
            try:
                result = function(*args, **kwargs)
            except BaseException:
                validator.end(frame, subject, failed=True)
                raise
            validator.end(frame, result if isinstance(result, GraphModule) else subject)
            return result

        return call

    def _partition(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A partitioner: the forward graph with the backward graph is the joint graph."""
        validator = self.validator

        @functools.wraps(function)
        def call(joint: Any, *args: Any, **kwargs: Any) -> Any:
            # Partitioners change the joint graph, too.
            state = validator._guarded(lambda: GraphState(joint.graph, joint))
            result = function(joint, *args, **kwargs)

            def compare() -> None:
                forward, backward = result
                before = state.build()
                after = compose(
                    before, forward, backward, num_outputs=kwargs.get("num_fwd_outputs")
                )
                if after is not None:
                    validator._compare(name, before, after, joint.graph)

            if state is not None and validator._selects(name):
                validator._guarded(compare)
            return result

        return call


@contextlib.contextmanager
def validate_passes(
    on_difference: str = "raise",
    passes: Collection[str] | Callable[[str], bool] | None = None,
    precision: str = "algebraic",
    *,
    proof_time: float = 60.0,
    proof_memory: int = 4 << 30,
    keep: str = "unproven",
) -> Iterator[PassReport]:
    """Compares the graph before and after each pass of `torch.compile` that changes it.

        with commute.torch.validate_passes() as report:
            torch.compile(model)(x)
        print(report)

    on_difference  "raise": raise PassesDiffer at the end of the block if a pass changed what
                   its graph computes; "warn": warn at once; "report": note it
    passes         the names of the passes to compare, or a predicate of names; all by default
    precision      "algebraic", or "strict": a lost rounding is a difference
    proof_time, proof_memory  the budget of each comparison
    keep           the graphs that `report.save` writes: "unproven" or "all"

    What is compiled is the same with and without it. Errors of the validation are noted in
    `report.problems`, and never raised.
    """
    if on_difference not in _MODES:
        raise CommuteError(
            f"on_difference={on_difference!r}: expected {', '.join(map(repr, _MODES))}"
        )
    if keep not in ("unproven", "all"):
        raise CommuteError(f"keep={keep!r}: expected 'unproven' or 'all'")
    _check_precision(precision)
    report = PassReport()
    validator = PassValidator(
        report,
        on_difference=on_difference,
        passes=passes,
        settings={
            "precision": precision,
            "seed": 1,
            "real_sizes": False,
            "max_seconds": proof_time,
            "max_bytes": proof_memory,
        },
        keeps=keep,
    )
    hooks = _Hooks(validator)
    # No pass runs over what comes out of a cache.
    with without_compile_caches():
        hooks.install()
        try:
            yield report
        finally:
            hooks.remove()
    if on_difference == "raise" and report.differences:
        raise PassesDiffer("\n".join(map(str, report.differences)))


def _check_precision(precision: str) -> None:
    if precision not in ("algebraic", "strict"):
        raise CommuteError(f"precision={precision!r}: expected 'algebraic' or 'strict'")
