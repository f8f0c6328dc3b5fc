"""The learners of a comparison besides those of surveys and curators.

Those without protection predict from the rows themselves; their best accuracy is the ceiling of a comparison.
Logistic regression also learns from open features and labels that are sent by k-ary randomised response, with
forward correction: the label that is sent is c with the probability q + (p - q) P(c | row), and the
likelihood of what was sent determines P(c | row) (Patrini et al. 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.survey import CategoricalFeature, Feature
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.prediction import NAIVE_BAYES
from ldp_aggregator.prediction.linear_model import Design, place_columns
from ldp_design.simulation.experiment import EncodedRows

RIDGE = 20.0
"""The ridge for one row whose label is certain; it falls with the root of the number of informative rows."""
_CONSTANT = 2.0
"""The coordinate of every row for the intercept; it is large, so that the ridge hardly shrinks intercepts."""
_MAX_STEPS = 300
_TOLERANCE = 1e-7
_MAX_CATEGORIES = 255


@dataclass(frozen=True)
class RandomisedResponse:
    """K-ary randomised response of a label, with the greatest difference that epsilon allows."""

    k: int
    epsilon: float
    """It may be infinite: then the label is not randomised."""

    @property
    def q(self) -> float:
        shrunk = math.exp(-self.epsilon)
        return shrunk / (1 + (self.k - 1) * shrunk)

    @property
    def gap(self) -> float:
        """P - q: the probability that the label which is sent depends on the true one."""
        return 1 - self.k * self.q

    def randomise(self, labels: IntArray, rng: np.random.Generator) -> IntArray:
        """Return the labels that are sent; floats and a seeded generator are enough for simulations."""
        drawn = rng.integers(0, self.k, len(labels))
        return np.where(rng.random(len(labels)) < self.gap, labels, drawn)


def place_rows(features: Sequence[Feature], codes: IntArray) -> FloatArray:
    """Return the coordinates of coded rows as of a curator's linear model, (m, columns), without curves."""
    design = Design.from_features(features, degree=1)
    coordinates = design.matrix(place_columns(features, codes), slice(None)) * (0.5 / design.constant)
    coordinates[:, -1] = _CONSTANT
    return coordinates


def fit_logistic(rows: FloatArray, labels: IntArray, response: RandomisedResponse) -> FloatArray:
    """Return the weights (columns, k) that maximise the penalised likelihood of randomised labels.

    The likelihood is not concave, so the result is the maximum that the solver reaches from zero weights. The
    ridge depends on the number of rows and on epsilon only.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    k, gap, q = response.k, response.gap, response.q
    everyone = np.arange(len(labels))
    ridge = RIDGE / (math.sqrt(len(labels)) * gap)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        weights = flat.reshape(-1, k)
        shares = softmax(rows @ weights, axis=1)
        likely = q + gap * shares[everyone, labels]
        residuals = shares * (factor := (gap * shares[everyone, labels] / likely))[:, None]
        residuals[everyone, labels] -= factor
        gradient = rows.T @ residuals + ridge * weights
        value = -np.log(np.maximum(likely, np.finfo(float).tiny)).sum() + ridge / 2 * (weights**2).sum()
        return float(value), gradient.ravel()

    start = np.zeros(rows.shape[1] * k)
    options = {"maxiter": _MAX_STEPS, "ftol": _TOLERANCE}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=np.float64).reshape(-1, k)


def predict_naive_bayes(rows: EncodedRows, _coordinates: FloatArray) -> IntArray:
    return rows.predict(rows.baseline)


def predict_logistic(rows: EncodedRows, coordinates: FloatArray) -> IntArray:
    split, labels = rows.split, rows.table.labels
    certain = RandomisedResponse(len(rows.plan.label.values), math.inf)
    weights = fit_logistic(coordinates[split.train], labels[split.train], certain)
    found: IntArray = (coordinates[split.test] @ weights).argmax(axis=1)
    return found


def predict_boosted_trees(rows: EncodedRows, _coordinates: FloatArray) -> IntArray:
    from sklearn.ensemble import HistGradientBoostingClassifier

    split, labels = rows.split, rows.table.labels
    present = np.unique(labels[split.train])
    if len(present) == 1:
        return np.full(len(split.test), present[0])
    # too many categories are treated as numbers
    are_categories = [
        isinstance(each, CategoricalFeature) and each.size <= _MAX_CATEGORIES for each in rows.plan.features
    ]
    trees = HistGradientBoostingClassifier(
        categorical_features=are_categories, early_stopping=False, random_state=0
    )
    trees.fit(rows.codes[split.train], labels[split.train])
    return np.asarray(trees.predict(rows.codes[split.test]), dtype=np.int64)


LEARNERS: Mapping[str, Callable[[EncodedRows, FloatArray], IntArray]] = {
    NAIVE_BAYES: predict_naive_bayes,
    "logistic": predict_logistic,
    "boosted-trees": predict_boosted_trees,
}
"""By their names in the rows of a comparison."""
