"""Raw moments of one number from one question, with their covariance.

Per class c the reports estimate, without bias, s = E[x 1(c)], M = P(missing, c) and, where the mechanism
estimates the prior, G = P(c), with x the number in [-1, 1] or its square (Yilmaz et al. 2019, section 3.2).
One question about both estimates E[x^2 1(c)] as well. The mechanism returns their covariance in closed form
for the estimated population. Errors of sums, products and ratios follow by the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from encoders.mechanisms.numeric_base import NumericMechanism
from encoders.survey import Question
from encoders.survey.questions import BOTH, MEAN, SQUARE
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation.discrete.frequencies import project_simplex
from ldp_aggregator.snapshot import Total

# -- the delta method -------------------------------------------------------------------------------
# First-order propagation of errors through sums, products and ratios. A quantity is a value per class and its
# slopes along a list of sources whose covariance is known. Sums, products and ratios follow the rules of
# differentiation, so an estimate's standard error needs no formula of its own, and the covariance of two
# estimates from the same sources is known.


@dataclass(frozen=True)
class Quantity:
    """An estimate for each of k labels, with its derivatives with respect to the raw estimates (sources)."""

    value: FloatArray
    """Shape (k,)."""
    slopes: FloatArray
    """The derivative of the value with respect to each source. Shape (sources, k)."""

    @classmethod
    def from_source(cls, value: FloatArray, index: int, sources: int) -> Self:
        slopes = np.zeros((sources, len(value)))
        slopes[index] = 1.0
        return cls(value, slopes)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.value + other.value, self.slopes + other.slopes)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.value - other.value, self.slopes - other.slopes)

    def times(self, factor: float | FloatArray) -> Quantity:
        return Quantity(self.value * factor, self.slopes * factor)

    def sum_classes(self) -> Quantity:
        """Return the sum over all labels, (1,); each source of each label is a source of it."""
        return Quantity(self.value.sum(keepdims=True), self.slopes.reshape(-1, 1))

    def over(self, bottom: Quantity) -> Quantity:
        """Return the ratio to `bottom`, with d(t/b) = (dt - (t/b) db) / b; NaN unless `bottom` is above 0."""
        positive = np.where(bottom.value > 0, bottom.value, np.nan)
        ratio = self.value / positive
        return Quantity(ratio, (self.slopes - ratio * bottom.slopes) / positive)

    def covariance(self, other: Quantity, noise: FloatArray) -> FloatArray:
        """Return the (k,) covariances with `other`, given those of the sources, (sources, sources, k)."""
        covariance: FloatArray = np.einsum("ik,ijk,jk->k", self.slopes, noise, other.slopes)
        return covariance

    def variance(self, noise: FloatArray) -> FloatArray:
        """Return the (k,) variances; rounding never makes them negative."""
        return np.maximum(self.covariance(self, noise), 0.0)


ABSENT = 5
"""Instead of a power: the estimate sums 1 of those whose number is missing, and 0 of all others."""
POWERS = {MEAN: (1, ABSENT, 0), SQUARE: (2, ABSENT, 0), BOTH: (1, ABSENT, 0, 2)}
"""The power of the number that a person of a class adds to each raw estimate of a question: to s, M and G,
and to E[x^2 1(c)] of a question about both. People whose number is missing add 1 to M and G alone."""


def sample_sources(
    population: Population, powers: IntArray, roots: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return t, (m, k), and the covariance, (m, m, k), of what random people add to m sources.

    With u what a person adds, t is E[u 1(c)], and the covariance is E[u v 1(c)] - E[u 1(c)] E[v 1(c)]; of two
    different classes it is -t(c) t(d). `powers`, (m,), are the powers of the number that a person adds to
    each source, see `POWERS`. Each source is multiplied by its entry of `roots`, (m,), for n people the root
    of 1/n.
    """
    absent = ((powers == 0) | (powers == ABSENT)).astype(np.int64)
    names = ("present", "first", "second", "third", "fourth")
    present = np.stack([*(getattr(population, name) for name in names), np.zeros_like(population.first)])

    def expect(power: IntArray, missing: IntArray) -> FloatArray:
        return np.asarray(present[np.minimum(power, ABSENT)] + missing[..., None] * population.missing)

    expected = expect(powers, absent) * roots[:, None]
    products = expect(np.add.outer(powers, powers), np.outer(absent, absent))
    return expected, products * np.outer(roots, roots)[..., None] - expected[:, None] * expected


