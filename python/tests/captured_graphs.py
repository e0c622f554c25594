# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Graphs as torch.compile hands them to custom passes."""

import torch
import torch._dynamo


class Captured:
    """A function as Dynamo captures it, and what a pass made of its graph.

    `change`, where given, gets the graph (an fx.Graph of torch-level nodes) and may
    change it in place; what it returns is kept in `changes`. Calls run what came out,
    node by node.
    """

    def __init__(self, function, change=None, dynamic=None):
        self.modules = []
        self.changes = []

        def backend(module, example_inputs):
            self.modules.append(module)
            if change is not None:
                self.changes.append(change(module.graph))
                module.graph.lint()
                module.recompile()
            return module.forward

        torch._dynamo.reset()
        self._compiled = torch.compile(function, backend=backend, dynamic=dynamic)

    def __call__(self, *args, **kwargs):
        return self._compiled(*args, **kwargs)

    @property
    def graph(self):
        (module,) = self.modules
        return module.graph

    def targets(self):
        """The names of the functions and methods that the graph calls."""
        return [
            getattr(node.target, "__name__", str(node.target))
            for node in self.graph.nodes
            if node.op in ("call_function", "call_method")
        ]


def check_metadata(graph):
    """Every node states what it gives, and no two nodes the same object."""
    seen = {}
    for node in graph.nodes:
        if node.op == "output":
            continue
        value = node.meta.get("example_value", node.meta.get("val"))
        if not isinstance(value, torch.Tensor):
            continue
        assert id(value) not in seen, f"{node.name} has the value of {seen[id(value)]}"
        seen[id(value)] = node.name


def results_and_gradients(function, inputs, seed=0):
    """What a function gives, and the gradients of a random weighing of it with
    respect to all inputs that take any."""
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    generator = torch.Generator().manual_seed(seed)
    total = sum(
        (torch.randn(result.shape, generator=generator, dtype=torch.float64) * result).sum()
        for result in results
    )
    wanted = [value for value in inputs if value.requires_grad]
    return [*results, *torch.autograd.grad(total, wanted, allow_unused=True)]
