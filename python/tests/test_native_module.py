# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The native module is what its stub and the build say."""

import ast
import re

import pytest
from nanobind.stubgen import StubGen

from commute_tool import REPOSITORY, succeed

pytestmark = pytest.mark.in_process


def signatures(text):
    """The functions of a stub: arguments, defaults, types."""
    return {
        node.name: ast.unparse(ast.FunctionDef(
            node.name, node.args, [ast.Pass()], [], node.returns, lineno=1,
        ))
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }  # fmt: skip


def test_stub():
    from commute import _commute

    generator = StubGen(_commute)
    generator.put(_commute)
    stub = REPOSITORY / "python" / "commute" / "_commute.pyi"
    assert signatures(stub.read_text()) == signatures(generator.get())


def test_version():
    from commute import _commute

    text = (REPOSITORY / "CMakeLists.txt").read_text()
    (version,) = re.findall(r"project\(Commute VERSION ([0-9.]+)", text)
    assert _commute.__version__ == version
    assert succeed("--version").startswith(f"commute {version}\n")
