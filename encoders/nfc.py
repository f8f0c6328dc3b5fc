"""Texts in Unicode's normal form C (NFC), in which texts that look alike are equal.

"é" is one character, or "e" and a combining accent. Plans contain the first form only, and values of rows are
compared in it. Everything is unchanged by this that has ASCII characters only.
"""

from __future__ import annotations


def to_nfc(text: str) -> str:
    """Return a text in NFC."""
    if text.isascii():
        return text
    from unicodedata import normalize  # a large module, which ASCII texts do not need

    return normalize("NFC", text)


def normalise_person(cell: str) -> str:
    """Return the name of a person, as cells of CSV files are compared: in NFC, without spaces around it."""
    return to_nfc(cell.strip())
