# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""A plugin of pytest: `commute.torch.check` as a fixture.

    def test_mlp(commute_check):
        commute_check(build, (x,), world=4)

A test fails with the finding alone, and names the folder of the captured programs. Relations
that a test needs can lie in a file beside it:

    commute_check(build, (x,), world=4, relations_file="mlp.json")

`pytest --update-relations` writes what capture states into these files, for review.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Check = Callable[..., Any]


def pytest_addoption(parser: Any) -> None:
    parser.getgroup("commute").addoption(
        "--update-relations",
        action="store_true",
        help="write the relations that capture states into the files that tests name as"
        " relations_file",
    )


@pytest.fixture
def commute_check(request: pytest.FixtureRequest, tmp_path: Path) -> Check:
    """`commute.torch.check` that fails the test unless the ranks refine the reference.

    relations_file: a file in the form of relations.json, relative to the test's, whose
        entries replace those that capture states.
    """
    # PyTorch is imported only by tests that use it.
    from commute.errors import CommuteError
    from commute.torch.checks import check

    count = 0

    def checked(*arguments: Any, relations_file: str | None = None, **options: Any) -> Any:
        nonlocal count
        count += 1
        folder = tmp_path / f"programs{count}"
        path = request.path.parent / relations_file if relations_file else None
        is_update = bool(request.config.getoption("--update-relations"))
        if path is not None and not is_update:
            options["relations"] = {**_read(path), **(options.get("relations") or {})}
        try:
            result = check(*arguments, folder=folder, **options)
        except CommuteError as error:
            pytest.fail(f"{error}\nthe programs are in {folder}", pytrace=False)
        finally:
            if path is not None and is_update and (folder / "relations.json").exists():
                path.write_text((folder / "relations.json").read_text(encoding="utf-8"), "utf-8")
        if not result:
            pytest.fail(f"{result}\nthe programs are in {folder}", pytrace=False)
        return result

    return checked


def _read(path: Path) -> dict[str, Any]:
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        pytest.fail(f"{path}: {error}; pytest --update-relations writes it", pytrace=False)
    if not isinstance(stated, dict):
        pytest.fail(f"{path}: expected an object, as in relations.json", pytrace=False)
    # The axes and the premises are those of the capture.
    return {k: v for k, v in stated.items() if k not in ("version", "mesh", "premises")}
