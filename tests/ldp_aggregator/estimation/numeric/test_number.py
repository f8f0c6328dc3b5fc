"""Class moments: from exact moments to exact estimates, in any unit, and from few or no reports."""

import json
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from encoders.mechanisms.piecewise_moments import SECOND_BIAS
from encoders.randomness import FastStream
from encoders.survey import read_survey
from encoders.survey.features import GRID
from ldp_aggregator.codec import to_json
from ldp_aggregator.estimation import Gaussian, NumberResult, estimate_snapshot
from ldp_aggregator.estimation.class_prior import PooledPrior
from ldp_aggregator.estimation.estimates import estimate_parameters, estimate_survey
from ldp_aggregator.estimation.estimators import MIN_VARIANCE, paper_gaussian, smooth_numbers
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.estimation.numeric.moments import POWERS, Population, Quantity
from ldp_aggregator.estimation.numeric.number import AllClasses, ClassMoments
from ldp_aggregator.estimation.tables.soft_moments import PooledMoments
from ldp_aggregator.prediction.scoring import LogProbabilities, normalise_log_scores
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_aggregator.statements.warnings import find_feature_warning
from tests.ldp_aggregator.estimation.conftest import GIVEN_LABEL, number_world, numbers_toml

SHARE, GONE = np.array([0.5, 0.3, 0.2]), np.array([0.05, 0.1, 0.0])
MEAN, SQUARE = np.array([-0.2, 0.4, 0.1]), np.array([0.1, 0.3, 0.5])


def synthetic_moments(
    *parts: np.ndarray, estimates_prior: bool = True, seed: int = 1, moment: int = 1
) -> SimpleNamespace:
    """Return synthetic moments of a question, with a random covariance of a few per cent."""
    root = 0.01 * np.random.default_rng(seed).normal(size=(3, 3, 3))
    covariance = np.einsum("iak,jak->ijk", root, root)
    if not estimates_prior:
        covariance[2], covariance[:, 2] = 0, 0
    mechanism = SimpleNamespace(estimates_prior=estimates_prior)
    return SimpleNamespace(
        question=SimpleNamespace(index=seed, mechanism=mechanism),
        n=1000,
        raw=np.stack(parts),
        powers=POWERS[moment],
        higher=None,
        covariance=covariance,
        estimates_prior=estimates_prior,
    )


def number(
    mean: SimpleNamespace,
    square: SimpleNamespace | None = None,
    weights: dict[int, float] | None = None,
    stderr: float = 0.02,
    can_be_missing: bool = True,
) -> ClassMoments:
    prior = IntervalEstimate.from_stderr(SHARE, np.full(3, stderr))
    return ClassMoments(
        (mean,) if square is None else (mean, square), PooledPrior(prior, weights or {0: 1.0}), can_be_missing
    )


def exact(estimates_prior: bool = True) -> ClassMoments:
    present = SHARE - GONE
    return number(
        synthetic_moments(MEAN * present, GONE, SHARE, estimates_prior=estimates_prior, seed=1),
        synthetic_moments(SQUARE * present, GONE, SHARE, estimates_prior=estimates_prior, seed=2, moment=2),
        {1: 0.3, 2: 0.2, 5: 0.5} if estimates_prior else {5: 1.0},
    )


