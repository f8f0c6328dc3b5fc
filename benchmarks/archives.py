"""Benchmark counting archives of raw reports, time and memory: `python -m benchmarks.archives [REPORTS]`.

Every method runs in its own process; memory is the peak resident memory of this process, with its
libraries. The intake reads a whole file into memory and counts report by report; it gets a tenth of the
reports.
"""

from __future__ import annotations

import gzip
import importlib.util
import itertools
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
from ldp_aggregator.snapshot import AnySnapshot

REPORTS = 10_000_000
FILES = 4
LINE = "{:<24} {:>12} {:>9} {:>9} {:>14} {:>9}"


def streamed(*paths: str) -> int:
    return counted(count_archives(make_plan(), paths, print))


def dask(*paths: str) -> int:
    return counted(count_archives(make_plan(), paths, print, "local"))


def intake(*paths: str) -> int:
    return counted(count_by_intake(make_plan(), *(Path(path).read_bytes() for path in paths)))


def write(reports: str, *paths: str) -> int:
    """Write archives with `reports` different reports each."""
    for number, path in enumerate(paths):
        write_archive(make_plan(), Path(path), int(reports), seed=number * int(reports))
    return int(reports) * len(paths)


def counted(snapshot: AnySnapshot) -> int:
    return snapshot.total()


WAYS: dict[str, Callable[..., int]] = {"streamed": streamed, "dask": dask, "intake": intake, "write": write}


def main(reports: int) -> None:
    print(LINE.format("", "reports", "seconds", "of a CPU", "reports/s", "memory"))
    with tempfile.TemporaryDirectory() as folder:
        whole, packed, few, *parts = (str(Path(folder, str(number))) for number in range(3 + FILES))
        timed("write", str(reports // FILES), *parts)
        timed("write", str(reports // 10), few)
        with open(whole, "wb") as joined, gzip.open(packed, "wb", compresslevel=1) as compressed:
            for part, target in itertools.product(parts, (joined, compressed)):
                with open(part, "rb") as source:
                    shutil.copyfileobj(source, target)
        show("one file", "streamed", whole)
        show("the same as gzip", "streamed", packed)
        show("its parts, and again", "streamed", *parts, whole)
        show("a tenth", "streamed", few)
        show("a tenth, by the intake", "intake", few)
        if importlib.util.find_spec("distributed"):
            show("parts, Dask, local", "dask", *parts)


def show(name: str, way: str, *paths: str) -> None:
    reports, seconds, cpu, memory = timed(way, *paths)
    own = f"{cpu:.1f}" if way != "dask" else "-"
    held = f"{memory} MB" if way != "dask" else "-"
    rate = f"{reports / seconds:,.0f}"
    print(LINE.format(name, f"{reports:,}", f"{seconds:.1f}", own, rate, held), flush=True)


def timed(way: str, *arguments: str) -> tuple[int, float, float, int]:
    """Run one method in a process; return its reports, seconds, CPU seconds and peak memory in MB."""
    command = [sys.executable, "-m", "benchmarks.archives", way, *arguments]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    reports, seconds, cpu, memory = run.stdout.split()
    return int(reports), float(seconds), float(cpu), int(memory)


def measure(way: str, *arguments: str) -> None:
    start, cpu = time.perf_counter(), time.process_time()
    reports = WAYS[way](*arguments)
    print(reports, time.perf_counter() - start, time.process_time() - cpu, resident())


def resident() -> int:
    """Return the peak resident memory of this process in MB; Linux counts in kilobytes, macOS in bytes."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WAYS:
        measure(*sys.argv[1:])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else REPORTS)
