"""Waves, in one of which each person answers the same questions, and the series that a plan belongs to.

A device draws its wave when the person agrees, before it reads a row. So the plan's likelihood ratio is that
of everything that the person ever sends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Self

from encoders.errors import SurveyError
from encoders.randomness import RandomSource
from encoders.survey.compiled_plan import is_survey_id
from encoders.survey.questions import draw, thresholds
from encoders.survey.relay import LAST_TIME

DRAWN, NOW = "drawn", "now"
"""Who answers in a wave: the devices that drew it, or those that are asked while it is open."""
MAX_WAVES, MAX_WAVE_QUESTIONS = 400, 4096
RESERVED = {"all", "last"}
"""What commands call several waves."""
_NAME = re.compile(r"[a-z0-9-]{1,32}")


@dataclass(frozen=True)
class Wave:
    name: str
    opens: int
    closes: int
    """When devices may answer, in seconds since 1970 (UTC); `closes` is the first second after it."""


@dataclass(frozen=True)
class Waves:
    """The waves of a survey, in the order of time."""

    assign: str
    """"drawn": each device draws its wave. "now": a device answers in the wave that is open."""
    list: tuple[Wave, ...]

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read the plan's form; the caller compares the plan's bytes, so other entries are refused."""
        return cls(document["assign"], tuple(Wave(**each) for each in document["list"]))

    def as_dict(self) -> dict[str, Any]:
        return {"assign": self.assign, "list": [asdict(each) for each in self.list]}

    def check(self, questions: int) -> None:
        """Raise SurveyError unless the waves of a survey with so many questions are possible."""
        count, names = len(self.list), {each.name for each in self.list}
        times = [each for wave in self.list for each in (wave.opens, wave.closes)]
        if self.assign not in (DRAWN, NOW):
            raise SurveyError('must be "drawn" (by each device) or "now" (the open wave)', "waves.assign")
        if not (2 <= count <= MAX_WAVES and count * questions <= MAX_WAVE_QUESTIONS):
            raise SurveyError(
                f"{count:,} waves of {questions:,} questions: needs 2 to {MAX_WAVES} waves, and at most "
                f"{MAX_WAVE_QUESTIONS:,} questions in all waves together",
                "waves.count",
            )
        if len(names) < count or names & RESERVED or not all(map(_NAME.fullmatch, names)):
            raise SurveyError("names must differ, and need 1 to 32 of a-z, 0-9 and '-'", "waves.list")
        if not all(type(each) is int and 0 < each < LAST_TIME for each in times) or any(
            later < earlier or (later == earlier and place % 2 == 0)
            for place, (earlier, later) in enumerate(pairwise(times))
        ):
            raise SurveyError(
                "each wave must open before it closes, and close before the next one opens, all before the "
                "year 2242",
                "waves.list",
            )

    def draw(self, rng: RandomSource) -> int:
        """Draw the index of a device's wave with 8 random bytes; every wave is as probable as any other."""
        return draw(thresholds([1] * len(self.list)), rng)

    def find(self, name: str) -> int:
        names = [each.name for each in self.list]
        if name in names:
            return names.index(name)
        raise SurveyError(f"there is no wave {name!r}; the waves are {', '.join(names)}", "wave")


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