@pytest.mark.parametrize("estimates_prior", [True, False])
def test_exact_moments_give_exact_estimates(estimates_prior):
    moments = exact(estimates_prior)
    np.testing.assert_allclose(moments.raw_mean[0], MEAN)
    bias = moments.mean_variance
    np.testing.assert_allclose(moments.raw_variance[0], SQUARE - MEAN**2 + bias)
    np.testing.assert_allclose(moments.estimate_expectation(moments.second, (0, 1)).value, SQUARE)
    np.testing.assert_allclose(moments.estimate_missing().value, GONE / SHARE)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_the_standard_error_of_a_mean_in_closed_form(weight):
    # mu = s'/w with s' = s - B_s (G - P), M' likewise, w = P - M', and P = weight G + the rest
    question = synthetic_moments(MEAN * (SHARE - GONE) + 0.01, GONE + 0.01, SHARE - 0.02)
    one = number(question, weights={1: weight, 2: 1 - weight}, stderr=0.05)
    s, gone, share = question.raw
    cov, prior_var = question.covariance, 0.05**2
    slope = cov[:, 2] / cov[2, 2]
    w = SHARE - (gone - slope[1] * (share - SHARE))
    mu = (s - slope[0] * (share - SHARE)) / w
    t_var = cov[0, 0] + 2 * mu * cov[0, 1] + mu**2 * cov[1, 1]
    t_cov = cov[0, 2] + mu * cov[1, 2]
    b = t_cov / cov[2, 2]
    a = -b + (b - mu) * weight
    rest = np.maximum(prior_var - weight**2 * cov[2, 2], 0)
    variance = t_var + a**2 * cov[2, 2] + 2 * a * t_cov + (b - mu) ** 2 * rest
    np.testing.assert_allclose(one.raw_mean[0], mu)
    np.testing.assert_allclose(one.raw_mean[1], variance / w**2)


def test_a_control_variate_corrects_for_too_many_people_of_a_class():
    # too many people of label 0 have answered: s and G are both too large by a tenth
    question = synthetic_moments(np.array([0.11, 0, 0]), np.zeros(3), np.array([0.55, 0.3, 0.15]))
    question.covariance[0, 2] = question.covariance[2, 0] = 0.2 * question.covariance[2, 2]
    one = number(question, weights={7: 1.0}, can_be_missing=False)
    np.testing.assert_allclose(one.first.value[0], 0.11 - 0.2 * 0.05)


def test_the_derivative_of_a_ratio_equals_its_difference_quotient():
    rng = np.random.default_rng(3)
    top, bottom = (Quantity(rng.uniform(1, 2, 4), rng.normal(size=(5, 4))) for _ in range(2))
    step = 1e-6 * rng.normal(size=5)
    moved = (top.value + step @ top.slopes) / (bottom.value + step @ bottom.slopes)
    ratio = top.over(bottom)
    np.testing.assert_allclose(ratio.value + step @ ratio.slopes, moved, atol=1e-9)


def test_the_moments_of_a_likely_population_are_possible():
    rng = np.random.default_rng(4)
    for _ in range(300):
        raw = [rng.normal(0.2, 0.5, size=4) for _ in range(4)]
        raw = [None if i and rng.random() < 0.2 else array for i, array in enumerate(raw)]
        found = Population.from_estimates(*raw, even=rng.choice([0.001, 0.1]))
        assert found.present.min() > 0
        assert found.missing.min() >= 0
        np.testing.assert_allclose((found.present + found.missing).sum(), 1)
        assert (found.first**2 <= found.present * found.second + 1e-12).all()
        assert (found.second**2 <= found.present * found.fourth + 1e-12).all()
        assert (found.fourth <= found.second + 1e-12).all()
        assert (found.second <= found.present + 1e-12).all()


@pytest.mark.slow
def test_with_everything_known_the_model_is_gaussian_naive_bayes():
    world = number_world(epsilon=16)
    codes, labels = world.codes(1_000_000, seed=1)
    whole = codes[:, 0] <= 2 * GRID
    conditionals = estimate_parameters(world.snapshot(1_000_000, seed=1)).conditionals
    for place in (0, 2):
        kept = whole if place == 0 else np.ones_like(whole)
        x = (codes[kept, place] - GRID) / GRID
        peer = GaussianNB(var_smoothing=1e-9).fit(x[:, None], labels[kept])
        smoothed = conditionals[place]
        np.testing.assert_allclose(smoothed.mean, peer.theta_[:, 0], atol=0.01)
        np.testing.assert_allclose(smoothed.variance, peer.var_[:, 0], atol=0.01)
    np.testing.assert_allclose(conditionals[0].missing, world.missing, atol=0.01)
    np.testing.assert_allclose(conditionals[1][0], GIVEN_LABEL, atol=0.01)


