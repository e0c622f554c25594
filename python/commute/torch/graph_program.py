# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Nodes of a live fx.Graph as a program.

The native module reads them into what archives are read into, so that one translation
serves both.
"""

from collections.abc import Sequence
from typing import Any

from torch.fx import Node

from commute.native import native, native_errors
from commute.torch.compatibility import without_torch_functions
from commute.torch.node_facts import NodeFacts

# Where a node that stands for a tracing library keeps what it gave.
VALUE_KEYS = ("example_value", "val")


def get_value(node: Node) -> Any:
    """What a node gave when it was traced; None where that is not known."""
    meta = node.meta
    for key in VALUE_KEYS:
        if key in meta:
            return meta[key]
    return None


class GraphProgram:
    """A run of nodes of one graph as a program.

    `nodes` are consecutive in their graph; what they read of other nodes becomes
    the program's inputs. With the graph's output node among them, the program returns what
    that node does, as it does: in its order, with duplicates, inputs that are passed through,
    None and constants. What other nodes read of them are outputs as well, in the order of
    these readers. `is_functional_graph`
    says that the graph comes after functionalization, where operators write into
    nothing but what their schemas say. `has_source_lines` finds the lines of the user's
    program for all nodes, which `optimize` does not need.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        is_functional_graph: bool = False,
        has_source_lines: bool = False,
    ) -> None:
        self.is_functional_graph = is_functional_graph
        # Otherwise each attribute of a fake tensor takes a call of Python's.
        with without_torch_functions(), native_errors():
            self.native = native().LiveProgram(
                nodes, NodeFacts, is_functional_graph, has_source_lines
            )
        # Before the program is taken from `native`.
        self._group_names: set[str] = self.native.group_names()
        self._symbols: set[str] = self.native.symbols()
        # Placeholders and attributes that stand behind other nodes.
        self.late_inputs: list[Node] = self.native.late_inputs
        # FX nodes of the outputs, None for constants.
        self.outputs: list[Node | None] = self.native.outputs
        # How many of them the graph's output node returns, and this node, if the program has it.
        self.num_returned: int = self.native.num_returned
        self.output_node = next((node for node in nodes if node.op == "output"), None)

    def __len__(self) -> int:
        """The number of program nodes."""
        return len(self.native)

    def group(self, index: int) -> tuple[Node, ...]:
        """FX nodes of a program node, its own first; () for one that states
        something and stands for none."""
        nodes: tuple[Node, ...] = self.native.group(index)
        return nodes

    def scattered(self) -> list[int]:
        """The program nodes whose FX nodes do not all stand one behind the other."""
        indices: list[int] = self.native.scattered()
        return indices

    def find_nodes(self, name: str) -> list[Node]:
        """The FX nodes that hold a value; several where one was picked twice."""
        nodes: list[Node] = self.native.find_nodes(name)
        return nodes

    def contains(self, node: Node) -> bool:
        contained: bool = self.native.contains(node)
        return contained

    def input_nodes(self) -> list[Node]:
        nodes: list[Node] = self.native.inputs
        return nodes

    def group_names(self) -> set[str]:
        """The process groups that the nodes name."""
        return self._group_names

    def symbols(self) -> set[str]:
        """The symbols of the sizes."""
        return self._symbols

    def to_json(self) -> str:
        """The program as text of the export schema, before it is optimized."""
        text: str = self.native.to_json()
        return text
