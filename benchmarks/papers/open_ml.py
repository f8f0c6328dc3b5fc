"""Votes and SPECT, two sets of paper 004: from the folder of data, or from OpenML where it is reached."""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.datasets import fetch_openml

from benchmarks.papers.paper_rows import PaperRows

DATA_IDS = {"spect": 336, "votes": 56}


def read_or_fetch(folder: Path, name: str) -> PaperRows | None:
    """Return the data set, or None if neither the folder nor OpenML has it."""
    if (path := folder / f"{name}.csv").is_file():
        return PaperRows.read(path)
    try:
        found = fetch_openml(data_id=DATA_IDS[name], as_frame=True, parser="liac-arff")
    except OSError:
        return None
    columns = [*found.data.columns, "class"]
    rows = zip(*(found.data[each] for each in found.data.columns), found.target, strict=True)
    with TemporaryDirectory() as temporary:
        path = Path(temporary) / f"{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([columns, *([_write_cell(cell) for cell in row] for row in rows)])
        return PaperRows.read(path)


def _write_cell(value: object) -> str:
    """Return a category as text; the papers take a missing one as another value."""
    return value if isinstance(value, str) else "?"
