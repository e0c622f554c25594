# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the Python tests share."""

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# The exporter is a program, not an installed package.
sys.path.insert(0, str(REPOSITORY / "examples"))


@pytest.fixture(scope="session")
def fixtures_folder():
    return REPOSITORY / "test" / "fixtures"