# -- raw moments ------------------------------------------------------------------------------------


EQUAL_CLASS_PEOPLE = 30
"""Number of people by which the noise of a class counts as that of equal classes, to test for differences."""
_EVEN_SQUARE, _EVEN_FOURTH = 1 / 3, 1 / 5
"""E[x^2] and E[x^4] of a number that is uniform on [-1, 1]."""


@dataclass(frozen=True)
class Population:
    """A possible population, at which noise is evaluated; (k,) arrays, x in [-1, 1]."""

    present: FloatArray
    missing: FloatArray
    """P(present, c) and P(missing, c); they add up to one."""
    first: FloatArray
    second: FloatArray
    third: FloatArray
    fourth: FloatArray
    """`first`, `second`, `third` and `fourth`: E[x 1(c)], E[x^2 1(c)], E[x^3 1(c)] and E[x^4 1(c)]."""

    @classmethod
    def even(cls, k: int, can_be_missing: bool) -> Self:
        """Return the population that is uniform over labels, over numbers, and over present and missing."""
        cell = np.full(k, 1 / (2 * k if can_be_missing else k))
        missing = cell if can_be_missing else np.zeros(k)
        return cls(
            present=cell,
            missing=missing,
            first=np.zeros(k),
            second=cell * _EVEN_SQUARE,
            third=np.zeros(k),
            fourth=cell * _EVEN_FOURTH,
        )

    @classmethod
    def from_estimates(
        cls,
        prior: FloatArray,
        missing: FloatArray | None,
        first: FloatArray | None,
        second: FloatArray | None,
        even: float,
        higher: FloatArray | None = None,
    ) -> Self:
        """Return a possible population near raw estimates, mixed with a share `even` of the uniform one.

        The raw estimates, (k,), are P(c), P(missing, c), E[x 1(c)] and E[x^2 1(c)]. P(missing, c) is None if
        the number cannot be missing, and the moments are None without reports, which counts as the noisiest
        case. The shares are projected on the simplex and the moments clipped to what these shares allow.
        Without `higher`, the raw E[x^3 1(c)] and E[x^4 1(c)], (2, k), these moments are a normal
        distribution's, E[x^3] = mu^3 + 3 mu v and E[x^4] = mu^4 + 6 mu^2 v + 3 v^2, also clipped. With the
        uniform part no share is exactly zero, as in :class:`FrequencyCovariance`.
        """
        k = len(prior)
        raw = prior if missing is None else np.concatenate([prior - missing, missing])
        present, *rest = project_simplex(raw).reshape(-1, k)
        divisor = np.where(present > 0, present, 1.0)
        mean = np.clip(0.0 if first is None else first / divisor, -1.0, 1.0)
        square = np.clip(1.0 if second is None else second / divisor, mean**2, 1.0)
        third, fourth = normal_third(mean, square), normal_fourth(mean, square)
        if higher is not None:
            third, fourth = higher / divisor
        missing_share = rest[0] if rest else np.zeros(k)
        population = cls(
            present=present,
            missing=missing_share,
            first=present * mean,
            second=present * square,
            third=present * np.clip(third, -square, square),
            fourth=present * np.clip(fourth, square**2, square),
        )
        return population._mix(cls.even(k, missing is not None), even)

    def _mix(self, other: Self, share: float) -> Self:
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*((1 - share) * one + share * another for one, another in parts))

    def add_ends(self, n: int) -> Self:
        """Return the population with two more people in each class, of n in all, who have -1 and 1.

        Measured moments of few people tend to miss rare, distant numbers. The two people make up for them, as
        two successes and two failures do for a rare share (Agresti and Coull 1998).
        """
        weight = 2 / (2 + n * self.present)
        first, third = (1 - weight) * self.first, (1 - weight) * self.third
        second, fourth = (each + weight * (self.present - each) for each in (self.second, self.fourth))
        return replace(self, first=first, second=second, third=third, fourth=fourth)

    def shrink_to_equal_classes(self, n: int) -> Self:
        """Return a population between this one and the one in which the number is independent of the class.

        P(c) stays the same. A class with n P(c) people has the weight m / (m + n P(c)) of equal classes, with
        m = `EQUAL_CLASS_PEOPLE`.
        """
        share = self.present + self.missing
        equal = {name: share * part.sum() for name, part in vars(self).items()}
        weight = EQUAL_CLASS_PEOPLE / (EQUAL_CLASS_PEOPLE + n * share)
        return type(self)(**{name: part + weight * (equal[name] - part) for name, part in vars(self).items()})

    def moments(self, moment: int) -> tuple[FloatArray, ...]:
        if moment == SQUARE:
            return self.present, self.second, self.fourth, self.missing
        higher = (self.third, self.fourth) if moment == BOTH else ()
        return self.present, self.first, self.second, self.missing, *higher


