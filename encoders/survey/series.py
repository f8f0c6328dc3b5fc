"""The series that a plan belongs to: plans of one name and author, which one consent may cover."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from encoders.errors import SurveyError
from encoders.survey.compiled_plan import is_survey_id

_KEY = re.compile("[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True)
class Series:
    """A series, by its name and its author's public key, a line of base64; another key is another series."""

    name: str
    key: str

    @property
    def id(self) -> str:
        """Name and key."""
        return f"{self.name} {self.key}"

    as_dict = asdict

    def check(self) -> None:
        """Raise SurveyError unless name and key are possible."""
        if not is_survey_id(self.name):
            raise SurveyError("needs 1 to 64 of a-z, 0-9 and '-'", "series.name")
        if not (isinstance(self.key, str) and _KEY.fullmatch(self.key)):
            raise SurveyError("needs the public key that ldp-survey keygen prints", "series.key")
