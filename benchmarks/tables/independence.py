"""Tests of independence and of differences between classes: false alarms, and power.

Both tests see the same tables: to the second one, the columns are classes. A third test knows the noise and
the margins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.shares.populations import Floats
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.randomness import FastStream
from encoders.survey import Question, read_survey
from ldp_aggregator.estimation.class_differences import find_differing_values
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import estimate_frequencies, oracle_of
from ldp_aggregator.estimation.independence import assess_independence, chi_square_quantile
from ldp_aggregator.snapshot import Total

LEVEL = 0.05
ERRORS = 4
"""Standard errors by which the false alarms of a setting may be off."""
PEOPLE = (200, 2_000, 50_000)
EPSILONS = ("0.1", "1", "4", "8")
MECHANISMS = ("DE", "SUE", "OUE", "SS")
MARGINS = {
    "2 x 2": ((0.5, 0.5), (0.5, 0.5)),
    "2 x 2, rare": ((0.98, 0.02), (0.9, 0.1)),
    "2 x 2, rarer": ((0.995, 0.005), (0.7, 0.3)),
    "5 x 3": ((0.5, 0.3, 0.15, 0.04, 0.01), (0.6, 0.33, 0.07)),
    "3 x 4": ((0.6, 0.38, 0.02), (0.5, 0.3, 0.195, 0.005)),
    "2 x 3 x 4": ((0.7, 0.3), tuple(np.outer((0.6, 0.38, 0.02), (0.5, 0.3, 0.18, 0.02)).ravel())),
    "2 x 20": ((0.7, 0.3), (0.05,) * 20),
    "8 x 8": (((1 / 8),) * 8, ((1 / 8),) * 8),
    "8 x 8, rare": (
        (0.4, 0.2, 0.15, 0.1, 0.08, 0.045, 0.02, 0.005),
        (0.3, 0.2, 0.15, 0.13, 0.1, 0.08, 0.02, 0.02),
    ),
}
STRENGTHS = (0.0, 1.0, 2.0)
"""Dependence: 0 for false alarms; 1 is detected in about half of surveys, if a table can depend so much."""


@dataclass(frozen=True)
class TestSetting:
    """Surveys of one table."""

    table: str
    people: int
    epsilon: str
    mechanism: str
    strength: float

    @property
    def seed(self) -> list[int]:
        """Seed of this setting's surveys."""
        names = list(MARGINS)
        place = names.index(self.table), MECHANISMS.index(self.mechanism)
        return [31, *place, self.people, round(10 * float(self.epsilon))]

    @property
    def independent(self) -> Floats:
        """The cells if rows and columns are independent."""
        rows, columns = map(np.array, MARGINS[self.table])
        return np.asarray(rows[:, None] * columns)

    @cached_property
    def question(self) -> Question:
        """The question about the table."""
        rows, columns = self.independent.shape
        features = "".join(
            f"[features.{name}]\nvalues = {[str(each) for each in range(size)]}\n"
            for name, size in (("a", rows), ("b", columns))
        )
        head = f'[survey]\nid = "t"\nepsilon = {self.epsilon}\n[mechanism]\nfrequency = "{self.mechanism}"\n'
        [question] = read_survey(f'{head}{features}[tables.t]\nfeatures = ["a", "b"]\n').compile().questions
        return question

    @cached_property
    def cells(self) -> Floats:
        """The true cells; two blocks of rows and columns go together."""
        expected = self.independent
        pattern = np.outer(*(_halve(np.array(each)) for each in MARGINS[self.table]))
        power_of_half = chi_square_quantile(LEVEL, _degrees(expected)) - _degrees(expected)
        reached = self._measure_dependence(pattern)
        step = self.strength * np.sqrt(power_of_half / reached)
        return np.asarray(expected + min(step, _largest_step(expected, pattern)) * pattern)

    def _measure_dependence(self, pattern: Floats) -> float:
        """Return the mean increase of the statistic that this difference from independence causes."""
        expected = self.independent
        return OracleTest.of(expected, expected, self.question, self.people).measure(expected + pattern)


def _degrees(cells: Floats) -> int:
    return int(np.prod(np.array(cells.shape) - 1))


def _halve(shares: Floats) -> Floats:
    """Return differences of shares that add up to zero: the first half more frequent."""
    first = np.arange(len(shares)) < len(shares) // 2
    return np.asarray(np.where(first, shares / shares[first].sum(), -shares / shares[~first].sum()))


def _largest_step(expected: Floats, pattern: Floats) -> float:
    """Return the largest multiple of a pattern that leaves half of every cell."""
    return float((expected / 2 / np.abs(pattern)).min())


