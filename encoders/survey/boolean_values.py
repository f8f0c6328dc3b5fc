"""Reads other spellings of the values true and false, as CSV files and pandas have them.

For those who hold rows: aggregators, curators and silos.
"""

from __future__ import annotations

from collections.abc import Collection

from encoders.survey.parse_value import category_text

_SPELLINGS = {"true": "true", "1": "true", "1.0": "true", "false": "false", "0": "false", "0.0": "false"}
"""The value that a spelling in lower case stands for."""


def has_booleans(values: Collection[str]) -> bool:
    """Return whether a feature or label of a survey has the values true and false."""
    return "true" in values and "false" in values


def read_boolean(value: object, values: Collection[str]) -> object:
    """Return "true" or "false" for True, 1, "TRUE", "1" and the like; any other value unchanged.

    Parameters
    ----------
    value : object
        A cell.
    values : collection of str
        The values of the feature or label. A cell that is one of them is not changed to another, and nothing
        changes if they do not have both true and false.
    """
    if not has_booleans(values):
        return value
    text = category_text(value)
    if text is None:
        return value
    if text in values:
        return text
    return _SPELLINGS.get(text.strip().lower(), value)
