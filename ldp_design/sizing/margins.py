"""Margins to expect of a survey's estimates, computed by the estimation code from expected totals.

A margin is half of a 95% confidence interval, for the class with the least precise estimates; without a
label, all people are one class. It is graded by its ratio to the typical estimate: the average share of a
value, 1 / values; of the label, the share of the rarest class; for a number's mean, the number's standard
deviation among people of one class. Of a table it is that of P(column | row), in the least precise row, and
the typical estimate is 1 / columns. For the error of the denominators P(label) see :func:`_ratio_factor`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, cast

import numpy as np

from encoders.mechanisms import FrequencyOracle, NumericMechanism
from encoders.survey import Plan, Question
from encoders.survey.auto_questions import CrossTable
from encoders.survey.questions import BOTH, SQUARE
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.codec import to_json
from ldp_aggregator.estimation import (
    FeatureResult,
    Gaussian,
    IntervalEstimate,
    NumberResult,
    estimate_snapshot,
)
from ldp_aggregator.estimation.discrete.frequencies import CombinedFrequencies, Frequencies, TableEstimate
from ldp_aggregator.estimation.intervals import compute_typical_margins
from ldp_aggregator.estimation.numeric.moments import normal_fourth, normal_third
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.raw_estimates import compute_raw_estimates
from ldp_aggregator.estimation.table_result import TableResult, transpose_cells
from ldp_aggregator.simulated_population import SyntheticPopulation, true_answers
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.statements.rules import find_useful_margin
from ldp_design.sizing.sample_size import MAX_USERS, SizeError, find_min_users

# -- expected totals: the counters that a population produces on average ----------------------------


class ExpectedTotals:
    """Expected totals of a plan: the average report of a population to each question."""

    def __init__(self, plan: Plan, population: SyntheticPopulation) -> None:
        self.plan = plan
        self.population = population
        self._reports = {
            each.key: (plan.question_probability(each), _average_report(each, population))
            for each in plan.questions
        }

    def snapshot(self, users: int) -> Snapshot:
        """Return the expected totals of `users` people; the counters are floats, so no file can store them.

        Numbers of reports are rounded. Counters are not, because rounding changes margins by up to 1%.
        """
        totals = {}
        for key, (probability, report) in self._reports.items():
            n = round(users * probability)
            totals[key] = Total(n, cast(IntArray, n * report))
        return Snapshot(self.plan, totals)


def _average_report(question: Question, population: SyntheticPopulation) -> FloatArray:
    """Return the expected tally of one report."""
    mechanism = question.mechanism
    if isinstance(mechanism, FrequencyOracle):
        shares = _value_shares(question, population)
        return mechanism.off_mean + (mechanism.on_mean - mechanism.off_mean) * shares
    assert isinstance(mechanism, NumericMechanism)
    # The estimates are linear in the counters: solve for the counters whose estimates are the true moments.
    intercept = mechanism.moments(np.zeros(question.cells, dtype=np.int64), 1)
    units = np.eye(question.cells, dtype=np.int64)
    slopes = np.stack([mechanism.moments(unit, 1) - intercept for unit in units], axis=-1)
    moments = np.stack(
        [_true_moments(population, feature, question.moment) for feature in question.feature_indices]
    )
    estimated = np.isfinite(intercept)
    counters = np.linalg.lstsq(slopes[estimated], (moments - intercept)[estimated], rcond=None)[0]
    return np.asarray(counters, dtype=np.float64)


def _value_shares(question: Question, population: SyntheticPopulation) -> FloatArray:
    """Return the share of each value of a discrete question (d,)."""
    tables = {}
    for feature in question.feature_indices:
        conditional = population.conditionals[feature]
        assert not isinstance(conditional, Gaussian)
        tables[feature] = conditional
    sizes = map(len, tables.values())
    *columns, labels = np.indices((*sizes, len(population.prior))).reshape(len(tables) + 1, -1)
    codes = np.zeros((len(labels), len(population.conditionals)), dtype=np.int64)
    weights = population.prior[labels]
    for (feature, conditional), column in zip(tables.items(), columns, strict=True):
        codes[:, feature] = column
        weights = weights * conditional[column, labels]
    values = true_answers(question, codes, labels, np.arange(len(labels)))
    return np.bincount(values, weights, minlength=question.domain).astype(np.float64)


def _true_moments(population: SyntheticPopulation, feature: int, moment: int | None) -> FloatArray:
    """Return E[x 1(c)], P(missing, c) and P(c) of a number or its square, (3, k).

    Of a question about both, E[x^2 1(c)] to E[x^4 1(c)] follow, (6, k), of a normal distribution.
    """
    conditional, prior = population.conditionals[feature], population.prior
    assert isinstance(conditional, Gaussian)
    missing = np.zeros_like(prior) if conditional.missing is None else conditional.missing * prior
    mean, present = conditional.mean, prior - missing
    square = np.minimum(mean**2 + conditional.variance, 1.0)
    first = (square if moment == SQUARE else mean) * present
    higher = [square, normal_third(mean, square), normal_fourth(mean, square)] if moment == BOTH else []
    return np.stack([first, missing, prior, *(each * present for each in higher)])


# -- margins ----------------------------------------------------------------------------------------


GOOD_RATIO = 0.25
"""The largest ratio of a good margin to the typical estimate."""


class Grade(StrEnum):
    """How precise an estimate is compared with its typical size; `statements/rules.py` says what is noise."""

    GOOD = "good"
    ROUGH = "rough"
    NOISE = "noise"


@dataclass(frozen=True, kw_only=True)
class Margin:
    """The margins of the label, of one feature that the survey asks about, or of one table."""

    name: str
    kind: str
    """One of "label", "categorical", "binned", "numeric" or "table"."""
    reports: tuple[int, ...]
    """Expected number of reports of the feature's question; of a number, of each of its questions."""
    question_probability: float
    """Probability that a person is asked about the feature; for the label, about the label alone."""
    margin: float
    """Margin of P(label), of P(value | label), of a number's mean in its own unit, or of P(column | row): the
    widest of all classes or rows. Infinite if there is no estimate."""
    class_margins: tuple[float, ...]
    """The margin of each class, or of each row of a table: the root mean square over its values."""
    typical: float
    """The typical estimate, see :mod:`margins`."""
    values: int | None = None
    """Number of values, or of columns; None for a number, and 2 for a cumulative share, which levels
    estimate."""
    unit: float = 1.0
    """The unit of the margin: 1, or the width of a number's range."""
    overall: float | None = None
    """Margin of P(value), of the mean, or of P(row, column), among all people; None for the label."""
    variance: float | None = None
    deviation: float | None = None
    missing: float | None = None
    """`variance`, `deviation` and `missing`: the widest margins of a number's variance, of its standard
    deviation, and of P(missing | label)."""

    @property
    def useful_margin(self) -> float:
        """The largest margin that is not noise."""
        return find_useful_margin(self.typical, is_share=self.values is not None)

    @property
    def grade(self) -> Grade:
        """How precise the estimates of the least precise class are."""
        if self.margin > self.useful_margin:
            return Grade.NOISE
        return Grade.GOOD if self.margin <= GOOD_RATIO * self.typical else Grade.ROUGH

    @property
    def is_noise(self) -> bool:
        """Whether the estimates of the least precise class are noise."""
        return self.grade is Grade.NOISE

    @property
    def excess(self) -> float:
        """The margin divided by the largest one that is not noise; at most 1 unless the feature is noise."""
        return self.margin / self.useful_margin

    @property
    def share(self) -> float:
        """The margin in units of `unit`, or the margin of P(missing | label) if that is larger."""
        return max(self.margin / self.unit, self.missing or 0.0)

    @property
    def overall_share(self) -> float:
        """The margin among the people of all classes, in units of `unit`."""
        return (self.overall or 0.0) / self.unit

    JSON_DERIVED: ClassVar = ("useful_margin", "grade")

    @property
    def omitted_entries(self) -> tuple[str, ...]:
        """Entries that a survey without a label lacks in JSON."""
        return ("class_margins", "overall") if len(self.class_margins) == 1 else ()

    def as_dict(self) -> dict[str, Any]:
        return {**to_json(self), "noise": self.is_noise}


