"""Benchmark startup: the time that `import ldp_client` adds to a bare Python."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Row, Timer, compare, each, extra


def rows() -> Iterator[Row]:
    """Yield one row: whole processes, in turns."""
    yield compare(
        "import ldp_client", python("import ldp_client"), {"bare Python": python("")}, extra(0.025), 31
    )


def python(code: str) -> Timer:
    return each(lambda: subprocess.run([sys.executable, "-c", code], check=True), 1)
