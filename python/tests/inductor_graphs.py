# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""torch.compile with Inductor's passes over graphs, and without its generated code.

    compiler = InductorGraphs()
    torch.compile(model, backend=compiler)(x)
    compiler.graphs[0]      # the forward graph, after all passes

Graphs run node by node: what is compiled in this way needs no C++ compiler, and seconds.
"""

from collections import Counter

from torch._dispatch.python import enable_python_dispatcher
from torch._guards import detect_fake_mode
from torch._inductor.compile_fx import compile_fx
from torch._inductor.fx_passes.post_grad import post_grad_passes
from torch._inductor.virtualized import V


class InductorGraphs:
    """A backend that keeps the graphs that Inductor would generate code for."""

    def __init__(self):
        self.graphs = []

    def __call__(self, module, example_inputs):
        return compile_fx(module, example_inputs, inner_compile=self._compile)

    def _compile(self, module, example_inputs, is_inference=False, **_):
        with V.set_fake_mode(detect_fake_mode(example_inputs)), enable_python_dispatcher():
            post_grad_passes(module, is_inference)
        module.graph.lint()
        module.recompile()
        self.graphs.append(module.graph)

        def run(arguments):
            values = list(arguments)
            arguments.clear()
            return module(*values)

        run._boxed_call = True
        return run

    def communication(self):
        """How many collectives and fused ops each graph has, by name."""
        return [communication_of(graph) for graph in self.graphs]


def communication_of(graph):
    names = (str(node.target).split(".") for node in graph.nodes)
    counts = Counter(parts[1] for parts in names if parts[0] in ("_c10d_functional", "symm_mem"))
    del counts["wait_tensor"]
    return dict(counts)
