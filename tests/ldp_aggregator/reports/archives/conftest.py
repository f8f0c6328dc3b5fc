import warnings

import pytest

from benchmarks.synthetic_archives import make_plan
from ldp_aggregator.reports.archives import count_archives


@pytest.fixture(scope="session")
def plan():
    return make_plan()


@pytest.fixture
def read(tmp_path):
    """Write each body as a file, and count them; by default no warning is expected."""

    def read(plan, *bodies, warn=warnings.warn, scheduler=None):
        paths = [tmp_path / f"archive-{number}" for number in range(len(bodies))]
        for path, body in zip(paths, bodies, strict=True):
            path.write_bytes(body)
        return count_archives(plan, [str(path) for path in paths], warn, scheduler)

    return read


@pytest.fixture
def narrow(monkeypatch):
    """Make chunks and buffers so small that a few reports fill them."""

    def narrow(chunk, buffer=1 << 30):
        monkeypatch.setattr("ldp_aggregator.reports.archives.reader.CHUNK_BYTES", chunk)
        monkeypatch.setattr("ldp_aggregator.reports.archives.spill.BUFFER_BYTES", buffer)
        monkeypatch.setattr("ldp_aggregator.reports.archives.dedup.BUFFER_BYTES", buffer)

    return narrow
