# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The backend of `torch.compile(model, backend="commute")`.

The installed package has an entry point, by which PyTorch finds the backend. Elsewhere,
such as in a build tree, it must be registered.
"""

import functools
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from torch.fx import GraphModule

from commute.torch.compatibility import register_dynamo_backend

NAME = "commute"


def commute_backend(
    gm: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Any:
    """Inductor with Commute's passes, for this model alone, its backward graph included.

    options  those of `commute.torch.enable`
    mode     as in torch.compile with Inductor
    """
    # They import PyTorch's compiler.
    from commute.torch.compatibility import compile_fx, list_mode_options
    from commute.torch.hooks import Settings, options_of_inductor

    patches = list_mode_options(mode) if mode else {}
    patches = {**patches, **options_of_inductor(Settings(**(options or {})))}
    return compile_fx(gm, list(example_inputs), config_patches=patches)


@functools.cache
def register_backend() -> None:
    """Makes the backend known to torch.compile by its name."""
    if not entry_points(group="torch_dynamo_backends", name=NAME):
        register_dynamo_backend(commute_backend, NAME)
