"""Linear models: the exact densities of the weights, mutants, the solver's certificate, the cover noise."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from encoders.randomness import FastStream, SystemEntropy
from ldp_aggregator.prediction.linear_model import (
    SHARPNESS,
    Design,
    count_coordinates,
    find_class_scores,
    place_columns,
)
from ldp_central import linear, noise, solver
from ldp_central.coded_rows import CentralError, CodedRows
from ldp_central.linear import bound_error, choose_constants, covered_error, fit_linear
from ldp_central.noise import GRID_BITS, add_cover_noise, bound_tail_delta, draw_ball_noise
from ldp_central.solver import TOLERANCE, Objective, SoftHinge, minimise
from tests.ldp_central.small_rows import BINS, GAPS, NUMBER, THREE, TWO, random_rows

ALARM = 1e-8
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5)]
WEIGHTS = np.concatenate([-np.geomspace(1e3, 1e-3, 4000), [0.0], np.geomspace(1e-3, 1e3, 4000)])
"""One-dimensional weights at which densities are compared."""


def log_density(rows: tuple[tuple[float, int], ...], ridge: float, rate: float) -> np.ndarray:
    """Return the log density of the ideal weight, up to a constant: that of b, times the Jacobian."""
    loss = SoftHinge(2)
    gradient, curvature = ridge * WEIGHTS, np.full(len(WEIGHTS), ridge)
    for x, label in rows:
        scores, labels = (WEIGHTS * x)[:, None], np.full(len(WEIGHTS), label)
        gradient = gradient + x * loss.residuals(scores, labels)[:, 0]
        curvature = curvature + x**2 * loss.curvatures(scores, labels)[:, 0, 0]
    return -rate * np.abs(gradient) + np.log(curvature)


def realised(ridge: float, rate: float, places: tuple[float, ...] = (-1.0, -0.5, 0.0, 0.5, 1.0)) -> float:
    """Return the greatest log ratio over all data sets of up to two rows and one row more."""
    kinds = list(product(places, (0, 1)))
    worst = 0.0
    for size in range(3):
        for rows in combinations_with_replacement(kinds, size):
            density = log_density(rows, ridge, rate)
            for extra in kinds:
                ratio = np.abs(log_density((*rows, extra), ridge, rate) - density)
                worst = max(worst, float(ratio.max()))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_weight_of_two_classes_realises_exactly_epsilon(epsilon):
    ridge, rate = choose_constants(2, epsilon)
    assert realised(ridge, rate) == pytest.approx(float(epsilon), rel=1e-3)
    assert realised(ridge, rate) <= float(epsilon) * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rows_beyond_the_unit_ball_exceed_epsilon(epsilon):
    assert realised(*choose_constants(2, epsilon), places=(-2.0, 2.0)) > 1.5 * float(epsilon)


def worst_of_two_classes(ridge: float, rate: float) -> float:
    """Return the greatest log ratio that one row in the unit ball can cause, over its scores."""
    loss, scores = SoftHinge(2), np.linspace(-40, 40, 80_001)[:, None]
    labels = np.ones(len(scores), dtype=np.int64)
    lengths = np.abs(loss.residuals(scores, labels)[:, 0])
    return float((rate * lengths + np.log1p(loss.curvatures(scores, labels)[:, 0, 0] / ridge)).max())


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_row_of_two_classes_spends_exactly_epsilon(epsilon):
    ridge, rate = choose_constants(2, epsilon)
    assert worst_of_two_classes(ridge, rate) == pytest.approx(float(epsilon), rel=1e-9)
    assert worst_of_two_classes(ridge / 2, rate) > 1.01 * float(epsilon)


@pytest.mark.slow
def test_one_against_the_rest_at_epsilon_each_exceeds_epsilon():
    # the weights of each class are independent, and the new row changes all three
    assert 3 * realised(*choose_constants(2, Fraction(1))) > 2.9


def shares_near_corners(k: int) -> np.ndarray:
    """Return distributions of the labels: some mass on two labels, the rest spread."""
    ends = np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 60), 1 - np.geomspace(1e-9, 0.5, 60)])
    spread = []
    for a, b in product(ends, repeat=2):
        if a + b <= 1:
            rest = (1 - a - b) / (k - 2)
            spread.append([a, b, *([rest] * (k - 2))])
    if k == 3:
        return np.array(spread)
    random = np.random.default_rng(1).dirichlet(np.full(k, 0.3), 4000)
    return np.concatenate([spread, random])


def worst_of_classes(k: int, ridge: float, rate: float) -> float:
    """Return the greatest log ratio that one row in the unit ball can cause, over its distributions."""
    loss = SoftHinge(k)
    shares = np.maximum(shares_near_corners(k), 1e-15)
    scores = np.log(shares / shares.sum(axis=1, keepdims=True)) / SHARPNESS
    scores[:, 1:] -= 1  # the loss adds the margin to every label but the row's, which is 0
    scores = scores @ loss.basis.T
    labels = np.zeros(len(scores), dtype=np.int64)
    lengths = np.linalg.norm(loss.residuals(scores, labels), axis=1)
    logs = np.linalg.slogdet(np.eye(k - 1) + loss.curvatures(scores, labels) / ridge)[1]
    return float((rate * lengths + logs).max())


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_weights_of_more_classes_spend_exactly_epsilon(k, epsilon):
    ridge, rate = choose_constants(k, epsilon)
    assert worst_of_classes(k, ridge, rate) == pytest.approx(float(epsilon), rel=1e-5)
    assert worst_of_classes(k, ridge / 2, rate) > 1.01 * float(epsilon)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_derivatives_of_losses_are_those_of_the_losses(k):
    loss = SoftHinge(k)
    rng = np.random.default_rng(k)
    scores, step = rng.normal(0, 2, (6, loss.scores)), 1e-5
    for row, label in product(range(6), range(k)):
        labels = np.array([label])
        point = scores[row : row + 1]
        for place in range(loss.scores):
            move = np.zeros((1, loss.scores))
            move[0, place] = step
            slope = (loss.loss(point + move, labels) - loss.loss(point - move, labels)) / (2 * step)
            assert loss.residuals(point, labels)[0, place] == pytest.approx(slope, abs=1e-7)
            bend = (loss.residuals(point + move, labels) - loss.residuals(point - move, labels)) / (2 * step)
            assert loss.curvatures(point, labels)[0, :, place] == pytest.approx(bend[0], abs=1e-6)


def all_rows(features: tuple) -> CodedRows:
    coded = product(*([0, feature.size // 2, feature.size - 2, feature.size - 1] for feature in features))
    codes = np.array(list(coded))
    codes = np.clip(codes, 0, [feature.size - 1 for feature in features])
    return CodedRows(features, 2, codes, np.zeros(len(codes), dtype=np.int64))


def test_no_row_is_longer_than_one_and_one_is_that_long():
    features = (TWO, THREE, BINS, NUMBER, GAPS, type(TWO)("one", ("a",)))
    rows = all_rows(features)
    design = Design.from_features(features, 3)
    matrix = design.matrix(place_columns(rows.features, rows.codes), slice(None))
    lengths = np.sqrt((matrix.astype(np.longdouble) ** 2).sum(axis=1))
    assert matrix.shape[1] == design.columns == 1 + 3 + 3 + 3 + 4 + 1
    assert lengths.max() <= 1
    assert lengths.max() > 1 - 1e-9


@pytest.mark.parametrize("degree", range(1, 8))
def test_coordinates_are_counted_without_computing_them(degree):
    features = (TWO, THREE, BINS, NUMBER, GAPS, type(TWO)("one", ("a",)))
    blocks = Design.from_features(features, degree).blocks
    assert [count_coordinates(feature, degree) for feature in features] == [each.shape[1] for each in blocks]


def test_scores_and_sums_by_lookup_are_those_of_the_matrix():
    rows = random_rows((TWO, THREE, BINS, NUMBER, GAPS), 3, 500)
    design, columns = Design.from_features(rows.features, 3), place_columns(rows.features, rows.codes)
    matrix = design.matrix(columns, slice(None))
    rng = np.random.default_rng(1)
    weights, residuals = rng.normal(size=(design.columns, 2)), rng.uniform(-1.4, 1.4, (500, 2))
    assert design.scores(columns, weights) == pytest.approx(matrix @ weights, abs=1e-12)
    exact = matrix.T.astype(np.longdouble) @ residuals.astype(np.longdouble)
    assert np.abs(design.pull_back(columns, residuals) - exact).max() < 1e-13


def test_the_hessian_by_pairs_of_codes_is_that_of_the_matrix():
    rows = random_rows((TWO, THREE, BINS, type(TWO)("one", ("a",))), 3, 500)
    design, columns = Design.from_features(rows.features, 3), place_columns(rows.features, rows.codes)
    matrix = design.matrix(columns, slice(None))
    weights = np.random.default_rng(1).random(500)
    assert design.gram(columns, weights) == pytest.approx(matrix.T @ (matrix * weights[:, None]), abs=1e-12)


def make_objective(k: int, count: int, epsilon: Fraction, seed: int = 1) -> Objective:
    rows = random_rows((TWO, THREE, BINS, NUMBER), k, count, seed)
    design, loss = Design.from_features(rows.features, 3), SoftHinge(k)
    ridge, rate = choose_constants(k, epsilon)
    size = design.columns * loss.scores
    noise = draw_ball_noise(size, rate, FastStream(seed)).reshape(design.columns, loss.scores)
    return Objective(design, place_columns(rows.features, rows.codes), rows.labels, loss, ridge, noise)


def ideal_gradient(objective: Objective, weights: np.ndarray) -> np.ndarray:
    """Return the gradient for two classes in extended precision."""
    matrix = objective.design.matrix(objective.columns, slice(None)).astype(np.longdouble)
    signs = 2 * objective.labels - 1
    margins = signs * (matrix @ weights.astype(np.longdouble))[:, 0]
    residuals = -signs / (1 + np.exp(SHARPNESS * (margins - 1)))
    return matrix.T @ residuals[:, None] + objective.ridge * weights.astype(np.longdouble) + objective.linear


@pytest.mark.parametrize("count", [0, 1, 200, 20_000])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(20)])
def test_the_solver_reaches_its_tolerance_in_extended_precision(count, epsilon):
    objective = make_objective(2, count, epsilon)
    weights = minimise(objective)
    distance = float(np.linalg.norm(ideal_gradient(objective, weights))) / objective.ridge
    assert distance <= 1.1 * TOLERANCE
    assert distance <= bound_error(objective, weights) < float(covered_error(count, epsilon))


@pytest.mark.parametrize("k", [3, 7])
def test_the_solver_reaches_its_tolerance_with_more_classes(k):
    objective = make_objective(k, 5000, Fraction(1))
    weights = minimise(objective)
    gradient = objective.gradient(weights, objective.scores(weights))
    assert np.linalg.norm(gradient) <= TOLERANCE * objective.ridge


@pytest.mark.parametrize("k", [2, 3])
def test_the_solver_needs_no_matrix_of_all_rows(k, monkeypatch):
    with_matrix = minimise(make_objective(k, 5000, Fraction(1)))
    monkeypatch.setattr(solver, "_MAX_MATRIX_SIZE", 0)
    monkeypatch.setattr(solver, "_PAIR_COORDINATES", 0)
    monkeypatch.setattr(solver, "_MAX_PAIR_CODES", 1 << 20)
    objective = make_objective(k, 5000, Fraction(1))
    assert objective.matrix is None
    assert np.linalg.norm(minimise(objective) - with_matrix) < 3 * TOLERANCE


def test_a_solver_that_stops_early_releases_nothing(monkeypatch):
    released: list[object] = []
    monkeypatch.setattr(linear, "add_cover_noise", lambda *values: released.append(values))
    monkeypatch.setattr(solver, "_MAX_STEPS", 3)
    rows = random_rows((TWO, THREE), 2, 3000)
    with pytest.raises(CentralError, match="did not converge"):
        fit_linear(rows, 3000, Fraction(1), SystemEntropy())
    assert not released


def test_weights_of_a_solver_that_stops_early_are_not_covered(monkeypatch):
    objective = make_objective(2, 3000, Fraction(1))
    monkeypatch.setattr(solver, "TOLERANCE", 1e-2)
    early = minimise(objective)
    distance = np.linalg.norm(ideal_gradient(objective, early)) / objective.ridge
    assert distance > float(covered_error(3000, Fraction(1)))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**4), Fraction(1000)])
@pytest.mark.parametrize("k", [2, 4])
def test_extreme_epsilons_and_many_rows_are_within_the_covered_error(epsilon, k):
    rows = random_rows((THREE,) * 12 + (NUMBER, GAPS), k, 100_000)
    model, _ = fit_linear(rows, 100_000, epsilon, FastStream(1))
    assert on_the_grid(model.weights)


def test_rows_beyond_the_precision_of_floats_are_refused(monkeypatch):
    monkeypatch.setattr(linear, "_ERROR", Fraction(1, 10**10))
    with pytest.raises(CentralError, match="far more rows"):
        fit_linear(random_rows((TWO,), 2, 100), 100, Fraction(1), SystemEntropy())


@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_cover_noise_covers_every_shift_of_twice_the_error(size, monkeypatch):
    scales: list[Fraction] = []

    def record(scale: Fraction, count: int, source: object) -> np.ndarray:
        scales.append(scale)
        return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(noise, "draw_laplace_array", record)
    error, epsilon = covered_error(1, Fraction(1)), Fraction(1, 1000)
    rng = np.random.default_rng(size)
    for _ in range(20):
        ideal = rng.normal(0, 10, size)
        # the worst direction: all coordinates alike
        shift = np.where(rng.random(size) < 0.5, -1, 1) * float(error) / math.sqrt(size)
        one, other = (
            add_cover_noise(ideal + side * shift, error, epsilon, SystemEntropy()) for side in (1, -1)
        )
        steps = np.abs(np.ldexp(one, GRID_BITS) - np.ldexp(other, GRID_BITS)).sum()
        assert steps / float(scales[-1]) <= float(epsilon)
        assert steps / float(scales[-1]) > float(epsilon) / 3


def on_the_grid(values: np.ndarray) -> bool:
    return bool((np.ldexp(values, GRID_BITS) % 1 == 0).all())


def test_released_weights_are_on_the_grid_and_float_noise_is_not():
    rows = random_rows((TWO, THREE, NUMBER), 3, 300)
    model, _ = fit_linear(rows, 300, Fraction(1), SystemEntropy())
    assert on_the_grid(model.weights)
    assert not on_the_grid(np.random.default_rng(1).laplace(0, 1e-6, 20))


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 5])
def test_ball_noise_has_a_gamma_norm_and_a_uniform_direction(size):
    source, rate = FastStream(size), 0.7
    drawn = np.stack([draw_ball_noise(size, rate, source) for _ in range(4000)])
    norms = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(norms, stats.gamma(size, scale=1 / rate).cdf).pvalue > ALARM
    if size == 1:
        assert stats.binomtest(int((drawn > 0).sum()), 4000).pvalue > ALARM
    else:  # (1 + u) / 2 of a coordinate u of the direction is a beta variable
        beta = stats.beta((size - 1) / 2, (size - 1) / 2)
        for coordinate in (drawn / norms[:, None]).T:
            assert stats.kstest((1 + coordinate) / 2, beta.cdf).pvalue > ALARM
    assert stats.kendalltau(norms, drawn[:, 0]).pvalue > ALARM


def test_exponentials_keep_their_precision_at_both_ends():
    class Fixed:
        def __init__(self, number: int) -> None:
            self.number = number

        def take(self, count: int) -> bytes:
            return self.number.to_bytes(count, "little")

    whole = 1 << 512
    assert noise._draw_exponential(Fixed(whole - 1)) == 0
    near_one = noise._draw_exponential(Fixed(whole - 1 - (1 << 100)))
    assert near_one == pytest.approx(2.0 ** (100 - 512), rel=1e-14)
    assert noise._draw_exponential(Fixed(0)) == pytest.approx(512 * math.log(2))


def test_directions_keep_their_precision_near_the_axes_and_every_octant_is_equally_likely():
    class Fixed:
        def __init__(self, octant: int, place: int) -> None:
            self.words = [1 << 511, (octant << 509) + place]

        def take(self, count: int) -> bytes:
            return self.words.pop(0).to_bytes(count, "little")

    size = math.sqrt(2 * math.log(2))
    found = set()
    for octant in range(8):
        pair = noise._draw_normal_pair(Fixed(octant, (1 << 100) - 1))
        small, large = sorted(pair, key=abs)
        assert abs(small) == pytest.approx(size * math.pi / 4 * 2.0 ** (100 - 509), rel=1e-14)
        assert abs(large) == pytest.approx(size, rel=1e-14)
        found.add((pair[0] is large, *(part > 0 for part in pair)))
    assert len(found) == 8
    ends = [noise._draw_normal_pair(Fixed(0, place)) for place in (0, (1 << 509) - 1)]
    assert ends[1][0] == pytest.approx(ends[1][1], rel=1e-14)
    assert ends[0][1] == pytest.approx(size * math.pi / 4 * 2.0**-509, rel=1e-14)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(12), Fraction(60), Fraction(200)])
@pytest.mark.parametrize("size", [1, 500])
def test_the_delta_of_the_tail_is_one_plus_e_to_the_epsilon_times_its_probability(epsilon, size):
    tail = 4 * 2.0 ** (53 - 509)
    ratio = float(bound_tail_delta(size, epsilon)) / (size * tail * (1 + math.exp(epsilon)))
    assert 1 <= ratio <= 2 ** (1 + 0.001 * float(epsilon))


def test_the_delta_of_the_tail_is_at_most_one():
    assert bound_tail_delta(10, Fraction(1000)) == 1


def test_a_cut_tail_can_cost_e_to_the_epsilon_times_its_probability():
    """A pair of laws that realises the bound, so that a delta of t alone would be too small."""
    t, epsilon = 1e-3, 3.0
    ideal = {"a": 1 - 1 / (1 + math.exp(epsilon)), "b": 1 / (1 + math.exp(epsilon))}
    neighbour = {"a": ideal["b"], "b": ideal["a"]}
    # of each, a part of probability t moves from one outcome to the other
    one = {"a": ideal["a"] + t, "b": ideal["b"] - t}
    other = {"a": neighbour["a"] - t, "b": neighbour["b"] + t}
    realised = one["a"] - math.exp(epsilon) * other["a"]
    assert realised == pytest.approx((1 + math.exp(epsilon)) * t)


def test_a_large_epsilon_gives_the_model_without_privacy():
    rng = np.random.default_rng(4)
    codes = np.stack([rng.integers(0, 2, 4000), rng.integers(0, 3, 4000)], axis=1)
    likely = 1 / (1 + np.exp(1.0 - 1.5 * codes[:, 0] - (codes[:, 1] == 2)))
    rows = CodedRows((TWO, THREE), 2, codes, (rng.random(4000) < likely).astype(np.int64))
    model, spent = fit_linear(rows, 4000, Fraction(1000), FastStream(1))
    assert sum(each.epsilon for each in spent) == 1000
    design, columns = Design.from_features(rows.features, 3), place_columns(rows.features, rows.codes)
    plain = Objective(design, columns, rows.labels, SoftHinge(2), 1e-3, np.zeros((design.columns, 1)))
    expected = find_class_scores(design.scores(columns, minimise(plain)), 2)
    assert model.scores(codes) == pytest.approx(expected, abs=0.02)
