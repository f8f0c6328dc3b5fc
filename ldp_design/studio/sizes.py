"""What a survey will show, by margins in closed form, and which changes would make it more precise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from encoders.errors import LdpError, SurveyError
from encoders.survey import read_survey
from ldp_aggregator.codec import to_json
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.wording.values import round_up
from ldp_design.authoring.toml_patch import Tables, parse_tables
from ldp_design.sizing.margins import GOOD_RATIO, Margin
from ldp_design.sizing.sample_size import SizeError, find_min_users
from ldp_design.sizing.simulated_margins import REPEATS, simulate_margins
from ldp_design.sizing.survey_size import Size, compare_sizes
from ldp_design.studio.edits import DEFAULT_USERS, apply_operations, batch_of

_MOST_BINS = 3
_MIN_GAIN, _WIDE = 0.97, 0.5
_FIT = {"op": "fit"}
Suggestion = tuple[str, dict[str, Any], list[dict[str, Any]]]
"""The name of a sentence of the page, what fills its holes, and operations."""


def compute_size(text: str) -> Size:
    """Return the margins to expect of a survey, of one wave if it has several; raises SurveyError."""
    survey = read_survey(text)
    refuse_validation(survey)
    wave = survey.of_one_wave()
    return compare_sizes(wave, users=(wave.users or DEFAULT_USERS,))[0]


def describe_sizes(text: str) -> Iterator[dict[str, Any]]:
    """Yield the size of a survey, then suggestions with their effects; nothing if the survey has mistakes."""
    try:
        size = compute_size(text)
    except SurveyError:  # the page shows them at their fields
        return
    before = _summarise(size)
    epsilon, rows = (size.survey.relay or size.survey).epsilon, [each.as_dict() for each in size.margins]
    yield {"users": size.users, "epsilon": float(epsilon), "rows": rows} | before
    for name, values, operations in _list_suggestions(size, text):
        with suppress(LdpError, ValueError):
            after = _summarise(compute_size(apply_operations(text, operations)))
            is_narrower = after["widest"] < before["widest"] * _MIN_GAIN
            gain = len(before["noise"]) - len(after["noise"])
            own = [each["margins"].get(values.get("name"), 0) for each in (before, after)]
            if (name == "alone" and own[1] < own[0]) or gain > 0 or (is_narrower and gain == 0):
                change = {"name": name, "values": values, "operations": operations}
                yield change | {"before": before, "after": after}


def _summarise(size: Size) -> dict[str, Any]:
    margins = {each.name: min(each.share, _WIDE) for each in size.margins}
    facts = {"widest": max(margins.values(), default=0.0), "together": float(size.survey.epsilon)}
    return facts | {"margins": margins, "noise": list(size.noise)}


def simulate_sizes(text: str) -> Iterator[dict[str, Any]]:
    """Yield the simulated margins after each survey; raises SurveyError."""
    size = compute_size(text)
    for done, margins in enumerate(simulate_margins(size.survey, size.users), 1):
        yield {"done": done, "total": REPEATS, "margins": to_json(margins)}


# -- suggestions ---------------------------------------------------------------------------------------


def _list_suggestions(size: Size, text: str) -> Iterator[Suggestion]:
    survey, features = size.survey, size.features
    if not features:
        return
    worst = max(features, key=lambda each: each.excess)
    if survey.relay is None and survey.enrolment == "open":
        yield "relay", {}, [{"op": "relay", "value": "one"}, _FIT]
    elif survey.relay and not survey.asks_all:
        yield "all", {}, [{"op": "relay", "value": "all"}, _FIT]
    yield from _ask_less(size, worst, parse_tables(text))
    if survey.label.exists:
        yield "label", {"name": survey.label.name}, [{"op": "label", "path": ["label"]}, _FIT]
    if (users := _find_more_people(size, worst)) > size.users:
        batch = [_set(["relay", "batch"], batch_of(users))] if survey.relay else []
        yield "people", {"users": users}, [_set(["survey", "users"], users), *batch, _FIT]


def _ask_less(size: Size, worst: Margin, tables: Tables) -> Iterator[Suggestion]:
    """Yield the deletion of the least precise question or table, and fewer bins of each number."""
    features = size.survey.features
    if worst.kind == "table":
        for name, table in zip(tables["tables"], size.survey.tables, strict=True):
            if " x ".join(features[index].name for index in table.feature_indices) == worst.name:
                yield "table", {"name": worst.name}, [{"op": "delete", "path": ["tables", name]}, _FIT]
    elif len(size.features) > 1:
        row = next((each.row_name for each in features if each.name == worst.name), worst.name)
        yield "question", {"name": row}, [{"op": "remove", "path": ["features", row]}, _FIT]
    imprecise = [each.name for each in size.features if each.grade != "good"]
    tabled = {name for table in tables.get("tables", {}).values() for name in table["features"]}
    for name, entries in tables["features"].items():
        if name in tabled & {*imprecise} and not entries.get("alone"):
            yield "alone", {"name": name}, [_set(["features", name, "alone"], True), _FIT]
        bins = entries.get("bins")
        if isinstance(bins, int) and bins > _MOST_BINS and any(name in each for each in imprecise):
            values = {"name": name, "bins": bins, "fewer": -(-bins // 2)}
            yield "bins", values, [_set(["features", name, "bins"], values["fewer"]), _FIT]


def _set(path: list[str], value: object) -> dict[str, Any]:
    return {"op": "set", "path": path, "value": value}


def _find_more_people(size: Size, worst: Margin) -> int:
    """Return the number of people with which nothing is noise, or else everything is good; 0 if none is."""

    def excess(users: int) -> float:
        margins = compare_sizes(size.survey, users=(users,))[0].features
        ratios = (each.margin / each.typical / GOOD_RATIO for each in margins)
        return max(each.excess for each in margins) if worst.is_noise else max(ratios)

    with suppress(SizeError):
        return round_up(find_min_users(excess), 2)
    return 0
