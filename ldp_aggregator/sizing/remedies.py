"""What would turn noise into figures, by closed form: more people, or asking for less, or a larger epsilon.

Each remedy is the least change of its kind after which no feature that is asked about is noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from encoders.errors import SurveyError
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Survey
from ldp_aggregator.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_aggregator.estimation import ClassConditional
from ldp_aggregator.simulation.expected_totals import ExpectedTotals
from ldp_aggregator.simulation.synthetic_people import SyntheticPopulation
from ldp_aggregator.sizing.margins import Margin, expected_margins
from ldp_aggregator.sizing.sample_size import SizeError, find_min_users

_STEP = Decimal("0.01")


@dataclass(frozen=True)
class Remedies:
    """Changes of which any one is enough; None where no change of that kind is.

    Attributes
    ----------
    users : int or None
        How many people it takes.
    told : int or None
        What [survey] users should say: how many are expected, so that the label is asked for alone no more
        often than that takes.
    epsilon : Decimal or None
        At most what clients grant by default.
    features : tuple of str or None
        The most features that may be asked about: those that take the fewest reports.
    values : int or None
        The most values or bins, a missing answer aside, that a feature may have.
    """

    users: int | None
    told: int | None
    epsilon: Decimal | None
    features: tuple[str, ...] | None
    values: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return them for JSON."""
        return asdict(self) | {"epsilon": None if self.epsilon is None else float(self.epsilon)}


def remedies(survey: Survey, people: SyntheticPopulation, users: int, margins: Sequence[Margin]) -> Remedies:
    """Return what would help a survey of which some feature is noise.

    Parameters
    ----------
    survey : Survey
    people : People
    users : int
        How many are expected.
    margins : sequence of Margin
        Those of the survey as it is, see :func:`expected_margins`.
    """
    return Remedies(
        _users(survey, people),
        _told(survey, people, users),
        _epsilon(survey, people, users),
        _features(survey, people, users, margins),
        _values(survey, people, users),
    )


def _excess(margins: Sequence[Margin]) -> float:
    return max(each.margin / each.useful for each in margins[1:])


def _helps(survey: Survey, people: SyntheticPopulation, users: int) -> bool:
    try:
        expected = ExpectedTotals(survey.compile(), people)
    except SurveyError:  # no mechanism asks so
        return False
    return _excess(expected_margins(expected, people, users)) <= 1


def _users(survey: Survey, people: SyntheticPopulation) -> int | None:
    expected = ExpectedTotals(survey.compile(), people)
    try:
        return find_min_users(lambda users: _excess(expected_margins(expected, people, users)))
    except SizeError:
        return None


def _told(survey: Survey, people: SyntheticPopulation, users: int) -> int | None:
    if survey.weights[0] is not None or survey.users == users:
        return None
    return users if _helps(replace(survey, users=users), people, users) else None


def _epsilon(survey: Survey, people: SyntheticPopulation, users: int) -> Decimal | None:
    steps = int(DEFAULT_MAX_EPSILON / _STEP)
    least = _first(
        int(survey.epsilon / _STEP) + 1,
        steps,
        lambda step: _helps(replace(survey, epsilon=step * _STEP), people, users),
    )
    return None if least is None else least * _STEP


def _features(
    survey: Survey, people: SyntheticPopulation, users: int, margins: Sequence[Margin]
) -> tuple[str, ...] | None:
    """Drop those first that are furthest from being useful."""
    names = [each.name for each in sorted(margins[1:], key=lambda each: each.margin / each.useful)]

    def asking(count: int) -> Survey:
        kept = names[:count]
        weights = zip(survey.features, survey.weights[1:], strict=True)
        chosen = (weight if each.name in kept else 0 for each, weight in weights)
        return replace(survey, weights=(survey.weights[0], *chosen))

    fewest = _first(1, len(names) - 1, lambda left: _helps(asking(len(names) - left), people, users))
    return None if fewest is None else tuple(names[: len(names) - fewest])


def _values(survey: Survey, people: SyntheticPopulation, users: int) -> int | None:
    most = max((_values_of(each) for each in survey.features), default=0)

    def coarser(count: int) -> bool:
        pairs = zip(survey.features, people.conditionals, strict=True)
        features, said = zip(*(_coarse(*pair, count) for pair in pairs), strict=True)
        return _helps(replace(survey, features=features), SyntheticPopulation(people.prior, said), users)

    fewer = _first(1, most - 2, lambda less: coarser(most - less))
    return None if fewer is None else most - fewer


def _values_of(feature: Feature) -> int:
    if isinstance(feature, CategoricalFeature):
        return len(feature.values)
    return len(feature.edges) - 1 if isinstance(feature, BinnedFeature) else 0


def _coarse(feature: Feature, said: ClassConditional, count: int) -> tuple[Feature, ClassConditional]:
    """Return a stand-in with so many values, all as frequent; which are merged is the author's to say."""
    if _values_of(feature) <= count:
        return feature, said
    merged: Feature
    if isinstance(feature, CategoricalFeature):
        merged = replace(feature, values=feature.values[:count])
    else:
        assert isinstance(feature, BinnedFeature)
        merged = replace(feature, edges=feature.edges[: count + 1])
    k = said.shape[1] if isinstance(said, np.ndarray) else len(said.mean)
    return merged, np.full((merged.size, k), 1 / merged.size)


def _first(low: int, high: int, helps: Callable[[int], bool]) -> int | None:
    """Return the least of low, ..., high that helps, if `high` does; a greater one helps all the more."""
    if low > high or not helps(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if helps(middle) else (middle + 1, high)
    return low
