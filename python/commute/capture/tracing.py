# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Traces the program of one rank of a model, with or without the backward."""

import contextlib
import functools
import inspect
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import traceback

from commute.capture.errors import CaptureError, explain, packages_of
from commute.capture.leftovers import Leftovers
from commute.capture.local_model import LocalModel
from commute.capture.residue import line_of
from commute.capture.traced_collectives import TracedCollectives
from commute.torch.compatibility import (
    export_without_checks,
    is_traced_tensor,
    pytree,
    run_backward,
    setup_stacktrace_preservation_hooks,
)


def _loss_of(outputs: Any) -> torch.Tensor:
    """Returns the loss among the outputs of a model."""
    loss = getattr(outputs, "loss", None)
    if loss is None and isinstance(outputs, Mapping):
        loss = outputs.get("loss")
    if loss is None:
        loss = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    if not isinstance(loss, torch.Tensor) or loss.dim() != 0 or not loss.is_floating_point():
        raise CaptureError(
            "backward=True needs a model that returns a loss: a floating-point scalar, a tuple"
            " that starts with one, or an output with the attribute loss"
        )
    return loss


@contextlib.contextmanager
def _lines_of_forward(loss: torch.Tensor) -> Iterator[None]:
    """Records the source lines of the forward on the operators of its backward."""
    if loss.grad_fn is None:
        raise CaptureError("backward=True needs a loss that depends on a parameter")
    with traceback.preserve_node_meta():
        setup_stacktrace_preservation_hooks([loss.grad_fn])
        yield


def _differentiate(
    loss: torch.Tensor, leaves: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor | None, ...]:
    """Returns the gradients of a scalar; None for a leaf that it does not depend on.

    torch.autograd.grad runs outside of the modes that override torch functions, among them
    the one by which torch.export makes in-place collectives functional: those of autograd
    functions, such as an all_reduce of gradients, would stay as they are.
    """
    return run_backward(
        (loss,), (torch.ones_like(loss),), False, False, leaves, True, accumulate_grad=False
    )


class _Gradients:
    """The parameters as autograd leaves, and their gradients."""

    def __init__(self, trainable: Mapping[str, bool]) -> None:
        self._trainable = trainable
        self._leaves: dict[str, torch.Tensor] = {}

    def leaf(self, name: str, value: torch.Tensor) -> torch.Tensor:
        if not self._trainable.get(name):
            return value
        leaf = value.detach().requires_grad_()
        self._leaves[name] = leaf
        return leaf

    def of(self, loss: torch.Tensor) -> dict[str, torch.Tensor]:
        with _lines_of_forward(loss):
            values = _differentiate(loss, tuple(self._leaves.values()))
        found = {}
        for (name, leaf), value in zip(self._leaves.items(), values):
            if value is None:
                continue
            # Run the hooks that reduce a gradient after it has been accumulated.
            hooks = getattr(leaf, "_post_accumulate_grad_hooks", None) or {}
            if hooks:
                leaf.grad = value
                for hook in hooks.values():
                    hook(leaf)
                value = leaf.grad
            found[name] = value
        return found


def _program_forward(
    local: LocalModel,
    forward: Callable[..., Any],
    backward: bool,
    for_model: Callable[[Mapping[str, Any]], dict[str, Any]],
    leftovers: Leftovers,
) -> Callable[..., Any]:
    """Returns the forward to trace, which takes and returns plain tensors."""
    trainable = {name: value.requires_grad for name, value in local.parameters().items()}

    def run(arguments: Mapping[str, Any]) -> Any:
        # Each pass starts from the state before the first one.
        leftovers.forget()
        with TracedCollectives():
            return run_both(arguments) if backward else run_forward(arguments)

    def run_forward(arguments: Mapping[str, Any]) -> Any:
        given = for_model(arguments)
        return local.returned(local.run(forward, given, lambda name, value: value))

    def run_both(arguments: Mapping[str, Any]) -> Any:
        gradients = _Gradients(trainable)
        # Anomaly mode records the line that created each autograd node.
        with torch.enable_grad(), torch.autograd.set_detect_anomaly(True, check_nan=False):
            outputs = local.run(forward, for_model(arguments), gradients.leaf)
            loss = _loss_of(outputs)
            found = gradients.of(loss)
        return {"loss": local.returned(loss.detach()), "gradients": found}

    return run


@contextlib.contextmanager
def _forward_in_place(
    model: nn.Module, forward: Callable[..., Any], names: tuple[str, ...]
) -> Iterator[None]:
    """Replaces the forward of a module with one whose parameters have the given names."""

    def traced(*args: Any, **kwargs: Any) -> Any:
        return forward({**dict(zip(names, args)), **kwargs})

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    traced.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in names]
    )
    own = model.__dict__.get("forward")
    model.__dict__["forward"] = traced
    try:
        yield
    finally:
        if own is None:
            del model.__dict__["forward"]
        else:
            model.__dict__["forward"] = own


