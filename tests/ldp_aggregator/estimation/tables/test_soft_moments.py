"""Soft cells of numbers, and the means and variances from them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from encoders.errors import RowError
from encoders.mechanisms.counted_table import SOFT_UNIT, STEPS, laplace_variance
from encoders.randomness import FastStream
from encoders.survey.features import GRID
from ldp_aggregator.estimation.estimators import Gaussian
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_aggregator.prediction.linear_model import place_on_grid
from ldp_aggregator.rows.encode_table import encode_columns
from ldp_central.coded_rows import CodedRows
from ldp_central.curator_naive_bayes import exact_tables, fit_naive_bayes, measure_tables, soft_cells
from tests.ldp_central.small_rows import GAPS, NUMBER
from tests.support.statistical_checks import small_and_full


@pytest.mark.parametrize("can_be_missing", [False, True])
def test_the_cells_of_each_place_add_up_to_one_unit(can_be_missing):
    parts = soft_cells(can_be_missing)
    assert SOFT_UNIT == 1 << 20
    assert (parts >= 0).all()
    assert (parts.sum(axis=1) == SOFT_UNIT).all()
    assert len(parts) == STEPS + 1 + can_be_missing


def test_means_and_mean_squares_are_linear_in_the_cells():
    b0, b1, b2 = soft_cells(False).T / SOFT_UNIT
    x = 2 * np.arange(STEPS + 1) / STEPS - 1
    assert b2 - b0 == pytest.approx(x)
    assert b0 - b1 + b2 == pytest.approx(x**2)


def test_numbers_outside_the_bounds_are_clipped_and_nan_is_refused():
    codes = encode_columns((NUMBER,), {"number": np.array([-5.0, 0.0, 10.0, 1e300])})
    assert place_on_grid(codes[:, 0]).tolist() == [0, 0, STEPS, STEPS]
    for value in (math.nan, math.inf):
        with pytest.raises(RowError):
            encode_columns((NUMBER,), {"number": np.array([1.0, value])})
    codes = encode_columns((GAPS,), {"gaps": np.array([5.0, math.nan])})
    assert place_on_grid(codes[:, 0]).tolist() == [STEPS // 2, STEPS + 1]


def number_rows(count: int, seed: int = 1) -> tuple[CodedRows, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    x = np.clip(rng.normal(0.3 * labels - 0.1, 0.2 + 0.1 * labels), -1, 1)
    codes = np.rint((x + 1) * GRID).astype(np.int64)
    return CodedRows((NUMBER,), 2, codes[:, None], labels), x


def test_moments_without_noise_are_those_of_the_rows():
    rows, x = number_rows(4000)
    (cells, unit) = exact_tables(rows)[0]
    table = NoisyTable(cells, unit, 0.0)
    moments = SoftMoments.from_table(table, ClassCounts(table.counts.sum(axis=0), 0.0))
    for c in range(2):
        mine = x[rows.labels == c]
        assert moments.raw_mean[0][c] == pytest.approx(mine.mean(), abs=1e-3)
        assert moments.raw_variance[0][c] == pytest.approx(mine.var(), rel=0.02)
        assert moments.raw_mean[1][c] == pytest.approx(mine.var() / len(mine), rel=0.1)


def test_noise_has_the_variances_of_the_formulas():
    # in 1 / eps^2, for F numbers: 4 F^2 of the sum of x, 16/3 F^2 of that of x^2
    features, epsilon, n = 5, Fraction(1, 10), 1e12
    variance = laplace_variance(features / epsilon * SOFT_UNIT) / SOFT_UNIT**2
    table = NoisyTable(np.zeros((3, 2), dtype=np.int64), SOFT_UNIT, variance * SOFT_UNIT**2)
    moments = SoftMoments.from_table(table, ClassCounts(np.array([n / 2, n / 2]), 0.0))
    noise = moments.noise[:, :, 0] * n**2
    sampling = SoftMoments.from_table(
        NoisyTable(table.cells, SOFT_UNIT, 1e-30), ClassCounts(np.array([n / 2, n / 2]), 0.0)
    )
    noise -= sampling.noise[:, :, 0] * n**2
    unit = features**2 / float(epsilon) ** 2
    # sampling of 1e12 rows is subtracted in floats
    assert noise[0, 0] == pytest.approx(4 * unit, rel=0.2)
    assert noise[1, 1] == pytest.approx(16 / 3 * unit, rel=0.2)


@pytest.mark.parametrize("trials", small_and_full(200, 1500))
def test_moments_with_noise_are_unbiased_with_correct_errors(trials):
    rows, x = number_rows(2000)
    source = FastStream(4)
    found = []
    for _ in range(trials):
        table = measure_tables(rows, Fraction(2), source)[0]
        found.append(SoftMoments.from_table(table, ClassCounts.from_tables([table])).raw_mean)
    values = np.stack([each[0] for each in found])
    claimed = np.mean([each[1] for each in found], axis=0)
    for c in range(2):
        mine = x[rows.labels == c]
        noise = claimed[c] - mine.var() / len(mine)  # the rows are fixed here
        assert values[:, c].var() == pytest.approx(noise, rel=max(0.25, 6 * math.sqrt(2 / trials)))
        assert abs(values[:, c].mean() - mine.mean()) < 6 * math.sqrt(claimed[c] / trials) + 1e-3


def test_large_epsilon_gives_gaussian_naive_bayes_with_missing_numbers():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 20_000)
    x = np.clip(rng.normal(0.4 * labels - 0.2, 0.2), -1, 1)
    absent = rng.random(20_000) < 0.1 + 0.2 * labels
    codes = np.where(absent, 2 * GRID + 1, np.rint((x + 1) * GRID).astype(np.int64))
    model, _ = fit_naive_bayes(
        CodedRows((GAPS,), 2, codes[:, None], labels), 1000, Fraction(1000), FastStream(1)
    )
    gaussian = model.conditionals[0]
    assert isinstance(gaussian, Gaussian)
    present = [x[(labels == c) & ~absent] for c in range(2)]
    assert gaussian.mean == pytest.approx([each.mean() for each in present], abs=0.01)
    assert gaussian.variance == pytest.approx([each.var() for each in present], rel=0.05)
    assert gaussian.missing == pytest.approx([absent[labels == c].mean() for c in range(2)], abs=0.01)
