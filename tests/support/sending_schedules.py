"""Clocks, surveys and bounds for tests of when reports are sent."""

from __future__ import annotations

from math import comb

from ldp_client import Response
from ldp_client.survey_identity import SurveyIdentity

HOUR, DAY = 3600.0, 86_400.0
DOWN = Response(503, b'{"reason":"store-unavailable","retryable":true}')


def survey_of(number: int) -> SurveyIdentity:
    return SurveyIdentity(f"survey-{number}", "http://collector.test:80")


class ManualClock:
    """A clock that tests set."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def most_by_chance(count: int, share: float, rate: float = 5e-8) -> int:
    """Return the number of successes that a binomial variable exceeds with probability `rate` at most."""
    tail, most = 0.0, count
    while tail + (term := comb(count, most) * share**most * (1 - share) ** (count - most)) <= rate:
        tail, most = tail + term, most - 1
    return most
