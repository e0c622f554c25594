# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the Python tests share."""

import dataclasses
import sys
from pathlib import Path

import pytest
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from commute_tool import BUILD, REPOSITORY

# The exporter is a program; the package is the build's, links to its sources here
# and the module that was built.
sys.path.insert(0, str(REPOSITORY / "examples"))
sys.path.insert(0, str(BUILD / "python"))

from fixtures import FIXTURES  # noqa: E402


@pytest.fixture(autouse=True)
def no_group_left_behind():
    """A default group that a test made would be in the way of the next test's."""
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def fake_group():
    """The default group: two ranks, of which only the first exists."""
    dist.init_process_group(backend="fake", world_size=2, rank=0, store=FakeStore())
    return dist.group.WORLD


@pytest.fixture(scope="session")
def fixtures_folder():
    return REPOSITORY / "test" / "fixtures"


@pytest.fixture(scope="session")
def archive_for(fixtures_folder, tmp_path_factory):
    """The archive of a fixture, exported again where it is for other ranks."""
    folder = tmp_path_factory.mktemp("archives")

    def make(name, world_size):
        if FIXTURES[name].size == world_size:
            return fixtures_folder / f"{name}.pt2"
        archive = folder / f"{name}_on_{world_size}.pt2"
        if not archive.exists():
            dataclasses.replace(FIXTURES[name], size=world_size).export(archive)
        return archive

    return make
