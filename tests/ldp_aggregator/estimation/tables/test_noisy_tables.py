"""Shares and frequencies from noisy tables: bias, errors and intervals over many samples of rows."""

from fractions import Fraction

import numpy as np
import pytest

from encoders.mechanisms.counted_table import laplace_variance
from ldp_aggregator.estimation.class_differences import (
    compared_ratios,
    find_differing_values,
    ratio_contrasts,
)
from ldp_aggregator.estimation.intervals import estimate_conditional_intervals, estimate_joint_intervals
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable, estimate_table
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from tests.support.statistical_checks import (
    assert_correct_errors,
    assert_covered,
    assert_covered_simultaneously,
    assert_unbiased,
    small_and_full,
)

PRIOR = np.array([0.86, 0.11, 0.03])
"""A frequent class shares most of the error of the number of rows."""
TABLES = (
    np.array([[0.7, 0.2, 0.5], [0.3, 0.8, 0.5]]) * PRIOR,
    np.array([[0.1, 0.1, 0.1], [0.4, 0.4, 0.4], [0.5, 0.5, 0.5]]) * PRIOR,
)
ROWS = 4000


def draw_noise(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    stop = 1 - np.exp(-1 / scale)
    return rng.geometric(stop, shape) - rng.geometric(stop, shape)


def sample_tables(scale: int, rng: np.random.Generator) -> list[NoisyTable]:
    """Return noisy tables of one sample of rows; the features are independent given the class."""
    classes = rng.multinomial(ROWS, PRIOR)
    tables = []
    for joint in TABLES:
        columns = [rng.multinomial(n, each / each.sum()) for n, each in zip(classes, joint.T, strict=True)]
        cells = np.stack(columns, axis=1)
        noise = draw_noise(scale, cells.shape, rng)
        tables.append(NoisyTable(cells + noise, 1, laplace_variance(Fraction(scale))))
    return tables


@pytest.fixture(scope="module", params=small_and_full(80, 1500, long=True))
def trials(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module", params=[1, 40])
def samples(request: pytest.FixtureRequest, trials: int) -> list[list[NoisyTable]]:
    """Many samples: with less noise than sampling error, and with much more."""
    rng = np.random.default_rng(request.param)
    return [sample_tables(request.param, rng) for _ in range(trials)]


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(TABLES)))
def test_estimates_are_unbiased_and_their_errors_and_intervals_correct(samples, place):
    classes = [ClassCounts.from_tables(each) for each in samples]
    cells = [estimate_table(each[place], counts) for each, counts in zip(samples, classes, strict=True)]
    conditionals = [estimate_conditional_intervals(each, 3) for each in cells]
    for found, truth in (
        ([each.shares for each in classes], PRIOR),
        ([estimate_joint_intervals(each, 3) for each in cells], TABLES[place]),
    ):
        assert_unbiased(found, truth, slack=1e-3)
        assert_correct_errors(found, slack=0.03)
        assert_covered(found, truth)
        assert_covered_simultaneously(found, truth)
    assert_covered(conditionals, TABLES[place] / PRIOR)
    assert_covered_simultaneously(conditionals, TABLES[place] / PRIOR)


@pytest.mark.slow
def test_equal_classes_seldom_differ_and_different_ones_do(samples):
    tables = [
        [estimate_table(table, ClassCounts.from_tables(each)) for table in each] for each in samples[:1000]
    ]
    equal = np.mean([find_differing_values(each[1], 3).any() for each in tables])
    assert equal < 0.05 + 5.5 * np.sqrt(0.05 * 0.95 / len(tables))  # false alarm below 1e-7
    assert np.mean([find_differing_values(each[0], 3).all() for each in tables]) > 0.3


@pytest.mark.slow
def test_covariances_between_classes_match_many_samples(samples):
    counts = [ClassCounts.from_tables(each) for each in samples]
    shares = np.stack([each.shares.value for each in counts])
    found = np.cov(shares.T)
    claimed = np.mean([each.between.linear for each in counts]) * (PRIOR[:, None] + PRIOR) - np.mean(
        [each.between.product for each in counts]
    ) * np.outer(PRIOR, PRIOR)
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    off = ~np.eye(3, dtype=bool)
    assert (np.abs(found - claimed) / scale)[off].max() < 6 / np.sqrt(len(samples))


def test_factors_of_a_table_give_what_its_classes_have_in_common():
    # dF = dX / N - F dN / N, and the noise of different classes is independent
    rng = np.random.default_rng(5)
    table = NoisyTable(rng.integers(200, 900, (4, 3)) << 20, 1 << 20, 40.0 * 2.0**40)
    classes = ClassCounts.from_tables([table, NoisyTable(rng.integers(200, 900, (2, 3)), 1, 90.0)])
    moments = SoftMoments.from_table(table, classes)
    people = moments.likely_population()
    expected = np.stack([people.first, people.second, people.missing, people.present + people.missing])
    noise, rows = moments.table_noise, classes.rows
    signs, factors = noise.factors(expected)
    for c, d in ((0, 1), (2, 0)):
        found = np.einsum("f,fi,fj->ij", signs, factors[:, :, c], factors[:, :, d])
        e, f, g = expected[:, c], expected[:, d], noise.with_rows
        claimed = -(np.outer(e, g) + np.outer(g, f)) + 3 * classes.variance * np.outer(e, f)
        assert found == pytest.approx(claimed / rows**2 - np.outer(e, f) / rows)
    contrasts = ratio_contrasts(moments, list(compared_ratios(moments).values()))
    assert (contrasts.own[0] > 0).all()


def test_class_counts_are_pooled_by_inverse_variance():
    tables = [
        NoisyTable(np.array([[10, 0], [0, 20]]), 1, 3.0),
        NoisyTable(np.array([[8, 11], [1, 1], [1, 4]]), 1, 3.0),
    ]
    classes = ClassCounts.from_tables(tables)
    assert classes.counts == pytest.approx([10, (20 * 3 + 16 * 2) / 5])
    assert classes.variance == pytest.approx(1 / (1 / 6 + 1 / 9))
    assert classes.rows == pytest.approx(28.4)


def test_noise_can_not_make_the_number_of_rows_too_small():
    classes = ClassCounts.from_tables([NoisyTable(np.array([[-50, -3, 2]]), 1, 900.0)])
    assert classes.rows == 6
    assert (classes.prior > 0).all()
