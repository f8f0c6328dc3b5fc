"""What an author can expect of a survey before its launch: margins, accuracy, and what to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from encoders.survey import Plan, Survey
from ldp_aggregator.simulation.expected_totals import ExpectedTotals
from ldp_aggregator.simulation.synthetic_people import SyntheticPopulation
from ldp_aggregator.sizing.forecast import REPEATS, Forecast, Forecaster, Progress
from ldp_aggregator.sizing.margins import Margin, expected_margins, find_users_for_margin
from ldp_aggregator.sizing.pilot import Pilot
from ldp_aggregator.sizing.remedies import Remedies, remedies
from ldp_aggregator.sizing.sample_size import SizeError

FEATURE_STRENGTHS = {"little": (1.25, 0.25), "much": (2.0, 1.0)}
"""How many times as frequent a value is among the people of its label, and by how many standard deviations
the means of a number differ from label to label, where features tell little or much of the label."""
PILOT = "pilot"
USERS_SHOWN = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Size:
    """What so many people would tell.

    Attributes
    ----------
    survey : Survey
    plan : Plan
    users : int
    pilot : Pilot or None
        Whose people they are like; without it they are spread evenly.
    margins : tuple of Margin
        The label's first, then each asked feature's.
    forecasts : mapping of str to Forecast
        By what was assumed: "pilot", or "little" and "much"; empty where nothing was simulated.
    remedies : Remedies or None
        What to change, if some feature is noise.
    wish : float or None
        The margin that so many people were asked for.
    """

    survey: Survey
    plan: Plan
    users: int
    pilot: Pilot | None
    margins: tuple[Margin, ...]
    forecasts: Mapping[str, Forecast]
    remedies: Remedies | None
    wish: float | None = None

    @property
    def noise(self) -> tuple[str, ...]:
        """The features that are noise."""
        return tuple(each.name for each in self.margins[1:] if each.is_noise)

    @property
    def gains(self) -> bool:
        """Whether a model beats guessing in nine of ten surveys, where features tell most."""
        return any(each.gains for each in self.forecasts.values())

    @property
    def white_noise(self) -> bool | None:
        """Whether every feature is noise and a model gains nothing; None if only a simulation could tell."""
        if not self.noise or len(self.noise) < len(self.margins) - 1:
            return False
        return not self.gains if self.forecasts else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON; what is unknown becomes None."""
        return {
            "survey": self.survey.id,
            "plan_digest": self.plan.digest,
            "epsilon": float(self.survey.epsilon),
            "users": self.users,
            "pilot": self.pilot.as_dict() if self.pilot else None,
            "wish": self.wish,
            "margins": [each.as_dict() for each in self.margins],
            "accuracy": {name: each.as_dict() for name, each in self.forecasts.items()},
            "label_alone": self.margins[0].chance,
            "noise": list(self.noise),
            "white_noise": self.white_noise,
            "remedies": self.remedies.as_dict() if self.remedies else None,
        }


def size_for_users(
    survey: Survey,
    users: int,
    pilot: Pilot | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Size:
    """Return what to expect if so many people answer; without repeats no accuracy.

    Raises
    ------
    SurveyError, PilotError
        If the survey cannot be compiled, or the pilot did not ask about the same.
    """
    plan = survey.compile()
    forecasts = {
        name: Forecaster(plan, people, repeats, seed, progress).forecast(users)
        for name, people in _populations(plan, pilot).items()
        if repeats
    }
    return _size(survey, plan, users, pilot, forecasts)


def size_for_margin(survey: Survey, margin: float, pilot: Pilot | None = None) -> Size:
    """Return how few people make every margin at most `margin`, see :func:`find_users_for_margin`.

    Raises
    ------
    SurveyError, PilotError, SizeError
        SizeError if no number of people does.
    """
    plan = survey.compile()
    people = _people(plan, pilot)
    users = find_users_for_margin(ExpectedTotals(plan, people), people, margin)
    return replace(_size(survey, plan, users, pilot, {}), wish=margin)


def size_for_accuracy(
    survey: Survey,
    accuracy: float,
    pilot: Pilot,
    repeats: int = REPEATS,
    seed: int = 0,
    trying: Progress | None = None,
) -> Size:
    """Return how few of the pilot's people make a model expect that accuracy.

    `trying` is told each number of people before it is simulated.

    Raises
    ------
    SurveyError, PilotError, SizeError
        SizeError if guessing is as good, or if no number of people does; that says what the most is.
    """
    plan = survey.compile()
    try:
        found = Forecaster(plan, pilot.people(plan), repeats, seed).find_users(accuracy, trying)
    except SizeError as error:
        raise SizeError(f"{error}. {pilot.caution}") from error
    return _size(survey, plan, found.users, pilot, {PILOT: found})


def sizes(survey: Survey, pilot: Pilot | None = None, users: Sequence[int] = USERS_SHOWN) -> list[Size]:
    """Return the margins of several numbers of people, without accuracies or remedies."""
    plan = survey.compile()
    people = _people(plan, pilot)
    expected = ExpectedTotals(plan, people)
    return [
        Size(survey, plan, each, pilot, expected_margins(expected, people, each), {}, None) for each in users
    ]


def label_alone(survey: Survey, users: int) -> list[str]:
    """Say how often the label is asked for alone, and why; and if `users` in the survey would change that."""
    often, other = _often(survey), _often(replace(survey, users=users))
    said = []
    if often:
        said.append(f"The label is asked for alone in {often:.1%} of the reports: {_why_alone(survey)}.")
    if abs(other - often) > 0.001:
        said.append(
            f"With {users:,} users in [survey] that would be {other:.1%} of the reports."
            if often
            else f"With {users:,} users in [survey] the label would be asked for alone in {other:.1%} of the "
            "reports, for so few people tell its shares too vaguely otherwise."
        )
    return said


def _why_alone(survey: Survey) -> str:
    if survey.weights[0] is not None:
        return "[label] weight says so"
    if _often(replace(survey, users=None)):
        return "no question about a feature tells of it"
    return f"{survey.users:,} users in [survey] are too few to tell its shares within .1 otherwise"


def _often(survey: Survey) -> float:
    plan = survey.compile()
    return sum(plan.question_probability(each) for each in plan.questions if each.kind == "label")


def _people(plan: Plan, pilot: Pilot | None) -> SyntheticPopulation:
    return pilot.people(plan) if pilot else SyntheticPopulation.uniform(plan)


def _populations(plan: Plan, pilot: Pilot | None) -> dict[str, SyntheticPopulation]:
    if pilot:
        return {PILOT: pilot.people(plan)}
    return {name: SyntheticPopulation.from_strength(plan, *how) for name, how in FEATURE_STRENGTHS.items()}


def _size(
    survey: Survey, plan: Plan, users: int, pilot: Pilot | None, forecasts: Mapping[str, Forecast]
) -> Size:
    people = _people(plan, pilot)
    margins = expected_margins(ExpectedTotals(plan, people), people, users)
    noise = any(each.is_noise for each in margins[1:])
    helps = remedies(survey, people, users, margins) if noise else None
    return Size(survey, plan, users, pilot, margins, forecasts, helps)
