"""Benchmark prediction: a million rows of twenty numbers, compared with scikit-learn on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from benchmarks.__main__ import main
from benchmarks.measure import Goal, Row, compare, each, gain
from encoders.survey import CategoricalFeature, Feature, Label, NumericFeature, Survey
from ldp_aggregator import NaiveBayes

ROWS, FEATURES, TRAINING = 1_000_000, 20, 100_000
NAMES = [f"x{place}" for place in range(FEATURES)]
TEXTS = tuple(map(str, range(8)))
CATEGORIES = [CategoricalFeature(name, TEXTS) for name in NAMES]
NUMBERS = [NumericFeature(name, "0", "100") for name in NAMES]


def rows() -> Iterator[Row]:
    """Yield one row per goal; both classifiers are fitted on the same arrays and predict the same arrays."""
    for k, goal in ((2, gain(0.8)), (5, gain(1.2))):
        labels, rng = people(k)
        share = (0.3 + 0.4 * labels / k)[:, None]
        table = rng.binomial(len(TEXTS) - 1, share, (ROWS, FEATURES))
        yield against(CategoricalNB(), CATEGORIES, table, labels, f"predict, categories, {k} classes", goal)
    for k, goal in ((2, gain(0.7)), (5, gain(1.2))):
        labels, rng = people(k)
        floats = rng.normal(40 + 20 * labels[:, None] / k, 15, (ROWS, FEATURES))
        for cells, form in ((np.rint(floats).astype(np.int64), "whole"), (floats, "doubles")):
            what = f"predict, numbers ({form}), {k} classes"
            yield against(GaussianNB(), NUMBERS, cells, labels, what, goal)


def people(k: int) -> tuple[NDArray[np.int64], np.random.Generator]:
    rng = np.random.default_rng(k)
    return rng.integers(0, k, ROWS), rng


def against(
    peer: Any, features: list[Any], table: NDArray[Any], labels: NDArray[np.int64], what: str, goal: Goal
) -> Row:
    """Time whole calls of predict, with the checks of the rows and the labels' names."""
    values = tuple(map(str, range(labels.max() + 1)))
    fields: tuple[Feature, ...] = tuple(features)
    survey = Survey(
        id="speed",
        epsilon=Decimal(4),
        label=Label("class", values),
        features=fields,
        weights=(None, *(1 for _ in fields)),
    )
    training = table[:TRAINING], np.array(values)[labels[:TRAINING]]
    ours = NaiveBayes(survey=survey, random_state=1).fit(*training)
    peer.fit(*training)
    peers = {type(peer).__name__: each(lambda: peer.predict(table), ROWS)}
    return compare(what, each(lambda: ours.predict(table), ROWS), peers, goal, repeats=7)


if __name__ == "__main__":
    main(["prediction"])
