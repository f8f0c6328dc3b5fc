"""The tables of a journal, and the steps that upgrade the file of an older version."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ldp_client.errors import JournalError
from ldp_client.survey_identity import origin_of_url

NEWER_VERSION = "the journal was written by a newer version, or edited"

_VERSION = 3
_TABLES = (
    """
    CREATE TABLE surveys (
        survey    TEXT NOT NULL,
        origin    TEXT NOT NULL,
        family    TEXT NOT NULL,
        url       TEXT NOT NULL,
        digest    TEXT NOT NULL,
        signer    TEXT NOT NULL DEFAULT '',
        epsilon   TEXT NOT NULL DEFAULT '0',
        state     TEXT NOT NULL,
        reason    TEXT NOT NULL DEFAULT '',
        closed_at REAL,
        plan      BLOB,
        report    BLOB,
        PRIMARY KEY (survey, origin)
    )
    """,
    "CREATE INDEX families ON surveys (family)",
    "CREATE INDEX waiting ON surveys (survey) WHERE state = 'queued'",
)
_UPGRADES = {
    0: (
        "ALTER TABLE answers ADD COLUMN family TEXT NOT NULL DEFAULT ''",
        "UPDATE answers SET family = survey",
    ),
    1: (
        "ALTER TABLE answers ADD COLUMN signer TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE answers ADD COLUMN plan BLOB",
        "ALTER TABLE answers RENAME TO surveys",
    ),
    2: (
        "ALTER TABLE surveys RENAME TO former",
        "DROP INDEX IF EXISTS families",
        "DROP INDEX IF EXISTS waiting",
        *_TABLES,
        """INSERT INTO surveys (
               survey, origin, family, url, digest, signer, epsilon, state, reason, plan, report
           )
           SELECT
               survey, origin_of_url(url), family, url, digest, signer, epsilon, state, reason, plan, report
           FROM former""",
        "DROP TABLE former",
    ),
}


def upgrade_schema(connection: sqlite3.Connection) -> None:
    """Create the tables, or upgrade those of an older version."""
    if _read_version(connection) == _VERSION:
        return
    connection.create_function("origin_of_url", 1, origin_of_url, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")
    with connection:  # commits, or rolls back
        for statement in _select_statements(connection):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")


def _select_statements(connection: sqlite3.Connection) -> Sequence[str]:
    """Return the statements that lead from the file's tables to those of this version."""
    version = _read_version(connection)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version == 0 and not tables:
        return _TABLES
    if version not in range(_VERSION + 1):
        raise JournalError(NEWER_VERSION)
    if ("answers" if version < 2 else "surveys") not in tables:
        raise JournalError("this file is another application's database, no journal")
    return [statement for old in range(version, _VERSION) for statement in _UPGRADES[old]]


def _read_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
