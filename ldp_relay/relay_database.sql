-- The tables of a relay.
--
-- A row without content is a message that is gone: it has left, or it was withdrawn or deleted. A batch has a
-- secret until all its messages have left. rejected has a number for each column, with blanks in between.
-- surveys has a row for each pool, and for each survey with waves, and digest is its name.
-- Which message used a code is not stored, but shows in the file until the next full hour.

CREATE TABLE IF NOT EXISTS batches (
    number INTEGER PRIMARY KEY, survey INTEGER NOT NULL, hour INTEGER NOT NULL, size INTEGER NOT NULL,
    secret BLOB, next_record INTEGER NOT NULL DEFAULT 0, rejected TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS surveys (number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS messages (
    name BLOB PRIMARY KEY, survey INTEGER NOT NULL, content BLOB, batch INTEGER,
    has_left INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS codes (
    hash BLOB PRIMARY KEY, survey INTEGER NOT NULL, is_used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    survey INTEGER NOT NULL, event TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (survey, event)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS held_messages ON messages (survey, batch) WHERE content NOT NULL;