@contextlib.contextmanager
def _quiet_hooks(model: nn.Module) -> Iterator[None]:
    """Disables the root module's hooks: they run inside the traced forward, on DTensors."""
    kept = model._forward_pre_hooks, model._forward_hooks
    model._forward_pre_hooks, model._forward_hooks = type(kept[0])(), type(kept[1])()
    try:
        yield
    finally:
        model._forward_pre_hooks, model._forward_hooks = kept


def _call_with_hooks(model: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a forward with the root module's hooks, as a call of the model would run it."""
    before = list(model._forward_pre_hooks.items())
    after = list(model._forward_hooks.items())
    if not before and not after:
        return forward
    takes_keywords = (
        set(model._forward_pre_hooks_with_kwargs),
        set(model._forward_hooks_with_kwargs),
    )

    @functools.wraps(forward)
    def call(**arguments: Any) -> Any:
        # Pass arguments to hooks by position, as a caller would write them.
        args: tuple[Any, ...] = tuple(arguments.values())
        kwargs: dict[str, Any] = {}
        for key, hook in before:
            if key in takes_keywords[0]:
                found = hook(model, args, kwargs)
                args, kwargs = (args, kwargs) if found is None else found
            else:
                found = hook(model, args)
                if found is not None:
                    args = found if isinstance(found, tuple) else (found,)
        result = forward(*args, **kwargs)
        for key, hook in after:
            if key in takes_keywords[1]:
                found = hook(model, args, kwargs, result)
            else:
                found = hook(model, args, result)
            result = result if found is None else found
        return result

    return call


def _calling_model(model: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function that calls the model, whose own forward and hooks it finds: during a
    trace, the model has others."""
    own = model.__dict__.get("forward")
    hooks = model._forward_pre_hooks, model._forward_hooks

    @functools.wraps(forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        traced = model.__dict__.pop("forward", None)
        quiet = model._forward_pre_hooks, model._forward_hooks
        if own is not None:
            model.__dict__["forward"] = own
        model._forward_pre_hooks, model._forward_hooks = hooks
        try:
            return forward(*args, **kwargs)
        finally:
            model._forward_pre_hooks, model._forward_hooks = quiet
            model.__dict__["forward"] = traced

    return call


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Silences PyTorch's logs of exceptions, which are raised again in terms of the model."""
    loggers = [logging.getLogger(name) for name in ("torch", "torch._subclasses.fake_tensor")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)


def _is_of_numbers(value: Any) -> bool:
    """Returns true for an int or a float, and for a container of them."""
    leaves = pytree.tree_leaves(value)
    return bool(leaves) and all(
        isinstance(leaf, (int, float)) and not isinstance(leaf, bool) for leaf in leaves
    )


def _check_constants(program: ExportedProgram, packages: Collection[str]) -> None:
    """Raises CaptureError if a constant tensor of a program has no values."""
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    for node in program.graph.nodes:
        value = program.constants.get(constants.get(node.name, ""))
        if not isinstance(value, torch.Tensor) or not (value.is_meta or is_traced_tensor(value)):
            continue
        place = next((line_of(user, packages) for user in node.users), "")
        raise CaptureError(
            f"the constant {node.name} {list(value.shape)}{place} has no values: it is a tensor"
            " without memory that the model keeps in an attribute or in a cache; register it as a"
            " buffer, or compute it in the forward"
        )


def trace(
    local: LocalModel,
    arguments: Mapping[str, Any],
    *,
    backward: bool,
    dynamic_shapes: Mapping[str, Any] | None,
    what: str,
    for_model: Callable[[Mapping[str, Any]], dict[str, Any]],
    forward: Callable[..., Any] | None = None,
) -> ExportedProgram:
    """Returns the program of the rank that this process stands for. Call it inside the
    context of `local`.

    for_model: converts a rank's plain tensors to the arguments of the model.
    forward: a function of the arguments that calls the model; None: the model's own.
    """
    model = local.model
    if forward is None:
        forward = _call_with_hooks(model, model.forward)
    else:
        forward = _calling_model(model, forward)
    leftovers = Leftovers(model)
    # torch.export makes inputs of numbers that programs cannot take.
    numbers = {name for name, value in arguments.items() if _is_of_numbers(value)}
    given = {name: value for name, value in arguments.items() if name not in numbers}
    if dynamic_shapes is not None:
        dynamic_shapes = {k: v for k, v in dynamic_shapes.items() if k not in numbers}

    def complete(traced: Mapping[str, Any]) -> dict[str, Any]:
        return for_model({name: traced.get(name, value) for name, value in arguments.items()})

    program = _program_forward(local, forward, backward, complete, leftovers)
    grad_mode = torch.no_grad() if not backward else contextlib.nullcontext()
    try:
        with (
            grad_mode,
            _without_logs(),
            _quiet_hooks(model),
            _forward_in_place(model, program, tuple(given)),
        ):
            # Trace after dispatch, because DTensor issues its operators only then.
            exported = export_without_checks(
                model,
                (),
                given,
                dynamic_shapes=dynamic_shapes,
                strict=False,
                pre_dispatch=False,
            )
            _check_constants(exported, packages_of(model))
            return exported
    except CaptureError as error:
        raise CaptureError(f"{what}: {error}") from None
    except Exception as error:
        raise explain(model, error, what) from error
    finally:
        leftovers.forget()
