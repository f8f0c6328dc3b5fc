"""Fixtures: a plan, archives that are counted, and small chunks."""

import warnings
from collections.abc import Callable
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
def read(tmp_path: Path) -> ReadArchives:
    """Write each body as a file, and count them; by default no warning is expected."""

    def read(
        plan: Plan, *bodies: bytes, warn: Callable[..., object] = warnings.warn, scheduler: str | None = None
    ) -> Snapshot:
        paths = [tmp_path / f"archive-{number}" for number in range(len(bodies))]
        for path, body in zip(paths, bodies, strict=True):
            path.write_bytes(body)
        return count_archives(plan, [str(path) for path in paths], warn, scheduler)

    return read


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Narrow:
    """Make chunks and buffers so small that a few reports fill them."""

    def narrow(chunk: int, buffer: int = 1 << 30) -> None:
        monkeypatch.setattr("ldp_aggregator.reports.archives.reader.CHUNK_BYTES", chunk)
        monkeypatch.setattr("ldp_aggregator.reports.archives.dedup.BUFFER_BYTES", buffer)
        monkeypatch.setattr("ldp_aggregator.reports.archives.dedup.BUFFER_BYTES", buffer)

    return narrow
