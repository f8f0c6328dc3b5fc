"""A survey with three waves, and a clock that tests set."""

import pytest

from encoders.survey import Plan, read_survey

SURVEY = """
survey = {id = "mood", epsilon = 2}
label = {name = "paid", values = ["yes", "no"]}
features.mood.values = ["good", "bad"]
features.sleep.values = ["well", "badly"]
mechanism.frequency = "DE"
"""
WAVES = """
[waves]
first = 2027-01-31
every = "month"
count = 3
open_days = 14
"""
ROW = {"mood": "good", "sleep": "well"}
DAY = 86_400


def compile_waves(survey: str = SURVEY, more: str = "") -> Plan:
    """Return the plan of a survey in three waves; `more` are lines of its table [waves]."""
    return read_survey(survey + WAVES + more).compile()


class Clock:
    """Replaces `time.time`."""

    def __init__(self, patch: pytest.MonkeyPatch, now: float) -> None:
        self.now = now
        patch.setattr("time.time", lambda: self.now)
