"""Intervals where few reports support a value: third cumulants, and exact coverage of binomial counts."""

from decimal import Decimal
from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import pytest
from scipy.stats import beta, binom

from encoders.mechanisms import design
from encoders.mechanisms.frequency_oracle import FrequencyOracle
from encoders.survey import read_survey
from ldp_aggregator.estimation import estimate_snapshot, project_simplex
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance, weigh_covariances
from ldp_aggregator.estimation.intervals import estimate_cells, find_crossing, invert_test, standardise
from ldp_aggregator.snapshot import Snapshot, Total

N = 7


def list_laws(oracle: FrequencyOracle, true: int) -> list[tuple[float, np.ndarray]]:
    """Return the probability of each vector of supports, given the true value."""
    d, p, q = oracle.domain, oracle.on_mean, oracle.off_mean
    if not oracle.constant_sum:
        chances = np.where(np.arange(d) == true, p, q)
        vectors = [np.array(each) for each in product((0, 1), repeat=d)]
        return [(float(np.prod(np.where(each, chances, 1 - chances))), each) for each in vectors]
    size = round(p + (d - 1) * q)
    found = []
    for members in combinations(range(d), size):
        has_true = true in members
        chance = p / comb(d - 1, size - 1) if has_true else (1 - p) / comb(d - 1, size)
        found.append((chance, np.isin(np.arange(d), members).astype(int)))
    return found


@pytest.mark.parametrize(("name", "d"), [("DE", 6), ("SS", 8), ("OUE", 5), ("SUE", 4), ("THE(0.25)", 4)])
def test_variance_and_third_cumulant_are_those_of_all_possible_reports(name: str, d: int):
    oracle, rng = design(name, d, Decimal(2)), np.random.default_rng(d)
    weights, shares = rng.normal(size=d), rng.dirichlet(np.ones(d))
    laws = [(share * chance, each) for v, share in enumerate(shares) for chance, each in list_laws(oracle, v)]
    chances = np.array([chance for chance, _ in laws])
    sums = np.array([each @ weights for _, each in laws]) / (oracle.on_mean - oracle.off_mean)
    assert chances.sum() == pytest.approx(1)
    centred = sums - chances @ sums
    covariance = FrequencyCovariance.from_mechanism(oracle, shares, N)
    variance, third = covariance.contrast_moments(weights, np.ones(d), shares)
    assert variance == pytest.approx(chances @ centred**2 / N)
    assert third == pytest.approx(chances @ centred**3 / N**2)


def test_groups_of_cells_are_cells_with_equal_weights():
    oracle, shares = design("SS", 8, Decimal(2)), np.array([0.3, 0.1, 0.2, 0.1, 0.05, 0.05, 0.1, 0.1])
    covariance = FrequencyCovariance.from_mechanism(oracle, shares, N)
    weights = np.array([1.0, 1.0, -0.5, -0.5, -0.5, 0, 0, 0])
    grouped = covariance.contrast_moments(
        np.array([1.0, -0.5, 0.0]), np.array([2.0, 3.0, 3.0]), np.array([0.4, 0.35, 0.25])
    )
    np.testing.assert_allclose(grouped, covariance.contrast_moments(weights, np.ones(8), shares))


def test_cumulants_of_sums_and_of_independent_questions_add_up():
    de, oue = (design(name, 6, Decimal(4)) for name in ("DE", "OUE"))
    shares = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    parts = [FrequencyCovariance.from_mechanism(each, shares, N) for each in (de, oue)]
    first, ones = np.eye(6)[0], np.ones(6)
    separate = [each.contrast_moments(first, ones, shares)[1] for each in parts]
    pooled = weigh_covariances(parts, np.array([0.3, 0.7]), shares, False)
    assert pooled.contrast_moments(first, ones, shares)[1] == pytest.approx(
        0.3**3 * separate[0] + 0.7**3 * separate[1]
    )
    # the value 0 of two classes of three values: cells 0 and 1
    summed = parts[1].sum_cells(2, axis=1)
    both = parts[1].contrast_moments(np.array([1.0, 1, 0, 0, 0, 0]), ones, shares)
    np.testing.assert_allclose(summed.contrast_moments(np.eye(3)[0], np.ones(3), summed.distribution), both)


