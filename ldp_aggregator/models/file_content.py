"""Checks and reads the entries of a model file: estimates, tables of probabilities, and the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from encoders.survey import Feature, NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.estimation.intervals import to_json_list
from ldp_aggregator.estimation.numeric.variance_floor import MIN_VARIANCE
from ldp_aggregator.results.silo_text import find_silo_statement
from ldp_aggregator.results.unlabelled_text import ANSWERS, FITTED, NAIVE_BAYES, OTHER_MODEL, REPORTS

_SUM_TOLERANCE = 1e-6
_LEAST_VARIANCE = 1e-12
"""A classifier fitted to rows may have normal distributions that are narrower than those of estimates."""


def check_estimates(estimates: dict[str, Any]) -> None:
    """Check the entries of `estimates` that commands read; the error names the wrong entry."""
    require(isinstance(estimates["estimator"], str), "estimates.estimator: needs a text")
    require(is_count(estimates["reports"]), "estimates.reports: needs a whole number below 2^63")
    for index, entry in enumerate(estimates["features"]):
        relevance, field = entry["relevance"], f"estimates.features.{index}.relevance"
        for name in ("value", "stderr", "low", "high", "noise"):
            is_number = type(relevance[name]) in (float, type(None)) or is_count(relevance[name])
            require(is_number, f"{field}.{name}: needs a number or null")
        is_maximum = type(relevance["maximum"]) is float or is_count(relevance["maximum"])
        require(is_maximum, f"{field}.maximum: needs a number")
    validation = estimates.get("validation")
    if validation is not None:
        require(is_count(validation["reports"]), "estimates.validation.reports: needs a whole number")
        result, field = validation["validation_result"], "estimates.validation.validation_result"
        names, count = result["features"], result["selected_k"]
        are_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
        require(are_names, f"{field}.features: needs a list of names")
        require(count is None or is_count(count), f"{field}.selected_k: needs a whole number or null")


def is_count(number: object) -> bool:
    """Return whether a value is a whole number from 0 to less than 2^63."""
    return type(number) is int and 0 <= number < 2**63


def require(holds: bool, why: str) -> None:
    """Raise ValueError with this explanation unless a condition holds."""
    if not holds:
        raise ValueError(why)


def read_conditional(
    smoothed: Any, feature: Feature, k: int, least_variance: float = MIN_VARIANCE
) -> ClassConditional:
    """Return P(value | label) of one feature from its entry in the file."""
    if not isinstance(feature, NumericFeature):
        return read_probabilities(smoothed, (feature.size, k), feature.name)
    mean, variance = (np.asarray(smoothed[key], dtype=np.float64) for key in ("mean", "variance"))
    if mean.shape != (k,) or variance.shape != (k,) or not np.isfinite(mean).all():
        raise ValueError(f"the means or variances of {feature.name} are invalid")
    if not (np.isfinite(variance) & (variance >= least_variance)).all():
        raise ValueError(f"a variance of {feature.name} is less than {least_variance:g}")
    if (smoothed["missing"] is None) != (feature.missing == "error"):
        raise ValueError(f"{feature.name} has shares of missing values but cannot be missing, or lacks them")
    if smoothed["missing"] is None:
        return Gaussian(mean, variance, None)
    missing = np.asarray(smoothed["missing"], dtype=np.float64)
    if missing.shape != (k,) or not ((missing > 0) & (missing < 1)).all():  # 0 or 1 would exclude a label
        raise ValueError(f"the shares of missing values of {feature.name} are not between 0 and 1")
    return Gaussian(mean, variance, missing)


def read_probabilities(nested: object, shape: tuple[int, ...], name: str) -> FloatArray:
    """Read probabilities that add up to one along the first axis."""
    array = np.asarray(nested, dtype=np.float64)
    is_valid = array.shape == shape and bool((array >= 0).all())
    if not is_valid or abs(array.sum(axis=0) - 1).max() > _SUM_TOLERANCE:
        raise ValueError(f"the probabilities of {name} are invalid or do not add up to one")
    return array


def dump_classifier(prior: FloatArray, conditionals: Sequence[ClassConditional]) -> dict[str, Any]:
    """Return the tables of a classifier for JSON."""
    return {"prior": to_json_list(prior), "conditionals": [_dump_conditional(each) for each in conditionals]}


def _dump_conditional(conditional: ClassConditional) -> Any:
    if not isinstance(conditional, Gaussian):
        return to_json_list(conditional)
    missing = conditional.missing
    return {
        "mean": to_json_list(conditional.mean),
        "variance": to_json_list(conditional.variance),
        "missing": None if missing is None else to_json_list(missing),
    }


def read_classifier(
    entry: Any, features: Sequence[Feature], k: int
) -> tuple[FloatArray, tuple[ClassConditional, ...]]:
    """Return the prior and the tables of a classifier from the entry `classifier`."""
    prior = read_probabilities(entry["prior"], (k,), "the classifier")
    require(len(entry["conditionals"]) == len(features), "classifier.conditionals: needs one per feature")
    pairs = zip(features, entry["conditionals"], strict=True)
    return prior, tuple(read_conditional(each, feature, k, _LEAST_VARIANCE) for feature, each in pairs)


def check_silos(entry: Any, privacy: dict[str, Any], k: int) -> None:
    """Check the entry `silos` of the estimates and the privacy statement; the error names what is wrong."""
    require(isinstance(entry, dict), "estimates.silos: needs an object")
    for name in ("messages", "rows_limit"):
        require(is_count(entry[name]), f"estimates.silos.{name}: needs a whole number below 2^63")
    require(entry["people"] is None or is_count(entry["people"]), "estimates.silos.people: needs a number")
    for name in ("rows", "rows_stderr"):
        is_known = type(entry[name]) is float or (name == "rows_stderr" and entry[name] is None)
        require(is_known, f"estimates.silos.{name}: needs a number")
    if entry["influence"] is not None:
        for name in ("prior", "conditionals", "prior_with_noise", "conditionals_with_noise"):
            moves = entry["influence"][name]
            require(_are_shares(moves, k), f"estimates.silos.influence.{name}: needs {k} numbers from 0 to 1")
    names = entry["contradictions"]
    are_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
    require(are_names, "estimates.silos.contradictions: needs a list of names")
    statement = find_silo_statement(privacy)
    require(statement is not None, "privacy: needs a statement about the silos")
    assert statement is not None
    require(isinstance(statement["epsilon"], str), "privacy: the epsilon of the silos is no text")
    for name in ("messages", "rows_per_person", "rows_limit"):
        require(is_count(statement[name]), f"privacy: the entry {name} of the silos is no whole number")


def _are_shares(moves: object, k: int) -> bool:
    """Return whether an entry is a list of k numbers from 0 to 1."""
    if not isinstance(moves, list) or len(moves) != k:
        return False
    return all(type(each) in (int, float) and 0 <= each <= 1 for each in moves)


def check_unlabelled(entry: Any) -> dict[str, Any]:
    """Check the entry `unlabelled`, which commands read; the error names what is wrong."""
    require(isinstance(entry, dict), "unlabelled: needs an object")
    require(entry["classifier"] in (FITTED, NAIVE_BAYES), "unlabelled.classifier: is unknown")
    require(type(entry["declared_public"]) is bool, "unlabelled.declared_public: needs true or false")
    require(is_count(entry["rows"]), "unlabelled.rows: needs a whole number below 2^63")
    for name in ("association", "confidence"):
        require(type(entry[name]) is float, f"unlabelled.{name}: needs a number")
    for name in ("absent", "contradicting", "fitted"):
        are_names = isinstance(entry[name], list) and all(isinstance(each, str) for each in entry[name])
        require(are_names, f"unlabelled.{name}: needs a list of names")
    known = (FITTED, NAIVE_BAYES, OTHER_MODEL, None)
    require(entry["validated"] in known, "unlabelled.validated: is unknown")
    require(entry["chosen_by"] in (REPORTS, ANSWERS), "unlabelled.chosen_by: is unknown")
    if entry["compared"] is not None:
        _check_comparison(entry["compared"])
    checked: dict[str, Any] = entry
    return checked


def _check_comparison(compared: Any) -> None:
    """Check what two validation rounds measured."""
    are_both = isinstance(compared, dict) and set(compared) == {FITTED, NAIVE_BAYES}
    require(are_both, "unlabelled.compared: needs an entry for each of the two classifiers")
    for kind, measured in compared.items():
        field = f"unlabelled.compared.{kind}"
        require(isinstance(measured["survey"], str), f"{field}.survey: needs a text")
        require(is_count(measured["reports"]), f"{field}.reports: needs a whole number below 2^63")
        types = {type(measured[name]) for name in ("accuracy", "stderr")}
        require(types in ({float}, {type(None)}), f"{field}: needs two numbers, or null")