def compute_expected_margins(
    expected: ExpectedTotals, users: int, tables: Sequence[CrossTable] = ()
) -> tuple[Margin, ...]:
    """Return the expected margins if `users` people answer: of label, asked features, and these tables."""
    snapshot, plan, population = expected.snapshot(users), expected.plan, expected.population
    estimates = estimate_snapshot(snapshot)
    probabilities = [find_ask_rate(plan, index) for index in range(len(plan.features))]
    asked = math.fsum(plan.question_probability(each) for each in plan.questions if each.kind == "label")
    labels = [
        build_label_margin(name, estimates.raw_prior, population.prior, asked, estimates.label_n or 0)
        for name in plan.label.names
    ]
    raw = compute_raw_estimates(snapshot)
    features = build_feature_margins(estimates.features, raw.feature_estimates, population, probabilities)
    indices = {each.feature_indices for each in tables}
    asked_together = [each for each in raw.tables if each.question.feature_indices in indices]
    return *labels, *features, *(_table_margin(each, plan) for each in asked_together)


def find_ask_rate(plan: Plan, feature: int) -> float:
    """Return the probability that a person is asked about a feature, in one question or in several."""
    asked = [each for each in plan.questions if feature in each.feature_indices]
    return min(sum(map(plan.question_probability, asked)), 1.0)


