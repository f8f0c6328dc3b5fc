"""How exact a survey's figures will be: the margins that estimation would report of what is expected.

A margin is half of a 95% interval, of the label whose figures are least exact. A figure is useful if its
margin is at most what it is about: of a share of people with one value, the average share, 1 / values, or a
quarter where values are fewer than four; of a number's mean, the number's standard deviation among people of
one label. A feature whose figure is not useful is noise.

Totals scatter around what is expected of them, and so does the P(label) that a figure is divided by. With few
reports that makes margins larger, see :func:`_scatter_factor`.
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
from ldp_aggregator.estimation.numeric.number import Number
from ldp_aggregator.estimation.outlook import compute_typical_margins
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.simulation.expected_totals import ExpectedTotals
from ldp_aggregator.simulation.synthetic_people import SyntheticPopulation
from ldp_aggregator.sizing.sample_size import MAX_USERS, SizeError, find_min_users

_WIDEST = 0.25
"""With it a share of one half may be anything from a quarter to three."""


@dataclass(frozen=True)
class Margin:
    """Margins of one feature that is asked about, or of the label.

    Attributes
    ----------
    name : str
    kind : str
        "label", "categorical", "binned" or "numeric".
    reports : tuple of int
        To expect of its question; of a number's two questions.
    chance : float
        How often a person is asked about it; for the label how often for it alone.
    margin : float
        Of P(label), of P(value | label), or of a number's mean in its own unit: the widest of all labels.
        Infinite where nothing is known.
    labels : tuple of float
        The same label by label; of a feature's values the root mean square.
    useful : float
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
    chance: float
    margin: float
    labels: tuple[float, ...]
    useful: float
    values: int | None = None
    unit: float = 1.0
    variance: float | None = None
    deviation: float | None = None
    missing: float | None = None

    @property
    def is_noise(self) -> bool:
        """Whether figures of the label told least exactly are not useful."""
        return self.margin > self.useful

    @property
    def share(self) -> float:
        """The margin as a share of what is possible; of a number that can be missing the larger of both."""
        return max(self.margin / self.unit, self.missing or 0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON; what is unknown becomes None."""
        found = {name: _finite(value) for name, value in asdict(self).items()}
        return found | {"labels": [_finite(each) for each in self.labels], "noise": self.is_noise}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def expected_margins(expected: ExpectedTotals, people: SyntheticPopulation, users: int) -> tuple[Margin, ...]:
    """Return the margins to expect of so many people: the label's first, then each asked feature's."""
    snapshot, plan = expected.snapshot(users), expected.plan
    estimates = estimate_snapshot(snapshot)
    chances = {feature.name: 0.0 for feature in plan.features}
    for question in plan.questions:
        for feature in question.asked_features:
            chances[feature.name] += plan.question_probability(question)
    features = zip(
        estimates.features,
        people.conditionals,
        compute_raw_estimates(snapshot).feature_estimates,
        strict=True,
    )
    found = [
        _number(each, chances[each.name], said, people.prior, heard)
        if isinstance(each, NumberResult) and isinstance(said, Gaussian) and isinstance(heard, Number)
        else _shares(each, chances[each.name], heard)
        for each, said, heard in features
        if chances[each.name]
    ]
    return (_label(estimates, expected), *found)


def _label(estimates: Estimates, expected: ExpectedTotals) -> Margin:
    alone = math.fsum(
        expected.plan.question_probability(each) for each in expected.plan.questions if each.kind == "label"
    )
    labels = _labels(estimates.raw_prior)
    useful, k = _useful(len(labels)), len(labels)
    return Margin(estimates.label, "label", (estimates.label_n or 0,), alone, max(labels), labels, useful, k)


def _shares(each: FeatureResult | NumberResult, chance: float, heard: Frequencies | Number | None) -> Margin:
    assert isinstance(each, FeatureResult)
    assert isinstance(heard, Frequencies)
    labels, values = _labels(each.conditionals, _frequency_scatter(heard, each)), len(each.values)
    return Margin(each.name, each.kind, (each.n,), chance, max(labels), labels, _useful(values), values)


def _number(each: NumberResult, chance: float, said: Gaussian, prior: FloatArray, heard: Number) -> Margin:
    scatter = _scatter_factor(heard.present.value, heard.present.variance(heard.noise))
    labels = _labels(each.means, scatter)
    return Margin(
        each.name,
        each.kind,
        (each.mean_question.n, each.square_question.n),
        chance,
        max(labels),
        labels,
        useful=float(np.sqrt(said.variance @ prior)) * each.width,
        unit=2 * each.width,
        variance=max(_labels(each.variances, scatter)),
        deviation=max(_labels(each.deviations, scatter)),
        missing=max(_labels(each.missing, scatter)) if each.missing else None,
    )


def _useful(values: int) -> float:
    return min(1 / values, _WIDEST)


def _labels(figure: IntervalEstimate, scatter: FloatArray | float = 1.0) -> tuple[float, ...]:
    found: list[float] = (compute_typical_margins(figure) * scatter).tolist()
    return tuple(found)


def _frequency_scatter(heard: Frequencies, each: FeatureResult) -> FloatArray:
    k = each.smoothed.shape[1]
    if not heard.n:
        return np.ones(k)
    return _scatter_factor(heard.raw.reshape(-1, k).sum(axis=0), heard.noise.against_classes(k)[1])


def _scatter_factor(mass: FloatArray, variance: FloatArray) -> FloatArray:
    """Return by how much a ratio's margins are larger for the scatter of its denominator.

    Of a denominator G = P(label) with relative variance v, E[1 / G^2] is 1 + 3 v + 15 v^2 times as large as
    without any, to second order; the ratio r scatters too, so that the r^2 Var(G) of its variance adds
    v + 10 v^2.
    """
    v = np.divide(variance, mass**2, out=np.full(mass.shape, math.inf), where=mass > 0)
    found: FloatArray = np.sqrt(1 + 4 * v + 25 * v**2)
    return found


def find_users_for_margin(expected: ExpectedTotals, people: SyntheticPopulation, wanted: float) -> int:
    """Return how few people make every margin at most `wanted`, of every label, to three digits.

    Of P(label), P(value | label) and P(missing | label), and of a number's mean as a share of its range.

    Raises
    ------
    SizeError
        If no number of people does; that names the margin, and the feature that is told least exactly.
    """

    def widest(users: int) -> Margin:
        return max(expected_margins(expected, people, users), key=lambda each: each.share)

    try:
        return find_min_users(lambda users: widest(users).share / wanted)
    except SizeError as error:
        name = widest(MAX_USERS).name
        raise SizeError(
            f"margins of at most {wanted:g}: {error}, for {name!r}; ask for wider ones"
        ) from error
