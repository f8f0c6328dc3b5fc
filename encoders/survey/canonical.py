"""Canonical JSON: a plan has one encoding, so that programs in all languages compute the same digest.

Keys are sorted by code point. There is no white space and there are no floats; the encoding is UTF-8.
Integers above 2^53 are decimal strings. Reading is strict: bytes that are not canonical are refused.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from encoders.errors import SurveyError


def dump_canonical_json(document: object) -> bytes:
    """Return the canonical bytes of a document; floats, which a plan does not contain, must be finite."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def load_canonical_json(data: bytes, name: str = "plan") -> Any:
    """Read canonical bytes; errors call them the `name`.

    Raises
    ------
    SurveyError
        If the bytes are not JSON, contain a float, or are not canonical.
    """
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
