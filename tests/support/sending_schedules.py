"""Clocks, surveys and statistics for tests of when reports are sent."""

from math import comb
from statistics import median
from typing import NamedTuple

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


class Sent(NamedTuple):
    """One attempt, as the collector sees it, with the device that it does not see."""

    when: float
    device: int
    survey: SurveyIdentity
    is_taken: bool


def most_by_chance(count: int, share: float, rate: float = 5e-8) -> int:
    """Return the number of successes that a binomial variable exceeds with probability `rate` at most."""
    tail, most = 0.0, count
    while tail + (term := comb(count, most) * share**most * (1 - share) ** (count - most)) <= rate:
        tail, most = tail + term, most - 1
    return most


class Linked(NamedTuple):
    """How well times link the two reports of a device."""

    nearest: int
    """The devices of which the first report's nearest neighbour in time is the second."""
    close: int
    """The devices whose gap is below the median gap of reports of different devices."""
    gap: float
    chance_gap: float
    """The median gaps, in seconds: of one device, and of different ones."""


def linked(seen: list[Sent]) -> Linked:
    taken = [each for each in seen if each.is_taken]
    when = {(each.device, each.survey): each.when for each in taken}
    first = {device: time for (device, survey), time in when.items() if survey == survey_of(0)}
    second = {device: time for (device, survey), time in when.items() if survey == survey_of(1)}
    assert first.keys() == second.keys()
    nearest = sum(
        min((each for each in when if each != (device, survey_of(0))), key=lambda each: abs(when[each] - own))
        == (device, survey_of(1))
        for device, own in first.items()
    )
    gaps = {device: abs(first[device] - second[device]) for device in first}
    usual = median(abs(first[one] - second[other]) for one in first for other in second if one != other)
    return Linked(nearest, sum(gap < usual for gap in gaps.values()), median(gaps.values()), usual)


def is_linked(found: Linked, devices: int = 100) -> bool:
    """Return whether reports are closer or more often neighbours than by chance; wrong once in 1e7."""
    return found.nearest > most_by_chance(devices, 1 / (2 * devices - 1)) or found.close > most_by_chance(
        devices, 0.5
    )
