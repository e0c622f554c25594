# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The option of Inductor by which the pass proposed for PyTorch is switched on.

    torch._inductor.config.pre_grad_fusion_options["cat_linear"] = {}

Inductor looks for the names of this option among its own passes, and does not know this
one. Its module of passes takes a second to import, so the name is added when PyTorch
imports it.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from commute.errors import CommuteError

NAME = "cat_linear"
_PASSES = "torch._inductor.fx_passes.split_cat"
# What Inductor reads of the options of every pass.
_OPTIONS_OF_INDUCTOR = {"counter"}


class _CatLinear:
    """What Inductor uses of a pattern matcher's pass."""

    # The counter by which Inductor sees whether the pass has changed the graph.
    pass_name = "cat_linear_fused"

    def apply(self, graph: Any) -> int:
        from commute.torch.compatibility import inductor_config
        from commute.torch.drop_ins import fuse_cat_linear_in_graph

        options = {
            name: value
            for name, value in inductor_config.pre_grad_fusion_options[NAME].items()
            if name not in _OPTIONS_OF_INDUCTOR
        }
        known = list(inspect.signature(fuse_cat_linear_in_graph).parameters)[1:]
        for name in options:
            if name not in known:
                raise CommuteError(
                    f'pre_grad_fusion_options["{NAME}"]: there is no option {name!r}; it has'
                    f" {', '.join(known)}"
                )
        return fuse_cat_linear_in_graph(getattr(graph, "graph", graph), **options)


def _register() -> None:
    """Adds the name, unless PyTorch has it itself."""
    from commute.torch.compatibility import PRE_GRAD_FUSIONS

    patterns: dict[str, Any] = sys.modules[_PASSES].PRE_GRAD_PATTERNS
    if NAME not in PRE_GRAD_FUSIONS:
        patterns.setdefault(NAME, _CatLinear())


class _Loader(importlib.abc.Loader):
    """Registers after the module has been loaded."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module is as if nobody had looked.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _register()


class _Finder(importlib.abc.MetaPathFinder):
    """Sees the import of the module of passes, once."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _PASSES:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def register_fusion_option() -> None:
    """Makes the name known to Inductor, now or when it imports its passes."""
    if _PASSES in sys.modules:
        _register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
