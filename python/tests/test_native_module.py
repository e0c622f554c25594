# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""The native module is what its stub and the build say."""

import ast
import re

import pytest
from nanobind.stubgen import StubGen

from commute_tool import REPOSITORY, succeed

pytestmark = pytest.mark.in_process


def signatures(text):
    """The functions and methods of a stub: arguments, defaults, types."""
    found = {}

    def add(prefix, body):
        for node in body:
            if isinstance(node, ast.ClassDef):
                add(f"{prefix}{node.name}.", node.body)
            if isinstance(node, ast.FunctionDef):
                found[prefix + node.name] = ast.unparse(ast.FunctionDef(
                    node.name, node.args, [ast.Pass()], node.decorator_list, node.returns, lineno=1,
                ))  # fmt: skip

    add("", ast.parse(text).body)
    return found


def test_stub():
    from commute import _commute

    generator = StubGen(_commute)
    generator.put(_commute)
    stub = REPOSITORY / "python" / "commute" / "_commute.pyi"
    stated = signatures(stub.read_text())
    assert "Program.optimize" in stated
    assert stated == signatures(generator.get())


def test_version():
    from commute import _commute

    text = (REPOSITORY / "CMakeLists.txt").read_text()
    (version,) = re.findall(r"project\(Commute VERSION ([0-9.]+)", text)
    assert _commute.__version__ == version
    assert succeed("--version").startswith(f"commute {version}\n")