def normal_third(mean: FloatArray, square: FloatArray) -> FloatArray:
    """Return E[x^3] of a normal distribution with this mean and E[x^2], clipped to the possible range."""
    third: FloatArray = np.clip(mean * (3 * square - 2 * mean**2), -square, square)
    return third


def normal_fourth(mean: FloatArray, square: FloatArray) -> FloatArray:
    """Return E[x^4] of a normal distribution with this mean and E[x^2], clipped to the possible range."""
    variance = square - mean**2
    normal = mean**4 + 6 * mean**2 * variance + 3 * variance**2
    fourth: FloatArray = np.clip(normal, square**2, square)
    return fourth


@dataclass(frozen=True)
class Moments:
    question: Question
    place: int
    """Index of the number among those that the question asks about."""
    n: int
    """Number of reports, above zero."""
    population: Population
    """The population at which the noise is evaluated."""
    raw: FloatArray
    """s, M and G, unbiased, possibly outside the possible range; 0 where G is not estimated. Shape (3, k);
    (4, k) with E[x^2 1(c)] of a question about both."""
    covariance: FloatArray
    """Covariance of `raw` for each label; 0 where G is not estimated. Shape (3, 3, k) or (4, 4, k)."""
    class_factor: FloatArray
    """Estimate a of class c and estimate b of another class d covary as -class_factor[a, c] times
    class_factor[b, d]; 0 where G is not estimated. Shape (3, k) or (4, k)."""
    higher: FloatArray | None = None
    """E[x^3 1(c)] and E[x^4 1(c)], raw, (2, k), of a question about both."""

    def at_population(self, population: Population) -> Moments:
        covariance, class_factor = _evaluate_noise(self.question, self.n, population)
        return replace(self, population=population, covariance=covariance, class_factor=class_factor)

    @property
    def powers(self) -> tuple[int, ...]:
        """The power of the number that each of the raw estimates sums, see `POWERS`."""
        return POWERS[self.question.moment or MEAN]

    @property
    def class_offset(self) -> float:
        return float(mechanism_of(self.question).class_offsets[2])

    @property
    def estimates_prior(self) -> bool:
        return mechanism_of(self.question).estimates_prior


def mechanism_of(question: Question) -> NumericMechanism:
    mechanism = question.mechanism
    if not isinstance(mechanism, NumericMechanism):
        raise TypeError(f"{question.name} is not a question about a number")
    return mechanism


def estimate_moments(question: Question, total: Total, feature: int, population: Population) -> Moments:
    """Return the raw moments of a feature from a question with reports, with their noise at `population`."""
    mechanism = mechanism_of(question)
    place = question.feature_indices.index(feature)
    found = mechanism.moments(total.cells, total.n)[place]
    raw, higher = np.split(found, [len(POWERS[question.moment or MEAN])])
    if not mechanism.estimates_prior:
        raw[2] = 0.0
    noise = _evaluate_noise(question, total.n, population)
    return Moments(question, place, total.n, population, raw, *noise, higher if len(higher) else None)


def _evaluate_noise(question: Question, n: int, population: Population) -> tuple[FloatArray, FloatArray]:
    mechanism = mechanism_of(question)
    arguments = present, first, second, missing, *_ = population.moments(question.moment or MEAN)
    noise = mechanism.covariance(*arguments) / n
    truth = np.stack([first, missing, present + missing, second])[: len(noise)]
    factor = (truth + mechanism.class_offsets[:, None]) / np.sqrt(n)
    if not mechanism.estimates_prior:
        noise[2] = noise[:, 2] = factor[2] = 0.0
    return noise, factor