def test_histograms_of_noise_are_nearly_normal():
    covariance = FrequencyCovariance.from_mechanism(design("SHE", 4, Decimal(4)), np.full(4, 0.25), N)
    assert covariance.supports == ()
    assert covariance.contrast_moments(np.eye(4)[0], np.ones(4), np.full(4, 0.25))[1] == 0


# -- counts ---------------------------------------------------------------------------------------


def count_intervals(oracle: FrequencyOracle, n: int, cells: int):
    """Return the intervals of a value's share for each possible count of its supports."""
    p, q = oracle.on_mean, oracle.off_mean
    value = (np.arange(n + 1) / n - q) / (p - q)
    likely = np.full(oracle.domain, 1 / oracle.domain)
    covariance = FrequencyCovariance.from_mechanism(oracle, likely, n)
    return [
        estimate_cells(each, covariance, cells)
        for each in np.resize(value, (-(-len(value) // oracle.domain), oracle.domain))
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "d"), [("DE", 48), ("OUE", 24), ("SS", 24)])
@pytest.mark.parametrize("epsilon", ["4", "6", "8"])
@pytest.mark.parametrize("n", [80, 800])
def test_a_rare_share_is_in_its_interval_as_often_as_stated(name: str, d: int, epsilon: str, n: int):
    # the count is binomial, so the coverage is a sum; no simulation
    oracle = design(name, d, Decimal(epsilon))
    found = count_intervals(oracle, n, d)
    shares = np.concatenate([[0.0], np.geomspace(1e-5, 0.9, 90)])
    supported = oracle.off_mean + (oracle.on_mean - oracle.off_mean) * shares
    chances = binom.pmf(np.arange(n + 1)[:, None], n, supported)
    for low, high, error in (
        ("low", "high", 0.05),
        ("simultaneous_low", "simultaneous_high", 0.05 / d),
    ):
        ends = [np.concatenate([getattr(each, end) for each in found])[: n + 1, None] for end in (low, high)]
        covered = ((ends[0] <= shares) & (shares <= ends[1])) * chances
        # the approximation of a Poisson variable may be off by a tenth of the error
        assert (1 - covered.sum(axis=0)).max() <= 1.1 * error


def test_the_interval_of_a_count_is_nearly_that_of_clopper_and_pearson():
    oracle, n = design("DE", 48, Decimal(8)), 800
    p, q = oracle.on_mean, oracle.off_mean
    found = np.concatenate([each.high for each in count_intervals(oracle, n, 48)])[: n + 1]
    counts = np.arange(5, 400)
    expected = (beta.ppf(0.975, counts + 1, n - counts) - q) / (p - q)
    np.testing.assert_allclose(found[counts], expected, rtol=0.01)


def test_without_skewness_the_distance_is_in_standard_errors():
    distance = np.array([-3.0, -1.0, 0.0, 0.5, 2.0])
    np.testing.assert_allclose(
        standardise(distance, np.full(5, 4.0), np.zeros(5)), np.abs(distance) / 2, atol=1e-5
    )


def test_without_skewness_rounding_hides_no_small_step():
    """A search for a crossing would take tens of further evaluations to end within the rounding."""
    near, far = standardise(np.array([2.0, 2.0 + 1e-12]), np.ones(2), np.zeros(2))
    assert far - near == pytest.approx(1e-12, rel=0.01, abs=0)


def test_a_variance_that_rounding_makes_negative_counts_as_none():
    found = standardise(np.array([0.0, 0.1]), np.array([-1e-16, 0.0]), np.array([6e-19, -6e-19]))
    assert found[0] <= 0 < 3.5 < found[1]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_skewed_estimate_may_be_further_off_on_its_long_side(sign: int):
    one = np.ones(1)
    long, short = (standardise(side * sign * one, one, sign * one) for side in (2, -2))
    assert long[0] < 2 < short[0]


def test_the_search_finds_the_crossing_of_each_element():
    goals = np.array([1e-6, 0.2, 0.9, 2.0])
    found = find_crossing(lambda x: np.expm1(5 * (x - goals)), np.zeros(4), np.ones(4))
    np.testing.assert_allclose(found, [1e-6, 0.2, 0.9, 1.0], atol=2e-9)


def test_an_unknown_ratio_has_the_whole_range():
    top, bottom = np.array([np.nan, 0.1, 0.1]), np.array([0.5, 0.0, -0.2])
    low, high, lowest, highest = invert_test(top, bottom, lambda r: (np.ones_like(r), np.zeros_like(r)), 3)
    assert low.tolist() == lowest.tolist() == [0, 0, 0]
    assert high.tolist() == highest.tolist() == [1, 1, 1]


# -- few reports ------------------------------------------------------------------------------------

VALUES = 'values = ["p", "q", "r"]\n'
TABLE = f'[features.a]\n{VALUES}[features.b]\n{VALUES}[tables.t]\nfeatures = ["a", "b"]\n'
BINS = "[features.x]\nrange = [0, 10]\nbins = 10\n"


@pytest.mark.parametrize("epsilon", ["0.1", "8"])
@pytest.mark.parametrize("body", [TABLE, BINS])
@pytest.mark.parametrize("reports", [0, 1, 3])
def test_few_equal_reports_give_wide_intervals(body: str, epsilon: str, reports: int):
    plan = read_survey(
        f'[survey]\nid = "s"\nepsilon = {epsilon}\n[mechanism]\nfrequency = "DE"\n{body}'
    ).compile()
    (question,) = plan.questions
    cells = np.zeros(question.cells, dtype=np.int64)
    cells[1] = reports
    estimates = estimate_snapshot(Snapshot(plan, {question.key: Total(reports, cells)}))
    figures = [each for feature in estimates.features for each in [feature.shares, feature.conditionals]]
    figures += [each for table in estimates.tables for each in (table.cells, table.row_shares)]
    figures += [each.ordered.cumulative for each in estimates.features if each.ordered]
    for each in figures:
        ends = each.simultaneous_low, each.low, each.high, each.simultaneous_high
        assert all((first <= second).all() for first, second in pairwise(ends))
        assert (ends[0] >= 0).all()
        assert (ends[3] <= 1).all()
        # Wilson's interval of three equal answers of three people has the width .56, that of one answer .79
        width = {0: 1.0, 1: 0.8, 3: 0.4}[reports]
        assert (ends[2] - ends[1] >= width).all()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "8"])
