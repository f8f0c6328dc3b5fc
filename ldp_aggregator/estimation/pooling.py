"""Pools the raw estimates of two surveys with the same label and features: of silos, and of people.

Each estimate is the weighted mean of the two, weighted by the inverse of their variances: one weight for the
prior, and one for each feature. So the rows and the people are
taken as two samples of one population. Where they differ, a pooled estimate is between the two and describes
neither, and :func:`find_contradictions` names the feature. A person in both samples counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from encoders.survey import Feature, Label, Plan
from encoders.survey.silo_plan import SiloPlan
from ldp_aggregator.arrays import BoolArray, FloatArray
from ldp_aggregator.estimation.class_prior import PooledPrior
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance, TableEstimate
from ldp_aggregator.estimation.estimators import EstimationError
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import RawEstimates
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, estimate_shares
from ldp_aggregator.estimation.tables.pooled_moments import PooledMoments
from ldp_aggregator.estimation.tables.silo_tables import SiloTables
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_aggregator.estimation.tail_quantiles import excess_kurtosis, find_quantiles

CONTRADICTION_LEVEL = 1e-3
"""Probability, at most, that two samples of one population are said to contradict each other."""


@dataclass(frozen=True)
class PooledFrequencies:
    """Raw frequencies of a discrete feature from silos and from people."""

    silos: TableEstimate
    people: TableEstimate
    """Both have rows or reports."""
    weight: float
    """The weight of the silos."""
    covariance: FrequencyCovariance
    """Of the pooled frequencies."""

    @classmethod
    def from_estimates(cls, silos: TableEstimate, people: TableEstimate) -> PooledFrequencies:
        """Weight both by the inverse of the mean variance of their cells, at the same frequencies."""
        parts = silos.covariance, people.covariance
        weight = _weigh(*(part.variance for part in parts))
        likely = weight * parts[0].distribution + (1 - weight) * parts[1].distribution
        weight = _weigh(*(part.evaluate_at(likely).variance for part in parts))
        return cls(silos, people, weight, parts[0].pool(parts[1], weight, likely))

    @property
    def n(self) -> int:
        """Number of rows and reports."""
        return self.silos.n + self.people.n

    @property
    def raw(self) -> FloatArray:
        """Unbiased frequencies, (A k,)."""
        raw: FloatArray = self.weight * self.silos.raw + (1 - self.weight) * self.people.raw
        return raw

    @property
    def mechanism(self) -> str:
        """The names of both mechanisms."""
        return f"{self.people.mechanism} + {self.silos.mechanism}"

    @property
    def asked_features(self) -> tuple[Feature, ...]:
        """The features that the same reports of people ask about."""
        return self.people.asked_features

    @property
    def differences(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Per cell the difference, and its variance and fourth cumulant if both are of one population."""
        likely = self.covariance.distribution
        parts = [each.covariance.evaluate_at(likely) for each in (self.silos, self.people)]
        variance = parts[0].variance + parts[1].variance
        return self.silos.raw - self.people.raw, variance, np.full(len(likely), parts[0].fourth)


def _weigh(silos: FloatArray, people: FloatArray) -> float:
    """Return the weight of the silos: inverse to the mean variances."""
    of_silos, of_people = float(silos.mean()), float(people.mean())
    return of_people / (of_silos + of_people)


def pool_estimates(people: RawEstimates, silos: RawEstimates) -> RawEstimates:
    """Return the pooled raw estimates of a survey of people and one of silos.

    Where one of them has no reports, the estimates are those of the other.
    """
    tables = silos.silos
    assert tables is not None
    prior = _pool_priors(people, silos)
    pairs = zip(people.feature_estimates, silos.feature_estimates, strict=True)
    return RawEstimates(
        k=people.k,
        features=people.features,
        label=people.label,
        feature_estimates=[_pool_feature(*pair, prior) for pair in pairs],
        prior=prior,
        reports=people.reports + silos.reports,
        silos=tables,
    )


def _pool_priors(people: RawEstimates, silos: RawEstimates) -> PooledPrior:
    assert silos.silos is not None
    classes = silos.silos.classes
    if classes is None:
        return people.prior
    if not people.prior.known:
        return silos.prior
    of_silos, of_people = silos.prior.estimate, people.prior.estimate
    weight = _weigh(of_silos.stderr**2, of_people.stderr**2)
    squares = weight**2, (1 - weight) ** 2
    constant, linear, quadratic = (squares[0] * each for each in classes.share_variance)
    estimate = estimate_shares(
        weight * of_silos.value + (1 - weight) * of_people.value,
        classes.rows + people.reports,
        (constant + squares[1] * of_people.stderr**2, linear, quadratic),
        squares[0] ** 2 * classes.share_fourth,
    )
    between = silos.prior.between.times(squares[0]) + people.prior.between.times(squares[1])
    return PooledPrior(estimate, silos.prior.weights, between)


