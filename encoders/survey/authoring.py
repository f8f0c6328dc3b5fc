"""The survey as a person writes it: TOML in, every mistake named with its field and line."""

from __future__ import annotations

import re
from decimal import Decimal

from encoders.errors import SurveyError
from encoders.survey.reader import read_document
from encoders.survey.survey import Survey
from encoders.survey.toml_lines import line_of

__all__ = ["Survey", "read_survey"]


def read_survey(text: str) -> Survey:
    """Read an authored survey.

    Parameters
    ----------
    text : str
        TOML; `ldp-survey init` writes a commented example.

    Raises
    ------
    SurveyError
        With `field`, `line` and, where several entries are wrong, all of them in the message and in
        `problems`.
    """
    import tomllib  # late: devices read compiled plans

    text = text.removeprefix("\ufeff")
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise SurveyError(_explain_syntax(str(error)), "", _line_in(str(error))) from error
    survey, found = read_document(document)
    if found:
        problems = [SurveyError(why, ".".join(path), line_of(text, path)) for path, why in found]
        problems.sort(key=lambda problem: problem.line or 0)
        raise problems[0] if len(problems) == 1 else _together(problems)
    return survey


def _together(problems: list[SurveyError]) -> SurveyError:
    error = SurveyError(problems[0].why, problems[0].field, problems[0].line)
    error.problems = tuple(problems)
    error.args = ("\n".join(str(problem) for problem in problems),)
    return error


def _explain_syntax(message: str) -> str:
    twice = "Cannot declare" in message or "Cannot overwrite" in message
    return f"two entries have one name: {message}" if twice else f"not valid TOML: {message}"


def _line_in(message: str) -> int | None:
    match = re.search(r"at line (\d+)", message)
    return int(match[1]) if match else None
