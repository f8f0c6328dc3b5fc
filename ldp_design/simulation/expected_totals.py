"""Expected totals of a survey: the counters that a population produces on average, as a snapshot.

The estimation code computes the margins to expect from this snapshot, before anybody is asked.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from encoders.mechanisms import FrequencyOracle, NumericMechanism
from encoders.survey import Plan, Question
from encoders.survey.questions import SQUARE
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.rows.encode_table import true_answers
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.synthetic_people import SyntheticPopulation


class ExpectedTotals:
    """Expected totals of a plan: the average report of a population to each question."""

    def __init__(self, plan: Plan, population: SyntheticPopulation) -> None:
        self.plan = plan
        self.population = population
        self._reports = {
            each.key: (plan.question_probability(each), _average_report(each, population))
            for each in plan.questions
        }

    def snapshot(self, users: int) -> Snapshot:
        """Return the expected totals of `users` people; the counters are floats, so no file can store them.

        Numbers of reports are rounded. Counters are not, because rounding changes margins by up to 1%.
        """
        totals = {}
        for key, (probability, report) in self._reports.items():
            n = round(users * probability)
            totals[key] = Total(n, cast(IntArray, n * report))
        return Snapshot(self.plan, totals)


def _average_report(question: Question, population: SyntheticPopulation) -> FloatArray:
    """Return the expected tally of one report."""
    mechanism = question.mechanism
    if isinstance(mechanism, FrequencyOracle):
        shares = _value_shares(question, population)
        return mechanism.off_mean + (mechanism.on_mean - mechanism.off_mean) * shares
    assert isinstance(mechanism, NumericMechanism)
    # The estimates are linear in the counters: solve for the counters whose estimates are the true moments.
    intercept = mechanism.moments(np.zeros(question.cells, dtype=np.int64), 1)
    units = np.eye(question.cells, dtype=np.int64)
    slopes = np.stack([mechanism.moments(unit, 1) - intercept for unit in units], axis=-1)
    moments = np.stack(
        [
            _true_moments(population, feature, question.moment == SQUARE)
            for feature in question.feature_indices
        ]
    )
    estimated = np.isfinite(intercept)
    counters = np.linalg.lstsq(slopes[estimated], (moments - intercept)[estimated], rcond=None)[0]
    return np.asarray(counters, dtype=np.float64)


def _value_shares(question: Question, population: SyntheticPopulation) -> FloatArray:
    """Return the share of each value of a discrete question (d,)."""
    tables = {}
    for feature in question.feature_indices:
        conditional = population.conditionals[feature]
        assert not isinstance(conditional, Gaussian)
        tables[feature] = conditional
    sizes = map(len, tables.values())
    *columns, labels = np.indices((*sizes, len(population.prior))).reshape(len(tables) + 1, -1)
    codes = np.zeros((len(labels), len(population.conditionals)), dtype=np.int64)
    weights = population.prior[labels]
    for (feature, conditional), column in zip(tables.items(), columns, strict=True):
        codes[:, feature] = column
        weights = weights * conditional[column, labels]
    values = true_answers(question, codes, labels, np.arange(len(labels)))
    return np.bincount(values, weights, minlength=question.domain).astype(np.float64)


def _true_moments(population: SyntheticPopulation, feature: int, square: bool) -> FloatArray:
    """Return E[x 1(c)], P(missing, c) and P(c) of a number or its square, (3, k)."""
    conditional, prior = population.conditionals[feature], population.prior
    assert isinstance(conditional, Gaussian)
    missing = np.zeros_like(prior) if conditional.missing is None else conditional.missing * prior
    mean = conditional.mean
    if square:
        mean = np.minimum(mean**2 + conditional.variance, 1.0)
    return np.stack([mean * (prior - missing), missing, prior])
