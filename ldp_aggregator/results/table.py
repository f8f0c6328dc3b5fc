"""Turns the JSON form of estimates into a table: one row per class and estimated quantity.

The same table is written as CSV, returned as a DataFrame and printed by `ldp-train`; docs/analysing.md
describes its columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.discrete.negative_estimates import project_simplex
from ldp_aggregator.render.csv_file import dump_csv

COUNT = "count"
CLASS_PRIOR = "P(class)"
CONDITIONAL = "P(value | class)"
MEAN = "mean"
DEVIATION = "standard deviation"
MISSING = "P(missing | class)"

Statistic = Literal[
    "count", "P(class)", "P(value | class)", "mean", "standard deviation", "P(missing | class)"
]
Json = Mapping[str, Any]

Row = TypedDict(
    "Row",
    {
        "feature": str,
        "statistic": Statistic,
        "value": str | None,
        "class": str,
        "estimate": float | None,
        "stderr": float | None,
        "low": float | None,
        "high": float | None,
        "simultaneous_low": float | None,
        "simultaneous_high": float | None,
        "raw": float | None,
        "n": int,
        "mechanism": str | None,
        "distinguishable": bool | None,
    },
)
"""One row of the table; None where something is unknown or does not apply.

feature : the feature's name; the label's name for count and P(class)
statistic : which quantity is estimated; only a curator's model has count, the number of rows of a class
value : the feature's value, for P(value | class)
class : the value of the label
estimate : the consistent estimate: probabilities are distributions, moments are in their possible range
stderr : the standard error of `raw`
low, high : the 95% interval
simultaneous_low, simultaneous_high : 95% intervals that all hold at once
raw : the unbiased estimate, which may be outside the possible range
n : the number of reports, or the noisy number of the rows of a curator or of silos
mechanism : the mechanisms of the questions, joined by " + "; None for count and P(class), which all questions
    estimate
distinguishable : whether the classes are distinguishable in this quantity; for P(class), from 1/k
"""

COLUMNS: tuple[str, ...] = tuple(Row.__annotations__)
"""The names of the columns, in order."""


def build_table(estimates: Json) -> list[Row]:
    """Return the rows of all estimates of a survey: the label's first, then each feature's in order.

    Parameters
    ----------
    estimates : mapping
        The JSON form, see :meth:`Estimates.as_dict`: `estimates_` of a model, the entry `estimates` of a
        model file, or the response of a collector's `/estimates`.
    """
    classes = estimates["label"]["values"]
    rows = list(_build_prior_rows(estimates))
    for feature in estimates["features"]:
        if "mean_question" in feature:
            rows += _build_number_rows(feature, classes)
        else:
            rows += _build_conditional_rows(feature, classes)
    return rows


def dump_table(rows: Iterable[Row]) -> str:
    """Return the table as CSV; see :func:`~ldp_aggregator.render.csv_file.dump_csv`."""
    return dump_csv(COLUMNS, rows)


def count_people(estimates: Json) -> int:
    """Return the number of reports of people, or of silos' rows, or their sum if both are pooled."""
    silos = estimates.get("silos")
    if not silos:
        return int(estimates["reports"])
    return int(max(round(silos["rows"]), 0) + (silos["people"] or 0))


def _build_prior_rows(estimates: Json) -> Iterator[Row]:
    label = estimates["label"]
    # the paper's estimator takes the prior from the label question alone
    n = label["n"] if estimates["estimator"] == "paper" else count_people(estimates)
    marks = label["non_uniform"]
    consistent = _project_columns(_to_array(label["prior"]["value"])[:, None])[:, 0]
    for index, name in enumerate(label["values"]):
        yield make_row(
            label["prior"],
            (index,),
            float(consistent[index]),
            feature=label["name"],
            statistic=CLASS_PRIOR,
            class_name=name,
            n=n or 0,
            distinguishable=marks[index],
        )


def _build_conditional_rows(feature: Json, classes: Sequence[str]) -> Iterator[Row]:
    marks = feature["distinguishable_entries"]
    consistent = _project_columns(_to_array(feature["conditionals"]["value"]))
    for place, value in enumerate(feature["values"]):
        for index, name in enumerate(classes):
            yield make_row(
                feature["conditionals"],
                (place, index),
                float(consistent[place, index]),
                feature=feature["name"],
                statistic=CONDITIONAL,
                value=value,
                class_name=name,
                n=feature["n"],
                mechanism=feature["mechanism"],
                distinguishable=marks[place],
            )


def _build_number_rows(feature: Json, classes: Sequence[str]) -> Iterator[Row]:
    mean, square = feature["mean_question"], feature["square_question"]
    mechanisms = [each["mechanism"] for each in (mean, square) if each["mechanism"]]
    both = {"n": mean["n"] + square["n"], "mechanism": " + ".join(mechanisms) or None}
    marks = feature["distinguishable_entries"]
    parts = [
        (MEAN, "means", "means", {"n": mean["n"], "mechanism": mean["mechanism"]}),
        (DEVIATION, "deviations", "variances", both),
        (MISSING, "missing", "missing", both),
    ]
    for statistic, key, mark, questions in parts:
        if feature[key] is None:
            continue  # the number cannot be missing
        consistent = _cut_to_range(feature, key)
        for index, name in enumerate(classes):
            yield make_row(
                feature[key],
                (index,),
                float(consistent[index]),
                feature=feature["name"],
                statistic=statistic,
                class_name=name,
                distinguishable=marks.get(mark),
                **questions,
            )


def make_row(
    estimate: Json,
    place: tuple[int, ...],
    consistent: float,
    *,
    feature: str,
    statistic: Any,
    class_name: str,
    n: int,
    value: str | None = None,
    mechanism: str | None = None,
    distinguishable: bool | None = None,
) -> Row:
    """Return the row of one cell of an estimate: `place` is its index in the nested lists."""

    def cell(nested: Any) -> float | None:
        for index in place:
            nested = nested[index]
        return None if nested is None else float(nested) + 0.0  # no negative zero

    simultaneous = estimate["simultaneous"]
    return {
        "feature": feature,
        "statistic": statistic,
        "value": value,
        "class": class_name,
        "estimate": None if math.isnan(consistent) else consistent,
        "stderr": cell(estimate["stderr"]),
        "low": cell(estimate["low"]),
        "high": cell(estimate["high"]),
        "simultaneous_low": cell(simultaneous["low"]),
        "simultaneous_high": cell(simultaneous["high"]),
        "raw": cell(estimate["value"]),
        "n": n,
        "mechanism": mechanism,
        "distinguishable": distinguishable,
    }


def _project_columns(raw: FloatArray) -> FloatArray:
    """Return the nearest distribution to each column of (A, k) estimates; a column with NaN stays NaN."""
    consistent = np.full_like(raw, math.nan)
    known = np.isfinite(raw).all(axis=0)
    consistent[:, known] = project_simplex(raw[:, known].T).T
    return consistent


def _cut_to_range(feature: Json, key: str) -> FloatArray:
    """Cut the estimates of a number to their possible range.

    The intervals are cut to that range and contain the cut estimate, so cutting to the interval is the same.
    """
    estimate = feature[key]
    cut = np.clip(_to_array(estimate["value"]), _to_array(estimate["low"]), _to_array(estimate["high"]))
    if key == "deviations":  # a variance below zero is cut to zero, and its root is unknown in the JSON form
        cut[_to_array(feature["variances"]["value"]) <= 0] = 0.0
    return cut


def _to_array(nested: Any) -> FloatArray:
    """Return nested lists as an array of doubles, NaN for None."""
    return np.array(nested, dtype=np.float64)
