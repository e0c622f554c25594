# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What PyTorch makes of an archive, in a form that can be compared."""

import warnings

import torch
import torch.distributed  # registers the operators of functional collectives


def load(path):
    with warnings.catch_warnings():
        # Of weights that PyTorch calls incomplete, and of pickled ones.
        warnings.simplefilter("ignore")
        return torch.export.load(path)


def description(exported):
    """Everything of a program but its tensors, as text by subject."""
    return {
        "code": exported.graph_module.code,
        "graph": str(exported.graph),
        "signature": str(exported.graph_signature),
        "ranges": str(exported.range_constraints),
        "call specification": str(exported.call_spec),
        "module calls": str(exported.module_call_graph),
        "verifiers": [verifier.dialect for verifier in exported.verifiers],
        "metadata": {node.name: describe_metadata(node) for node in exported.graph.nodes},
    }


def describe_metadata(node):
    keys = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "custom")
    described = {key: str(node.meta[key]) for key in keys if key in node.meta}
    described["val"] = describe_value(node.meta.get("val"))
    return described


def describe_value(value, numbers=None):
    """Type, sizes and strides of whatever a node gives.

    Not the storage offset: PyTorch 2.13 writes it, but does not read it.
    With `numbers` for symbols, what expressions in them are worth.
    """
    if isinstance(value, torch.Tensor):

        def describe(size):
            if numbers and isinstance(size, torch.SymInt):
                expression = size.node.expr
                return str(expression.subs({s: numbers[s.name] for s in expression.free_symbols}))
            return str(size)

        layout = (tuple(map(describe, value.shape)), tuple(map(describe, value.stride())))
        return f"{value.dtype} {layout} {value.device}"
    if isinstance(value, (list, tuple)):
        return [describe_value(item, numbers) for item in value]
    return f"{type(value).__name__} {value}"


class StrideChecker(torch.fx.Interpreter):
    """Runs a graph on its recorded inputs, and compares what ops really give.

    The inputs are tensors without memory, so that this also goes through
    symbolic sizes and collectives. With `numbers` for symbols, sizes are
    compared as numbers: what was assumed of them, PyTorch does not know.
    """

    def __init__(self, exported, numbers):
        super().__init__(exported.graph_module)
        self.differences = []
        self.numbers = numbers
        values = [node.meta["val"] for node in exported.graph.find_nodes(op="placeholder")]
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        with tensors[0].fake_mode, torch.no_grad():
            self.run(*values, enable_io_processing=False)

    def run_node(self, node):
        value = super().run_node(node)
        recorded = describe_value(node.meta.get("val"), self.numbers)
        real = describe_value(value, self.numbers)
        if node.op == "call_function" and recorded != real:
            self.differences.append(f"{node.name}: recorded {recorded}, but is {real}")
        return value


def check_strides(exported, numbers=None):
    assert StrideChecker(exported, numbers).differences == []


def tensors(exported):
    """All weights and constants by name."""
    named = {**exported.state_dict, **exported.constants}
    return {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}


def same_tensor(a, b):
    """Equal in type, sizes, strides and every bit (NaN included)."""
    if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
        return False
    return torch.equal(_bytes(a), _bytes(b))


def _bytes(tensor):
    return tensor.detach().contiguous().flatten().view(torch.uint8)
