"""Infers a survey from rows in memory, for experiments: from private rows, it would leak information."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from encoders.canonical import decimal_text, equal_width_edges, to_nfc
from encoders.errors import RowError, SurveyError
from encoders.mechanisms import check_name, check_numeric_name
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Label, NumericFeature, Plan, Survey
from encoders.survey.parse_value import category_text, is_missing, parse_number
from encoders.survey.schema_tables import MAX_BINS
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.prediction.predictor import encode_any_labels, spell_labels
from ldp_aggregator.simulated_population import parse_epsilon


class _Settings(Protocol):
    survey: Survey | Plan | None
    epsilon: float
    bins: int | None
    mechanism: str
    numeric: str
    estimator: str


def choose_plan(
    settings: _Settings, columns: Mapping[str, Any], y: NDArray[Any]
) -> tuple[Plan, NDArray[Any], IntArray]:
    if settings.survey is None:
        labels, label_codes = np.unique(y, return_inverse=True)
        if len(labels) < 2:
            raise ValueError("a classifier needs at least two classes, and y has only one class")
        survey = infer_survey(
            columns,
            [to_nfc(str(label)) for label in labels],
            epsilon=settings.epsilon,
            bins=settings.bins,
            mechanism=settings.mechanism,
            numeric=settings.numeric,
            # Yilmaz et al.'s estimator needs the label question, asked as often as each of the others
            label_weight=1 if settings.estimator == "paper" else None,
            users=len(y),
        )
        return survey.compile(), labels, label_codes
    plan = settings.survey if isinstance(settings.survey, Plan) else settings.survey.compile()
    label_codes = encode_any_labels(plan.label, y)
    return plan, spell_labels(plan.label, y, label_codes), label_codes


def infer_survey(
    columns: Mapping[str, Any],
    labels: Sequence[str],
    *,
    epsilon: float | str | Decimal = 1,
    bins: int | None = 8,
    mechanism: str = "auto",
    numeric: str = "auto",
    label_name: str = "class",
    label_weight: int | None = None,
    users: int | None = None,
) -> Survey:
    """Return a survey that fits the given columns.

    Numbers become `bins` equal-width bins between the least and the greatest number; without bins they stay
    numbers between these bounds. Any other column becomes a feature with one category per distinct value. If
    values are missing, missing becomes one more category. `mechanism` is for discrete features, `numeric` for
    numbers. `label_weight` is the weight of the label question, where each feature has weight 1; by default
    it is asked only if no other question estimates the label, or if few users need it. `users` is the number
    of people who will answer.
    """
    if bins is not None and not (1 <= bins <= MAX_BINS and bins == int(bins)):
        raise ValueError(f"bins must be None or a whole number above 0, not {bins!r}, and at most {MAX_BINS}")
    return Survey(
        id="inferred",
        epsilon=parse_epsilon(epsilon),
        label=Label(label_name, tuple(labels)),
        features=tuple(_infer_feature(name, values, bins and int(bins)) for name, values in columns.items()),
        weights=(label_weight, *(1 for _ in columns)),
        frequency=_check_name(check_name, mechanism, "mechanism"),
        numeric=_check_name(check_numeric_name, numeric, "numeric"),
        users=users,
    )


def _check_name(check: Callable[[str], str], name: str, parameter: str) -> str:
    try:
        return check(name)
    except SurveyError as error:
        raise SurveyError(error.why, parameter) from None


def _infer_feature(name: str, column: Any, bins: int | None) -> Feature:
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    present = [value for value in values if not is_missing(value)]
    missing = "category" if len(present) < len(values) else "error"
    if present and all(
        isinstance(value, Real | Decimal) and not isinstance(value, bool) for value in present
    ):
        numbers = [number for value in present if (number := parse_number(value, name)) is not None]
        return _infer_numeric_feature(name, numbers, bins, missing)
    return CategoricalFeature(name, _infer_values(name, present), missing)


def _infer_numeric_feature(name: str, numbers: Sequence[float], bins: int | None, missing: str) -> Feature:
    low, high = min(numbers), max(numbers)
    edges = equal_width_edges(Decimal(repr(low)), Decimal(repr(high)), bins or 1)
    if len({float(edge) for edge in edges}) == (bins or 1) + 1:
        return (
            BinnedFeature(name, edges, missing)
            if bins
            else NumericFeature(name, edges[0], edges[-1], missing)
        )
    # all numbers are equal: one bin, so that the coupled question asks about the label alone
    above = decimal_text(Decimal(repr(math.nextafter(low, math.inf))))
    return BinnedFeature(name, (decimal_text(Decimal(repr(low))), above), missing)


def _infer_values(name: str, present: Sequence[Any]) -> tuple[str, ...]:
    texts = {category_text(value) for value in set(present)}
    if None in texts:
        raise RowError(name, "has a value that is neither a number nor a text: convert it")
    return tuple(sorted(text for text in texts if text is not None))
