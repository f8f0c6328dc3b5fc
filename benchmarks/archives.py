"""Benchmark counting archives of raw reports, time and memory: `python -m benchmarks.archives [REPORTS]`.

Every method runs in its own process, which may start others; memory is the peak resident memory of the
largest of them, with its libraries. The intake reads a whole file into memory and counts report by report; it
gets a tenth of the reports.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import itertools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.synthetic_archives import count_by_intake, make_plan, write_archive
from ldp_aggregator.reports.archives import count_archives
from ldp_aggregator.snapshot import AnySnapshot, make_snapshot

REPORTS = 10_000_000
FILES = 4
WORKERS = 2
LINE = "{:<24} {:>9} {:>12} {:>9} {:>11} {:>9}"


def alone(*paths: str) -> AnySnapshot:
    return count_archives(make_plan(), paths, print)


def spread(*paths: str) -> AnySnapshot:
    return count_archives(make_plan(), paths, print, WORKERS)


def dask(*paths: str) -> AnySnapshot:
    distributed = importlib.import_module("distributed")
    with distributed.LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster:
        return count_archives(make_plan(), paths, print, cluster.scheduler_address)


def intake(*paths: str) -> AnySnapshot:
    return count_by_intake(make_plan(), *(Path(path).read_bytes() for path in paths))


def write(reports: str, *paths: str) -> AnySnapshot:
    """Write archives with `reports` different reports each."""
    for number, path in enumerate(paths):
        write_archive(make_plan(), Path(path), int(reports), seed=number * int(reports))
    return make_snapshot(make_plan(), {})


WAYS: dict[str, Callable[..., AnySnapshot]] = {
    each.__name__: each for each in (alone, spread, dask, intake, write)
}


def main(reports: int) -> None:
    print(LINE.format("", "processes", "reports", "seconds", "CPU seconds", "memory"))
    with tempfile.TemporaryDirectory() as folder:
        whole, packed, few, *parts = (str(Path(folder, str(number))) for number in range(3 + FILES))
        timed("write", str(reports // FILES), *parts)
        timed("write", str(reports // 10), few)
        with open(whole, "wb") as joined, gzip.open(packed, "wb", compresslevel=1) as compressed:
            for part, target in itertools.product(parts, (joined, compressed)):
                with open(part, "rb") as source:
                    shutil.copyfileobj(source, target)
        counted = {show("one file", 1, "alone", whole), show("one file", WORKERS, "spread", whole)}
        counted.add(show("the same as gzip", 1, "alone", packed))
        counted.add(show("its parts, and again", WORKERS, "spread", *parts, whole))
        if importlib.util.find_spec("distributed"):
            counted.add(show("one file, on Dask", WORKERS, "dask", whole))
        assert len(counted) == 1, "the snapshots differ"
        assert show("a tenth", 1, "alone", few) == show("a tenth, by the intake", 1, "intake", few)


def show(name: str, processes: int, way: str, *paths: str) -> str:
    """Print a line about one method; return a hash of its snapshot."""
    reports, seconds, cpu, memory, snapshot = timed(way, *paths)
    print(
        LINE.format(
            name,
            processes,
            f"{int(reports):,}",
            *(f"{float(each):.1f}" for each in (seconds, cpu)),
            f"{memory} MB",
        ),
        flush=True,
    )
    return snapshot


def timed(way: str, *arguments: str) -> list[str]:
    """Run one method in a process; return its reports, seconds, CPU seconds, peak memory and snapshot."""
    command = [sys.executable, "-m", "benchmarks.archives", way, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def measure(way: str, *arguments: str) -> None:
    start = time.perf_counter()
    snapshot = WAYS[way](*arguments)
    seconds = time.perf_counter() - start
    times = os.times()
    cpu = times.user + times.system + times.children_user + times.children_system
    print(snapshot.total(), seconds, cpu, resident(), hashlib.sha256(snapshot.to_json()).hexdigest())


def resident() -> int:
    """Return the peak memory in MB of this process or, if it is larger, of the largest process it started."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # Linux counts in kilobytes, macOS in bytes
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(kind).ru_maxrss for kind in kinds) // unit


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WAYS:
        measure(*sys.argv[1:])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else REPORTS)
