"""The facts and tables about a size that `ldp-survey size` and the dossier state; the words are in texts/."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from encoders.explain.text import Counted
from encoders.survey import NumericFeature, Survey
from encoders.survey.compiler import MAX_PRIOR_ERROR
from encoders.survey.decimals import decimal_text
from ldp_aggregator.statements.rules import MAX_USEFUL_SHARE, NOISE_RATIO
from ldp_aggregator.wording.statement import Statement, Texts
from ldp_aggregator.wording.values import (
    Count,
    GivenShare,
    Number,
    NumberMargin,
    RoundShare,
    Share,
    ShareAtMost,
    ShareMargin,
    count_people,
)
from ldp_design.authoring.overview import DEFAULT_MAX_EPSILON
from ldp_design.sizing.assumed_people import FEATURE_STRENGTHS, compute_rare_label_factor, make_rare_shares
from ldp_design.sizing.forecast import MAX_SIMULATED_USERS
from ldp_design.sizing.margins import (
    GOOD_RATIO,
    Margin,
)
from ldp_design.sizing.silo_size import SiloSize
from ldp_design.sizing.survey_size import ExpectedMargins, Size

TEXTS = Texts("ldp_design.sizing")
_DIFFERENT_RATIO = 1.1
"""Classes whose margins differ by less than this factor count as equally precise."""
_MAX_NAMES_LENGTH = 60
"""Longer lists of feature names are not written, in characters."""
_LEAST_PROBABILITY = 1e-5
"""Smaller probabilities are not written."""
_MIN_CHANGE = 0.001
"""A smaller change of a share is not mentioned."""

Facts = dict[str, object]
Cell = Statement | str | float
"""A cell of a table: a statement, a name, or a number that states how it is written."""


# -- facts --------------------------------------------------------------------------------------


def describe_size(size: Size, is_comparison: bool = False, command: str = "") -> Facts:
    """Return the facts about a size, for the texts.

    Parameters
    ----------
    size : Size
    is_comparison : bool, optional
        Whether it is the first of several sizes that are compared.
    command : str, optional
        The command that computes it.
    """
    survey, label = size.survey, size.plan.label
    features = [each for each in size.features if each.kind != "table"]
    widest = max(features, key=lambda each: each.share, default=size.margins[0]).class_margins
    some_are_wider = max(widest) > _DIFFERENT_RATIO * min(widest)
    return {
        **_describe_any_size(size, command),
        "by_epsilon": False,
        "is_comparison": is_comparison,
        "people": count_people(size.users),
        "users": Count(size.users),
        "is_requested": size.requested_margin is not None,
        "requested_margin": GivenShare(size.requested_margin or 0),
        "rarest": label.values[widest.index(max(widest))],
        "one_is_rarest": some_are_wider and not is_comparison,
        "has_numbers": any(each.kind == "numeric" for each in size.margins),
        "some_uncoupled": any(each.label != label for each in size.plan.questions),
        "has_levels": any(each.width > 1 for each in size.plan.questions),
        "white_noise": size.white_noise,
        "rarely_beats_guessing": size.rarely_beats_guessing and not size.white_noise,
        "all_noise": len(size.noise) == len(size.features),
        **_describe_relay(size),
        **_describe_population(size),
        **_describe_label_question(survey, size.users),
        **_describe_forecasts(size),
        **_describe_remedies(size),
    }


def _describe_relay(size: Size) -> Facts:
    relay = size.relay
    return {
        "has_relay": relay is not None,
        "batch": Count(relay.batch if relay else 0),
        "promised_epsilon": Number(relay.promised_epsilon if relay else 0),
        "users_without": Count(relay.users_without) if relay and relay.users_without else None,
        "too_few": ShareAtMost(relay.too_few if relay else 0),
        "is_enough": relay is not None and relay.too_few < _LEAST_PROBABILITY,
    }


def describe_silo_size(size: SiloSize, is_comparison: bool = False, command: str = "") -> Facts:
    """Return the facts about a size of a silo survey, for the texts."""
    survey, changes = size.survey, None if is_comparison else size.remedies
    return {
        **_describe_any_size(size, command),
        "is_comparison": is_comparison,
        "rows": Counted(size.rows, "row"),
        "silos": Counted(size.silos, "silo"),
        "rows_now": Count(size.rows),
        "silos_now": Count(size.silos),
        **dict.fromkeys(("white_noise", "all_noise", "rarely_beats_guessing"), False),
        "has_remedies": bool(changes),
        "more_rows": _count(changes.rows if changes else None),
        "rows_exceed_limit": changes and changes.rows > size.silos * survey.rows,
        "fewer_silos": _count(changes.silos if changes else None),
        "larger_epsilon": _write_decimal(changes.epsilon if changes else None),
        **dict.fromkeys(("more_users", "survey_users_remedy", "fewer_features", "fewer_values")),
    }


def _describe_any_size(size: Size | SiloSize, command: str) -> Facts:
    survey, label = size.survey, size.survey.label
    shares = zip(label.values, size.label_shares or (), strict=False)
    return {
        "epsilon": decimal_text(survey.epsilon),
        "has_spreads": any(isinstance(each, NumericFeature) and each.spread for each in survey.features),
        "has_label": label.exists,
        "label": label.name,
        "label_shares": ", ".join(f"{name} {share:.3g}" for name, share in shares),
        "has_features": bool(size.features),
        "features": Count(len(size.features)),
        "has_tables": any(each.kind == "table" for each in size.margins),
        "noise": ", ".join(size.noise),
        "good_ratio": RoundShare(GOOD_RATIO),
        "noise_ratio": RoundShare(NOISE_RATIO),
        "useful_share": RoundShare(MAX_USEFUL_SHARE),
        "size_command": command,
    }


def _describe_population(size: Size) -> Facts:
    """Return the assumption about the people: a pilot, the shares of the labels, or equal shares."""
    pilot, label = size.pilot, size.plan.label
    noise = [each.name for each in size.margins if pilot and each.name in pilot.noise]
    names = ", ".join(noise)
    rare_shares = make_rare_shares(len(label.values))
    pairs = zip(label.values, rare_shares[:2], strict=False)
    example = ",".join(f"{name}={share:.2g}" for name, share in pairs)
    is_equal = label.exists and not (pilot or size.label_shares)
    return {
        "has_pilot": bool(pilot),
        "pilot_reports": Counted(pilot.reports if pilot else 0, "report"),
        "pilot_noise": Counted(len(noise), "feature"),
        "pilot_noise_names": names if len(names) < _MAX_NAMES_LENGTH else "",
        "rare_factor": compute_rare_label_factor(size.plan) if is_equal else None,
        "rare_share": RoundShare(rare_shares[0]),
        "rare_example": example + (",..." if len(label.values) > 2 else ""),
    }


def _describe_label_question(survey: Survey, users: int) -> Facts:
    """Return facts about the question about the label alone: its share, the reason, the effect of users."""
    probability = _label_question_probability(survey)
    with_users = _label_question_probability(replace(survey, users=users))
    return {
        "label_alone": Share(probability),
        "label_weight": survey.weights[0] is not None,
        "label_needed": _label_question_probability(replace(survey, users=None)) > 0,
        "max_error": Number(MAX_PRIOR_ERROR),
        "survey_users": "none" if survey.users is None else Count(survey.users),
        "users_matter": abs(with_users - probability) > _MIN_CHANGE,
        "alone_with_users": Share(with_users),
    }


def _label_question_probability(survey: Survey) -> float:
    plan = survey.compile()
    return sum(plan.question_probability(each) for each in plan.questions if each.kind == "label")


def _describe_forecasts(size: Size) -> Facts:
    first = next(iter(size.forecasts.values()), None)
    (weak_ratio, weak_shift), (strong_ratio, strong_shift) = FEATURE_STRENGTHS.values()
    return {
        "has_forecasts": bool(first),
        "weak_ratio": Number(weak_ratio),
        "weak_shift": RoundShare(weak_shift),
        "strong_ratio": Number(strong_ratio),
        "strong_shift": RoundShare(strong_shift),
        "repeats": first.repeats if first else 0,
        "simulated_people": count_people(first.users if first else 0),
        "fewer_simulated": first and first.users < size.users,
        "max_simulated": Count(MAX_SIMULATED_USERS),
    }


def _describe_remedies(size: Size) -> Facts:
    remedies = size.remedies
    if not remedies:
        return {"has_remedies": False}
    names = ", ".join(remedies.features or ())
    found = (remedies.users, remedies.survey_users, remedies.epsilon, remedies.features, remedies.values)
    return {
        "has_remedies": any(each is not None for each in found),
        "more_users": _count(remedies.users),
        "survey_users_remedy": _count(remedies.survey_users),
        "larger_epsilon": _write_decimal(remedies.epsilon),
        "fewer_features": remedies.features and Count(len(remedies.features)),
        "kept_features": names if len(names) < _MAX_NAMES_LENGTH else "",
        "fewer_values": _count(remedies.values),
        **dict.fromkeys(("more_rows", "fewer_silos")),
        "users_are_short": remedies.users is None,
        "epsilon_is_short": remedies.epsilon is None and size.survey.epsilon < DEFAULT_MAX_EPSILON,
        "features_are_short": remedies.features is None and len(size.features) > 1,
        "values_are_short": remedies.values is None and any(each.values for each in size.features),
        "max_epsilon": DEFAULT_MAX_EPSILON,
    }


def _count(number: int | None) -> Count | None:
    return None if number is None else Count(number)


def _write_decimal(number: Decimal | None) -> str | None:
    return None if number is None else f"{number:f}"


# -- tables -------------------------------------------------------------------------------------


class MarginCells(NamedTuple):
    """What tables show of a margin."""

    margin: Margin
    asked: Statement
    reports: str
    all_people: Statement
    estimate: Statement
    """A typical estimate: of the people of one class, if there are such estimates, else of all people."""
    missing: Statement | None
    """The margin of the share of missing answers, if they may be missing."""

    def columns(self, has_label: bool) -> list[Cell]:
        """Return grade and estimates; if there is a label, of all people and of those of one class."""
        grade = self.margin.grade
        if not has_label:
            return [grade, self.estimate]
        return [self.all_people, grade, "" if self.all_people is self.estimate else self.estimate]


def list_margins(size: ExpectedMargins) -> Iterator[MarginCells]:
    """Yield the rows of tables about the label, each feature and each table of the survey."""
    for margin in size.margins:
        facts = _describe_margin(size, margin)
        asked_alone = margin.kind != "label" or margin.question_probability
        estimate = TEXTS.find("cells.estimate", **facts)
        yield MarginCells(
            margin=margin,
            asked=TEXTS.find("cells.asked", **facts),
            reports=" + ".join(f"{n:,}" for n in margin.reports) if asked_alone else "-",
            all_people=estimate if margin.overall is None else TEXTS.find("cells.overall", **facts),
            estimate=estimate,
            missing=None if margin.missing is None else TEXTS.find("cells.missing", **facts),
        )


def _describe_margin(size: ExpectedMargins, margin: Margin) -> Facts:
    write = ShareMargin if margin.values else NumberMargin
    return {
        "has_label": bool(size.label_margin),
        "is_label": margin.kind == "label",
        "asked_alone": margin.question_probability > 0,
        "asked": Share(margin.question_probability),
        "is_share": bool(margin.values),
        "is_table": margin.kind == "table",
        "has_pilot": bool(size.pilot),
        "is_known": math.isfinite(margin.margin),
        "is_silo": isinstance(size, SiloSize),
        "has_reports": all(margin.reports),
        "typical": Share(margin.typical),
        "margin": write(margin.margin),
        "overall": write(margin.overall or 0),
        "overall_is_known": math.isfinite(margin.overall or 0),
        "deviation": NumberMargin(math.inf if margin.deviation is None else margin.deviation),
        "missing": ShareMargin(margin.missing or 0),
    }


def list_table_costs(size: Size) -> list[Statement]:
    """Return what each table costs."""
    return [
        TEXTS.find(
            "tables.cost",
            table=" x ".join(each.features),
            combinations=Count(each.cells),
            typical=Share(1 / each.cells),
            margin=ShareMargin(each.margin),
            margins=", ".join(f"{name} {ShareMargin(margin)}" for name, margin in each.without.items()),
            others_change=abs((each.other_people or 1) - 1) > _MIN_CHANGE,
            other_people=RoundShare(each.other_people or 1),
        )
        for each in size.tables
    ]


def list_narrower_ranges(size: Size) -> list[Statement]:
    """Return what a narrower range gains each number whose spread is stated."""
    now = {each.name: each for each in size.margins}
    return [
        TEXTS.find(
            "ranges.narrower",
            name=each.name,
            spread=NumberMargin(each.typical),
            wide=NumberMargin(now[each.name].unit),
            narrow=NumberMargin(each.unit),
            margin=f"{NumberMargin(each.margin)} ({each.grade})",
            margin_now=f"{NumberMargin(now[each.name].margin)} ({now[each.name].grade})",
        )
        for each in size.narrower_ranges
    ]


def compare_margins(size: ExpectedMargins) -> list[Cell]:
    """Return the margin of the label, the widest shares, and the features that are noise."""
    features, names, label = size.features, ", ".join(size.noise), size.label_margin
    widest = [ShareMargin(max(each.share for each in features)) if features else "-"]
    if label:
        overall = [ShareMargin(max(each.overall_share for each in features)) if features else "-"]
        widest = [ShareMargin(label.margin), *overall, *widest]
    return [
        *widest,
        TEXTS.find(
            "cells.noisy",
            few_names=0 < len(names) < _MAX_NAMES_LENGTH,
            noisy=len(size.noise),
            features=len(features),
            names=names,
        ),
    ]


def build_comparison(sizes: Sequence[Size]) -> list[list[Cell]]:
    """Return the head and the rows of the table that compares several numbers of people."""
    rows = [[Count(each.users), *compare_margins(each)] for each in sizes]
    return [["people", *_comparison_head(sizes[0])], *rows]


def build_silo_comparison(sizes: Sequence[SiloSize]) -> list[list[Cell]]:
    """Return the head and the rows of the table that compares sizes of a silo survey."""
    rows = [
        [decimal_text(each.survey.epsilon), Count(each.rows), Count(each.silos), *compare_margins(each)]
        for each in sizes
    ]
    return [["epsilon", "rows", "silos", *_comparison_head(sizes[0])], *rows]


def _comparison_head(size: Size | SiloSize) -> list[Cell]:
    by_label = ("label-margin", "widest-share", "widest-by-label")
    label = size.survey.label
    names = (*(by_label if label.exists else ("widest-share",)), "noise-features")
    return [TEXTS.find(f"cells.{name}", label=label.name) for name in names]


def build_accuracy_table(size: Size) -> list[list[Cell]]:
    """Return the head and the rows of the table of accuracies, for a size with forecasts."""
    names = ("accuracy", "average", "eight-of-ten", "best-possible")
    rows: list[list[Cell]] = [[TEXTS.find(f"cells.{name}") for name in names]]
    for name, each in size.forecasts.items():
        interval = TEXTS.find("cells.range", low=Share(each.low), high=Share(each.high))
        rows.append([TEXTS.find(f"cells.{name}"), Share(each.mean), interval, Share(each.best_possible)])
    majority = next(iter(size.forecasts.values())).majority
    return [*rows, [TEXTS.find("cells.guessing"), Share(majority), "", ""]]
