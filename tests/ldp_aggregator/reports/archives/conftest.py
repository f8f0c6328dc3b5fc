"""Fixtures: a plan, archives that are counted, and small chunks."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks.synthetic_archives import make_plan
from encoders.survey import Plan
from ldp_aggregator.reports.archives import count_archives
from ldp_aggregator.snapshot import Snapshot

ReadArchives = Callable[..., Snapshot]
Narrow = Callable[..., None]


@pytest.fixture(scope="session")
def plan() -> Plan:
    return make_plan()


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReadArchives:
    """Write each body as a file, and count them; by default no warning is expected.

    The number of threads is not limited again for each part, since tests have one thread (tests/conftest.py):
    a limit takes longer than a small part.
    """
    monkeypatch.setattr("threadpoolctl.threadpool_limits", lambda _: nullcontext())

    def read(
        plan: Plan, *bodies: bytes, warn: Callable[..., object] = warnings.warn, workers: int | str = 1
    ) -> Snapshot:
        paths = [tmp_path / f"archive-{number}" for number in range(len(bodies))]
        for path, body in zip(paths, bodies, strict=True):
            path.write_bytes(body)
        return count_archives(plan, [str(path) for path in paths], warn, workers)

    return read


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Narrow:
    """Make chunks, buffers, sections and parts so small that a few reports fill them."""

    def narrow(chunk: int, buffer: int = 1 << 30, section: int = 1 << 30) -> None:
        folder = "ldp_aggregator.reports.archives"
        monkeypatch.setattr(f"{folder}.reader.CHUNK_BYTES", chunk)
        monkeypatch.setattr(f"{folder}.reader.SECTION_BYTES", section)
        monkeypatch.setattr(f"{folder}.parts._PART_BYTES", section)
        monkeypatch.setattr(f"{folder}.parts.BUFFER_BYTES", buffer)

    return narrow
