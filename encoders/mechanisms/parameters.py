"""Reads the parameters of a mechanism from a plan: integers as canonical decimal strings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from encoders.errors import SurveyError
from encoders.probability_tables import MAX_LAPLACE_WEIGHTS, WORD

MechanismParameters = Mapping[str, object]
"""Parameters of a mechanism as a plan stores them: integers and lists of integers, as decimal strings."""

_CANONICAL_INTEGER = re.compile(r"0|[1-9][0-9]{0,19}")


def read_integer(text: object, what: str, low: int, high: int) -> int:
    """Parse an integer without sign and leading zeros; raise SurveyError unless it is in [low, high]."""
    if not (isinstance(text, str) and _CANONICAL_INTEGER.fullmatch(text)):
        raise SurveyError(f"{what} must be a decimal string")
    if not low <= int(text) <= high:
        raise SurveyError(f"{what} must be from {low} to {high}")
    return int(text)


def read_weights(texts: object, what: str) -> tuple[int, ...]:
    """Return the weights of the magnitudes 0, 1, ..., K; over both signs of 1, ..., K they add up to 2^64."""
    if not (isinstance(texts, (list, tuple)) and 2 <= len(texts) <= MAX_LAPLACE_WEIGHTS):
        raise SurveyError(f"{what} must be a list of 2 to {MAX_LAPLACE_WEIGHTS:,} decimal strings")
    if set(map(type, texts)) != {str}:
        raise SurveyError(f"{what} must be a decimal string")
    return _parse_weights(tuple(texts), what)


@lru_cache(maxsize=8)
def _parse_weights(texts: tuple[str, ...], what: str) -> tuple[int, ...]:
    """Parse weights once for all questions that share them, because an untrusted plan may be large."""
    weights = tuple(read_integer(text, what, 1, WORD - 1) for text in texts)
    if weights[0] + 2 * sum(weights[1:]) != WORD:
        raise SurveyError(f"{what} does not add up to 2^64")
    return weights


def check_keys(parameters: MechanismParameters, keys: set[str], name: str) -> None:
    """Raise SurveyError unless the parameters have exactly these keys."""
    if set(parameters) != keys:
        raise SurveyError(f"{name} tables need exactly the keys {sorted(keys)}")
