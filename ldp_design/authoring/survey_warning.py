"""A warning for the author of a survey."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SurveyWarning:
    """A warning for the author of a survey."""

    path: tuple[str, ...]
    """The path of the entry in the survey file, the first one if the warning is about several."""
    message: str
