"""What a survey will show, and which changes would make it more precise, each with its effect.

Margins are those of `ldp-survey size`, in closed form; nothing is simulated except at the author's request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from encoders.errors import LdpError, SurveyError
from encoders.survey import Survey, read_survey
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.wording.statement import Statement
from ldp_design.sizing.assumed_people import assume_population
from ldp_design.sizing.margins import (
    GOOD_RATIO,
    ExpectedTotals,
    Margin,
    compute_expected_margins,
    features_of,
)
from ldp_design.sizing.sample_size import SizeError, find_min_users, round_up
from ldp_design.sizing.size_summary import build_accuracy_table, list_margins
from ldp_design.sizing.survey_size import Size, compare_sizes, size_for_users
from ldp_design.studio.edits import parse_tables
from ldp_design.studio.operations import DEFAULT_USERS, apply_operations, batch_of

_MAX_EPSILON = 2.0
_MOST_BINS = 3


@dataclass(frozen=True)
class Suggestion:
    """A change of the survey: operations of the page, and words that the page has by this name."""

    name: str
    values: dict[str, Any]
    operations: list[dict[str, Any]]


def compute_size(text: str) -> Size:
    """Return the margins to expect of a survey, of one wave if it has several; raises SurveyError."""
    return compare_sizes(survey := _read(text), users=(survey.users or DEFAULT_USERS,))[0]


def _read(text: str) -> Survey:
    survey = read_survey(text)
    refuse_validation(survey)
    return survey.of_one_wave()


def describe_size(size: Size) -> dict[str, Any]:
    """Return what the page shows of a size."""
    has_label = size.label_margin is not None
    return {
        "digest": size.plan.digest,
        "users": size.users,
        "epsilon": float(size.survey.relay.epsilon if size.survey.relay else size.survey.epsilon),
        "rows": [_describe_row(each, has_label) for each in list_margins(size)],
        "noise": list(size.noise),
        "widest": _finite(_widest(size)),
    }


def _describe_row(cells: Any, has_label: bool) -> dict[str, Any]:
    margin: Margin = cells.margin
    return {
        "name": margin.name,
        "kind": margin.kind,
        "grade": str(margin.grade),
        "asked": _say(cells.asked),
        "estimate": _say(cells.estimate),
        "all": _say(cells.all_people) if has_label and cells.all_people is not cells.estimate else "",
        "centre": margin.typical if margin.values else 0.5,
        "margin": _finite(margin.margin / margin.unit),
        "useful": _finite(margin.useful_margin / margin.unit),
    }


def _say(cell: Statement) -> str:
    return cell.fill(str, lambda words: words.replace("`", ""))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _widest(size: Size) -> float:
    return max((each.share for each in size.margins), default=0.0)


# -- suggestions ---------------------------------------------------------------------------------------


def find_suggestions(text: str, is_wanted: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Yield suggestions with their effects; ends early if `is_wanted` returns False."""
    size = compute_size(text)
    for each in _list_suggestions(size, parse_tables(text).get("tables", ())):
        if not is_wanted():
            return
        operations = each.operations + [{"op": "fit"}] * bool(size.survey.relay)
        try:
            changed = compute_size(apply_operations(text, operations))
        except (LdpError, ValueError):
            continue
        before, after = _widest(size), _widest(changed)
        if after < before * 0.97 or len(changed.noise) < len(size.noise):
            yield {
                "name": each.name,
                "values": each.values,
                "operations": operations,
                "before": {"widest": _finite(before), "noise": len(size.noise)},
                "after": {"widest": _finite(after), "noise": len(changed.noise)},
            }


def _list_suggestions(size: Size, tables: Iterable[str]) -> Iterator[Suggestion]:
    survey, features = size.survey, size.features
    if not features:
        return
    worst = max(features, key=lambda each: each.excess)
    if survey.relay is None and survey.enrolment == "open":
        yield Suggestion("relay", {}, [{"op": "relay", "value": "one"}, {"op": "fit"}])
    elif survey.relay and not survey.asks_all:
        yield Suggestion("all", {}, [{"op": "relay", "value": "all"}])
    yield from _ask_less(survey, worst, len(features), tables)
    for feature in survey.features:
        bins = len(getattr(feature, "edges", ())) - 1
        if bins > _MOST_BINS and any(feature.name in each.name for each in features if each.grade != "good"):
            fewer = -(-bins // 2)
            path = ["features", feature.name, "bins"]
            yield Suggestion(
                "bins",
                {"name": feature.name, "bins": bins, "fewer": fewer},
                [{"op": "set", "path": path, "value": fewer}],
            )
    if survey.label.exists:
        yield Suggestion("label", {"name": survey.label.name}, [{"op": "label", "path": ["label"]}])
    if survey.relay is None and float(survey.epsilon) < _MAX_EPSILON:
        larger = f"{min(float(survey.epsilon) * 1.5, _MAX_EPSILON):.2g}"
        value = {"number": larger}
        operation = {"op": "set", "path": ["survey", "epsilon"], "value": value}
        yield Suggestion("epsilon", {"epsilon": larger}, [operation])
    yield from _more_people(size, worst)


def _more_people(size: Size, worst: Margin) -> Iterator[Suggestion]:
    """Yield the number of people with which nothing is noise, or else everything is good."""
    expected = ExpectedTotals(size.plan, assume_population(size.plan, None, None))

    def excess(users: int) -> float:
        found = features_of(compute_expected_margins(expected, users, size.survey.tables))
        if worst.is_noise:
            return max(each.excess for each in found)
        return max(each.margin / (GOOD_RATIO * each.typical) for each in found)

    try:
        users = round_up(find_min_users(excess), 2)
    except SizeError:
        return
    if users <= size.users:
        return
    operations: list[dict[str, Any]] = [{"op": "set", "path": ["survey", "users"], "value": users}]
    if size.survey.relay:
        operations += [{"op": "set", "path": ["relay", "batch"], "value": batch_of(users)}]
    yield Suggestion("people", {"users": users}, operations)


def _ask_less(survey: Survey, worst: Margin, count: int, tables: Iterable[str]) -> Iterator[Suggestion]:
    """Yield the deletion of the least precise question or table."""
    if worst.kind == "table":
        for name, table in zip(tables, survey.tables, strict=True):
            if " x ".join(survey.features[index].name for index in table.feature_indices) == worst.name:
                yield Suggestion("table", {"name": worst.name}, [{"op": "delete", "path": ["tables", name]}])
    elif count > 1:
        rows = {each.name: each.row_name for each in survey.features}
        row = rows.get(worst.name, worst.name)
        yield Suggestion("question", {"name": row}, [{"op": "remove", "path": ["features", row]}])


# -- simulation ----------------------------------------------------------------------------------------


def simulate_accuracy(text: str, progress: Callable[[int], object]) -> list[list[str]]:
    """Return the table of the accuracies of a model, from simulated surveys; raises SurveyError."""
    survey = _read(text)
    if not survey.label.exists:
        raise SurveyError("a model predicts the label, and this survey has none", "label")
    size = size_for_users(survey, survey.users or DEFAULT_USERS, progress=progress)
    return [
        [_say(cell) if isinstance(cell, Statement) else str(cell) for cell in row]
        for row in build_accuracy_table(size)
    ]
