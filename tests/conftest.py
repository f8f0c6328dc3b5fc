"""Fixtures of all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Test processes run side by side, one for each core: more threads for linear algebra only make them wait.
# The libraries read these variables when numpy is imported.
for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

pytest_plugins = ["ldp_client.testing"]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the directory of benchmark CSVs that LDP_DATA names, or skip the test."""
    directory = Path(os.environ.get("LDP_DATA", ""))
    if not os.environ.get("LDP_DATA") or not directory.is_dir():
        pytest.skip("set LDP_DATA to a directory of benchmark CSVs")
    return directory
