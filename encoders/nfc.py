"""Texts in Unicode's normal form C (NFC), in which texts that look alike are equal; which texts can be names.

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

MAX_TEXT = 200
NAME_FORM = f"printable, in Unicode's normal form NFC, and of 1 to {MAX_TEXT} characters"
BAD_NAMES = f"names must be {NAME_FORM}"


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


def is_text(value: object) -> bool:
    """Return whether a value can be a name or a category, which people read on screens and in logs."""
    return isinstance(value, str) and not text_fault(value)


def text_fault(text: str) -> str:
    """Return the reason why a text is not a possible name or category, as the end of a sentence, or ""."""
    if not 0 < len(text) <= MAX_TEXT:
        return f"has {len(text)} characters, not 1 to {MAX_TEXT}"
    return printable_fault(text, BLANKS + "".join(re.findall(f"^{SELECTORS}", text))) or nfc_fault(text)


def nfc_fault(text: str) -> str:
    """Return that a text is not in NFC, as the end of a sentence; empty if it is."""
    return "" if text == to_nfc(text) else "is not in Unicode's normal form NFC: convert the file to NFC"


def printable_fault(text: str, refused: str = "") -> str:
    """Return which character is not printable or is refused, as the end of a sentence; empty if none is."""
    bad = next((each for each in text if each in refused or not each.isprintable()), "")
    if not bad:
        return ""
    from unicodedata import name  # only needed for a mistake

    named = f"U+{ord(bad):04X} {name(bad, '')}".rstrip()
    return f"contains {named}, which is not printable: remove it, or replace it with a plain space"
