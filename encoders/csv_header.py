"""Checks of the header of a CSV file, for those who hold rows: aggregators, curators and silos."""

from __future__ import annotations

from collections.abc import Sequence

_SEPARATOR_NAMES = {";": "';'", "\t": "tabs", "|": "'|'"}


def find_other_separator(header: Sequence[str]) -> str:
    """Return the name of the separator that splits a header into more columns than commas do, or ""."""
    for separator, separator_name in _SEPARATOR_NAMES.items():
        if sum(name.count(separator) for name in header) >= len(header):
            return separator_name
    return ""
