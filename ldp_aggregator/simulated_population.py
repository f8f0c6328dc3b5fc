"""Simulates people and their reports in memory: every user answers one question or all, like a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from operator import mul
from typing import Self

import numpy as np

from encoders.canonical import parse_decimal
from encoders.epsilon_proof import MAX_EPSILON
from encoders.errors import SurveyError
from encoders.randomness import RandomSource
from encoders.survey import Feature, NumericFeature, Plan, Question
from encoders.survey.compiled_plan import AnyPlan
from encoders.survey.features import GRID
from encoders.survey.questions import SQUARE, square_code, thresholds
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.rows.encode_table import validate_table
from ldp_aggregator.snapshot import Snapshot, Total
from ldp_aggregator.stores.store import sum_totals


def parse_epsilon(value: float | str | Decimal) -> Decimal:
    """Return epsilon with its digits; SurveyError unless above 0, at most MAX_EPSILON and of 20 digits."""
    try:
        epsilon = parse_decimal(Decimal(str(value)))
    except InvalidOperation:
        epsilon = None
    if epsilon is None or not 0 < epsilon <= MAX_EPSILON:
        raise SurveyError(f"needs a number above 0 and at most {MAX_EPSILON}", "epsilon")
    return epsilon


def true_answers(question: Question, codes: IntArray, label_codes: IntArray, rows: IntArray) -> IntArray:
    """Return true answers of rows, (m,), or (m, numbers) of several at once, as :meth:`Question.value`."""
    own = label_codes[rows] if question.label.exists else np.zeros_like(rows)
    found = [(codes[rows, index] + question.shift) // question.width for index in question.feature_indices]
    if question.moment == SQUARE:
        found = [square_code(each) for each in found]
    if question.mechanism.multivariate:
        return np.stack([each * len(question.label.values) + own for each in found], axis=1)
    return sum(map(mul, found, question.strides), own)


def draw_questions(plan: Plan, count: int, rng: RandomSource) -> IntArray:
    """Return the question of each of `count` users who answer one, drawn like :meth:`Plan.draw`."""
    limits = np.array(thresholds([question.weight for question in plan.questions]), dtype=np.uint64)
    return np.searchsorted(limits, np.frombuffer(rng.take(8 * count), "<u8"), side="right")


def simulate_reports(
    plan: Plan, codes: IntArray, labels: IntArray, rng: RandomSource, users: IntArray | None = None
) -> Snapshot:
    """Return the totals after all reports of each user; in a validation round the users validate the model.

    `codes`, (m, n), and `labels`, (m,), are the coded rows, of which `users` are the indices of those that
    report, by default all. `rng` draws the questions and runs the devices.
    """
    users = np.arange(len(codes)) if users is None else users
    if plan.validation:
        codes, labels = validate_table(plan.validation, codes[users], labels[users])
        users = np.arange(len(users))
    groups = [users] * len(plan.questions)
    if not plan.asks_all:
        questions = draw_questions(plan, len(users), rng)
        order = users[np.argsort(questions, kind="stable")]
        ends = np.cumsum(np.bincount(questions, minlength=len(plan.questions)))
        groups = np.split(order, ends[:-1])
    totals = {
        question.key: simulate_total(question, true_answers(question, codes, labels, group), rng)
        for question, group in zip(plan.questions, groups, strict=True)
    }
    return Snapshot(plan, totals, {})


def simulate_total(question: Question, values: IntArray, rng: RandomSource) -> Total:
    mechanism = question.mechanism
    if not len(values):
        return Total(0, np.zeros(question.cells, dtype=np.int64))
    return Total(len(values), mechanism.tally(mechanism.perturb_many(values, rng)))


# -- synthetic populations --------------------------------------------------------------------------
# Given the label, features are independent of each other, as Naive Bayes assumes.


MISSING_SHARE = 0.1
"""Assumed share of people who lack a number that can be missing; for other features, missing is one value."""
STANDARD_DEVIATION = 1 / 3
"""Assumed standard deviation of a normalised number among people of one class: a sixth of its
range, unless its author states a spread."""
_PEOPLE_PER_CHUNK = 1 << 16


@dataclass(frozen=True)
class SyntheticPopulation:
    prior: FloatArray
    """P(label). Shape (k,)."""
    conditionals: tuple[ClassConditional, ...]
    """P(value | label) of each feature of a plan. Tuple of (A_i, k) arrays and Gaussians."""

    @classmethod
    def from_strength(
        cls, plan: AnyPlan, ratio: float, mean_shift: float, prior: FloatArray | None = None
    ) -> Self:
        """Return a population whose features are equally informative.

        Each value belongs to one class, and is `ratio` times as frequent in this class as in others.
        `mean_shift` is the difference of a number's means between one class and the next, in standard
        deviations. `prior`, (k,), is P(label); by default the classes are equally frequent.
        """
        k = len(plan.label.values)
        conditionals = (
            _assume_conditional(feature, k, index, ratio, mean_shift)
            for index, feature in enumerate(plan.features)
        )
        return cls(np.full(k, 1 / k) if prior is None else prior, tuple(conditionals))

    @classmethod
    def uniform(cls, plan: AnyPlan, prior: FloatArray | None = None) -> Self:
        """Return a population of equally frequent values and, by default, classes, all independent."""
        return cls.from_strength(plan, 1.0, 0.0, prior)

    def draw_people(
        self, count: int, rng: np.random.Generator, features: Sequence[int] | None = None
    ) -> tuple[IntArray, IntArray]:
        """Draw people; return the codes (m, n) of their rows and their labels (m,), see :meth:`draw_rows`."""
        labels = rng.choice(len(self.prior), size=count, p=self.prior)
        return self.draw_rows(labels, rng, features), labels

    def draw_rows(
        self, labels: IntArray, rng: np.random.Generator, features: Sequence[int] | None = None
    ) -> IntArray:
        """Draw rows for labels (m,); return codes (m, n), column-major, 0 of features not in `features`."""
        codes = np.zeros((len(labels), len(self.conditionals)), dtype=np.int64, order="F")
        for feature in range(len(self.conditionals)) if features is None else features:
            codes[:, feature] = _draw_codes(self.conditionals[feature], labels, rng)
        return codes


def simulate_survey(
    plan: Plan, population: SyntheticPopulation, users: int, rng: np.random.Generator, devices: RandomSource
) -> Snapshot:
    groups = [(plan.questions, users)]
    if not plan.asks_all:
        counts = np.bincount(draw_questions(plan, users, devices), minlength=len(plan.questions))
        groups = [((each,), count) for each, count in zip(plan.questions, counts.tolist(), strict=True)]
    totals: list[tuple[str, Total]] = []
    for asked, count in groups:
        features = list(dict.fromkeys(index for each in asked for index in each.feature_indices))
        sizes = [min(_PEOPLE_PER_CHUNK, count - start) for start in range(0, count, _PEOPLE_PER_CHUNK)] or [0]
        for size in sizes:
            codes, labels = population.draw_people(size, rng, features)
            for each in asked:
                answers = true_answers(each, codes, labels, np.arange(size))
                totals.append((each.key, simulate_total(each, answers, devices)))
    return Snapshot(plan, sum_totals(totals))


def simulate_series(
    plan: Plan,
    populations: Sequence[SyntheticPopulation],
    users: int,
    rng: np.random.Generator,
    devices: RandomSource,
) -> Snapshot:
    counts = rng.multinomial(users, np.full(len(populations), 1 / len(populations)))
    totals: dict[str, Total] = {}
    for wave, (population, count) in enumerate(zip(populations, counts.tolist(), strict=True)):
        found = simulate_survey(plan, population, count, rng, devices).totals
        totals |= {plan.in_wave(each, wave).key: found[each.key] for each in plan.questions}
    return Snapshot(plan, totals)


def _assume_conditional(
    feature: Feature, k: int, index: int, ratio: float, mean_shift: float
) -> ClassConditional:
    if isinstance(feature, NumericFeature):
        order = (np.arange(k) + index) % k - (k - 1) / 2
        deviation = feature.spread / feature.width if feature.spread else STANDARD_DEVIATION
        means = np.clip(mean_shift * deviation * order, -1.0, 1.0)
        missing = np.full(k, MISSING_SHARE) if feature.missing == "category" else None
        return Gaussian(means, np.full(k, deviation**2), missing)
    own_class = (np.arange(feature.size)[:, None] + index) % k == np.arange(k)
    table = np.where(own_class, ratio, 1.0)
    shares: FloatArray = table / table.sum(axis=0)
    return shares


def _draw_codes(conditional: ClassConditional, labels: IntArray, rng: np.random.Generator) -> IntArray:
    if isinstance(conditional, Gaussian):
        x = rng.normal(conditional.mean[labels], np.sqrt(conditional.variance)[labels])
        codes = np.rint((np.clip(x, -1.0, 1.0) + 1) * GRID).astype(np.int64)
        if conditional.missing is not None:
            codes[rng.random(len(labels)) < conditional.missing[labels]] = 2 * GRID + 1
        return codes
    codes = np.empty(len(labels), dtype=np.int64)
    for label, shares in enumerate(conditional.T):
        rows = np.flatnonzero(labels == label)
        codes[rows] = rng.choice(len(shares), size=len(rows), p=shares / shares.sum())
    return codes
