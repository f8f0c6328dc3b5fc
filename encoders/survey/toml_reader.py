"""Reads a survey file: TOML to a survey, or an error with the field and line of every mistake."""

from __future__ import annotations

import re
from decimal import Decimal

from encoders.errors import SurveyError, combine_errors
from encoders.survey.survey import Survey
from encoders.survey.survey_tables import read_tables
from encoders.survey.toml_lines import find_line

TOML_ONLY = "a survey file is TOML; `ldp-survey init` writes an example"


def read_survey(text: str) -> Survey:
    """Read an authored survey.

    Parameters
    ----------
    text : str
        TOML; `ldp-survey init` writes a commented example.

    Raises
    ------
    SurveyError
        With `field` and `line`. If several entries are wrong, the message and `problems` have all of them.
    """
    import tomllib  # not on devices, which read compiled plans

    text = text.removeprefix("\ufeff")
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise SurveyError(_explain_syntax(str(error), text), "", _line_in(str(error))) from error
    survey, mistakes = read_tables(document)
    if mistakes:
        errors = [
            SurveyError(why, ".".join(path), find_line(text, path, value)) for path, why, value in mistakes
        ]
        raise combine_errors(sorted(errors, key=lambda error: error.line or 0))
    return survey


def _explain_syntax(message: str, text: str) -> str:
    if text.lstrip().startswith("{"):
        return f"is JSON, and {TOML_ONLY}"
    twice = "Cannot declare" in message or "Cannot overwrite" in message
    return f"two entries have the same name: {message}" if twice else f"not valid TOML: {message}"


def _line_in(message: str) -> int | None:
    match = re.search(r"at line (\d+)", message)
    return int(match[1]) if match else None
