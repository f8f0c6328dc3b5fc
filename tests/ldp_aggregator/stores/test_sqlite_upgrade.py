"""A damaged file of an earlier version of the SQLite store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ldp_aggregator.stores import StoreError
from ldp_aggregator.stores.sqlite import SQLiteStore
from tests.ldp_aggregator.stores.test_sqlite import make_earlier_file, random_ids


@pytest.mark.parametrize("n", [0, 5, 20])
def test_a_count_of_reports_that_differs_from_the_ids_is_refused(tmp_path: Path, n: int) -> None:
    path = tmp_path / "store.db"
    make_earlier_file(path, random_ids(10))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE counters SET n = ? WHERE name = 'q'", (n,))
    with pytest.raises(StoreError, match=f"{n} reports, but 10 ids"):
        SQLiteStore(str(path))
    assert connection.execute("SELECT count(*) FROM reports").fetchone() == (12,)  # unchanged
    connection.close()
