"""Our learners, as the benchmark calls them."""

from __future__ import annotations

from fractions import Fraction

from benchmarks.central.data_sets import DataSet
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.privacy_statement import ADD_REMOVE, REPLACE
from ldp_central.curator_naive_bayes import CentralNaiveBayes
from ldp_central.learner import CentralModel, train
from ldp_central.promise import Promise

AUTO, AUTO_REPLACE = "auto", "auto, replace"
LEARNERS = ("nb", "linear", "tree")
OURS = (AUTO, *LEARNERS, AUTO_REPLACE)


def fit(name: str, rows: DataSet, epsilon: str) -> CentralModel:
    """Train with noise from the operating system, as a real training does."""
    learner, _, adjacency = name.partition(", ")
    promise = Promise(Fraction(epsilon), adjacency=REPLACE if adjacency else ADD_REMOVE)
    return train(rows.rows, promise, users=len(rows.rows), learner=learner).model


def predict(model: CentralModel, rows: DataSet) -> IntArray:
    codes = rows.rows.codes
    if isinstance(model, CentralNaiveBayes):
        scores = LogProbabilities.from_probabilities(model.prior, model.conditionals).compute_scores(codes)
    else:
        scores = model.scores(codes)
    best: IntArray = scores.argmax(axis=1)
    return best
