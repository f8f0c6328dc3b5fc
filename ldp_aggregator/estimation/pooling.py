"""Pools the raw estimates of surveys with the same label and features: of silos, and possibly one of people.

Each estimate is a mean of the surveys, weighted by the inverse of their variances; a survey has one weight
for the prior and one for each feature. All are taken as samples of one population, and a person in two counts
twice. Where they differ, :func:`find_contradictions` names the feature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations

import numpy as np

from encoders.survey import Feature, Label, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.class_prior import ClassCovariance, PooledPrior
from ldp_aggregator.estimation.discrete.covariance import excess_kurtosis
from ldp_aggregator.estimation.discrete.frequencies import (
    CombinedFrequencies,
    TableEstimate,
    pool_covariances,
)
from ldp_aggregator.estimation.estimators import EstimationError
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates
from ldp_aggregator.estimation.tables.noisy_tables import COUNT_TABLE, estimate_shares
from ldp_aggregator.estimation.tables.soft_moments import PooledMoments, SoftMoments
from ldp_aggregator.estimation.tail_quantiles import find_quantiles

CONTRADICTION_LEVEL = 1e-3
"""Probability, at most, that two samples of one population are said to contradict each other."""


def pool_estimates(first: RawEstimates, silos: Sequence[RawEstimates]) -> RawEstimates:
    """Return the pooled raw estimates of a survey and further ones of silos; empty ones change nothing."""
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
    """Return the parameters of :func:`estimate_shares`: people or rows, coefficients (3, k), cumulant."""
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
    weight, covariance = pool_covariances(silos.covariance, others.covariance)
    names = others.mechanism
    return CombinedFrequencies(
        n=silos.n + others.n,
        raw=weight * silos.raw + (1 - weight) * others.raw,
        covariance=covariance,
        mechanism=names if names.endswith(COUNT_TABLE) else f"{names} + {COUNT_TABLE}",
        asked_features=others.asked_features,
    )


def check_same_features(first: Plan | SiloPlan, silos: SiloPlan) -> None:
    """Raise EstimationError with the first difference of the labels and features of two surveys."""
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
    for index, (other, own) in enumerate(pairs):
        if isinstance(own, SoftMoments):
            pooled = _pool_feature(other, own, others.prior)
            if isinstance(pooled, PooledMoments):
                yield index, pooled.differences
        elif not (isinstance(other, ClassMoments) or isinstance(own, ClassMoments)) and other and own:
            yield index, _compare_tables(own, other)


def _compare_tables(silos: TableEstimate, others: TableEstimate) -> Differences:
    if not (silos.n and others.n):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    _, pooled = pool_covariances(silos.covariance, others.covariance)
    one, other = (each.covariance.evaluate_at(pooled.distribution) for each in (silos, others))
    fourth = np.full(len(silos.raw), one.fourth + other.fourth)
    return silos.raw - others.raw, one.variance + other.variance, fourth


def _compare_priors(others: RawEstimates, silos: RawEstimates) -> Differences:
    one, other = others.prior.estimate, silos.prior.estimate
    fourth = sum(_describe_shares(each)[2] for each in (others, silos))
    return one.value - other.value, one.stderr**2 + other.stderr**2, np.full(others.k, fourth)


def _differ(difference: FloatArray, variance: FloatArray, fourth: FloatArray, level: float) -> BoolArray:
    quantiles = find_quantiles(level, excess_kurtosis(fourth, variance))
    differ: BoolArray = np.abs(difference) > quantiles * np.sqrt(variance)
    return differ
