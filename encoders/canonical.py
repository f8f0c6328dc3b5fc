"""Canonical forms, so that programs in all languages compute the same digest of a plan: JSON, numbers, texts.

JSON is UTF-8, with keys sorted by code point, without white space and floats. Integers above 2^53, and
decimals, are strings. Bytes that are not canonical are refused. Texts are in Unicode's normal form C (NFC).
"""

from __future__ import annotations

import json
import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, NoReturn

from encoders.errors import SurveyError

MAX_DIGITS = 20
"""Largest number of digits of a number in a survey file."""

_EXACT = Context(prec=1000)
_EDGE_DIGITS = Context(prec=15)


def dump_canonical_json(document: object) -> bytes:
    """Return the canonical bytes of a document; floats, which a plan does not contain, must be finite."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def load_canonical_json(data: bytes, name: str = "plan") -> Any:
    """Read canonical bytes, which errors call `name`; raise SurveyError for any other bytes or a float."""
    try:
        document = json.loads(data, parse_float=_no_float, parse_constant=_no_float)
        again = dump_canonical_json(document)
    except (ValueError, RecursionError) as error:
        raise SurveyError(f"the {name} is not JSON; it may be truncated: copy it again") from error
    if again != data:
        raise SurveyError(
            f"the {name} is not canonical; take it unchanged from the collector or `ldp-survey compile`"
        )
    return document


def _no_float(text: str) -> NoReturn:
    raise SurveyError("found a float, but decimals must be strings: compile the survey again")


def decimal_text(value: Decimal) -> str:
    """Return the canonical text of a finite decimal, without exponent and trailing zeros, in any context."""
    text = format(value.normalize(_EXACT), "f")
    return "0" if text == "-0" else text


def parse_decimal(value: object) -> Decimal | None:
    """Return a number of at most 20 digits as a Decimal; None unless it is finite, also as a double."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    exact = Decimal(value)
    is_double = exact.is_finite() and -300 < exact.adjusted() < 300
    return exact if is_double and len(exact.as_tuple().digits) <= MAX_DIGITS else None


def equal_width_edges(low: Decimal, high: Decimal, bins: int) -> tuple[str, ...]:
    """Return the bins + 1 edges of equal-width bins, to 15 digits (Yilmaz et al. 2019, section 3.2)."""
    exact = (Fraction(low) + (Fraction(high) - Fraction(low)) * j / bins for j in range(1, bins))
    inner = [_EDGE_DIGITS.divide(Decimal(edge.numerator), Decimal(edge.denominator)) for edge in exact]
    return tuple(map(decimal_text, [low, *inner, high]))


# -- texts ------------------------------------------------------------------------------------------


BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159"
"""Letters, marks and signs that show nothing, although Unicode does not count them as spaces."""
SELECTORS = "[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]"
"""Variation selectors: they show nothing themselves, but emoji and some scripts need them."""
_UNSEEN = re.compile(f"[{BLANKS}\u200c-\u200f]|{SELECTORS}")

MAX_TEXT = 200
NAME_FORM = f"printable, in Unicode's normal form NFC, and of 1 to {MAX_TEXT} characters"
BAD_NAMES = f"names must be {NAME_FORM}"


def to_nfc(text: str) -> str:
    if text.isascii():
        return text
    from unicodedata import normalize  # a large module, which ASCII texts do not need

    return normalize("NFC", text)


def look_of(text: str) -> str:
    """Return a text as people see it: in NFC, with plain spaces, without characters that show nothing."""
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
