"""Reads the JSON document of a plan of people, and its parts that a plan of silos has too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import prod
from typing import Any

from encoders.canonical import BAD_NAMES, is_text
from encoders.errors import SurveyError
from encoders.mechanisms import Mechanism, load, load_numeric
from encoders.survey.compiled_plan import OPEN
from encoders.survey.features import (
    NO_LABEL,
    BinnedFeature,
    CategoricalFeature,
    Choices,
    Feature,
    Label,
    NumericFeature,
    split_choices,
)
from encoders.survey.projection import Projection
from encoders.survey.questions import Question, build_numeric_domain, find_shift, join_values
from encoders.survey.relay import Relay
from encoders.survey.validation_round import Validation
from encoders.survey.waves import Series, Waves


def parse_plan_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan from its document; :func:`plan_errors` names what an invalid one raises."""
    validation = None
    if "validation" in document:
        model = document["validation"]
        schema = _read_label(model), _read_features(model["features"]), _read_projection(model)
        validation = Validation.from_dict(model, *schema)
    common = read_common_fields(document)
    schema = common["label"], common["features"], _read_projection(document)
    built: dict[tuple[object, ...], Mechanism] = {}
    questions = tuple(
        _question(index, entry, schema, validation, document["tables"], built)
        for index, entry in enumerate(document["questions"])
    )
    return common | {
        "questions": questions,
        "projection": schema[2],
        "validation": validation,
        "relay": Relay.from_dict(document["relay"]) if "relay" in document else None,
        "series": Series(**document["series"]) if "series" in document else None,
        "waves": Waves.from_dict(document["waves"]) if "waves" in document else None,
    }


def read_common_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that plans of people and of silos have; raises what :func:`plan_errors` names."""
    return {
        "id": document["id"],
        "epsilon": Decimal(document["epsilon"]),
        "label": _read_label(document),
        "features": _read_features(document["features"]),
        "family": document.get("family", ""),
        "enrolment": document.get("enrolment", OPEN),
        "texts_digest": document.get("texts", ""),
    }


_RowSchema = tuple[Label, tuple[Feature, ...], Projection | None]


def _read_projection(document: Mapping[str, Any]) -> Projection | None:
    return Projection.from_dict(document["projection"]) if "projection" in document else None


def _question(
    index: int,
    entry: dict[str, Any],
    schema: _RowSchema,
    validation: Validation | None,
    tables: dict[str, Any],
    built: dict[tuple[object, ...], Mechanism],
) -> Question:
    whole_label, features, projection = schema
    indices = _feature_indices(entry["feature"], len(features), f"questions.{index}.feature")
    asked = tuple(features[each] for each in indices)
    width, shift, label = entry.get("width", 1), 0, whole_label
    if "width" in entry:
        shift, asked = _read_intervals(asked, width, f"questions.{index}.width")
    if width > 1 or (asked and entry.get("domain") == prod(each.size for each in asked)):
        label = NO_LABEL  # the answers are the values alone
    moment, name = entry.get("moment"), entry["mechanism"]
    if moment is None:
        which: tuple[object, ...] = (name, entry["domain"], entry["tables"])
        mechanism = built.get(which) or load(name, entry["domain"], tables[entry["tables"]])
    else:
        domain = build_numeric_domain(whole_label, asked, moment)
        which = (name, domain, entry["tables"])
        mechanism = built.get(which) or load_numeric(name, domain, tables[entry["tables"]])
    built[which] = mechanism
    return Question(
        index=index,
        label=label,
        feature_indices=indices,
        asked_features=asked,
        width=width,
        shift=shift,
        weight=entry["weight"],
        mechanism=mechanism,
        moment=moment,
        projection=projection,
        validation=validation,
    )


def _read_intervals(asked: Sequence[Feature], width: object, field: str) -> tuple[int, tuple[Feature, ...]]:
    if type(width) is not int or width < 2 or len(asked) != 1:
        raise SurveyError("must be a whole number from 2, and the question must be about one feature", field)
    return find_shift(asked[0], width), (join_values(asked[0], width),)


def _feature_indices(entry: object, count: int, field: str) -> tuple[int, ...]:
    indices = [] if entry is None else entry if isinstance(entry, list) else [entry]
    if not all(type(index) is int and 0 <= index < count for index in indices):
        raise SurveyError(f"must be numbers of features, from 0 to {count - 1}", field)
    return tuple(indices)


def _read_label(document: Mapping[str, Any]) -> Label:
    entry = document.get("label", NO_LABEL.as_dict())
    return Label(entry["name"], tuple(entry["values"]))


def _read_features(entries: Sequence[Mapping[str, Any]]) -> tuple[Feature, ...]:
    """Read the features of a plan's document; an entry with several answers is one feature per choice."""
    if not all(is_text(entry["name"]) for entry in entries):  # at first: each feature of a choice repeats it
        raise SurveyError(BAD_NAMES, "features")
    return split_choices(_read_feature(entry) for entry in entries)


def _read_feature(entry: Mapping[str, Any]) -> Feature:
    if entry["kind"] == Choices.kind:
        return Choices(entry["name"], tuple(entry["values"]), entry["missing"])
    if entry["kind"] == CategoricalFeature.kind:
        ordered = entry.get("ordered", False)
        return CategoricalFeature(entry["name"], tuple(entry["values"]), entry["missing"], ordered)
    if entry["kind"] == BinnedFeature.kind:
        return BinnedFeature(entry["name"], tuple(entry["edges"]), entry["missing"])
    if entry["kind"] == NumericFeature.kind:
        return NumericFeature(entry["name"], entry["low"], entry["high"], entry["missing"])
    raise SurveyError("an unknown kind of feature: update ldp-bayes", entry["name"])
