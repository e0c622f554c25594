# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""Private names of PyTorch are used in `commute.torch.compatibility` alone."""

import ast

import pytest

from commute_tool import REPOSITORY

PACKAGE = REPOSITORY / "python" / "commute"
MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.relative_to(PACKAGE).parts[-1] != "compatibility.py"
)


def is_private(path):
    return any(part.startswith("_") and not part.startswith("__") for part in path.split("."))


def chain(node):
    """["torch", "fx", "Graph"] of torch.fx.Graph, empty for what is no chain of names."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def private_names(text):
    """The private names of PyTorch's modules that a module imports, or reads of what it
    imports."""
    tree = ast.parse(text)
    imported, found = {}, []
    for node in ast.walk(tree):
        names = {}
        if isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
            found += [path for path in paths if path[:5] == "torch" and is_private(path)]
            # Without a name of its own, only the first part is one.
            names = {
                alias.asname or alias.name.partition(".")[0]: (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                for alias in node.names
            }
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
            found += [path for path in names.values() if path[:5] == "torch" and is_private(path)]
        imported.update(
            (name, path) for name, path in names.items() if path.partition(".")[0] == "torch"
        )
    for node in ast.walk(tree):
        parts = chain(node)
        # torch.ops.NAMESPACE.NAME are operators, whatever their names.
        if parts and parts[0] in imported and parts[:2] != ["torch", "ops"]:
            path = ".".join([imported[parts[0]], *parts[1:]])
            if is_private(path):
                found.append(path)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_uses_no_private_name_of_pytorch(path):
    assert private_names(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "import torch._inductor",
        "from torch._ops import OpOverload",
        "from torch.utils import _pytree",
        "import torch\ntorch._C._nn.linear",
        "import torch.distributed as dist\ndist.distributed_c10d._world",
        "def f():\n    from torch._inductor import config",
    ],
)
def test_a_private_name_is_seen(text):
    assert private_names(text)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.ops._c10d_functional.wait_tensor",
        "from torch.fx import Graph\nself._graph",
        "from commute.torch.compatibility import OpOverload",
        "import torch.distributed as dist\ndist.get_rank.__name__",
    ],
)
def test_a_public_name_is_none(text):
    assert private_names(text) == []


def test_this_pytorch_has_all_names():
    from commute.torch import compatibility

    for name in compatibility.__all__:
        assert getattr(compatibility, name) is not None, name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        compatibility.nothing  # noqa: B018