@pytest.mark.slow
def test_estimates_follow_the_features_unit():
    world = number_world()
    snapshot = world.snapshot(5000, seed=2)
    other_plan = read_survey(numbers_toml(most=20_000)).compile()
    keys = zip(world.plan.questions, other_plan.questions, strict=True)
    totals = {other.key: snapshot.totals[one.key] for one, other in keys}
    surveys = [estimate_survey(each) for each in (snapshot, Snapshot(other_plan, totals))]
    one, other = (estimates.features[0] for estimates, _ in surveys)
    powers = {"means": 1, "squares": 2, "variances": 2, "deviations": 1, "missing": 0}
    for people, (name, power) in product(("overall", "by_class"), powers.items()):
        found, scaled = (getattr(getattr(each, people), name) for each in (other, one))
        for part in ("value", "stderr", "low", "high"):
            np.testing.assert_allclose(getattr(found, part), getattr(scaled, part) * 100**power)
    np.testing.assert_allclose(*(classifier.conditionals[0].mean for _, classifier in surveys))
    low, high = one.by_class.means.low, one.by_class.means.high
    assert (low >= 0).all()
    assert (high <= 200).all()


@pytest.mark.parametrize("mechanism", ["auto", "laplace", "onebit"])
def test_without_reports_estimates_are_unknown_and_classes_equal(mechanism):
    estimates, classifier = estimate_survey(Snapshot(number_world(mechanism).plan, {}, {}))
    income = estimates.features[0]
    assert (income.mean_question.n, income.square_question.n) == (0, 0)
    assert np.isnan(income.by_class.means.value).all()
    np.testing.assert_array_equal(income.by_class.means.low, 0)
    np.testing.assert_array_equal(income.by_class.means.high, 200)
    assert_alike(classifier.conditionals[0])
    document = json.loads(json.dumps(estimates.as_dict(), allow_nan=False))
    assert document["features"][0]["by_class"]["means"]["stderr"] == [None] * 3


@pytest.mark.slow
def test_where_a_variance_is_not_above_zero_the_deviation_is_unknown():
    seen = [estimate_snapshot(number_world().snapshot(100, seed=seed)).features[0] for seed in range(20)]
    below = np.concatenate([each.by_class.variances.value <= 0 for each in seen])
    assert below.any()
    assert np.isnan(np.concatenate([each.by_class.deviations.value for each in seen])[below]).all()
    assert np.isinf(np.concatenate([each.by_class.deviations.stderr for each in seen])[below]).all()


def assert_alike(smoothed: Gaussian) -> None:
    for array in (smoothed.mean, smoothed.variance, smoothed.missing):
        if array is not None:
            np.testing.assert_allclose(array, array[0])


@pytest.mark.slow
@pytest.mark.parametrize("users", [1, 2, 5, 30])
@pytest.mark.parametrize("mechanism", ["auto", "laplace", "sampled-laplace"])
def test_few_reports_give_a_warning_for_each_number(mechanism, users):
    for seed in range(5):
        estimates, classifier = estimate_survey(number_world(mechanism, 0.5).snapshot(users, seed))
        assert estimates.reports == users
        json.dumps(estimates.as_dict(), allow_nan=False)
        for place in (0, 2):
            assert np.isfinite(classifier.conditionals[place].mean).all()
            assert (classifier.conditionals[place].variance > 0).all()
            assert find_feature_warning(estimates.features[place], estimates.classes)


@pytest.mark.slow
def test_a_label_without_people_has_finite_probabilities_and_maximal_intervals():
    world = number_world(epsilon=4)
    codes, labels = world.codes(20_000, seed=3)
    for seed in range(5):
        kept = labels != 2
        snapshot = simulate_reports(world.plan, codes[kept], labels[kept], FastStream([seed, 5]))
        estimates, classifier = estimate_survey(snapshot)
        income, smoothed = estimates.features[0], classifier.conditionals[0]
        assert np.isfinite(income.by_class.means.value[:2]).all()
        if np.isnan(income.by_class.means.value[2]):
            assert (income.by_class.means.low[2], income.by_class.means.high[2]) == (0, 200)
            assert (income.by_class.missing.low[2], income.by_class.missing.high[2]) == (0, 1)
        assert -1 <= smoothed.mean[2] <= 1
        assert 0 < smoothed.variance[2] < 2


