"""Pieces of TOML, quoted and escaped so that any text survives."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from encoders.errors import SurveyError
from encoders.survey.canonical import decimal_text
from encoders.survey.parse_value import text_of

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LEADING_NUMBER = re.compile(r"-?[0-9]{1,18}")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WIDTH = 100
_PLAIN_DIGITS = 18


def quote(text: str) -> str:
    """Return a basic string on one line; what cannot be seen is escaped."""
    return '"' + "".join(_ESCAPES.get(character) or _visible(character) for character in text) + '"'


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def key(name: str) -> str:
    """Return a key, bare where TOML allows it."""
    return name if _BARE_KEY.fullmatch(name) else quote(name)


def values(texts: Sequence[str], last: Sequence[str] = ()) -> str:
    """Return ``values = [...]`` in a natural order but for the last; bare numbers only if all of them are."""
    ordered = [*sorted(texts, key=_natural), *last]
    whole = all(map(is_whole_number, ordered))
    return array("values", ordered if whole else [quote(text) for text in ordered])


def _natural(text: str) -> tuple[float, str]:
    number = _LEADING_NUMBER.match(text)
    return (float(number[0]) if number else math.inf, text)


def is_whole_number(text: str) -> bool:
    """Tell whether a text is a whole number as the survey spells it: no sign +, no leading zero."""
    return bool(_WHOLE_NUMBER.fullmatch(text)) and text_of(int(text)) == text


def plain(number: Decimal) -> str:
    """Return a number, in scientific notation only if it is long otherwise."""
    text = decimal_text(number)
    return text if len(text) <= _PLAIN_DIGITS else f"{number.normalize():E}"


def array(name: str, items: Iterable[str]) -> str:
    """Return ``name = [...]``, over several lines if it is long."""
    items = list(items)
    line = f"{name} = [{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return line
    lines = [f"{name} = ["]
    for item in items:
        if lines[-1].startswith("    ") and len(lines[-1]) + len(item) + 2 <= _WIDTH:
            lines[-1] += f" {item},"
        else:
            lines.append(f"    {item},")
    return "\n".join([*lines, "]"])


def read_survey_text(path: Path) -> str:
    """Read an authored survey as text.

    Raises
    ------
    SurveyError
        If the file cannot be read, is no text, or is a plan, a model or a snapshot.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SurveyError(f"{path.name}: cannot be read as UTF-8 text") from error
    if text.lstrip().startswith("{"):
        raise SurveyError(f"{path.name}: is {_json_of(text)}; give the TOML survey that it was made from")
    return text


def _json_of(text: str) -> str:
    """Say which of our files of JSON this is."""
    if '"ldp-bayes model"' in text:
        return "a model of ldp-train"
    if '"ldp-bayes snapshot"' in text:
        return "a snapshot"
    return "a compiled plan" if '"format"' in text else "JSON, and a survey file is TOML"
