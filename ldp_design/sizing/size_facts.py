"""The facts about a size that `ldp-survey size` and the dossier state; the words are in texts/."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

from encoders.canonical import decimal_text
from encoders.survey import NumericFeature, Survey
from encoders.survey.compiler import MAX_PRIOR_ERROR
from ldp_aggregator.statements.rules import MAX_USEFUL_SHARE, NOISE_RATIO
from ldp_aggregator.wording import values
from ldp_aggregator.wording.statement import Texts
from ldp_design.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_design.sizing.assumed_people import FEATURE_STRENGTHS, compute_rare_label_factor, make_rare_shares
from ldp_design.sizing.changes import Remedies
from ldp_design.sizing.forecast import MAX_SIMULATED_USERS
from ldp_design.sizing.margins import GOOD_RATIO
from ldp_design.sizing.series_size import POWER
from ldp_design.sizing.silo_size import SiloRemedies, SiloSize
from ldp_design.sizing.survey_size import Size

TEXTS = Texts("ldp_design.sizing")
_DIFFERENT_RATIO = 1.1
"""Classes whose margins differ by less than this factor count as equally precise."""
MAX_NAMES_LENGTH = 60
"""Longer lists of feature names are not written, in characters."""
_LEAST_PROBABILITY = 1e-5
"""Smaller probabilities are not written."""
MIN_CHANGE = 0.001
"""A smaller change of a share is not mentioned."""
_CHANGES = ("users", "survey_users", "epsilon", "features", "values", "rows", "silos")


def describe_size(
    size: Size, is_comparison: bool = False, command: str = "", *, by_epsilon: bool = False
) -> SimpleNamespace:
    """Return the facts about a size for the texts; `is_comparison` for the first of several sizes."""
    survey, label = size.survey, size.plan.label
    features = [each for each in size.features if each.kind != "table"]
    widest = max(features, key=lambda each: each.share, default=size.margins[0]).class_margins
    some_are_wider = max(widest) > _DIFFERENT_RATIO * min(widest)
    people = SimpleNamespace(
        number=values.count_people(size.users),
        users=values.Count(size.users),
        by_epsilon=by_epsilon,
        requested_margin=None if size.requested_margin is None else values.GivenShare(size.requested_margin),
        # the class with the least precise estimates
        rarest=label.values[widest.index(max(widest))],
        one_is_rarest=some_are_wider and not is_comparison,
        has_numbers=any(each.kind == "numeric" for each in size.margins),
        some_uncoupled=any(each.label != label for each in size.plan.questions),
        has_levels=any(each.width > 1 for each in size.plan.questions),
        white_noise=bool(size.white_noise),
        rarely_beats_guessing=bool(size.rarely_beats_guessing and not size.white_noise),
        all_noise=len(size.noise) == len(size.features),
        pilot=_describe_pilot(size),
        rare=_describe_rare_class(size),
        label_question=_describe_label_question(survey, size.users),
        relay=_describe_relay(size),
        forecasts=_describe_forecasts(size),
        series=_describe_series(size),
    )
    return _describe(size, is_comparison, command, _describe_remedies(size), people=people)


def describe_silo_size(size: SiloSize, is_comparison: bool = False, command: str = "") -> SimpleNamespace:
    """Return the facts about a size of a silo survey, for the texts."""
    changes, limit = None if is_comparison else size.remedies, size.silos * size.survey.rows
    silos = SimpleNamespace(
        rows=values.Counted(size.rows, "row"),
        number=values.Counted(size.silos, "silo"),
        rows_now=values.Count(size.rows),
        number_now=values.Count(size.silos),
    )
    remedies = _describe_changes(changes, rows_exceed_limit=changes.rows > limit) if changes else None
    return _describe(size, is_comparison, command, remedies, silos=silos)


def _describe(
    size: Size | SiloSize,
    is_comparison: bool,
    command: str,
    remedies: SimpleNamespace | None,
    *,
    people: SimpleNamespace | None = None,
    silos: SimpleNamespace | None = None,
) -> SimpleNamespace:
    """Return the facts that most text files name; one of `people` and `silos` is known."""
    survey, label = size.survey, size.survey.label
    shares = zip(label.values, size.label_shares or (), strict=False)
    return SimpleNamespace(
        # the command that computes the size; empty where none is stated
        size_command=command,
        # whether it is the first of several sizes that are compared
        is_comparison=is_comparison,
        epsilon=values.localise(decimal_text(survey.epsilon)),
        label=label.name,
        # those that were given
        label_shares=", ".join(f"{name} {values.localise(f'{share:.3g}')}" for name, share in shares),
        # whether the survey states the spread of a number
        has_spreads=any(isinstance(each, NumericFeature) and each.spread for each in survey.features),
        features=values.Count(len(size.features)),
        has_tables=any(each.kind == "table" for each in size.margins),
        # the names of the features and tables that are noise
        noise=", ".join(size.noise),
        # changes that help; None in a comparison, or if nothing is noise
        remedies=remedies,
        people=people,
        silos=silos,
        # the limits of the grades
        good_ratio=values.RoundShare(GOOD_RATIO),
        noise_ratio=values.RoundShare(NOISE_RATIO),
        useful_share=values.RoundShare(MAX_USEFUL_SHARE),
    )


def _describe_relay(size: Size) -> SimpleNamespace | None:
    relay = size.relay
    if relay is None:
        return None
    return SimpleNamespace(
        batch=values.Count(relay.batch),
        promised_epsilon=values.Number(relay.promised_epsilon),
        # the probability that too few people answer for a batch
        too_few=values.ShareAtMost(relay.too_few),
        # whether this probability is too small to be written
        is_enough=relay.too_few < _LEAST_PROBABILITY,
    )


def _describe_series(size: Size) -> SimpleNamespace | None:
    if size.series is None:
        return None
    planned = size.series.changes[0]
    people, power = values.count_people(planned.users), values.RoundShare(POWER)
    return SimpleNamespace(waves=values.Count(planned.waves), people=people, power=power)


def _describe_pilot(size: Size) -> SimpleNamespace | None:
    pilot = size.pilot
    if not pilot:
        return None
    noise = [each.name for each in size.margins if each.name in pilot.noise]
    names = ", ".join(noise)
    return SimpleNamespace(
        reports=values.Counted(pilot.reports, "report"),
        # the features of which its estimates are mostly noise
        noise=values.Counted(len(noise), "feature"),
        # their names; empty if there are none or too many
        noise_names=names if len(names) < MAX_NAMES_LENGTH else "",
    )


def _describe_rare_class(size: Size) -> SimpleNamespace | None:
    label = size.plan.label
    if not label.exists or size.pilot or size.label_shares:
        return None
    shares = make_rare_shares(len(label.values))
    example = ",".join(f"{name}={share:.2g}" for name, share in zip(label.values, shares[:2], strict=False))
    return SimpleNamespace(
        factor=compute_rare_label_factor(size.plan),
        share=values.RoundShare(shares[0]),
        # an example of the shares of the classes, for an option
        example=example + (",..." if len(label.values) > 2 else ""),
    )


def _describe_label_question(survey: Survey, users: int) -> SimpleNamespace:
    probability = _label_question_probability(survey)
    with_users = _label_question_probability(replace(survey, users=users))
    return SimpleNamespace(
        # of the people who get it
        share=values.Share(probability),
        has_weight=survey.weights[0] is not None,
        # whether the questions about features do not estimate the shares of the classes
        is_needed=_label_question_probability(replace(survey, users=None)) > 0,
        # the standard error of a class above which the question is asked
        max_error=values.Number(MAX_PRIOR_ERROR),
        survey_users=TEXTS.write("cells.none") if survey.users is None else values.Count(survey.users),
        # whether the expected number of people, in the survey file, would change the share
        users_matter=abs(with_users - probability) > MIN_CHANGE,
        share_with_users=values.Share(with_users),
    )


def _label_question_probability(survey: Survey) -> float:
    plan = survey.compile()
    return sum(plan.question_probability(each) for each in plan.questions if each.kind == "label")


def _describe_forecasts(size: Size) -> SimpleNamespace | None:
    first = next(iter(size.forecasts.values()), None)
    if not first:
        return None
    (weak_ratio, weak_shift), (strong_ratio, strong_shift) = FEATURE_STRENGTHS.values()
    return SimpleNamespace(
        weak_ratio=values.Number(weak_ratio),
        weak_shift=values.RoundShare(weak_shift),
        strong_ratio=values.Number(strong_ratio),
        strong_shift=values.RoundShare(strong_shift),
        repeats=first.repeats,
        people=values.count_people(first.users),
        are_fewer=first.users < size.users,
        max_people=values.Count(MAX_SIMULATED_USERS),
    )


def _describe_remedies(size: Size) -> SimpleNamespace | None:
    remedies = size.remedies
    if not remedies:
        return None
    names = ", ".join(remedies.features or ())
    return _describe_changes(
        remedies,
        # the names of the features; empty if there are too many
        kept_features=names if len(names) < MAX_NAMES_LENGTH else "",
        # whether a change is not enough by itself
        users_are_short=remedies.users is None,
        epsilon_is_short=remedies.epsilon is None and size.survey.epsilon < DEFAULT_MAX_EPSILON,
        features_are_short=remedies.features is None and len(size.features) > 1,
        values_are_short=remedies.values is None and any(each.values for each in size.features),
        max_epsilon=DEFAULT_MAX_EPSILON,
    )


def _describe_changes(changes: Remedies | SiloRemedies, **facts: object) -> SimpleNamespace:
    """Return the changes after each of which nothing is noise; None if none of a kind is enough."""
    known = {name: _write_change(getattr(changes, name, None)) for name in _CHANGES}
    return SimpleNamespace(**known, **facts, has_any=any(each is not None for each in known.values()))


def _write_change(change: int | Decimal | tuple[str, ...] | None) -> values.Count | str | None:
    if isinstance(change, Decimal):
        return f"{change:f}"
    return None if change is None else values.Count(change if isinstance(change, int) else len(change))
