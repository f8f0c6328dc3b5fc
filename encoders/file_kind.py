"""Recognises a file by its first bytes, for errors, which never quote it: it may hold people's answers."""

from __future__ import annotations

import re
from pathlib import Path

_HEAD_BYTES = 1 << 22
"""In the JSON of a model, the entry `format` comes after long ones."""
_JSON = rb'\s*\{\s*["}]'
_FORMAT = rb'"format"\s*:\s*"ldp-bayes '
_TOML = rb"([ \t\r]*(#.*)?\n)*[ \t]*(\[[^,\n]*\][ \t\r]*(#.*)?$|[\w.-]+[ \t]*=)"
_TABLE = rb"(?m)^[ \t]*\[[\w.-]+\][ \t\r]*$"
_CELLS = rb"[^\n,;\t]*[,;\t].*\n.*[,;\t]"
_KINDS: tuple[tuple[str, bytes, bytes, str], ...] = (
    ("empty", rb"\s*\Z", b"", ""),
    ("database", b"SQLite format 3\0", b"", "a database: ldp-train reads a store as sqlite:///FILE"),
    ("gzip", rb"\x1f\x8b", b"", "a gzip file: ldp-train --plan reads an archive of reports from one"),
    ("other", rb"PK\x03\x04", b"xl/", "an Excel file: ldp-survey init --from reads an XLSForm (.xlsx)"),
    ("other", rb"PK\x03\x04", b"", "a zip file: unpack it"),
    ("key", b"-----BEGIN ", b"", "a key or certificate (PEM): ldp-survey sign --key reads an author's key"),
    ("reports", b"", rb"\x95\x01\xc4\x20", "an archive of reports: ldp-train --plan reads it"),
    ("other", rb"(?i)\s*<(!doctype|html|\?xml)", b"", "a web page: open it in a browser"),
    ("model", _JSON, _FORMAT + rb"model", "a model file: ldp-predict and ldp-results read it"),
    ("snapshot", _JSON, _FORMAT + rb"snapshot", "a snapshot: ldp-train and ldp-results read it"),
    ("other", _JSON, _FORMAT + rb"central ledger", "a ledger: ldp-central status reads it"),
    ("other", _JSON, rb'"black_box"\s*:', "the result of an audit: ldp-train --audit reads it"),
    ("other", _JSON, rb'"languages"\s*:', "the texts of a plan: they are read with the plan beside them"),
    ("plan", _JSON, rb'"format"\s*:\s*1\b', "a compiled plan: ldp-collector serve reads it"),
    ("json", _JSON, b"", "a JSON file of another kind"),
    ("survey", _TOML, rb"(?m)^\s*\[survey\]", "a survey file (TOML): ldp-survey check and compile read it"),
    ("toml", _TOML, _TABLE, "a TOML file without [survey]: ldp-collector serve --config reads settings"),
    ("binary", rb"(?s).*\0", b"", "binary data, or a text in another encoding: save a text in UTF-8"),
    ("csv", _CELLS, b"", "a CSV file: ldp-predict and ldp-simulate read it"),
    ("text", rb"[^\0]*\Z", b"", "a text file of another kind"),
)
"""Kind, pattern of the start, pattern anywhere, and description; the first that fits is the file's kind."""


def find_kind(data: bytes) -> tuple[str, str]:
    """Return a file's kind and description, which are empty if it is unknown."""
    for kind, start, anywhere, description in _KINDS:
        if re.match(start, data, re.MULTILINE) and re.search(anywhere, data):
            return kind, description
    return "", ""


def describe_other(file: bytes | Path, *expected: str) -> str:
    """Return what a file looks like, as the end of an error message; empty if it is of an `expected` kind."""
    if isinstance(file, Path):
        try:
            with file.open("rb") as opened:
                file = opened.read(_HEAD_BYTES)
        except OSError:
            return ""
    kind, description = find_kind(file[:_HEAD_BYTES].removeprefix(b"\xef\xbb\xbf"))
    seems = "is empty" if kind == "empty" else f"looks like {description}"
    return "" if kind in ("", *expected) else f"; the file {seems}"