def _pool_feature(
    people: TableEstimate | ClassMoments | None,
    silos: TableEstimate | ClassMoments | None,
    prior: PooledPrior,
) -> TableEstimate | ClassMoments | None:
    if isinstance(silos, SoftMoments):
        assert isinstance(people, ClassMoments)
        return PooledMoments.from_estimates(silos, people, prior)
    if silos is None or isinstance(silos, ClassMoments) or not silos.n:
        return people
    if people is None or isinstance(people, ClassMoments) or not people.n:
        return silos
    return PooledFrequencies.from_estimates(silos, people)


def check_same_features(people: Plan, silos: SiloPlan) -> None:
    """Check that a survey of people and one of silos have the same label and features.

    Raises
    ------
    EstimationError
        Names the first difference.
    """
    why = _find_difference(people, silos)
    if why:
        raise EstimationError(f"{people.id} and {silos.id} cannot be pooled: {why}. Train on them separately")


def _find_difference(people: Plan, silos: SiloPlan) -> str | None:
    if people.validation:
        return f"{people.id} validates a model"
    if people.projection:
        return f"{people.id} has a projection, and its components have no counts"
    if people.label != silos.label:
        return f"the label differs: {_describe_difference(people.label, silos.label)}"
    of_people, of_silos = ({each.name: each for each in plan.features} for plan in (people, silos))
    for name in dict.fromkeys([*of_people, *of_silos]):
        if name not in of_people or name not in of_silos:
            return f"only {people.id if name in of_people else silos.id} has the feature {name}"
        if of_people[name] != of_silos[name]:
            return f"the feature {name} differs: {_describe_difference(of_people[name], of_silos[name])}"
    if list(of_people) != list(of_silos):
        return "the features have another order"
    return None


def _describe_difference(people: Feature | Label, silos: Feature | Label) -> str:
    """Return the first entry that differs."""
    of_people, of_silos = people.as_dict(), silos.as_dict()
    for key in dict.fromkeys([*of_people, *of_silos]):
        if of_people.get(key) != of_silos.get(key):
            return f"{key} is {of_people.get(key)} and {of_silos.get(key)}"
    return "they are of different kinds"


# -- do both describe one population? -------------------------------------------------------------


def find_contradictions(people: RawEstimates, silos: SiloTables, pooled: RawEstimates) -> list[int | None]:
    """Return the indices of the features in which the silos and the people differ; None is the label.

    Every cell is compared, and each moment of a number. The level of all comparisons together is
    CONTRADICTION_LEVEL (Bonferroni), with the tails of the silos' noise.
    """
    found = dict(_list_differences(people, silos, pooled))
    count = max(sum(len(difference) for difference, _, _ in found.values()), 1)
    return [index for index, each in found.items() if _differ(*each, CONTRADICTION_LEVEL / count).any()]


Differences = tuple[FloatArray, FloatArray, FloatArray]
"""Differences of two estimates, their variances, and the fourth cumulants of their noise; arrays (m,)."""


def _list_differences(
    people: RawEstimates, silos: SiloTables, pooled: RawEstimates
) -> Iterator[tuple[int | None, Differences]]:
    if silos.classes and people.prior.known:
        yield None, _compare_priors(silos.classes, people)
    for index, each in enumerate(pooled.feature_estimates):
        if isinstance(each, PooledFrequencies | PooledMoments):
            yield index, each.differences


def _compare_priors(classes: ClassCounts, people: RawEstimates) -> Differences:
    of_silos, of_people = classes.shares, people.prior.estimate
    variance = of_silos.stderr**2 + of_people.stderr**2
    return of_silos.value - of_people.value, variance, np.full(people.k, classes.share_fourth)


def _differ(difference: FloatArray, variance: FloatArray, fourth: FloatArray, level: float) -> BoolArray:
    quantiles = find_quantiles(level, excess_kurtosis(fourth, variance))
    differ: BoolArray = np.abs(difference) > quantiles * np.sqrt(variance)
    return differ
