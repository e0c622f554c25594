# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Removes what a trace leaves behind: copies from functionalized in-place operators,
aliases of a value, and stack frames of libraries between a user's line and an operator."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from torch.fx import GraphModule, Node

from commute.capture.errors import is_of_model
from commute.torch.compatibility import is_known_equal

# These return their operand if type, sizes and strides are unchanged. Otherwise they do not:
# the shard of a parameter, for example, is a view of the parameter.
_SAME_VALUE = (
    "aten.alias.default",
    "aten.detach.default",
    "aten.lift_fresh.default",
    "aten.view.default",
    "aten.expand.default",
)
_COPY = "aten.copy.default"

_FRAME = re.compile(r'^\s*File "([^"]*)", line \d+.*$')
_COMMUTE = str(Path(__file__).parents[1])


def _is_same_tensor(one: Node, other: Node) -> bool:
    a, b = one.meta.get("val"), other.meta.get("val")
    return (
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and a.dtype == b.dtype
        and is_known_equal(a.shape, b.shape)
        and is_known_equal(a.stride(), b.stride())
    )


def _value_of(node: Node) -> Node | None:
    """Returns the node with the same value and layout that can replace this one, or None."""
    name = str(node.target)
    if node.op != "call_function":
        return None
    if name in _SAME_VALUE:
        source = node.args[0]
    elif name == _COPY:
        # A functionalized in-place collective copies its result over its operand.
        source = node.args[1]
    else:
        return None
    return source if isinstance(source, Node) and _is_same_tensor(node, source) else None


def remove_copies(module: GraphModule) -> None:
    """Removes copies that come from functionalization only; the graph must be functional."""
    for node in list(module.graph.nodes):
        source = _value_of(node)
        if source is None:
            continue
        if any(user.op == "output" for user in node.users):
            continue  # The signature names it.
        node.replace_all_uses_with(source)
        module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    module.recompile()


def rename_groups(module: GraphModule, names: Mapping[str, str]) -> set[str]:
    """Renames process groups after their mesh axes; returns the names in use."""
    used = set()
    for node in module.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        for index, argument in enumerate(schema.arguments):
            if argument.name != "group_name":
                continue
            positional = index < len(node.args)
            old = str(node.args[index] if positional else node.kwargs.get("group_name"))
            new = names.get(old, old)
            used.add(new)
            if positional:
                node.update_arg(index, new)
            else:
                node.update_kwarg("group_name", new)
    return used


def _frames(trace: str) -> list[tuple[str, str]]:
    """Splits a stack into (file, text) pairs of its frames, outermost first."""
    frames: list[tuple[str, list[str]]] = []
    for line in trace.splitlines():
        match = _FRAME.match(line)
        if match:
            frames.append((match[1], [line]))
        elif frames:
            frames[-1][1].append(line)
    return [(path, "\n".join(text)) for path, text in frames]


def shorten_stacks(module: GraphModule, packages: Collection[str]) -> None:
    """Reduces every stack to the lines of the model, which the given packages define. Frames of
    the capturing script, of other packages and of generated code are dropped."""
    known: dict[str, str] = {}
    for node in module.graph.nodes:
        trace = node.meta.get("stack_trace")
        if not trace:
            continue
        if trace not in known:
            known[trace] = _shortened(trace, packages) or trace
        node.meta["stack_trace"] = known[trace]


def _enters_model(path: str, text: str) -> bool:
    return path.startswith(_COMMUTE) and "in run\n" in text


def _shortened(trace: str, packages: Collection[str]) -> str:
    frames = _frames(trace)
    entries = [index for index, (path, text) in enumerate(frames) if _enters_model(path, text)]
    start = entries[0] + 1 if entries else 0
    return "".join(text + "\n" for path, text in frames[start:] if is_of_model(path, packages))


def line_of(node: Node, packages: Collection[str]) -> str:
    """Returns the innermost line of the model that created a node, as " (FILE:LINE)"; "" if it
    is unknown."""
    frames = _frames(_shortened(node.meta.get("stack_trace") or "", packages))
    match = re.search(r'File "([^"]*)", line (\d+)', frames[-1][1]) if frames else None
    return f" ({match[1]}:{match[2]})" if match else ""


def forget_addresses(module: GraphModule) -> None:
    """Removes metadata that is meaningful in this process only."""
    keys = ("from_node", "seq_nr", "partitioner_tag", "desc", "unbacked_bindings_placeholder")
    for node in module.graph.nodes:
        for key in keys:
            node.meta.pop(key, None)


def clean(module: GraphModule, groups: Mapping[str, str], packages: Collection[str]) -> set[str]:
    """Applies all of the above; returns the process groups that the program uses.

    packages: those that define the classes of the model.
    """
    remove_copies(module)
    shorten_stacks(module, packages)
    forget_addresses(module)
    return rename_groups(module, groups)
