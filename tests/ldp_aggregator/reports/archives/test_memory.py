"""Memory does not grow with the archive."""

import tracemalloc
from collections.abc import Sequence

import pytest

from benchmarks.synthetic_archives import make_plan, write_archive
from encoders.survey import Plan
from ldp_aggregator.reports.archives import count_archives

pytestmark = pytest.mark.slow


def measure_peak(plan: Plan, paths: Sequence[str]) -> tuple[int, int]:
    """Return how many reports were counted, and the most bytes that were allocated at once.

    The smaller peak of two runs counts: once in many runs Python's own table of strings grows by megabytes
    when `pathlib` adds the name of a temporary file to it.
    """
    peaks = []
    for _ in range(2):
        tracemalloc.start()
        try:
            counted = count_archives(plan, paths, str).total()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return counted, min(peaks)


def test_a_large_archive_takes_the_memory_of_a_small_one(tmp_path, narrow):
    plan, path = make_plan(), tmp_path / "archive"
    write_archive(plan, path, 60_000)
    narrow(chunk=1 << 16, buffer=1 << 18, section=1 << 18)
    counted, bytes_held = measure_peak(plan, [str(path), str(path)])
    assert counted == 60_000
    assert bytes_held < path.stat().st_size / 2
