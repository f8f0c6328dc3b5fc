"""Canonical JSON: one spelling per plan, so that its digest can be reproduced in any language.

Keys sorted by code point, no white space, UTF-8, no floats at all; integers above 2^53 travel as
decimal strings. Reading is strict: bytes that are not the canonical spelling are refused.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from encoders.errors import SurveyError


def dump_canonical_json(document: object) -> bytes:
    """Return the canonical bytes of a document; a plan's has no floats, another's has finite ones only."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def load_canonical_json(data: bytes) -> Any:
    """Read canonical bytes.

    Raises
    ------
    SurveyError
        If the bytes are no JSON, hold a float, or are not the canonical spelling.
    """
    try:
        document = json.loads(data, parse_float=_no_float, parse_constant=_no_float)
        again = dump_canonical_json(document)
    except (ValueError, RecursionError) as error:
        raise SurveyError("the plan is not JSON; it may be truncated") from error
    if again != data:
        why = (
            "the plan is not in canonical form; take it unchanged from the collector or `ldp-survey compile`"
        )
        raise SurveyError(why)
    return document


def _no_float(text: str) -> NoReturn:
    raise SurveyError("a plan holds no floats; decimals are strings")