@pytest.mark.parametrize("body", [TABLE, BINS, '[features.x]\nrange = [0, 1]\nmissing = "category"\n'])
@pytest.mark.parametrize("numeric", ["auto", "piecewise"])
def test_contradictory_counters_of_any_size_give_intervals(body: str, epsilon: str, numeric: str):
    plan = read_survey(
        f'[survey]\nid = "s"\nepsilon = {epsilon}\n[mechanism]\nnumeric = "{numeric}"\n{body}'
    ).compile()
    rng, greatest = np.random.default_rng(0), 2**63 - 1
    for drawn in ([greatest], [-greatest], *[[greatest, -greatest, 0, 1]] * 4):
        cells = {each.key: rng.choice(np.array(drawn), each.cells) for each in plan.questions}
        snapshot = Snapshot(plan, {key: Total(1, each) for key, each in cells.items()})
        with np.errstate(all="ignore"):
            estimates = estimate_snapshot(snapshot)
        for table in estimates.tables:
            assert np.isfinite([table.cells.low, table.cells.high]).all()


def test_the_nearest_distribution_to_estimates_near_the_limit_of_integers_adds_up_to_one():
    np.testing.assert_allclose(project_simplex(np.array([9e18, -9e18, 9e18, 3.0])), [0.5, 0, 0.5, 0])
