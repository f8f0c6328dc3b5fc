"""What to expect of a survey with a relay, or with waves, and of other surveys in its place.

A survey with a relay is compared with others that make the same promise: all questions, one, or no relay. Of
waves, there are margins of levels, changes and slopes. Different people answer in each wave, so the variance
of a change is the sum of those of two levels. All margins are those of expected totals, see :mod:`margins`,
with equal shares in all waves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import NormalDist

from encoders.errors import SurveyError
from encoders.survey import Survey
from encoders.survey.plan_checks import MAX_SUM
from encoders.survey.relay import ALL, ONE
from encoders.survey.relay_promise import EQUAL
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.authoring.relay_overview import MAX_LOCAL_EPSILON
from ldp_design.sizing.margins import (
    ExpectedTotals,
    Margin,
    compute_expected_margins,
    expect_margins,
    find_users_for_margin,
)
from ldp_design.sizing.sample_size import SizeError


@dataclass(frozen=True, kw_only=True)
class RelayWay:
    ask: str | None
    """How many questions each person answers through the relay, "all" or "one"; None without a relay."""
    epsilon: float
    """Of all that a person sends: it holds even if relay and collector work together."""
    margin: float
    """The widest margin of a share, if the expected number of people answer."""
    users: int | None
    """How many people would be needed for the margins of the survey; None if no number is enough."""


@dataclass(frozen=True, kw_only=True)
class RelaySize:
    """A survey with a relay, compared with others of the same promise."""

    batch: int
    promised_epsilon: float
    users_without: int | None
    """How many people would be needed without a relay for the same margins, if the promised epsilon were the
    local one; None if no number is enough."""
    too_few: float
    """The probability that fewer people than a batch answer, if each decides independently."""
    ways: tuple[RelayWay, ...]
    """The survey itself, and those of the other ways that can ask its questions."""


def size_relay(
    survey: Survey, population: SyntheticPopulation, users: int, margins: Sequence[Margin]
) -> RelaySize | None:
    """Return the comparison with the `margins` of `users` people; None for a survey without a relay."""
    if survey.relay is None:
        return None
    from scipy.special import pdtr  # late: seldom needed

    widest = max(each.share for each in margins)
    ways = tuple(_size_way(each, population, users, widest) for each in _list_ways(survey))
    return RelaySize(
        batch=survey.relay.batch,
        promised_epsilon=float(survey.relay.epsilon),
        users_without=ways[-1].users,
        too_few=float(pdtr(survey.relay.batch - 1, users)),
        ways=ways,
    )


def _list_ways(survey: Survey) -> Iterator[Survey]:
    """Yield the survey in all ways that can ask its questions; the last one has no relay."""
    relay = survey.relay
    assert relay
    for ask in (ALL, ONE):
        changed = replace(survey, relay=replace(relay, ask=ask), divide=EQUAL)
        if ask == relay.ask:
            yield survey
        elif fitted := _try_to_fit(changed, MAX_SUM if ask == ALL else MAX_LOCAL_EPSILON):
            yield fitted
    yield replace(survey, relay=None, epsilon=relay.epsilon, divide=EQUAL)


def _try_to_fit(survey: Survey, most: Decimal) -> Survey | None:
    """Return the survey with the largest epsilon that keeps the promise; None if it cannot be asked so."""
    assert survey.relay
    try:
        fitted = replace(survey, epsilon=max(most, survey.relay.epsilon)).fit_promise()
        fitted.compile()
    except SurveyError:
        return None
    return fitted


def _size_way(survey: Survey, population: SyntheticPopulation, users: int, widest: float) -> RelayWay:
    expected = ExpectedTotals(survey.compile(), population)
    margins = compute_expected_margins(expected, users, survey.tables)
    try:
        needed = find_users_for_margin(expected, widest, survey.tables)
    except SizeError:
        needed = None
    return RelayWay(
        ask=survey.relay.ask if survey.relay else None,
        epsilon=float(survey.epsilon),
        margin=max(each.share for each in margins),
        users=needed,
    )


# -- waves -------------------------------------------------------------------------------------------


POWER = 0.8
"""The probability with which the interval of a detectable change lacks 0."""
_MERGED = 3
"""How many waves are merged into one, or replaced by one."""


@dataclass(frozen=True, kw_only=True)
class SeriesMargins:
    """Half of 95% intervals of one share, or of one mean in its own unit, in a survey with waves."""

    name: str
    """The feature, label or table; of a series that is not as planned, what is other than planned."""
    users: int
    waves: int
    level: float
    """The margin in one wave."""
    of_class: bool = False
    """Whether it is that of the least precise class, or row of a table, rather than of all people."""
    is_share: bool = True

    JSON_DERIVED = ("change", "detectable", "slope")

    @property
    def change(self) -> float:
        """The margin of the difference between two waves."""
        return math.sqrt(2) * self.level

    @property
    def detectable(self) -> float:
        """The change whose 95% interval lacks 0 with the probability `POWER`."""
        return self.change * (1 + NormalDist().inv_cdf(POWER) / Z95)

    @property
    def slope(self) -> float:
        """The margin of the change from one wave to the next, by least squares over all waves."""
        return self.level * math.sqrt(12 / (self.waves * (self.waves**2 - 1)))


@dataclass(frozen=True, kw_only=True)
class SeriesSize:
    """What to expect of a survey with waves."""

    estimates: tuple[SeriesMargins, ...]
    """Of the label, of features and of tables."""
    changes: tuple[SeriesMargins, ...]
    """The widest of shares, and of means as a share of their range: as "planned", and with other "waves",
    "questions" and "people"."""


def size_series(survey: Survey, waves: int, users: int, population: SyntheticPopulation) -> SeriesSize:
    """Return the size of a series that `users` people answer, given the survey of one wave."""
    estimates = []
    for each in expect_margins(survey, max(users // waves, 1), population):
        has_classes = each.overall is not None and len(each.class_margins) > 1
        for of_class in (False, True) if has_classes else (False,):
            estimates.append(
                SeriesMargins(
                    name=each.name,
                    users=users,
                    waves=waves,
                    level=each.margin if of_class or each.overall is None else each.overall,
                    of_class=of_class,
                    is_share=bool(each.values),
                )
            )
    changes = [
        SeriesMargins(
            name=name,
            users=people,
            waves=count,
            level=max(each.share for each in expect_margins(changed, max(people // count, 1), population)),
        )
        for name, changed, count, people in _list_changes(survey, waves, users)
    ]
    return SeriesSize(estimates=tuple(estimates), changes=tuple(changes))


def _list_changes(survey: Survey, waves: int, users: int) -> Iterator[tuple[str, Survey, int, int]]:
    yield "planned", survey, waves, users
    if waves >= 2 * _MERGED:
        yield "waves", survey, waves // _MERGED, users
    half = (len(survey.features) + 1) // 2
    weights = (weight if place <= half else 0 for place, weight in enumerate(survey.weights))
    with suppress(SurveyError):  # too few questions for all
        fewer = replace(survey, weights=tuple(weights), tables=()).fit_promise()
        if half < len(survey.features) and fewer.compile():
            yield "questions", fewer, waves, users
    yield "people", survey, waves, 2 * users
