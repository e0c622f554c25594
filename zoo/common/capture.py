# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Captures functions of tensors as archives, one for each rank, without processes.

The trace is PyTorch's, of the operators that are dispatched, on fake tensors; a backward
within the function is traced along. Nodes keep the source lines of the given files only.
"""

import contextlib
import functools
import inspect
import json
import traceback
from pathlib import Path
from unittest import mock

import torch
import torch.fx.proxy
from torch._functorch._aot_autograd.logging_utils import setup_stacktrace_preservation_hooks
from torch._subclasses import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import traceback as fx_traceback
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree

ZOO = Path(__file__).resolve().parents[1]
REPOSITORY = ZOO.parent


def gradients(loss, parameters, gradient=None):
    """The gradients of a loss, or of a value whose `gradient` is given, traced with the
    source lines of its forward."""
    with fx_traceback.preserve_node_meta():
        setup_stacktrace_preservation_hooks([loss.grad_fn])
        return torch.autograd.grad(loss, parameters, gradient)


def leaf(x):
    return x.detach().requires_grad_()


@functools.cache
def _is_of_program(path):
    return ZOO in Path(path).parents and Path(path).parent.name != "common"


def _frames_of_programs(self, summary):
    return traceback.StackSummary.from_list(
        [frame for frame in summary if _is_of_program(frame.filename)]
    )


def _lines_of_programs(text):
    """The frames of a formatted stack trace that lie in programs of the zoo."""
    kept, keeps = [], False
    for line in text.splitlines():
        if line.lstrip().startswith('File "'):
            keeps = _is_of_program(line.split('"')[1])
        if keeps:
            kept.append(line.rstrip())
    return "\n".join(kept).replace(f"{REPOSITORY}/", "").strip()


@contextlib.contextmanager
def _recording():
    patch = mock.patch.object(
        torch.fx.proxy.TracerBase, "_filter_traceback_frames", _frames_of_programs
    )
    # Anomaly mode records the line that created each node of autograd.
    with patch, torch.autograd.set_detect_anomaly(True, check_nan=False):
        yield


def trace(function, inputs):
    """The GraphModule of a function of tensors; placeholders have the names of `inputs`."""
    names = list(inputs)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    fakes = [mode.from_tensor(tensor) for tensor in inputs.values()]

    def positional(*tensors):
        results = function(**dict(zip(names, tensors, strict=True)))
        return list(results) if isinstance(results, (tuple, list)) else [results]

    with _recording(), mode:
        module = make_fx(positional, tracing_mode="real", record_stack_traces=True)(*fakes)
    _name_placeholders(module.graph, names)
    for node in module.graph.nodes:
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = _lines_of_programs(node.meta["stack_trace"])
            if not node.meta["stack_trace"]:
                del node.meta["stack_trace"]
    _make_functional(module.graph)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _make_functional(graph):
    """Replaces ops that write into an operand, as PyTorch's own compositions do."""
    for node in list(graph.nodes):
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            continue
        written = node.args[0]
        views = [n for n in [written, *written.users] if n is not node and _is_view(n)]
        if views or not schema.name.endswith("_"):
            raise ValueError(f"{node.name} writes into memory that others see: {node.target}")
        packet = getattr(torch.ops.aten, schema.name.removeprefix("aten::")[:-1])
        node.target = getattr(packet, node.target._overloadname)
        after = False
        for user in list(graph.nodes):
            if after and written in user.all_input_nodes:
                user.replace_input_with(written, node)
            after = after or user is node


def _is_view(node):
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(r.alias_info is not None for r in schema.returns)


def _name_placeholders(graph, names):
    taken = {node.name for node in graph.nodes if node.op != "placeholder"}
    placeholders = graph.find_nodes(op="placeholder")
    for node, name in zip(placeholders, names, strict=True):
        if name in taken:
            raise ValueError(f"an input has the name of an op: {name}")
        node._rename(name)
        if node.name != name:
            raise ValueError(f"the input {name} would be called {node.name}")
        node.target = name


def to_program(module):
    """The exported program of a GraphModule that `trace` made."""
    graph = module.graph
    placeholders = [node.name for node in graph.find_nodes(op="placeholder")]
    (output,) = graph.find_nodes(op="output")
    results = [node.name for node in output.args[0]]
    output.args = (tuple(output.args[0]),)
    signature = ExportGraphSignature(
        [InputSpec(InputKind.USER_INPUT, TensorArgument(name), None) for name in placeholders],
        [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name), None) for name in results],
    )
    in_spec = _pytree.tree_structure((tuple(range(len(placeholders))), {}))
    out_spec = _pytree.tree_structure(tuple(range(len(results))))
    calls = ModuleCallSignature(
        [TensorArgument(name) for name in placeholders],
        [TensorArgument(name) for name in results],
        in_spec,
        out_spec,
    )
    return ExportedProgram(
        module, graph, signature, {}, {}, [ModuleCallEntry("", calls)], constants={}
    )


def outline(module):
    """A text that is equal for equal programs, whatever their source lines are."""
    return "\n".join(
        f"{node.name} {node.op} {node.target} {node.args} {node.kwargs}"
        for node in module.graph.nodes
    )


def save(module, path, groups=None, rank=None):
    """Writes the archive, with the groups of the mesh in its sidecar."""
    extra = {}
    if groups:
        sidecar = {"version": 1, "groups": {n: {"ranks": lists} for n, lists in groups.items()}}
        if rank is not None:
            sidecar["rank"] = rank
        extra["commute.json"] = json.dumps(sidecar)
    torch.export.save(to_program(module), path, extra_files=extra)


def argument_names(function, skip=0):
    return list(inspect.signature(function).parameters)[skip:]
