"""The surveys and counters in the file of the SQLite store, each counter with the ids of its reports."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import numpy as np

from ldp_aggregator.arrays import IntArray
from ldp_aggregator.stores.failure import NO_LOSS, Loss, SeenTotals, compare_numbers, require_whole
from ldp_aggregator.stores.sqlite_buckets import Buckets, count_ids, delete_buckets, fits_last_bucket
from ldp_aggregator.stores.store import (
    SURVEY_KINDS,
    Batch,
    MarksById,
    Total,
    add_counters,
    unknown_survey_error,
    unmark_plan,
)

_ROWS = "counters"
"""The kind of notes with the row number of each counter of a survey, which show that a row is lost."""


def record_batch(connection: sqlite3.Connection, batch: Batch, seen: SeenTotals) -> tuple[MarksById, int]:
    """Count a batch; return its known ids, or none if it was counted, and its counter's number of reports.

    Raises CounterError if its counter has lost reports, for example if it has fewer than were seen, or would
    overflow.
    """
    counter, old = _get_or_create_counter(connection, batch)
    if loss := find_loss(connection, counter, old.n, seen.get(batch.survey, batch.counter)):
        require_whole({batch.survey: {batch.counter: loss}})
    cells = add_counters(old.cells, batch.tally)  # before any write, because it may raise
    known = Buckets(connection, counter, old.n).add(batch.ids, batch.marks)
    n = old.n if known else old.n + len(batch.ids)
    if not known:
        connection.execute(
            "UPDATE counters SET n = ?, cells = ? WHERE number = ?",
            (n, cells.astype("<i8").tobytes(), counter),
        )
    return known, n


def find_loss(
    connection: sqlite3.Connection, counter: int, n: int, seen: int, thorough: bool = False
) -> Loss | None:
    """Return what a counter has lost, or None; all ids are counted if `thorough`, or if a loss is found."""
    if not thorough and n >= seen and fits_last_bucket(connection, counter, n):
        return None
    loss = compare_numbers(count_ids(connection, counter), n, seen)
    return None if loss == NO_LOSS else loss


def find_losses(
    connection: sqlite3.Connection, survey: str, seen: SeenTotals, thorough: bool
) -> dict[str, Loss]:
    """Return the losses of a survey's counters; a row that is lost has a note with its number."""
    least = {name: seen.get(survey, name) for name in seen.counters(survey)}  # before others record more
    query = "SELECT name, number, n FROM counters WHERE survey = ?"
    rows = {name: (int(row), 0) for name, row in read_notes(connection, f"{_ROWS}/{survey}").items()}
    rows |= {name: (counter, n) for name, counter, n in connection.execute(query, (survey,))}
    found = {
        name: find_loss(connection, *rows.get(name, (0, 0)), least.get(name, 0), thorough)
        for name in rows.keys() | least
    }
    return {name: loss for name, loss in found.items() if loss}


def read_counter_names(connection: sqlite3.Connection, survey: str) -> set[str]:
    rows = connection.execute("SELECT name FROM counters WHERE survey = ?", (survey,))
    return {name for (name,) in rows} | read_notes(connection, f"{_ROWS}/{survey}").keys()


def find_counter(
    connection: sqlite3.Connection, survey: str, name: str
) -> tuple[int, int, bytes | None] | None:
    """Return a counter's row number, its number of reports, and its cells; None if the row is lost."""
    query = (
        "SELECT number, n, cells FROM counters WHERE survey = ? AND name = ? "
        "UNION ALL SELECT CAST(value AS INTEGER), 0, NULL FROM internal WHERE name = ?"
    )
    note = note_row(f"{_ROWS}/{survey}", name)
    row: tuple[int, int, bytes | None] | None = connection.execute(query, (survey, name, note)).fetchone()
    return row


