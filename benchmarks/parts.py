"""Runs the parts of a long benchmark, and writes their tables into its page of results.

A stopped run continues after the last finished part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from encoders.progress import show_progress

Rows = list[dict[str, object]]
Job = tuple[str, str, Callable[[], Rows]]
"""The table, the name and the work of a part."""
Results = dict[str, list[dict[str, Any]]]
"""The rows of each table."""


def measure(jobs: Iterable[Job], surveys: int, path: Path, processes: int | None) -> Results:
    """Run the parts that the file of results does not contain, and return all rows by table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    found = {(line["surveys"], line["name"]): line for line in lines}
    jobs = list(jobs)
    missing = [job for job in jobs if (surveys, job[1]) not in found]
    with (
        ProcessPoolExecutor(processes) as pool,
        show_progress("measuring", len(missing), "parts") as progress,
        path.open("a", encoding="utf-8") as file,
    ):
        futures = {pool.submit(work): name for _, name, work in missing}
        for done in as_completed(futures):
            line = {"surveys": surveys, "name": futures[done], "rows": done.result()}
            file.write(json.dumps(line) + "\n")
            file.flush()
            found[surveys, futures[done]] = line
            progress.advance()
    results: Results = {}
    for table, name, _ in jobs:
        results.setdefault(table, []).extend(found[surveys, name]["rows"])
    return results


def fill_page(page: Path, command: str, tables: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Write the tables into the page, each between two comments, and yield their lines."""
    text = page.read_text("utf-8")
    for name, rows in tables.items():
        start, end = f"<!-- {name}: written by {command} -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{page} has no place for the table {name}: it needs {start} and {end}")
        lines = list(rows)
        text = "\n".join([before + start, "", *lines, "", end + after])
        yield from [*lines, ""]
    page.write_text(text, "utf-8")


def make_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def percent(share: Any) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{100 * float(share):.1f}"
