"""Pools the raw estimates of surveys with the same label and features: of silos, and possibly one of people.

Each estimate is a mean of the surveys, weighted by the inverse of their variances: each survey has one weight
for the prior, and one for each feature. All are taken as samples of one population. Where they differ, a
pooled estimate describes none, and :func:`find_contradictions` names the feature. A person in two samples
counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from encoders.survey import Feature, Label, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.class_prior import ClassCovariance, PooledPrior
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance, TableEstimate, excess_kurtosis
from ldp_aggregator.estimation.discrete.frequencies import pool_covariances
from ldp_aggregator.estimation.estimators import EstimationError
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates
from ldp_aggregator.estimation.tables.noisy_tables import COUNT_TABLE, estimate_shares
from ldp_aggregator.estimation.tables.pooled_moments import PooledMoments
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_aggregator.estimation.tail_quantiles import find_quantiles

CONTRADICTION_LEVEL = 1e-3
"""Probability, at most, that two samples of one population are said to contradict each other."""


@dataclass(frozen=True)
class PooledFrequencies:
    """Raw frequencies of a discrete feature from a survey of silos, and from other surveys."""

    silos: TableEstimate
    others: TableEstimate
    """Of people, of silos, or pooled. Both have rows or reports."""
    weight: float
    """The weight of the silos."""
    covariance: FrequencyCovariance
    """Of the pooled frequencies."""

    @classmethod
    def from_estimates(cls, silos: TableEstimate, others: TableEstimate) -> PooledFrequencies:
        """Weight both by the inverse of the mean variance of their cells, at the same frequencies."""
        return cls(silos, others, *pool_covariances(silos.covariance, others.covariance))

    @property
    def n(self) -> int:
        """Number of rows and reports."""
        return self.silos.n + self.others.n

    @property
    def raw(self) -> FloatArray:
        """Unbiased frequencies, (A k,)."""
        raw: FloatArray = self.weight * self.silos.raw + (1 - self.weight) * self.others.raw
        return raw

    @property
    def mechanism(self) -> str:
        """The names of all mechanisms; silos have one."""
        names = self.others.mechanism
        return names if names.endswith(COUNT_TABLE) else f"{names} + {COUNT_TABLE}"

    @property
    def asked_features(self) -> tuple[Feature, ...]:
        """The features that the same reports of people ask about."""
        return self.others.asked_features

    @property
    def differences(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Per cell the difference, and its variance and fourth cumulant if both are of one population."""
        likely = self.covariance.distribution
        parts = [each.covariance.evaluate_at(likely) for each in (self.silos, self.others)]
        variance, fourth = parts[0].variance + parts[1].variance, parts[0].fourth + parts[1].fourth
        return self.silos.raw - self.others.raw, variance, np.full(len(likely), fourth)


def pool_estimates(first: RawEstimates, silos: Sequence[RawEstimates]) -> RawEstimates:
    """Return the pooled raw estimates of a survey, of people or of silos, and of further ones of silos.

    A survey without reports does not change the estimates of the others.
    """
    surveys = [first, *silos]
    prior = _pool_priors(surveys)

    def pool(others: _FeatureEstimate, silos: _FeatureEstimate) -> _FeatureEstimate:
        return _pool_feature(others, silos, prior)

    return RawEstimates(
        k=first.k,
        features=first.features,
        label=first.label,
        feature_estimates=[
            reduce(pool, each) for each in zip(*(each.feature_estimates for each in surveys), strict=True)
        ],
        share_estimates=[
            reduce(pool, each) for each in zip(*(each.share_estimates for each in surveys), strict=True)
        ],
        tables=first.tables,
        margins=first.margins,
        prior=prior,
        reports=sum(each.reports for each in surveys),
        silos=tuple(tables for each in surveys for tables in each.silos),
    )


def _pool_priors(surveys: Sequence[RawEstimates]) -> PooledPrior:
    known = [each for each in surveys if each.prior.known]
    if len(known) < 2 or surveys[0].k == 1:
        return (known or surveys)[0].prior
    weights = np.array([1 / (each.prior.estimate.stderr**2).mean() for each in known])
    weights /= weights.sum()
    counts, coefficients, fourths = zip(*map(_describe_shares, known), strict=True)
    estimate = estimate_shares(
        weights @ np.stack([each.prior.estimate.value for each in known]),
        sum(counts),
        tuple(np.einsum("s,scm->cm", weights**2, np.stack(coefficients))),
        float(weights**4 @ np.array(fourths)),
    )
    pairs = zip(known, weights.tolist(), strict=True)
    between = sum((each.prior.between.times(weight**2) for each, weight in pairs), start=ClassCovariance())
    return PooledPrior(estimate, known[-1].prior.weights, between)


