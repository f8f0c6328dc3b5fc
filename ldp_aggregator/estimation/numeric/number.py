"""A number's mean and variance per label, from what its mean and its square question say.

Yilmaz et al. 2019, section 3.2, with three changes. The divisor P(c) is the prior pooled from all questions.
A question that tells of the label itself has drawn too many or too few of a class; what it says is corrected
for that (a control variate). And every figure carries its standard error, the prior's share included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.class_prior import Prior
from ldp_aggregator.estimation.discrete.frequencies import UNIFORM_SHARE
from ldp_aggregator.estimation.intervals import PROBABILITY, Z95, Bounds, IntervalEstimate, fieller, unknown
from ldp_aggregator.estimation.numeric.delta_method import Quantity
from ldp_aggregator.estimation.numeric.moments import Moments, Population

_SOURCES = 7
"""s, M and G of the mean question, the same of the square question, and what others say of the prior."""


@dataclass(frozen=True)
class Number:
    """What was heard of one number x in [-1, 1], per label.

    Attributes
    ----------
    mean_question, square_question : Moments or None
        None without reports.
    prior : Prior
        The pooled prior.
    can_be_missing : bool
    """

    mean_question: Moments | None
    square_question: Moments | None
    prior: Prior
    can_be_missing: bool

    @cached_property
    def noise(self) -> FloatArray:
        """Covariance of the sources, (7, 7, k); questions have different reporters, so they do not covary."""
        rest = self.prior.estimate.stderr**2
        noise = np.zeros((_SOURCES, _SOURCES, len(rest)))
        for place, heard in ((0, self.mean_question), (3, self.square_question)):
            if heard is not None:
                noise[place : place + 3, place : place + 3] = heard.covariance
                rest = rest - self._weight(heard) ** 2 * heard.covariance[2, 2]
        noise[6, 6] = np.maximum(rest, 0.0)
        return noise

    @property
    def labels(self) -> int:
        """Number of labels, k."""
        return len(self.prior.estimate.value)

    @property
    def together(self) -> int:
        """How many figures are shown together: a mean, a variance and perhaps a missing share per label."""
        return self.labels * (3 if self.can_be_missing else 2)

    def _weight(self, heard: Moments) -> float:
        return self.prior.weights.get(heard.question.index, 0.0)

    @cached_property
    def share(self) -> Quantity:
        """P(c), the pooled prior."""
        slopes = np.zeros((_SOURCES, len(self.prior.estimate.value)))
        slopes[6] = 1.0
        for place, heard in ((2, self.mean_question), (5, self.square_question)):
            slopes[place] = 0.0 if heard is None else self._weight(heard)
        return Quantity(self.prior.estimate.value, slopes)

    def _told(self, heard: Moments | None, part: int, place: int) -> Quantity | None:
        """Return s (part 0) or M (part 1) of a question, corrected by what its G misses the prior by.

        s' = s - Cov(s, G)/Var(G) (G - P).
        """
        if heard is None:
            return None
        told = Quantity.source(heard.raw[part], place + part, _SOURCES)
        if not heard.estimates_prior:
            return told
        slope = heard.covariance[part, 2] / heard.covariance[2, 2]
        surplus = Quantity.source(heard.raw[2], place + 2, _SOURCES) - self.share
        return told - surplus.times(slope)

    @cached_property
    def first(self) -> Quantity | None:
        """E[x 1(c)]."""
        return self._told(self.mean_question, 0, 0)

    @cached_property
    def second(self) -> Quantity | None:
        """E[x^2 1(c)]."""
        return self._told(self.square_question, 0, 3)

    @cached_property
    def missing(self) -> Quantity | None:
        """P(missing, c), weighing both questions by inverse variance; None if it cannot be or is unheard."""
        if not self.can_be_missing:
            return None
        told = [self._told(self.mean_question, 1, 0), self._told(self.square_question, 1, 3)]
        heard = [each for each in told if each is not None]
        if len(heard) < 2:
            return heard[0] if heard else None
        one, other = heard
        spreads = [float(each.variance(self.noise).mean()) for each in heard]
        weight = spreads[1] / sum(spreads)
        return one.times(weight) + other.times(1 - weight)

    @cached_property
    def present(self) -> Quantity:
        """P(present, c)."""
        return self.share if self.missing is None else self.share - self.missing

    @cached_property
    def mean(self) -> Quantity | None:
        """E[x | c], raw."""
        return None if self.first is None else self.first.over(self.present)

    @cached_property
    def mean_noise(self) -> FloatArray:
        """Variance of the estimated mean."""
        return np.zeros(self.labels) if self.mean is None else self.mean.variance(self.noise)

    @cached_property
    def deviation(self) -> Quantity | None:
        """E[(x - m)^2 1(c)], with m the estimated mean, plus Var(m) P(present, c).

        Divided by P(present, c) it is E[x^2 | c] - m^2 + Var(m): the square of a noisy mean is too large by
        the mean's variance, on average. It has the slopes of that too, for by m itself it does not change.
        """
        if self.mean is None or self.first is None or self.second is None:
            return None
        m = self.mean.value
        around = self.second - self.first.times(2 * m) + self.present.times(m**2)
        return Quantity(around.value + self.mean_noise * self.present.value, around.slopes)

    @property
    def curvature(self) -> FloatArray:
        """What the delta method misses of the noise of m^2: Var(m^2) = 4 m^2 Var(m) + 2 Var(m)^2."""
        return 2 * self.mean_noise**2

    @property
    def raw_mean(self) -> tuple[FloatArray, FloatArray]:
        """E[x | c] and the variance of that estimate; NaN and infinite where nothing is known."""
        return self._ratio(self.first, self.present)

    @property
    def raw_variance(self) -> tuple[FloatArray, FloatArray]:
        """Var(x | c) and the variance of that estimate; NaN and infinite where nothing is known."""
        return self._ratio(self.deviation, self.present, self.curvature)

    def figure(
        self, top: Quantity | None, bounds: Bounds, extra: FloatArray | float = 0.0
    ) -> IntervalEstimate:
        """Return top / P(present, c) for people: E[.. | c] for those whose number is there.

        Parameters
        ----------
        top : Quantity or None
            None if nobody was asked.
        bounds : pair of float
            What is possible.
        extra : (k,) array or float
            Variance of the ratio that the delta method does not see.
        """
        return self._figure(top, self.present, bounds, extra)

    def missing_figure(self) -> IntervalEstimate:
        """Return P(missing | c) for people."""
        return self._figure(self.missing, self.share, PROBABILITY)

    def _ratio(
        self, top: Quantity | None, bottom: Quantity, extra: FloatArray | float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """Return a ratio and its variance, unknown where the bottom cannot be told from zero."""
        if top is None or not self.prior.known:
            return np.full(self.labels, np.nan), np.full(self.labels, np.inf)
        found = top.over(bottom)
        seen = bottom.value > Z95 * np.sqrt(bottom.variance(self.noise))
        variance = found.variance(self.noise) + extra
        return np.where(seen, found.value, np.nan), np.where(seen, variance, np.inf)

    def _figure(
        self, top: Quantity | None, bottom: Quantity, bounds: Bounds, extra: FloatArray | float = 0.0
    ) -> IntervalEstimate:
        """Return the same for people, its interval Fieller's, cut to `bounds`."""
        value, variance = self._ratio(top, bottom, extra)
        if top is None or not self.prior.known:
            return unknown(value.shape, bounds)
        noise = self.noise
        top_noise = top.variance(noise) + extra * bottom.value**2
        shared = top.covariance(bottom, noise)
        bottom_noise = bottom.variance(noise)
        ends = fieller(top.value, bottom.value, top_noise, shared, bottom_noise, self.together, bounds)
        return IntervalEstimate(value, np.sqrt(variance), *ends)

    def population(self) -> Population:
        """Return the population that these estimates make likely; the vaguest one without a prior.

        A tenth of it is spread evenly, less where E[x^2] stands out of its noise: where an even tenth
        would add more than the estimates can be off.
        """
        if not self.prior.known:
            return Population.even(self.labels, self.can_be_missing)
        heard = (self.missing, self.first, self.second)
        missing, first, second = (None if each is None else each.value for each in heard)
        return Population.likely(self.share.value, missing, first, second, UNIFORM_SHARE * self._doubt())

    def _doubt(self) -> float:
        """Return the standard error of E[x^2] over E[x^2] itself, at most 1."""
        if self.second is None:
            return 1.0
        error = float(np.sqrt(self.second.variance(self.noise).mean()))
        size = float(self.second.value.mean())
        return error / size if size > error else 1.0