def features_of(margins: Sequence[Margin]) -> list[Margin]:
    return [each for each in margins if each.kind != "label"]


def build_feature_margins(
    results: Sequence[FeatureResult | NumberResult],
    raw_estimates: Sequence[TableEstimate | ClassMoments | None],
    population: SyntheticPopulation,
    probabilities: Sequence[float],
) -> Iterator[Margin]:
    """Yield the margin of each feature that is asked about with a probability above 0."""
    parts = zip(results, raw_estimates, population.conditionals, probabilities, strict=True)
    for result, raw, conditional, probability in parts:
        if not probability:
            continue
        if isinstance(result, NumberResult):
            assert isinstance(raw, ClassMoments)
            assert isinstance(conditional, Gaussian)
            yield _number_margin(result, raw, conditional, population.prior, probability)
        else:
            assert not isinstance(raw, ClassMoments)
            yield _frequency_margin(result, raw, probability)


def build_label_margin(
    name: str, estimate: IntervalEstimate, prior: FloatArray, probability: float, reports: int
) -> Margin:
    """Return the margin of P(label), given the probability and the number of reports of the label alone."""
    class_margins = _class_margins(estimate)
    return Margin(
        name=name,
        kind="label",
        reports=(reports,),
        question_probability=probability,
        margin=max(class_margins),
        class_margins=class_margins,
        typical=float(prior.min()),
        values=len(class_margins),
    )


def _frequency_margin(result: FeatureResult, raw: TableEstimate | None, probability: float) -> Margin:
    """Return the margin of a feature; without a question that contains the label, that of all people."""
    k, shown, values = result.conditionals.value.shape[1], result.shares, len(result.values)
    if isinstance(raw, CombinedFrequencies) and raw.levels and result.ordered:
        shown, values = result.ordered.cumulative, 2  # levels are for cumulative shares
    shares = _class_margins(shown.reshape(-1, 1))
    factor = np.ones(k)
    if raw and raw.n:
        factor = _ratio_factor(raw.raw.reshape(-1, k).sum(axis=0), raw.covariance.class_covariances(k)[1])
    class_margins = _class_margins(result.conditionals, factor) if k > 1 and raw else shares
    return Margin(
        name=result.name,
        kind=result.kind,
        reports=(result.n,),
        question_probability=probability,
        margin=max(class_margins),
        class_margins=class_margins,
        typical=1 / values,
        values=values,
        overall=shares[0],
    )


