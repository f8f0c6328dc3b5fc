"""Sizes a survey before its launch: computes expected margins and accuracy, and remedies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from encoders.survey import CategoricalFeature, Feature, Label, Plan, Survey
from encoders.survey.features import NO_LABEL, TICKS
from ldp_aggregator.codec import to_json
from ldp_aggregator.simulated_population import SyntheticPopulation
from ldp_aggregator.wording.values import round_up
from ldp_design.simulation.experiment import Progress
from ldp_design.sizing import changes
from ldp_design.sizing.assumed_people import (
    FEATURE_STRENGTHS,
    PILOT,
    LabelShares,
    Pilot,
    assume_population,
    to_prior,
)
from ldp_design.sizing.forecast import DEFAULT_REPEATS, Forecast, Forecaster
from ldp_design.sizing.margins import (
    ExpectedTotals,
    Margin,
    compute_expected_margins,
    features_of,
    find_users_for_margin,
)
from ldp_design.sizing.relay_size import RelaySize, size_relay
from ldp_design.sizing.sample_size import SizeError
from ldp_design.sizing.series_size import SeriesSize, size_series

COMPARED_USERS = (1_000, 10_000, 100_000, 1_000_000)
DEFAULT_MARGIN = 0.05
"""For :func:`size_questions`."""
_QUESTION_COUNTS = (1, 5, 10)


@dataclass(frozen=True, kw_only=True)
class ExpectedMargins:
    """The margins to expect of a survey of any kind, and what they assume."""

    pilot: Pilot | None = None
    """The pilot whose population is assumed; without a pilot, labels and values are equally frequent."""
    label_shares: LabelShares | None = None
    """The assumed shares of the labels, in the order of the survey; None if they are those of the pilot,
    or equal."""
    margins: tuple[Margin, ...]
    """The margins of the label, if there is one, then of each feature and each table that the survey asks
    about."""

    @property
    def noise(self) -> tuple[str, ...]:
        """Names of the features and tables that are noise."""
        return tuple(margin.name for margin in self.features if margin.is_noise)

    @property
    def features(self) -> list[Margin]:
        return features_of(self.margins)

    @property
    def label_margin(self) -> Margin | None:
        """The margin of the label; None if the survey has no label."""
        return next((each for each in self.margins if each.kind == "label"), None)


@dataclass(frozen=True, kw_only=True)
class Size(ExpectedMargins):
    """What to expect of a survey if `users` people answer."""

    survey: Survey
    plan: Plan
    users: int
    forecasts: Mapping[str, Forecast]
    """One for each assumption: "pilot", or "little" and "much"; empty if nothing was simulated, or without a
    label, which a model would predict."""
    narrower_ranges: tuple[Margin, ...] = ()
    """The margins of numbers with a narrower range, see :func:`find_narrower_ranges`; none with a pilot."""
    tables: tuple[changes.TableCost, ...] = ()
    remedies: changes.Remedies | None
    """What to change, if at least one feature or table is noise."""
    relay: RelaySize | None = None
    """What the relay changes; None without one, or in a comparison."""
    series: SeriesSize | None = None
    """What to expect of all waves; None without waves, or in a comparison."""
    requested_margin: float | None = None
    """The margin that the number of people was computed for."""

    @property
    def beats_majority(self) -> bool:
        """Whether models beat the majority class in nine of ten surveys, under the best assumption."""
        return any(forecast.beats_majority for forecast in self.forecasts.values())

    @property
    def rarely_beats_guessing(self) -> bool:
        """Whether models were simulated, and none beats the majority class in nine of ten surveys."""
        return bool(self.forecasts and self.features) and not self.beats_majority

    @property
    def white_noise(self) -> bool | None:
        """Whether every feature is noise and no model beats the majority class; None if not simulated."""
        if not self.noise or len(self.noise) < len(self.features):
            return False
        return not self.beats_majority if self.forecasts else None

    def as_dict(self) -> dict[str, Any]:
        """Return the whole size as a dict for JSON; unknown values become None."""
        pilot = self.pilot
        found: dict[str, Any] = {
            "survey": self.survey.id,
            "plan_digest": self.plan.digest,
            "epsilon": float(self.survey.epsilon),
            "users": self.users,
            "pilot": pilot and {"name": pilot.name, "reports": pilot.reports, "noise": list(pilot.noise)},
            "requested_margin": self.requested_margin,
            "margins": [margin.as_dict() for margin in self.margins],
            "tables": [asdict(table) for table in self.tables],
            "noise": list(self.noise),
            "narrower_ranges": [each.as_dict() for each in self.narrower_ranges],
            "white_noise": self.white_noise,
            "remedies": self.remedies.as_dict() if self.remedies else None,
        }
        if self.relay:
            found["relay"] = asdict(self.relay)
        if self.series:
            found["series"] = to_json(self.series)
        if not self.label_margin:
            return found
        return found | {
            "label_shares": list(self.label_shares) if self.label_shares else None,
            "accuracy": to_json(self.forecasts),
            "label_question_probability": self.label_margin.question_probability,
        }


def size_for_users(
    survey: Survey,
    users: int,
    pilot: Pilot | None = None,
    repeats: int = DEFAULT_REPEATS,
    seed: int = 0,
    progress: Progress = int,
    label_shares: LabelShares | None = None,
) -> Size:
    """Return the expected precision if `users` people answer.

    Accuracy is not simulated if `repeats` is 0, or if the survey has no label.
    Raises SurveyError or PilotError if the survey cannot be compiled, or the pilot does not fit it.
    """
    plan = survey.compile()
    if pilot:
        populations = {PILOT: pilot.build_population(plan)}
    else:
        populations = {
            name: SyntheticPopulation.from_strength(plan, *strength, to_prior(label_shares))
            for name, strength in FEATURE_STRENGTHS.items()
        }
    forecasts = {
        name: Forecaster(plan, population, repeats, seed, progress).forecast(users)
        for name, population in populations.items()
        if repeats and plan.label.exists
    }
    return _build_size(survey, plan, users, pilot, forecasts, label_shares)


def size_for_margin(
    survey: Survey, margin: float, pilot: Pilot | None = None, label_shares: LabelShares | None = None
) -> Size:
    """Return the size with the fewest people for whom every margin is at most `margin`.

    See :func:`find_users_for_margin`.
    Raises SurveyError, PilotError, and SizeError if no number of people is enough.
    """
    plan = survey.compile()
    population = assume_population(plan, pilot, label_shares)
    users = find_users_for_margin(ExpectedTotals(plan, population), margin, survey.tables)
    return replace(_build_size(survey, plan, users, pilot, {}, label_shares), requested_margin=margin)


def size_for_accuracy(
    survey: Survey,
    accuracy: float,
    pilot: Pilot,
    repeats: int = DEFAULT_REPEATS,
    seed: int = 0,
    on_attempt: Progress | None = None,
) -> Size:
    """Return the size with the fewest people for whom a model's mean accuracy is at least `accuracy`.

    `on_attempt` is called with each number of people before it is simulated.
    Raises SurveyError, PilotError, and SizeError if guessing is as accurate, or if no number of people is
    enough; the message then names the best possible accuracy.
    """
    plan = survey.compile()
    try:
        forecaster = Forecaster(plan, pilot.build_population(plan), repeats, seed)
        forecast = forecaster.find_users(accuracy, on_attempt)
    except SizeError as error:
        raise SizeError(
            f"{error}. This assumes people as the pilot of {pilot.reports:,} reports describes them; a "
            "larger pilot may predict a higher accuracy"
        ) from error
    return _build_size(survey, plan, forecast.users, pilot, {PILOT: forecast})


def compare_sizes(
    survey: Survey,
    pilot: Pilot | None = None,
    users: Sequence[int] = COMPARED_USERS,
    label_shares: LabelShares | None = None,
) -> list[Size]:
    """Return the expected precision for several numbers of people, without accuracies or remedies."""
    plan = survey.compile()
    expected = ExpectedTotals(plan, assume_population(plan, pilot, label_shares))
    return [
        Size(
            survey=survey,
            plan=plan,
            users=count,
            pilot=pilot,
            label_shares=label_shares,
            margins=compute_expected_margins(expected, count, survey.tables),
            forecasts={},
            remedies=None,
        )
        for count in users
    ]


def _build_size(
    survey: Survey,
    plan: Plan,
    users: int,
    pilot: Pilot | None,
    forecasts: Mapping[str, Forecast],
    label_shares: LabelShares | None = None,
) -> Size:
    population = assume_population(plan, pilot, label_shares)
    margins = compute_expected_margins(ExpectedTotals(plan, population), users, survey.tables)
    has_noise = any(margin.is_noise for margin in features_of(margins))

    # the promise limits the epsilon of one answer, which no remedy exceeds, or all answers together
    promised = survey if survey.asks_all else replace(survey, relay=None)

    def compute_margins(features: tuple[Feature, ...]) -> tuple[Margin, ...]:
        return compare_sizes(replace(survey, features=features), None, (users,), label_shares)[0].margins

    return Size(
        survey=survey,
        plan=plan,
        users=users,
        pilot=pilot,
        label_shares=label_shares,
        margins=margins,
        narrower_ranges=() if pilot else changes.find_narrower_ranges(survey.features, compute_margins),
        tables=tuple(changes.compute_table_costs(survey, plan, population, users, margins)),
        forecasts=forecasts,
        remedies=changes.find_remedies(promised, population, users, margins) if has_noise else None,
        relay=size_relay(survey, population, users, margins),
    )


def add_series(size: Size, waves: int, users: int | None) -> Size:
    """Return the size of one wave with that of a series of so many waves, which `users` people answer.

    Without `users`, each wave has the people of the size.
    """
    population = assume_population(size.plan, size.pilot, size.label_shares)
    return replace(size, series=size_series(size.survey, waves, users or size.users * waves, population))


class PeopleNeeded(NamedTuple):
    """The people that a number of questions needs, so that every margin is small enough."""

    epsilon: float
    questions: int
    without_label: int
    with_label: int
    """In a survey with a label: for the shares among all people, and among the people of one class."""
    by_label: int


def size_questions(survey: Survey, margin: float) -> list[PeopleNeeded]:
    """Return the people that 1, 5 and 10 questions need with the epsilon and the mechanism of a survey.

    Raises SizeError if each person answers all questions: epsilon is then the sum for the questions of this
    survey.
    """
    if survey.asks_all:
        raise SizeError('each person answers all questions of this survey: choose ask = "one" to compare')
    found = []
    for count in _QUESTION_COUNTS:
        features = tuple(CategoricalFeature(f"question {number}", TICKS) for number in range(count))
        asked = replace(survey, features=features, users=None, projection=None, tables=(), texts=None)
        alone = size_for_margin(replace(asked, label=NO_LABEL, weights=(0, *[1] * count)), margin)
        label = Label("label", TICKS)
        coupled = size_for_margin(replace(asked, label=label, weights=(None, *[1] * count)), margin)
        ratio = max(each.overall_share for each in coupled.features) / margin
        with_label = round_up(math.ceil(coupled.users * ratio**2), 3)  # margins fall with the root of people
        found.append(PeopleNeeded(float(survey.epsilon), count, alone.users, with_label, coupled.users))
    return found
