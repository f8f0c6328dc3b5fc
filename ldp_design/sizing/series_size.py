"""What to expect of a survey with waves: margins of levels, changes and slopes, and what would change them.

Different people answer in each wave, so the variance of a change is the sum of those of two levels. All
margins are those of expected totals, see :mod:`margins`, with equal shares in all waves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import NormalDist

from encoders.errors import SurveyError
from encoders.survey import Survey
from ldp_aggregator.estimation.intervals import Z95
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_design.sizing.margins import ExpectedTotals, Margin, compute_expected_margins

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
    for each in _compute_margins(survey, users // waves, population):
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
            level=max(each.share for each in _compute_margins(changed, people // count, population)),
        )
        for name, changed, count, people in _list_changes(survey, waves, users)
    ]
    return SeriesSize(estimates=tuple(estimates), changes=tuple(changes))


def _compute_margins(survey: Survey, users: int, population: SyntheticPopulation) -> tuple[Margin, ...]:
    expected = ExpectedTotals(survey.compile(), population)
    return compute_expected_margins(expected, max(users, 1), survey.tables)


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
