"""Train plain Naive Bayes on estimated frequencies: our raw estimates, and those of multi-freq-ldpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from encoders.mechanisms import FrequencyOracle
from encoders.survey import Question
from ldp_aggregator.estimation import Frequencies
from ldp_aggregator.estimation.discrete.frequencies import oracle_of
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.snapshot import Snapshot, Total

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        from multi_freq_ldpy.estimators.Histogram_estimator import IBU, MI
    except ImportError:
        MI = IBU = None

INSTALLED = MI is not None
FLOOR = 1e-9
"""Replaces a probability of zero, which would exclude a class."""
ITERATIONS, TOLERANCE = 10_000, 1e-12  # the peer's defaults
Floats = NDArray[np.float64]
Estimate = Callable[[FrequencyOracle, Total], Floats]


def clip_and_normalise(raw: Floats) -> Floats:
    """Set negative entries to 0, then divide by the sum of the last axis; all-zero rows become uniform."""
    clipped = np.maximum(raw, 0.0)
    total = clipped.sum(axis=-1, keepdims=True)
    uniform: Floats = np.full_like(clipped, 1.0 / clipped.shape[-1])
    np.divide(clipped, total, out=uniform, where=total > 0)
    return uniform


def plug_in(snapshot: Snapshot) -> LogProbabilities:
    """Return Naive Bayes of our raw estimates, clipped to 0 and normalised."""
    answers = compute_raw_estimates(snapshot)
    pairs = zip(answers.feature_estimates, answers.features, strict=True)
    joints = [
        each.raw if isinstance(each, Frequencies) and each.n else np.ones(feature.size * answers.k)
        for each, feature in pairs
    ]
    return plain_bayes(answers.prior.estimate.value, joints)


def estimators_of(snapshot: Snapshot, mechanism: str) -> dict[str, Callable[[], LogProbabilities]]:
    """Return the estimators of multi-freq-ldpy for reports of this mechanism, if it is installed."""
    known: dict[str, Estimate] = {}
    if INSTALLED and mechanism in ("DE", "SUE", "OUE"):
        known["MI"] = matrix_inversion
    if INSTALLED and mechanism == "DE":  # for unary reports the peer's IBU treats the bits as a distribution
        known["IBU"] = bayesian_update
    return {name: partial(peers_model, snapshot, estimate) for name, estimate in known.items()}


def peers_model(snapshot: Snapshot, estimate: Estimate) -> LogProbabilities:
    """Return Naive Bayes of a peer's estimates: the label question's are the prior, the others the tables."""
    prior, *joints = (
        frequencies(question, snapshot.totals[question.key], estimate) for question in snapshot.plan.questions
    )
    return plain_bayes(prior, joints)


def frequencies(question: Question, total: Total, estimate: Estimate) -> Floats:
    """Return a peer's estimates for one question; uniform if it has no reports."""
    oracle = oracle_of(question)
    return np.asarray(estimate(oracle, total)) if total.n else np.ones(oracle.domain)


def matrix_inversion(oracle: FrequencyOracle, total: Total) -> Floats:
    """Apply the peer's MI to the counts, with the mechanism's probabilities."""
    found: Floats = MI(total.cells, total.n, oracle.on_mean, oracle.off_mean)
    return found


def bayesian_update(oracle: FrequencyOracle, total: Total) -> Floats:
    """Apply the peer's iterative Bayesian update."""
    channel = np.full((oracle.domain, oracle.domain), oracle.off_mean)
    np.fill_diagonal(channel, oracle.on_mean)
    found: Floats = IBU(oracle.domain, channel, total.cells / total.n, ITERATIONS, TOLERANCE, "max_abs")
    return found


def plain_bayes(prior: Floats, joints: Sequence[Floats]) -> LogProbabilities:
    """Return Naive Bayes of frequencies of labels (k,) and of pairs of value and label (A k,)."""
    k = len(prior)
    tables = [np.maximum(clip_and_normalise(joint.reshape(-1, k).T).T, FLOOR) for joint in joints]
    return LogProbabilities.from_probabilities(np.maximum(clip_and_normalise(prior), FLOOR), tables)
