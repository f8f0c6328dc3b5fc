"""Memory does not grow with the archive."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.synthetic_archives import make_plan, write_archive
from encoders.survey import Plan
from ldp_aggregator.reports.archives import count_archives

pytestmark = pytest.mark.slow


def peak(plan: Plan, paths: Sequence[str]) -> tuple[int, int]:
    tracemalloc.start()
    try:
        snapshot = count_archives(plan, paths, str)
        return snapshot.total(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_large_archive_takes_the_memory_of_a_small_one(tmp_path: Path, narrow: Callable[..., None]) -> None:
    plan, path = make_plan(), tmp_path / "archive"
    write_archive(plan, path, 100_000)
    narrow(chunk=1 << 16, buffer=1 << 18)
    counted, bytes_held = peak(plan, [str(path), str(path)])
    assert counted == 100_000
    assert bytes_held < path.stat().st_size / 2
