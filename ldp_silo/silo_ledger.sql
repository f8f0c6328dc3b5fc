-- The tables of a silo's ledger, which are a part of its journal.

CREATE TABLE IF NOT EXISTS silo_key (key BLOB NOT NULL);

CREATE TABLE IF NOT EXISTS silo_epochs (
    number        INTEGER PRIMARY KEY,
    survey        TEXT NOT NULL,
    origin        TEXT NOT NULL,
    signer        TEXT NOT NULL,
    family        TEXT NOT NULL,
    epoch         TEXT NOT NULL,
    url           TEXT NOT NULL,
    digest        TEXT NOT NULL,
    epsilon       TEXT NOT NULL,
    rows          INTEGER NOT NULL,
    file_size     INTEGER NOT NULL,
    file_digest   BLOB NOT NULL,
    person_column TEXT NOT NULL,
    state         TEXT NOT NULL,
    reason        TEXT NOT NULL DEFAULT '',
    closed_at     REAL,
    message_id    BLOB NOT NULL,
    message       BLOB,
    UNIQUE (survey, origin, epoch)
);

CREATE TABLE IF NOT EXISTS silo_persons (
    hash   BLOB PRIMARY KEY,
    survey TEXT NOT NULL,
    rows   INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS silo_counted_at (
    number INTEGER PRIMARY KEY,
    hour   INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS silo_former_ids (
    id     BLOB PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;