def _number_margin(
    result: NumberResult, raw: ClassMoments, conditional: Gaussian, prior: FloatArray, probability: float
) -> Margin:
    factor = _ratio_factor(raw.present.value, raw.present.variance(raw.noise))
    class_margins, variances = _class_margins(result.by_class.means, factor), result.by_class.variances
    whole = AllClasses.from_classes(raw)
    overall = _class_margins(
        result.overall.means, _ratio_factor(whole.present.value, whole.present.variance(whole.noise))
    )
    return Margin(
        name=result.name,
        kind=result.kind,
        reports=tuple(each.n for each in (result.mean_question, result.square_question) if each.mechanism),
        question_probability=probability,
        margin=max(class_margins),
        class_margins=class_margins,
        typical=float(np.sqrt(conditional.variance @ prior)) * result.width,
        unit=2 * result.width,
        overall=overall[0],
        variance=max(_class_margins(variances, factor)),
        deviation=max(_class_margins(result.by_class.deviations, factor * _root_factor(variances))),
        missing=max(_class_margins(result.by_class.missing, factor)) if result.by_class.missing else None,
    )


def _table_margin(frequencies: Frequencies, plan: Plan) -> Margin:
    table = TableResult.from_frequencies(frequencies)
    cells = table.cells.value
    variance = transpose_cells(frequencies, cells.shape).covariance.class_covariances(len(cells))[1]
    factor = _ratio_factor(cells.sum(axis=1), variance) if table.n else 1.0
    row_margins = _class_margins(table.row_shares.transpose(), factor)
    return Margin(
        name=table.name,
        kind="table",
        reports=(table.n,),
        question_probability=plan.question_probability(frequencies.question),
        margin=max(row_margins),
        class_margins=row_margins,
        typical=1 / len(table.columns),
        values=len(table.columns),
        overall=_class_margins(table.cells.reshape(-1, 1))[0],
    )


def _class_margins(estimate: IntervalEstimate, factor: FloatArray | float = 1.0) -> tuple[float, ...]:
    margins: list[float] = (compute_typical_margins(estimate) * factor).tolist()
    return tuple(margins)


def _ratio_factor(mass: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the factor by which a ratio's margins grow because its denominator varies (k,).

    For a denominator G = P(label) with relative variance v, E[1 / G^2] is 1 + 3 v + 15 v^2 times its value
    without variance, to second order. The ratio r varies too, so the term r^2 Var(G) of its variance adds
    v + 10 v^2.
    """
    v = np.divide(variance, mass**2, out=np.full(mass.shape, math.inf), where=mass > 0)
    factor: FloatArray = np.sqrt(1 + 4 * v + 25 * v**2)
    return factor


def _root_factor(variances: IntervalEstimate) -> FloatArray:
    """Return the factor by which margins of a deviation grow because the variance below its root varies (k,).

    The error of the root of V is that of V, divided by 2 sqrt(V). With the relative variance v of V,
    E[1 / V] is 1 + v + 3 v^2 times its value without errors, to second order. A v above 1/4 counts as 1/4.
    """
    value = np.where(variances.value > 0, variances.value, math.nan)
    v = np.minimum((variances.stderr / value) ** 2, 0.25)
    return np.asarray(np.sqrt(1 + v + 3 * v**2))


def find_users_for_margin(expected: ExpectedTotals, limit: float, tables: Sequence[CrossTable] = ()) -> int:
    """Return the smallest number of people for which every class's margins are at most `limit`.

    The number is rounded up to three digits. The margins are those of P(label), P(value | label),
    P(missing | label) and P(column | row) of a table, and of a number's mean as a share of its range.
    Raises SizeError if no number of people is enough; the message names the margin and the least precise
    feature.
    """

    def widest(users: int) -> Margin:
        return max(compute_expected_margins(expected, users, tables), key=lambda each: each.share)

    try:
        return find_min_users(lambda users: widest(users).share / limit)
    except SizeError as error:
        name = widest(MAX_USERS).name
        raise SizeError(
            f"margins of at most {limit:g}: {error}, for {name!r}; give a larger margin"
        ) from error
