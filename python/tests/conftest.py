# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the Python tests share."""

import dataclasses
import os
import sys

import pytest
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from commute_tool import BUILD, IS_SANITIZED, REPOSITORY

# The exporter and the fuzzers are programs; the package is the build's, links to its sources here
# and the module that was built. A sanitized module does not load into a Python that
# is not: its build has none.
sys.path.insert(0, str(REPOSITORY / "examples"))
# Behind this folder, which has a joint_graphs.py too.
sys.path.append(str(REPOSITORY / "fuzz"))
# For the package zoo; behind the standard library, which has a package test.
sys.path.append(str(REPOSITORY))
sys.path.insert(0, str(REPOSITORY / "python" if IS_SANITIZED else BUILD / "python"))

from fixtures import FIXTURES


def pytest_collection_modifyitems(items):
    if not IS_SANITIZED:
        return
    skip = pytest.mark.skip(reason="a sanitized build has no Python module")
    for item in items:
        if item.get_closest_marker("in_process"):
            item.add_marker(skip)


@pytest.fixture(scope="session", autouse=True)
def empty_cache_of_inductor(tmp_path_factory):
    """No pass runs on a graph that Inductor finds compiled, by an earlier run of these tests."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("inductor"))


@pytest.fixture(autouse=True)
def no_group_left_behind():
    """A default group that a test made would be in the way of the next test's."""
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def campaign_settings():
    """Those of the campaigns of fuzz/pairs, for one test alone."""
    from pairs import campaign

    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    is_recording = torch.is_grad_enabled()
    campaign.prepare()
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(is_recording)


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
