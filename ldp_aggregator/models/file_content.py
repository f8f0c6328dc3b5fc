"""Reads and writes the tables of probabilities in a model file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.estimation.json_form import read_probabilities, reading, require, to_json_list
from ldp_aggregator.estimation.numeric.variance_floor import MIN_VARIANCE

_LEAST_VARIANCE = 1e-12
"""A classifier fitted to rows may have normal distributions that are narrower than those of estimates."""


def read_conditional(
    entry: Any, feature: Feature, k: int, least_variance: float = MIN_VARIANCE
) -> ClassConditional:
    """Return P(value | label) of one feature from its entry in the file."""
    if not isinstance(feature, NumericFeature):
        return read_probabilities(entry, (feature.size, k), feature.name)
    with reading(feature.name):
        gaussian = Gaussian.from_dict(entry, k, least_variance)
        check_missing(gaussian.missing, feature)
    return gaussian


def check_missing(missing: object, feature: NumericFeature) -> None:
    """Raise ValueError unless a number has shares of missing values exactly if it can be missing."""
    can_be_missing = feature.missing != "error"
    require(can_be_missing or missing is None, "has shares of missing values, but cannot be missing")
    require(not can_be_missing or missing is not None, "lacks the shares of missing values")


def dump_classifier(prior: FloatArray, conditionals: Sequence[ClassConditional]) -> dict[str, Any]:
    """Return the tables of a classifier for JSON."""
    tables = [each.as_dict() if isinstance(each, Gaussian) else to_json_list(each) for each in conditionals]
    return {"prior": to_json_list(prior), "conditionals": tables}


def read_classifier(
    entry: Any, features: Sequence[Feature], k: int
) -> tuple[FloatArray, tuple[ClassConditional, ...]]:
    """Return the prior and the tables of a classifier from the entry `classifier`."""
    prior = read_probabilities(entry["prior"], (k,), "the classifier")
    require(len(entry["conditionals"]) == len(features), "classifier.conditionals: needs one per feature")
    pairs = zip(features, entry["conditionals"], strict=True)
    return prior, tuple(read_conditional(each, feature, k, _LEAST_VARIANCE) for feature, each in pairs)
