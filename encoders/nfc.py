"""Texts in Unicode's normal form C (NFC), in which texts that look alike are equal; what texts look like.

"é" is one character, or "e" and a combining accent. Plans contain the first form only, and values of rows are
compared in it. Everything is unchanged by this that has ASCII characters only.
"""

from __future__ import annotations

import re

BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159"
"""Letters, marks and signs that show nothing, although Unicode does not count them as spaces."""
SELECTORS = "[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]"
"""Variation selectors: they show nothing themselves, but emoji and some scripts need them."""
_UNSEEN = re.compile(f"[{BLANKS}\u200c-\u200f]|{SELECTORS}")


def to_nfc(text: str) -> str:
    """Return a text in NFC."""
    if text.isascii():
        return text
    from unicodedata import normalize  # a large module, which ASCII texts do not need

    return normalize("NFC", text)


def look_of(text: str) -> str:
    """Return what people see of a text: NFC without characters that show nothing, with plain spaces."""
    return text if text.isascii() else to_nfc(re.sub("[\u00a0\u202f]", " ", _UNSEEN.sub("", text)))


def normalise_person(cell: str) -> str:
    """Return the name of a person, as cells of CSV files are compared: in NFC, without spaces around it."""
    return to_nfc(cell.strip())