@dataclass(frozen=True)
class OracleTest:
    """A test that knows the true margins and the covariance of the true cells, with full matrices."""

    expected: Floats
    contrasts: Floats
    """Sums of cells that no change of the margins changes, (contrasts, cells)."""
    inverse: Floats
    """Of the covariance of the contrasts."""

    @classmethod
    def of(cls, expected: Floats, cells: Floats, question: Question, people: int) -> OracleTest:
        """Return the test of tables whose cells are the expected ones if rows and columns are independent."""
        true, ones = cells.ravel(), np.ones(cells.size)
        known = FrequencyCovariance.from_mechanism(oracle_of(question), true, people)
        covariance = np.diag(known.independent_variance) + known.shared
        covariance += known.slope * (np.outer(true, ones) + np.outer(ones, true))
        covariance -= known.product * np.outer(true, true)
        rows, columns = expected.sum(axis=1), expected.sum(axis=0)
        moves = [np.outer(each, columns).ravel() for each in np.eye(len(rows))]
        moves += [np.outer(rows, each).ravel() for each in np.eye(len(columns))]
        vectors, _, _ = np.linalg.svd(np.stack(moves, axis=1))
        contrasts = vectors[:, cells.size - _degrees(cells) :].T
        return cls(expected, contrasts, np.linalg.inv(contrasts @ covariance @ contrasts.T))

    def measure(self, table: Floats) -> float:
        """Return the statistic of a table."""
        residual = self.contrasts @ (table - self.expected).ravel()
        return float(residual @ self.inverse @ residual)


@dataclass(frozen=True)
class Detections:
    """How often a setting's surveys reject independence."""

    table: str
    people: int
    epsilon: str
    mechanism: str
    strength: float
    rejected: float
    """Share of surveys in which the test rejects independence at 5%."""
    different: float
    """Share in which the columns, as classes, differ in any row."""
    oracle: float
    """Share in which the test that knows the noise rejects independence."""
    surveys: int

    @property
    def error(self) -> float:
        """Standard error of the false alarms of an exact test."""
        return float(np.sqrt(LEVEL * (1 - LEVEL) / self.surveys))


def list_settings() -> Iterator[TestSetting]:
    """Yield the settings: power for one mechanism, false alarms for all; for few or many people, for two."""
    for strength, people in product(STRENGTHS, PEOPLE):
        is_usual = people == PEOPLE[1]
        if is_usual or not strength:
            mechanisms = ("OUE",) if strength else MECHANISMS if is_usual else ("DE", "OUE")
            for table, epsilon, mechanism in product(MARGINS, EPSILONS, mechanisms):
                yield TestSetting(table, people, epsilon, mechanism, strength)


SETTINGS = list(list_settings())


def draw_counters(
    oracle: FrequencyOracle, cells: Floats, people: int, surveys: int, seed: list[int]
) -> Iterator[NDArray[np.int64]]:
    """Yield the counters of surveys; they have the distribution of sums of the devices' reports."""
    rng, devices = np.random.default_rng(seed), FastStream(np.random.SeedSequence(seed))
    for answers in rng.multinomial(people, cells, surveys):
        if oracle.constant_sum:
            values = np.repeat(np.arange(cells.size), answers)
            yield oracle.tally(oracle.perturb_many(values, devices))
        else:
            yield rng.binomial(answers, oracle.on_mean) + rng.binomial(people - answers, oracle.off_mean)


def measure_test(setting: TestSetting, surveys: int) -> list[dict[str, object]]:
    """Simulate surveys of a table, and return how often each test rejects independence."""
    question, cells, people = setting.question, setting.cells, setting.people
    oracle = OracleTest.of(np.outer(cells.sum(axis=1), cells.sum(axis=0)), cells, question, people)
    limit, found = chi_square_quantile(LEVEL, _degrees(cells)), np.zeros(3)
    for counters in draw_counters(oracle_of(question), cells.ravel(), people, surveys, setting.seed):
        frequencies = estimate_frequencies(question, Total(people, counters))
        table = frequencies.raw.reshape(cells.shape)
        p_value = assess_independence(table, frequencies.covariance).p_value
        differ = bool(find_differing_values(frequencies, cells.shape[1]).any())
        found += [p_value <= LEVEL, differ, oracle.measure(table) > limit]
    rejected, different, by_oracle = (found / surveys).tolist()
    row = Detections(
        setting.table,
        people,
        setting.epsilon,
        setting.mechanism,
        setting.strength,
        rejected,
        different,
        by_oracle,
        surveys,
    )
    return [asdict(row)]
