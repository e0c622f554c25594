# Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
"""What the Python tests share."""

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# The exporter is a program, and the package is tested as it lies here.
sys.path.insert(0, str(REPOSITORY / "examples"))
sys.path.insert(0, str(REPOSITORY / "python"))


@pytest.fixture(scope="session")
def fixtures_folder():
    return REPOSITORY / "test" / "fixtures"
