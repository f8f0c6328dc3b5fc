"""Surveys and plans with mistakes: they must be refused, each mistake explained by its field and line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from encoders.errors import SurveyError
from encoders.survey.any_survey import read_any_survey

Read = Callable[[Any], object]


def refuse(source: object, read: Read = read_any_survey) -> SurveyError:
    """Return the error about a survey, a plan or a file, which `read` must refuse."""
    with pytest.raises(SurveyError) as caught:
        read(source)
    return caught.value


def list_mistakes(text: str | Path, read: Read = read_any_survey) -> list[tuple[str, int | None]]:
    """Return the field and the line of each mistake in a survey file, which must be refused."""
    return [(each.field, each.line) for each in refuse(text, read).problems]


def assert_explained(
    text: str | Path, field: str, line: int | None, words: str, read: Read = read_any_survey
) -> SurveyError:
    """Check that a survey file is refused for one mistake, and how this is explained; return the error."""
    error = refuse(text, read)
    assert [(each.field, each.line) for each in error.problems or [error]] == [(field, line)]
    assert words in error.why
    return error
