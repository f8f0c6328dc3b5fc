"""A numeric feature's mean and variance per class, from its mean and its square question, or one for both.

Yilmaz et al. 2019, section 3.2, with three changes. The divisor P(c) is the prior pooled from all questions.
Where a question estimates P(c) itself, its moments are corrected for the number of people of a class who
answer it by chance (a control variate). Every estimate has a standard error, which includes the error of the
prior.

If the same n people answer all questions, the sampling of people is the same in all. With u the true amount
that one person adds to a source, two sources of different questions covary by (E[u v] - E[u] E[v]) / n: those
of x and x^2 by (E[x^3] - E[x] E[x^2]) / n. A question about both estimates the third and fourth moments.
Otherwise they are taken as normal; docs/analysing.md says where they matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Self

import numpy as np

from encoders.mechanisms.piecewise_moments import SECOND_BIAS
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_prior import ClassCovariance, PooledPrior, pool_prior
from ldp_aggregator.estimation.discrete.covariance import excess_kurtosis
from ldp_aggregator.estimation.discrete.frequencies import UNIFORM_SHARE
from ldp_aggregator.estimation.intervals import PROBABILITY, Z95, Bounds, IntervalEstimate, ratio_intervals
from ldp_aggregator.estimation.numeric.moments import (
    ABSENT,
    Moments,
    Population,
    Quantity,
    sample_sources,
)

_NO_NOISE = 1e-9
"""A variance of G below this share of that of s is due to rounding."""


@dataclass(frozen=True)
class ClassMoments:
    """Raw estimates of the moments of one number x in [-1, 1], per class."""

    questions: tuple[Moments, ...]
    """The questions that have reports: of the mean, of the square, or of both."""
    prior: PooledPrior
    """Pooled from all questions."""
    can_be_missing: bool

    # The sources of all estimates are the raw estimates of each question, and last the prior from others.

    @cached_property
    def blocks(self) -> tuple[tuple[Moments, slice], ...]:
        ends = accumulate((len(each.raw) for each in self.questions), initial=0)
        return tuple(zip(self.questions, (slice(*each) for each in pairwise(ends)), strict=True))

    @property
    def sources(self) -> int:
        return 1 + sum(len(each.raw) for each in self.questions)

    @cached_property
    def noise(self) -> FloatArray:
        """Covariance of the sources, (sources, sources, k), which is 0 between different reporters."""
        noise = self.sample[1].copy()
        noise[-1, -1] = 0.0
        for moments, own in self.blocks:
            noise[own, own] = moments.covariance
        # the prior is the sum of G of the questions, by their weights, and the last source
        noise[-1, -1] = np.maximum(self.prior.estimate.stderr**2 - self.class_share.variance(noise), 0.0)
        return noise

    @cached_property
    def sample(self) -> tuple[FloatArray, FloatArray]:
        """The sampling of the people who answer all questions, see `sample_sources`; else zeros."""
        if not (self.prior.people and self.questions):
            return np.zeros((self.sources, self.k)), np.zeros((self.sources, self.sources, self.k))
        powers = np.array([*(power for each in self.questions for power in each.powers), 0])
        return sample_sources(self.questions[0].population, powers, self._roots)

    @property
    def _roots(self) -> FloatArray:
        """The root of 1/n of each source; of the last, times the weight of the other questions."""
        roots, weight = np.zeros(self.sources), 1.0
        for moments, own in self.blocks:
            roots[own] = moments.n**-0.5
            roots[own][2] *= moments.estimates_prior
            weight -= self.weight_of(moments)
        roots[-1] = weight / math.sqrt(max(self.prior.people, 1))
        return roots

    @property
    def k(self) -> int:
        return len(self.prior.estimate.value)

    def weight_of(self, moments: Moments) -> float:
        return self.prior.weights.get(moments.question.index, 0.0)

    @cached_property
    def class_share(self) -> Quantity:
        slopes = np.zeros((self.sources, self.k))
        slopes[-1] = 1.0
        for moments, own in self.blocks:
            slopes[own][2] = self.weight_of(moments)
        return Quantity(self.prior.estimate.value, slopes)

    def _corrected(self, moments: Moments, own: slice, part: int) -> Quantity:
        """Return one raw estimate, corrected for the error of its G: s' = s - Cov(s, G)/Var(G) (G - P)."""
        raw = Quantity.from_source(moments.raw[part], own.start + part, self.sources)
        if not moments.estimates_prior:
            return raw
        # P has the sampling of the same people, or is well known
        covariance = moments.covariance - self.sample[1][own, own]
        noise = covariance[2, 2]  # 0 if the mechanism counts exactly one class in every report
        known = noise > _NO_NOISE * np.maximum(moments.covariance[part, part], 0.0)
        slope = np.divide(covariance[part, 2], noise, out=np.zeros(self.k), where=known)
        surplus = Quantity.from_source(moments.raw[2], own.start + 2, self.sources) - self.class_share
        return raw - surplus.times(slope)

    def find_sum(self, power: int) -> Quantity | None:
        """Return the estimated sum of 1, 2 or ABSENT, see `POWERS`; None without reports or if never missing.

        Each of two questions estimates P(missing, c). Their mean is weighted by the inverse of the variances.
        """
        if power == ABSENT and not self.can_be_missing:
            return None
        known = [
            self._corrected(each, own, each.powers.index(power))
            for each, own in self.blocks
            if power in each.powers
        ]
        if len(known) < 2:
            return known[0] if known else None
        variances = [float(each.variance(self.noise).mean()) for each in known]
        total = sum(variances)  # 0 only for counters that contradict each other
        weight = variances[1] / total if total else 0.5
        return known[0].times(weight) + known[1].times(1 - weight)

    @cached_property
    def first(self) -> Quantity | None:
        """Estimate of E[x 1(c)] for each class c; None without reports."""
        return self.find_sum(1)

    @cached_property
    def second(self) -> Quantity | None:
        """Estimate of E[x^2 1(c)] for each class c; None without reports."""
        return self.find_sum(2)

    @cached_property
    def missing(self) -> Quantity | None:
        """Estimate of P(missing, c); None without reports or if never missing."""
        return self.find_sum(ABSENT)

    @property
    def second_bias(self) -> float:
        """Bound on the bias of E[x^2], as a share of P(present), that counts as a standard deviation."""
        return SECOND_BIAS * any(each.higher is not None for each in self.questions)

    @cached_property
    def present(self) -> Quantity:
        return self.class_share if self.missing is None else self.class_share - self.missing

    @cached_property
    def mean(self) -> Quantity | None:
        return None if self.first is None else self.first.over(self.present)

    @cached_property
    def mean_variance(self) -> FloatArray:
        return np.zeros(self.k) if self.mean is None else self.mean.variance(self.noise)

    @cached_property
    def squared_deviation(self) -> Quantity | None:
        """Estimate of E[(x - m)^2 1(c)], with m the estimated mean, plus Var(m) P(present, c).

        Divided by P(present, c) it is E[x^2 | c] - m^2 + Var(m): on average the square of a noisy mean is too
        large by the mean's variance. The slopes are those of the expectation only, since the derivative with
        respect to m is zero.
        """
        if self.mean is None or self.first is None or self.second is None:
            return None
        m = self.mean.value
        around = self.second - self.first.times(2 * m) + self.present.times(m**2)
        return Quantity(around.value + self.mean_variance * self.present.value, around.slopes)

    @property
    def second_order_variance(self) -> FloatArray:
        """The variance of m^2 beyond the delta method, 2 Var(m)^2, and the squared bias of E[x^2]."""
        return 2 * self.mean_variance**2 + self.second_bias**2

    @cached_property
    def raw_mean(self) -> tuple[FloatArray, FloatArray]:
        """Estimate of E[x | c] and the variance of the estimate; NaN and infinite if nothing is known."""
        return self._ratio(self.first, self.present)

    @property
    def raw_variance(self) -> tuple[FloatArray, FloatArray]:
        """Estimate of Var(x | c) and the variance of the estimate; NaN and infinite if nothing is known."""
        return self._ratio(self.squared_deviation, self.present, self.second_order_variance)

    def estimate_expectation(
        self, top: Quantity | None, bounds: Bounds, extra: FloatArray | float = 0.0
    ) -> IntervalEstimate:
        """Return top / P(present, c), an expectation over the people of a class whose number is present.

        The top is None without reports, `bounds` are the possible range, and `extra`, (k,), is the variance
        of the ratio beyond the delta method.
        """
        return self._ratio_estimate(top, self.present, bounds, extra)

    def estimate_missing(self) -> IntervalEstimate:
        """Return P(missing | c)."""
        return self._ratio_estimate(self.missing, self.class_share, PROBABILITY)

    def _ratio(
        self, top: Quantity | None, bottom: Quantity, extra: FloatArray | float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """Return a ratio and its variance, NaN and infinite unless `bottom` is distinguishable from zero."""
        if top is None or not self.prior.known:
            return np.full(self.k, np.nan), np.full(self.k, np.inf)
        ratio = top.over(bottom)
        known = bottom.value > Z95 * np.sqrt(bottom.variance(self.noise))
        variance = ratio.variance(self.noise) + extra
        return np.where(known, ratio.value, np.nan), np.where(known, variance, np.inf)

    def _ratio_estimate(
        self, top: Quantity | None, bottom: Quantity, bounds: Bounds, extra: FloatArray | float = 0.0
    ) -> IntervalEstimate:
        """Return a ratio with Fieller's intervals in `bounds`; all of a number are simultaneous."""
        value, variance = self._ratio(top, bottom, extra)
        if top is None or not self.prior.known:
            return IntervalEstimate.unknown(value.shape, bounds)
        intervals = ratio_intervals(
            top.value,
            bottom.value,
            constant=top.variance(self.noise) + extra * bottom.value**2,
            linear=-2 * top.covariance(bottom, self.noise),
            quadratic=bottom.variance(self.noise),
            count=self.k * (3 if self.can_be_missing else 2),
            bounds=bounds,
            kurtosis=self.ratio_kurtosis(top, bottom),
        )
        return IntervalEstimate(value, np.sqrt(variance), *intervals)

    def fourth_cumulant(self, quantity: Quantity) -> FloatArray | float:
        """Return the fourth cumulant of a quantity's noise, (k,), at most; 0 if the noise is normal."""
        return 0.0

    def ratio_kurtosis(self, top: Quantity, bottom: Quantity) -> FloatArray:
        ratio = np.divide(top.value, bottom.value, out=np.zeros(self.k), where=bottom.value > 0)
        contrast = top - bottom.times(ratio)
        return excess_kurtosis(self.fourth_cumulant(contrast), contrast.variance(self.noise))

    def likely_population(self) -> Population:
        """Return the population that these estimates describe; without a prior, the uniform one.

        Up to a tenth of it is uniform. The share is smaller where E[x^2] exceeds its noise: there a tenth
        would change it by more than the error of the estimates.
        """
        if not self.prior.known:
            return Population.even(self.k, self.can_be_missing)
        moments = (self.missing, self.first, self.second)
        missing, first, second = (None if each is None else each.value for each in moments)
        even = UNIFORM_SHARE * self._relative_error()
        measured = next((each for each in self.questions if each.higher is not None), None)
        higher = measured.higher if measured else None
        found = Population.from_estimates(self.class_share.value, missing, first, second, even, higher)
        return found.add_ends(measured.n) if measured else found

    def with_cautious_noise(self) -> ClassMoments:
        """Return the same with noise as if classes were alike, see `Population.shrink_to_equal_classes`."""
        n = min((each.n for each in self.questions), default=0)
        population = self.likely_population().shrink_to_equal_classes(n)
        return replace(self, questions=tuple(each.at_population(population) for each in self.questions))

    def split_noise(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the noise of each class alone, and factors and signs of what classes have in common.

        The first array, (sources, sources, k), is the noise without the second part: factors u,
        (factors, sources, k), and their signs. Source i of class c and source j of another class d covary as
        the sum over f of signs[f] u[f, i, c] u[f, j, d]. Each question has one factor. The prior from
        other questions has two: constant + linear (P(c) + P(d)) - product P(c) P(d), as in `ClassCovariance`,
        is -p(c) p(d) + constant + linear^2 / product, with p = sqrt(product) P - linear / sqrt(product).
        If the same people answer all questions, sources of different questions covary as -t(i, c) t(j, d),
        see `sample`: this factor of all sources, without those of the sources of one question.
        """
        rest, factors, signs = self.prior.between, [], []

        def add(sign: float, own: slice | int, factor: FloatArray | float) -> None:
            factors.append(np.zeros((self.sources, self.k)))
            factors[-1][own] = factor
            signs.append(sign)

        own_roots = np.append(
            [self.weight_of(each) * each.n**-0.5 for each in self.questions], self._roots[-1]
        )
        if self.prior.people:
            rest += ClassCovariance(product=float((own_roots**2).sum() - own_roots.sum() ** 2))
        for moments, own in self.blocks:
            add(-1.0, own, moments.class_factor)
            of_question = ClassCovariance.from_offset(moments.class_offset, moments.n)
            rest += of_question.times(-(self.weight_of(moments) ** 2))
        if rest.product > 0:
            root = math.sqrt(rest.product)
            constant = rest.constant + rest.linear**2 / rest.product
            add(-1.0, -1, root * np.clip(self.prior.estimate.value, 0.0, 1.0) - rest.linear / root)
            add(math.copysign(1.0, constant), -1, math.sqrt(abs(constant)))
        if self.prior.people:
            common = self.sample[0]
            add(-1.0, slice(None), common)
            for own in (*(own for _, own in self.blocks), slice(self.sources - 1, None)):
                add(1.0, own, common[own])
        parts = np.reshape(factors, (-1, self.sources, self.k))
        return self.noise - np.einsum("f,fik,fjk->ijk", signs, parts, parts), parts, np.array(signs)

    def _relative_error(self) -> float:
        if self.second is None:
            return 1.0
        error = float(np.sqrt(self.second.variance(self.noise).mean()))
        size = float(self.second.value.mean())
        return error / size if size > error else 1.0


_UNKNOWN = PooledPrior(IntervalEstimate.unknown((1,)), {})


@dataclass(frozen=True, kw_only=True)
class AllClasses(ClassMoments):
    """Raw estimates of the moments of one number for all people: arrays (1,) instead of (k,)."""

    by_class: ClassMoments

    @classmethod
    def from_classes(cls, by_class: ClassMoments) -> Self:
        return cls(
            questions=by_class.questions,
            prior=pool_prior([], 1) if by_class.prior.known else _UNKNOWN,
            can_be_missing=by_class.can_be_missing,
            by_class=by_class,
        )

    @cached_property
    def noise(self) -> FloatArray:
        """Covariance of the sources of all classes, (sources k, sources k, 1)."""
        own, factors, signs = self.by_class.split_noise()
        sources, k = len(own), own.shape[2]
        joined = np.zeros((sources, k, sources, k))
        for label in range(k):
            joined[:, label, :, label] = own[:, :, label]
        joined += np.einsum("f,fic,fjd->icjd", signs, factors, factors)
        return joined.reshape(sources * k, sources * k, 1)

    @cached_property
    def class_share(self) -> Quantity:
        return self.by_class.class_share.sum_classes()

    def find_sum(self, power: int) -> Quantity | None:
        found = self.by_class.find_sum(power)
        return None if found is None else found.sum_classes()

    @property
    def second_bias(self) -> float:
        return self.by_class.second_bias

    def fourth_cumulant(self, quantity: Quantity) -> FloatArray | float:
        k = self.by_class.k
        per_class = Quantity(np.repeat(quantity.value, k), quantity.slopes.reshape(-1, k))
        return np.atleast_1d(np.sum(self.by_class.fourth_cumulant(per_class)))
