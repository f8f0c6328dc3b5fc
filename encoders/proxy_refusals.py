"""The file in which the proxy of a collector or relay counts the requests that it refuses with 429."""

from __future__ import annotations

from pathlib import Path


def count_refusals(file: Path | None) -> int | None:
    """Return the size of the file in bytes, one for each request; None if there is no file."""
    try:
        return file.stat().st_size if file else None
    except OSError:
        return None
