"""Noisy tables: the exact ratio over all small data sets, mutants, and the estimates from them."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from encoders.randomness import FastStream, SystemEntropy
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable, estimate_table
from ldp_central import curator_naive_bayes
from ldp_central.coded_rows import CentralError, CodedRows
from ldp_central.curator_naive_bayes import exact_tables, fit_naive_bayes, measure_tables
from tests.ldp_central.small_rows import (
    BINS,
    GAPS,
    NUMBER,
    THREE,
    TWO,
    make_rows,
    neighbours,
    random_rows,
)

EPSILON = Fraction(1)
FEATURES = (TWO, THREE)
Released = list[tuple[np.ndarray, Fraction]]
"""Arrays, each with the scale of the discrete Laplace noise in every cell; a scale of zero is no noise."""


def released(rows: CodedRows) -> Released:
    """Return what the code under test releases, before its noise."""
    scales: list[Fraction] = []

    def record(scale: Fraction, count: int, source: object) -> np.ndarray:
        scales.append(scale)
        return np.zeros(count, dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curator_naive_bayes, "draw_laplace_array", record)
        tables = measure_tables(rows, EPSILON, SystemEntropy())
    return [(table.cells, scale) for table, scale in zip(tables, scales, strict=True)]


def realised(mechanism: Callable[[CodedRows], Released], features: tuple, k: int, most: int) -> float:
    """Return the exact epsilon over all data sets: discrete Laplace noise has the ratio e^(|x - x'| / s)."""
    worst, found = 0.0, {}

    def output(rows: tuple) -> Released:
        if rows not in found:
            found[rows] = mechanism(make_rows(features, k, rows))
        return found[rows]

    for one, other in neighbours(features, k, most):
        total = 0.0
        for (cells, scale), (others, other_scale) in zip(output(one), output(other), strict=True):
            difference = int(np.abs(cells - others).sum())
            if scale != other_scale or (difference and not scale):
                return math.inf  # tails of different scales, or values without noise
            total += difference / float(scale) if difference else 0.0
        worst = max(worst, total)
    return worst


@pytest.mark.slow
def test_tables_realise_exactly_epsilon():
    assert realised(released, FEATURES, 2, 3) == pytest.approx(1.0, abs=1e-12)
    assert realised(released, (TWO, BINS), 3, 1) == pytest.approx(1.0, abs=1e-12)


def test_a_row_with_a_number_changes_its_table_by_one_unit():
    rows = random_rows((NUMBER, GAPS, THREE), 3, 40)
    with_row, without = (released(each) for each in (rows, rows_without_last(rows)))
    spent = [np.abs(a - b).sum() / s for (a, s), (b, _) in zip(with_row, without, strict=True)]
    assert spent == [Fraction(1, 3)] * 3


def rows_without_last(rows: CodedRows) -> CodedRows:
    return CodedRows(rows.features, rows.k, rows.codes[:-1], rows.labels[:-1])


def no_division(rows: CodedRows) -> Released:
    return [(cells, scale / len(rows.features)) for cells, scale in released(rows)]


def exact_class_counts(rows: CodedRows) -> Released:
    return [*released(rows), (np.bincount(rows.labels, minlength=rows.k), Fraction(0))]


def class_counts_not_paid_for(rows: CodedRows) -> Released:
    return [*released(rows), (np.bincount(rows.labels, minlength=rows.k), 1 / EPSILON)]


def one_class_without_noise(rows: CodedRows) -> Released:
    return [
        part
        for cells, scale in released(rows)
        for part in ((cells[:, 1:], scale), (cells[:, :1], Fraction(0)))
    ]


def local_sensitivity(rows: CodedRows) -> Released:
    widest = int(max(rows.codes.max(initial=0) - rows.codes.min(initial=9), 1))
    return [(cells, scale * widest) for cells, scale in released(rows)]


def scale_by_true_count(rows: CodedRows) -> Released:
    return [(cells, scale / max(len(rows), 1)) for cells, scale in released(rows)]


@pytest.mark.parametrize(
    "mutant",
    [
        no_division,
        exact_class_counts,
        class_counts_not_paid_for,
        one_class_without_noise,
        local_sensitivity,
        scale_by_true_count,
    ],
)
def test_mutants_of_the_tables_exceed_epsilon(mutant):
    assert realised(mutant, FEATURES, 2, 2) > 1.5


def test_float_noise_is_detected_because_counts_of_rows_are_whole(monkeypatch):
    """The low bits of float noise depend on the count that it is added to (Mironov 2012)."""

    def are_whole(tables: list[NoisyTable]) -> bool:
        return all(table.cells.dtype.kind == "i" and (table.cells % 1 == 0).all() for table in tables)

    rows = random_rows((TWO, THREE, NUMBER), 2, 50)
    for delta in (Fraction(0), Fraction(1, 10**6)):
        assert are_whole(measure_tables(rows, EPSILON, FastStream(1), delta))
    monkeypatch.setattr(
        curator_naive_bayes,
        "draw_laplace_array",
        lambda scale, count, source: np.random.default_rng(1).laplace(0, float(scale), count),
    )
    assert not are_whole(measure_tables(rows, EPSILON, FastStream(1)))


def test_gaussian_noise_has_the_variance_that_rho_needs():
    rows = random_rows((TWO, THREE, NUMBER), 2, 50)
    delta = Fraction(1, 10**6)
    tables = measure_tables(rows, EPSILON, FastStream(1), delta)
    expected = 3 / (2 * curator_naive_bayes.find_rho(EPSILON, delta))
    assert [table.variance for table in tables] == pytest.approx([float(expected)] * 3)
    squares = [
        (table.counts - cells / unit) ** 2
        for table, (cells, unit) in zip(tables, exact_tables(rows), strict=True)
    ]
    assert 0.2 < np.concatenate([each.ravel() for each in squares]).mean() / float(expected) < 3


@pytest.mark.slow
def test_frequencies_and_their_errors_match_many_measurements():
    rows = random_rows((THREE, TWO), 2, 400)
    source = FastStream(2)
    measured = [measure_tables(rows, EPSILON, source) for _ in range(1500)]
    found = [estimate_table(each[0], ClassCounts.from_tables(each)) for each in measured]
    raw = np.stack([each.raw for each in found])
    exact = exact_tables(rows)[0][0].ravel() / 400
    sampling = exact * (1 - exact) / 400  # the rows are fixed here, so only noise varies
    spread = raw.var(axis=0) + sampling
    claimed = np.mean([each.covariance.variance for each in found], axis=0)
    assert np.abs(raw.mean(axis=0) - exact).max() < 6 * math.sqrt(claimed.max() / 1500)
    assert np.abs(claimed / spread - 1).max() < 0.2


def test_large_epsilon_gives_the_naive_bayes_of_the_rows():
    rows = random_rows((THREE, BINS), 2, 100_000)
    model, spent = fit_naive_bayes(rows, 100_000, Fraction(1000), FastStream(1))
    prior = np.bincount(rows.labels) / len(rows)
    assert model.prior == pytest.approx(prior, abs=1e-3)
    for place, table in enumerate(model.conditionals):
        counts = exact_tables(rows)[place][0]
        assert table == pytest.approx(counts / counts.sum(axis=0), abs=0.01)
    assert sum(each.epsilon for each in spent) == 1000


def test_pure_noise_does_not_outvote_the_prior():
    rng = np.random.default_rng(3)
    labels = (rng.random(300) < 0.2).astype(np.int64)
    features = tuple(type(THREE)(f"f{place}", ("a", "b", "c")) for place in range(40))
    rows = CodedRows(features, 2, rng.integers(0, 3, (300, 40)), labels)
    model, _ = fit_naive_bayes(rows, 10**6, Fraction(1, 10), FastStream(3))
    tables = [np.maximum(table.counts, 1) for table in model.tables]
    unsmoothed, smoothed = (
        sum(np.abs(np.log(each[:, 1] / each[:, 0])).sum() for each in some)
        for some in ([table / table.sum(axis=0) for table in tables], model.conditionals)
    )
    assert smoothed < unsmoothed / 20


@pytest.mark.parametrize(
    ("codes", "labels"),
    [([[2, 0]], [0]), ([[0, -1]], [0]), ([[0, 0]], [2]), ([[0]], [0]), ([[0, 0]], [0, 1]), ([[0.5, 0]], [0])],
)
def test_codes_outside_the_survey_are_refused(codes, labels):
    with pytest.raises(CentralError):
        CodedRows(FEATURES, 2, np.array(codes), np.array(labels))
