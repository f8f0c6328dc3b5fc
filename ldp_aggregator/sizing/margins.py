"""How exact a survey's estimates will be: the margins that estimation computes from expected totals.

A margin is half of a 95% interval, of the class whose estimates are least exact. An estimate is useful if its
margin is at most `useful_margin`: for a share of people with one value, the average share, 1 / values, or a
quarter where values are fewer than four; for a number's mean, the number's standard deviation among people of
one class. A feature whose margin is larger is noise.

Totals vary around their expectation, and so does the P(label) that an estimate is divided by. With few
reports that makes margins larger, see :func:`_ratio_factor`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import (
    Estimates,
    FeatureResult,
    Gaussian,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
)
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.intervals import compute_typical_margins
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.simulation.expected_totals import ExpectedTotals
from ldp_aggregator.sizing.sample_size import MAX_USERS, SizeError, find_min_users

_MAX_USEFUL_MARGIN = 0.25
"""With it a share of one half may be anything from a quarter to three quarters."""


@dataclass(frozen=True, kw_only=True)
class Margin:
    """Margins of one feature that is asked about, or of the label.

    Attributes
    ----------
    name : str
    kind : str
        "label", "categorical", "binned" or "numeric".
    reports : tuple of int
        To expect of its question; of a number's two questions.
    question_probability : float
        How often a person is asked about it; for the label how often for the label only.
    margin : float
        Of P(label), of P(value | label), or of a number's mean in its own unit: the widest of all classes.
        Infinite where nothing is known.
    class_margins : tuple of float
        The same class by class; of a feature's values the root mean square.
    useful_margin : float
        The largest margin that is useful, see :mod:`margins`.
    values : int or None
        How many it has; None for a number.
    unit : float
        What a margin is a share of: 1, or a number's range.
    variance, deviation, missing : float or None
        The widest margins of a number's variance and of its standard deviation, and of P(missing | label).
    """

    name: str
    kind: str
    reports: tuple[int, ...]
    question_probability: float
    margin: float
    class_margins: tuple[float, ...]
    useful_margin: float
    values: int | None = None
    unit: float = 1.0
    variance: float | None = None
    deviation: float | None = None
    missing: float | None = None

    @property
    def is_noise(self) -> bool:
        """Whether the least exact class's estimates are not useful."""
        return self.margin > self.useful_margin

    @property
    def excess(self) -> float:
        """By what factor the margin is too large; at most 1 if it is useful."""
        return self.margin / self.useful_margin

    @property
    def share(self) -> float:
        """The margin as a share of its unit; of a number that can be missing the larger of both margins."""
        return max(self.margin / self.unit, self.missing or 0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; infinite margins become None."""
        entries = {name: _finite_or_none(value) for name, value in asdict(self).items()}
        class_margins = [_finite_or_none(each) for each in self.class_margins]
        return entries | {"class_margins": class_margins, "noise": self.is_noise}


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def compute_expected_margins(expected: ExpectedTotals, users: int) -> tuple[Margin, ...]:
    """Return the margins to expect if `users` people answer: the label's first, then each asked feature's."""
    snapshot, plan, population = expected.snapshot(users), expected.plan, expected.population
    estimates = estimate_snapshot(snapshot)
    raw_estimates = compute_raw_estimates(snapshot).feature_estimates
    margins = [_label_margin(estimates, expected)]
    for index, (result, raw) in enumerate(zip(estimates.features, raw_estimates, strict=True)):
        probability = sum(
            plan.question_probability(question)
            for question in plan.questions
            if index in question.feature_indices
        )
        if not probability:
            continue
        if isinstance(result, NumberResult):
            conditional = population.conditionals[index]
            assert isinstance(raw, ClassMoments)
            assert isinstance(conditional, Gaussian)
            margins.append(_number_margin(result, raw, conditional, population.prior, probability))
        else:
            assert isinstance(raw, Frequencies)
            margins.append(_frequency_margin(result, raw, probability))
    return tuple(margins)


def _label_margin(estimates: Estimates, expected: ExpectedTotals) -> Margin:
    plan = expected.plan
    class_margins = _class_margins(estimates.raw_prior)
    return Margin(
        name=estimates.label,
        kind="label",
        reports=(estimates.label_n or 0,),
        question_probability=math.fsum(
            plan.question_probability(each) for each in plan.questions if each.kind == "label"
        ),
        margin=max(class_margins),
        class_margins=class_margins,
        useful_margin=_useful_share_margin(len(class_margins)),
        values=len(class_margins),
    )


def _frequency_margin(result: FeatureResult, raw: Frequencies, probability: float) -> Margin:
    k = result.smoothed.shape[1]
    factor = np.ones(k)
    if raw.n:
        factor = _ratio_factor(raw.raw.reshape(-1, k).sum(axis=0), raw.covariance.class_covariances(k)[1])
    class_margins = _class_margins(result.conditionals, factor)
    return Margin(
        name=result.name,
        kind=result.kind,
        reports=(result.n,),
        question_probability=probability,
        margin=max(class_margins),
        class_margins=class_margins,
        useful_margin=_useful_share_margin(len(result.values)),
        values=len(result.values),
    )


def _number_margin(
    result: NumberResult, raw: ClassMoments, conditional: Gaussian, prior: FloatArray, probability: float
) -> Margin:
    factor = _ratio_factor(raw.present.value, raw.present.variance(raw.noise))
    class_margins = _class_margins(result.means, factor)
    return Margin(
        name=result.name,
        kind=result.kind,
        reports=(result.mean_question.n, result.square_question.n),
        question_probability=probability,
        margin=max(class_margins),
        class_margins=class_margins,
        useful_margin=float(np.sqrt(conditional.variance @ prior)) * result.width,
        unit=2 * result.width,
        variance=max(_class_margins(result.variances, factor)),
        deviation=max(_class_margins(result.deviations, factor)),
        missing=max(_class_margins(result.missing, factor)) if result.missing else None,
    )


def _useful_share_margin(values: int) -> float:
    return min(1 / values, _MAX_USEFUL_MARGIN)


def _class_margins(estimate: IntervalEstimate, factor: FloatArray | float = 1.0) -> tuple[float, ...]:
    margins: list[float] = (compute_typical_margins(estimate) * factor).tolist()
    return tuple(margins)


def _ratio_factor(mass: FloatArray, variance: FloatArray) -> FloatArray:
    """Return by what factor a ratio's margins grow because its denominator varies.

    Of a denominator G = P(label) with relative variance v, E[1 / G^2] is 1 + 3 v + 15 v^2 times as large as
    without any, to second order; the ratio r varies too, so that the r^2 Var(G) of its variance adds
    v + 10 v^2.
    """
    v = np.divide(variance, mass**2, out=np.full(mass.shape, math.inf), where=mass > 0)
    factor: FloatArray = np.sqrt(1 + 4 * v + 25 * v**2)
    return factor


def find_users_for_margin(expected: ExpectedTotals, limit: float) -> int:
    """Return the fewest people for whom every margin is at most `limit`, of every class, to three digits.

    Margins are those of P(label), P(value | label) and P(missing | label), and of a number's mean as a share
    of its range.

    Raises
    ------
    SizeError
        If no number of people is enough; that names the margin, and the least exact feature.
    """

    def widest(users: int) -> Margin:
        return max(compute_expected_margins(expected, users), key=lambda each: each.share)

    try:
        return find_min_users(lambda users: widest(users).share / limit)
    except SizeError as error:
        name = widest(MAX_USERS).name
        raise SizeError(f"margins of at most {limit:g}: {error}, for {name!r}; ask for wider ones") from error
