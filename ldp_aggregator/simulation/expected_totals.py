"""The snapshot that one would expect: what a population sends on average, as totals that estimation can read.

So what a survey will tell, and how exactly, is worked out before anybody is asked, by the very code that
will estimate from its reports.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from encoders.mechanisms import FrequencyOracle, NumericMechanism
from encoders.survey import Plan, Question
from encoders.survey.questions import SQUARE
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.simulation.synthetic_people import SyntheticPopulation
from ldp_aggregator.snapshot import Snapshot, Total


class ExpectedTotals:
    """What a population is expected to send: the average report of every question of a plan."""

    def __init__(self, plan: Plan, people: SyntheticPopulation) -> None:
        self.plan = plan
        self._reports = {
            each.key: (plan.question_probability(each), _report(each, people)) for each in plan.questions
        }

    def snapshot(self, users: int) -> Snapshot:
        """Return the totals to expect of so many people: whole reports, but broken counts.

        To round these would move margins by up to a percent. It can be estimated from, and is not for a file.
        """
        totals = {}
        for key, (chance, report) in self._reports.items():
            n = round(users * chance)
            totals[key] = Total(n, cast(IntArray, n * report))
        return Snapshot(self.plan, totals)


def _report(question: Question, people: SyntheticPopulation) -> FloatArray:
    """Return what one report adds to the counters on average."""
    mechanism = question.mechanism
    if isinstance(mechanism, FrequencyOracle):
        return mechanism.off_mean + (mechanism.on_mean - mechanism.off_mean) * _shares(question, people)
    assert isinstance(mechanism, NumericMechanism)
    # what is estimated is linear in the counters, so that the counters follow from what it should be
    rest = mechanism.moments(np.zeros(question.cells, dtype=np.int64), 1)
    units = np.eye(question.cells, dtype=np.int64)
    slopes = np.stack([mechanism.moments(unit, 1) - rest for unit in units], axis=-1)
    wanted = np.stack(
        [_moments(people, place, question.moment == SQUARE) for place in question.feature_indices]
    )
    told = np.isfinite(rest)
    found = np.linalg.lstsq(slopes[told], (wanted - rest)[told])[0]
    return np.asarray(found, dtype=np.float64)


def _shares(question: Question, people: SyntheticPopulation) -> FloatArray:
    """Return how often each value of a discrete question occurs."""
    sizes = [feature.size for feature in question.asked_features]
    *asked, labels = np.indices((*sizes, len(people.prior))).reshape(len(sizes) + 1, -1)
    codes = np.zeros((len(labels), len(people.conditionals)), dtype=np.int64)
    weights = people.prior[labels]
    for place, column in zip(question.feature_indices, asked, strict=True):
        said = people.conditionals[place]
        assert not isinstance(said, Gaussian)
        codes[:, place] = column
        weights = weights * said[column, labels]
    values = question.values(codes, labels, np.arange(len(labels)))
    found: FloatArray = np.bincount(values, weights, minlength=question.domain).astype(np.float64)
    return found


def _moments(people: SyntheticPopulation, place: int, square: bool) -> FloatArray:
    """Return E[x 1(c)], P(missing, c) and P(c) of a number or its square, (3, k)."""
    said, prior = people.conditionals[place], people.prior
    assert isinstance(said, Gaussian)
    missing = np.zeros_like(prior) if said.missing is None else said.missing * prior
    mean = np.minimum(said.mean**2 + said.variance, 1.0) if square else said.mean
    return np.stack([mean * (prior - missing), missing, prior])
