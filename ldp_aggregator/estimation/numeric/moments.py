"""Raw moments of one number from one mean or square question, with their covariance.

Per class c the reports estimate, without bias, s = E[x 1(c)], M = P(missing, c) and, where the mechanism
estimates the prior, G = P(c), with x the number in [-1, 1] or its square (Yilmaz et al. 2019, section 3.2).
The mechanism returns their covariance in closed form for a given population; here, the estimated one.
Errors of sums, products and ratios of such moments follow by the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from encoders.mechanisms.numeric_base import NumericMechanism
from encoders.survey import Question
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
        """Return the quantity that equals the source with the index `index`."""
        slopes = np.zeros((sources, len(value)))
        slopes[index] = 1.0
        return cls(value, slopes)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.value + other.value, self.slopes + other.slopes)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.value - other.value, self.slopes - other.slopes)

    def times(self, factor: float | FloatArray) -> Quantity:
        """Return the quantity multiplied by a constant, or by one constant per label."""
        return Quantity(self.value * factor, self.slopes * factor)

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


_NOTHING = 5
_POWERS = np.array([1, _NOTHING, 0, 2, _NOTHING, 0, 0])
_MISSING = np.array([0, 1, 1, 0, 1, 1, 1])
"""What a person of a class adds to s, M and G of a mean question, to those of a square question, and to P(c):
this power of the number, and if it is missing this."""


def sample_sources(population: Population, roots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return t, (7, k), and the covariance, (7, 7, k), of what random people add to the seven sources.

    With u what a person adds, t is E[u 1(c)], and the covariance is E[u v 1(c)] - E[u 1(c)] E[v 1(c)]; of two
    different classes it is -t(c) t(d). Each source is multiplied by its root, for n people that of 1/n.
    """
    powers = (getattr(population, name) for name in ("present", "first", "second", "third", "fourth"))
    present = np.stack([*powers, np.zeros_like(population.first)])

    def expect(power: IntArray, missing: IntArray) -> FloatArray:
        return np.asarray(present[np.minimum(power, _NOTHING)] + missing[..., None] * population.missing)

    expected = expect(_POWERS, _MISSING) * roots[:, None]
    products = expect(np.add.outer(_POWERS, _POWERS), np.outer(_MISSING, _MISSING))
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
    ) -> Self:
        """Return a population near raw estimates that is possible, mixed with the uniform population.

        The shares are projected on the simplex and the moments clipped to what these shares allow. The third
        and the fourth moment are a normal distribution's, E[x^3] = mu^3 + 3 mu v and E[x^4] = mu^4 + 6 mu^2 v
        + 3 v^2, also clipped. With the uniform part no share is exactly zero, as in
        :class:`FrequencyCovariance`.

        Parameters
        ----------
        prior : (k,) array
            P(c), raw.
        missing : (k,) array or None
            P(missing, c), raw; None if the number cannot be missing.
        first, second : (k,) arrays or None
            E[x 1(c)] and E[x^2 1(c)], raw; None without reports, which counts as the noisiest case.
        even : float
            The share of the uniform population.
        """
        k = len(prior)
        raw = prior if missing is None else np.concatenate([prior - missing, missing])
        present, *rest = project_simplex(raw).reshape(-1, k)
        divisor = np.where(present > 0, present, 1.0)
        mean = np.clip(0.0 if first is None else first / divisor, -1.0, 1.0)
        square = np.clip(1.0 if second is None else second / divisor, mean**2, 1.0)
        missing_share = rest[0] if rest else np.zeros(k)
        population = cls(
            present=present,
            missing=missing_share,
            first=present * mean,
            second=present * square,
            third=present * _normal_third(mean, square),
            fourth=present * _normal_fourth(mean, square),
        )
        return population._mix(cls.even(k, missing is not None), even)

    def _mix(self, other: Self, share: float) -> Self:
        parts = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*((1 - share) * one + share * another for one, another in parts))

    def shrink_to_equal_classes(self, n: int) -> Self:
        """Return a population between this one and the one in which the number is independent of the class.

        P(c) stays the same. A class with n P(c) people has the weight m / (m + n P(c)) of equal classes, with
        m = `EQUAL_CLASS_PEOPLE`.
        """
        share = self.present + self.missing
        equal = {name: share * part.sum() for name, part in vars(self).items()}
        present = equal["present"]
        mean, square = equal["first"] / present, equal["second"] / present
        equal["third"] = present * _normal_third(mean, square)
        equal["fourth"] = present * _normal_fourth(mean, square)
        weight = EQUAL_CLASS_PEOPLE / (EQUAL_CLASS_PEOPLE + n * share)
        return type(self)(**{name: part + weight * (equal[name] - part) for name, part in vars(self).items()})

    def moments(self, moment: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the arguments of a mechanism's `covariance`, for a mean (1) or a square (2) question."""
        if moment == 1:
            return self.present, self.first, self.second, self.missing
        return self.present, self.second, self.fourth, self.missing


def _normal_third(mean: FloatArray, square: FloatArray) -> FloatArray:
    """Return E[x^3] of a normal distribution with this mean and E[x^2], clipped to the possible range."""
    third: FloatArray = np.clip(mean * (3 * square - 2 * mean**2), -square, square)
    return third


def _normal_fourth(mean: FloatArray, square: FloatArray) -> FloatArray:
    """Return E[x^4] of a normal distribution with this mean and E[x^2], clipped to the possible range."""
    variance = square - mean**2
    normal = mean**4 + 6 * mean**2 * variance + 3 * variance**2
    fourth: FloatArray = np.clip(normal, square**2, square)
    return fourth


@dataclass(frozen=True)
class Moments:
    """Raw moments of one number from one question."""

    question: Question
    place: int
    """Index of the number among those that the question asks about."""
    n: int
    """Number of reports, above zero."""
    population: Population
    """The population at which the noise is evaluated."""
    raw: FloatArray
    """s, M and G, unbiased, possibly outside the possible range; 0 where G is not estimated. Shape (3, k)."""
    covariance: FloatArray
    """Covariance of `raw` for each label; 0 where G is not estimated. Shape (3, 3, k)."""
    class_factor: FloatArray
    """Estimate a of class c and estimate b of another class d covary as -class_factor[a, c] times
    class_factor[b, d]; 0 where G is not estimated. Shape (3, k)."""

    def at_population(self, population: Population) -> Moments:
        """Return the same estimates with the noise of another population."""
        covariance, class_factor = _evaluate_noise(self.question, self.n, population)
        return replace(self, population=population, covariance=covariance, class_factor=class_factor)

    @property
    def class_offset(self) -> float:
        """The offset of P(label), see :attr:`NumericMechanism.class_offsets`."""
        return float(mechanism_of(self.question).class_offsets[2])

    @property
    def estimates_prior(self) -> bool:
        """Whether the question estimates G = P(c)."""
        return mechanism_of(self.question).estimates_prior


def mechanism_of(question: Question) -> NumericMechanism:
    """Return the mechanism of a mean or square question."""
    mechanism = question.mechanism
    if not isinstance(mechanism, NumericMechanism):
        raise TypeError(f"{question.name} is not a question about a number")
    return mechanism


def estimate_moments(question: Question, total: Total, feature: int, population: Population) -> Moments:
    """Return s, M and G of one feature from a question's totals, with their noise.

    Parameters
    ----------
    question : Question
        A mean or square question about the feature.
    total : Total
        At least one report.
    feature : int
        Index of the feature in the plan.
    population : Population
        The population at which the noise is evaluated.
    """
    mechanism = mechanism_of(question)
    place = question.feature_indices.index(feature)
    raw = mechanism.moments(total.cells, total.n)[place]
    if not mechanism.estimates_prior:
        raw[2] = 0.0
    return Moments(question, place, total.n, population, raw, *_evaluate_noise(question, total.n, population))


def _evaluate_noise(question: Question, n: int, population: Population) -> tuple[FloatArray, FloatArray]:
    """Return the covariance and the class factor of `Moments` for n reports of a population."""
    mechanism = mechanism_of(question)
    present, first, second, missing = population.moments(question.moment or 1)
    noise = mechanism.covariance(present, first, second, missing) / n
    truth = np.stack([first, missing, present + missing])
    factor = (truth + mechanism.class_offsets[:, None]) / np.sqrt(n)
    if not mechanism.estimates_prior:
        noise[2] = noise[:, 2] = factor[2] = 0.0
    return noise, factor
