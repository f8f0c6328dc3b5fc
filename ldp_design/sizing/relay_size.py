"""Compares a survey with a relay with others that make the same promise: all questions, one, or no relay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from encoders.errors import SurveyError
from encoders.survey import Survey
from encoders.survey.plan_checks import MAX_SUM
from encoders.survey.relay import ALL, ONE
from encoders.survey.relay_promise import EQUAL
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.authoring.relay_overview import MAX_LOCAL_EPSILON
from ldp_design.sizing.margins import ExpectedTotals, Margin, compute_expected_margins, find_users_for_margin
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