def test_noise_does_not_outvote_the_prior():
    # uninformative numbers at a small epsilon: the densities of the classes must be nearly equal
    numbers = []
    for seed in range(14):
        noise = np.random.default_rng(seed).normal(size=(2, 3))
        question = [
            synthetic_moments(0.3 * each, 0 * SHARE, SHARE, seed=seed, moment=moment)
            for moment, each in enumerate(noise, 1)
        ]
        for each in question:
            each.covariance = np.eye(3)[:, :, None] * np.full(3, 0.09)
        numbers.append(number(*question, weights={99: 1.0}, can_be_missing=False))
    rows = np.random.default_rng(99).normal(0, 0.3, size=(500, 14))
    scores = LogProbabilities.from_probabilities(SHARE, smooth_numbers(numbers, SHARE)).compute_scores(
        grid(rows)
    )
    assert np.mean(scores.argmax(axis=1) == 0) > 0.98
    assert np.abs(np.exp(normalise_log_scores(scores)) - SHARE).mean() < 0.1


def grid(rows: np.ndarray) -> np.ndarray:
    return np.rint((np.clip(rows, -1, 1) + 1) * GRID).astype(np.int64)


def test_a_survey_need_not_ask_about_a_number():
    plan = replace(read_survey(numbers_toml()), weights=(None, 0, 1, 1)).compile()
    world = type(number_world())(plan)
    estimates, classifier = estimate_survey(world.snapshot(2000, seed=4))
    income = estimates.features[0]
    assert (income.mean_question.mechanism, income.square_question.mechanism) == (None, None)
    assert np.isinf(income.by_class.variances.stderr).all()
    assert_alike(classifier.conditionals[0])
    assert find_feature_warning(income, estimates.classes).id == "warnings.not-asked"


def test_the_papers_numbers_are_plain_ratios():
    moments = exact()
    smoothed = paper_gaussian(moments, 10_000 * SHARE)
    gone = np.array([500, 1000, 1])  # Yilmaz et al. 2019 sets counts that are not above zero to 1
    present = 10_000 * SHARE - gone
    mean = 10_000 * moments.questions[0].raw[0] / present
    np.testing.assert_allclose(smoothed.mean, mean)
    np.testing.assert_allclose(smoothed.variance, 10_000 * moments.questions[1].raw[0] / present - mean**2)
    np.testing.assert_allclose(smoothed.missing, gone / (gone + present))
    noisy = synthetic_moments(SQUARE - 0.9, GONE, SHARE, seed=2, moment=2)
    np.testing.assert_array_equal(
        paper_gaussian(number(moments.questions[0], noisy), 10_000 * SHARE).variance, MIN_VARIANCE
    )


def test_each_feature_has_its_kind_in_json():
    world = number_world()
    estimates, classifier = estimate_survey(world.snapshot(300, seed=1))
    document = estimates.as_dict()["features"]
    assert [each["kind"] for each in document] == ["numeric", "categorical", "numeric"]
    assert document[0]["by_class"]["missing"] is not None
    assert document[2]["by_class"]["missing"] is None
    assert set(to_json(classifier)["conditionals"][0]) == {"mean", "variance", "missing"}


@pytest.mark.parametrize("seed", range(4))
def test_an_unknown_variance_has_its_whole_range_as_interval(seed):
    estimates = estimate_snapshot(number_world(epsilon=1).snapshot(200, seed))
    for number in (estimates.features[0], estimates.features[2]):
        assert isinstance(number, NumberResult)
        unknown = np.isnan(number.by_class.variances.value)
        assert (number.by_class.variances.low[unknown] == 0).all()
        assert (number.by_class.variances.high[unknown] == number.width**2).all()
        ends = (
            number.by_class.variances.low,
            number.by_class.variances.simultaneous_low,
            number.by_class.deviations.high,
        )
        assert np.isfinite(ends).all()


def test_pooled_moments_keep_the_bias_of_squares_of_people():
    people = SimpleNamespace(second_bias=SECOND_BIAS, prior=SimpleNamespace(known=False))
    pooled = PooledMoments(
        questions=(), prior=people.prior, can_be_missing=False, silos=None, others=people, weight=0.25
    )
    assert pooled.second_bias == AllClasses.from_classes(pooled).second_bias == 0.75 * SECOND_BIAS