def _get_or_create_counter(connection: sqlite3.Connection, batch: Batch) -> tuple[int, Total]:
    row = find_counter(connection, batch.survey, batch.counter)
    if row and row[2] is not None:
        return row[0], Total(row[1], unpack_cells(row[2]))
    empty = Total(0, np.zeros_like(batch.tally))
    largest = "SELECT max(number) FROM counters UNION SELECT value FROM internal WHERE name = 'last counter'"
    number = row[0] if row else 1 + max(int(each or 0) for (each,) in connection.execute(largest))
    connection.execute(
        "INSERT INTO counters VALUES (?, ?, ?, 0, ?)",
        (number, batch.survey, batch.counter, empty.cells.astype("<i8").tobytes()),
    )
    if not row:  # the number of a lost row, whose ids are left, is not used again
        connection.execute("REPLACE INTO internal VALUES ('last counter', ?)", (b"%d" % number,))
    write_note(connection, f"{_ROWS}/{batch.survey}", batch.counter, b"%d" % number, "REPLACE")
    return number, empty


def unpack_cells(cells: bytes) -> IntArray:
    return np.frombuffer(cells, "<i8").astype(np.int64)


def read_totals(connection: sqlite3.Connection, survey: str) -> dict[str, Total]:
    rows = connection.execute("SELECT name, n, cells FROM counters WHERE survey = ?", (survey,)).fetchall()
    return {counter: Total(n, unpack_cells(cells)) for counter, n, cells in rows}


def delete_part(connection: sqlite3.Connection, survey: str) -> bool:
    """Delete a part of a survey's data; return whether some remain. Its counters go after their ids."""
    counter = connection.execute("SELECT number FROM counters WHERE survey = ?", (survey,)).fetchone()
    if counter and delete_buckets(connection, counter[0]):
        return True
    if counter:
        connection.execute("DELETE FROM counters WHERE number = ?", counter)
        return True
    notes = note_row(f"{_ROWS}/{survey}", "")
    connection.execute("DELETE FROM internal WHERE name > ? AND name < ?", (notes, f"{notes[:-1]}0"))
    for table in (*SURVEY_KINDS, "rejections"):
        connection.execute(f"DELETE FROM {table} WHERE survey = ?", (survey,))  # noqa: S608
    return False


def note_row(kind: str, name: str) -> str:
    return f"{kind}/{name}"


def read_by_survey(connection: sqlite3.Connection, table: str, survey: str | None = None) -> dict[str, bytes]:
    """Return a table with two columns, the first of which is the survey; or only one row of it."""
    condition, values = ("", ()) if survey is None else (" WHERE survey = ?", (survey,))
    return dict(connection.execute(f"SELECT * FROM {table}{condition}", values).fetchall())  # noqa: S608


def read_notes(connection: sqlite3.Connection, kind: str, name: str | None = None) -> dict[str, bytes]:
    """Return the notes of a kind by name, or only one; those of SURVEY_KINDS have their own tables."""
    if kind in SURVEY_KINDS:
        return read_by_survey(connection, kind, name)
    if name is not None:
        query, row = "SELECT ?, value FROM internal WHERE name = ?", note_row(kind, name)
        return dict(connection.execute(query, (name, row)).fetchall())
    prefix = note_row(kind, "")
    query = "SELECT substr(name, ?), value FROM internal WHERE name > ? AND name < ?"
    return dict(connection.execute(query, (len(prefix) + 1, prefix, f"{kind}0")).fetchall())  # "0" is "/" + 1


def write_note(connection: sqlite3.Connection, kind: str, name: str, note: bytes, verb: str) -> None:
    table, row = (kind, name) if kind in SURVEY_KINDS else ("internal", note_row(kind, name))
    if kind in SURVEY_KINDS and not read_by_survey(connection, "plans", name):
        raise unknown_survey_error(name, read_by_survey(connection, "plans"))
    connection.execute(f"{verb} INTO {table} VALUES (?, ?)", (row, note))


def find_missing(connection: sqlite3.Connection, plans: Mapping[str, bytes]) -> set[str]:
    required = {survey: plan for survey, plan in plans.items() if plan}
    query = "SELECT plan FROM plans WHERE survey = ?"
    stored = {each: connection.execute(query, (each,)).fetchone() for each in required}
    return {each for each, row in stored.items() if not row or unmark_plan(row[0]) != required[each]}


def find_lost_plans(connection: sqlite3.Connection) -> set[str]:
    tables = " UNION ".join(f"SELECT survey FROM {table}" for table in ("counters", *SURVEY_KINDS))  # noqa: S608
    surveys = {survey.partition(".")[0] for (survey,) in connection.execute(tables)}
    known = connection.execute("SELECT survey FROM plans").fetchall()
    return surveys - {survey for (survey,) in known}