def _describe_shares(survey: RawEstimates) -> tuple[float, FloatArray, float]:
    """Return the people or rows, the coefficients, (3, k), and the fourth cumulant of the class shares.

    These are parameters of :func:`estimate_shares`.
    """
    if not survey.silos:
        zeros = np.zeros(survey.k)
        return survey.reports, np.stack([survey.prior.estimate.stderr**2, zeros, zeros]), 0.0
    classes = survey.silos[0].classes
    assert classes is not None
    coefficients = np.repeat(np.array(classes.share_variance)[:, None], survey.k, axis=1)
    return classes.rows, coefficients, classes.share_fourth


_FeatureEstimate = TableEstimate | ClassMoments | None


def _pool_feature(others: _FeatureEstimate, silos: _FeatureEstimate, prior: PooledPrior) -> _FeatureEstimate:
    if isinstance(silos, SoftMoments):
        assert isinstance(others, ClassMoments)
        return PooledMoments.from_estimates(silos, others, prior)
    if silos is None or isinstance(silos, ClassMoments) or not silos.n:
        return others
    if others is None or isinstance(others, ClassMoments) or not others.n:
        return silos
    return PooledFrequencies.from_estimates(silos, others)


def check_same_features(first: Plan | SiloPlan, silos: SiloPlan) -> None:
    """Check that a survey and one of silos have the same label and features.

    Raises EstimationError with the first difference.
    """
    why = _find_difference(first, silos)
    if why:
        raise EstimationError(f"{first.id} and {silos.id} cannot be pooled: {why}. Train on them separately")


def _find_difference(first: Plan | SiloPlan, silos: SiloPlan) -> str | None:
    if first.validation:
        return f"{first.id} validates a model"
    if first.projection:
        return f"{first.id} has a projection, and its components have no counts"
    if first.label.exists != silos.label.exists:
        return f"only {first.id if first.label.exists else silos.id} has a label"
    if first.label != silos.label:
        return f"the label differs: {_describe_difference(first.label, silos.label)}"
    of_first, of_silos = ({each.name: each for each in plan.entries} for plan in (first, silos))
    for name in dict.fromkeys([*of_first, *of_silos]):
        if name not in of_first or name not in of_silos:
            return f"only {first.id if name in of_first else silos.id} has the feature {name}"
        if of_first[name] != of_silos[name]:
            return f"the feature {name} differs: {_describe_difference(of_first[name], of_silos[name])}"
    if list(of_first) != list(of_silos):
        return "the features have another order"
    return None


def _describe_difference(first: Feature | Label, silos: Feature | Label) -> str:
    of_first, of_silos = first.as_dict(), silos.as_dict()
    for key in dict.fromkeys([*of_first, *of_silos]):
        if of_first.get(key) != of_silos.get(key):
            return f"{key} is {of_first.get(key)} and {of_silos.get(key)}"
    return "they are of different kinds"


# -- do all describe one population? --------------------------------------------------------------


def find_contradictions(surveys: Sequence[RawEstimates]) -> list[int | None]:
    """Return the indices of the features in which two surveys differ; None is the label.

    All but the first are of silos. Every cell of each pair of surveys is compared, and each moment of a
    number. The level of all comparisons together is CONTRADICTION_LEVEL (Bonferroni), with the tails of the
    silos' noise.
    """
    found = [each for pair in combinations(surveys, 2) for each in _list_differences(*pair)]
    count = max(sum(len(difference) for _, (difference, _, _) in found), 1)
    differing = {index for index, each in found if _differ(*each, CONTRADICTION_LEVEL / count).any()}
    return [index for index in (None, *range(len(surveys[0].features))) if index in differing]


Differences = tuple[FloatArray, FloatArray, FloatArray]
"""Differences of two estimates, their variances, and the fourth cumulants of their noise; arrays (m,)."""


def _list_differences(others: RawEstimates, silos: RawEstimates) -> Iterator[tuple[int | None, Differences]]:
    if others.k > 1 and others.prior.known and silos.prior.known:
        yield None, _compare_priors(others, silos)
    pairs = zip(others.feature_estimates, silos.feature_estimates, strict=True)
    for index, pair in enumerate(pairs):
        pooled = _pool_feature(*pair, others.prior)
        if isinstance(pooled, PooledFrequencies | PooledMoments):
            yield index, pooled.differences


def _compare_priors(others: RawEstimates, silos: RawEstimates) -> Differences:
    one, other = others.prior.estimate, silos.prior.estimate
    fourth = sum(_describe_shares(each)[2] for each in (others, silos))
    return one.value - other.value, one.stderr**2 + other.stderr**2, np.full(others.k, fourth)


def _differ(difference: FloatArray, variance: FloatArray, fourth: FloatArray, level: float) -> BoolArray:
    quantiles = find_quantiles(level, excess_kurtosis(fourth, variance))
    differ: BoolArray = np.abs(difference) > quantiles * np.sqrt(variance)
    return differ
