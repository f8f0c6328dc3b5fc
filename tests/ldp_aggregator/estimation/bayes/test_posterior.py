"""Posterior means: the quadrature, the noise of a centred table, and classification under noise."""

from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from encoders.mechanisms import MECHANISMS, design
from encoders.randomness import FastStream
from encoders.survey import Plan
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.estimation.bayes.posterior import (
    CONCENTRATIONS,
    MIN_SHARE,
    Interaction,
    _cell_posteriors,
    beta_posterior,
    smooth_prior,
)
from ldp_aggregator.estimation.discrete.covariance import FrequencyCovariance
from ldp_aggregator.estimation.discrete.frequencies import Frequencies
from ldp_aggregator.estimation.estimates import NaiveBayesParameters
from ldp_aggregator.estimation.intervals import IntervalEstimate
from ldp_aggregator.simulated_population import simulate_reports
from tests.support.surveys import make_plan


def integrated(value: float, noise: float, a: float, b: float) -> tuple[float, float, float]:
    """Integrate adaptively; over the quantiles of the prior if its density has poles."""
    law = stats.beta(a, b)
    points = np.clip(value + noise * np.array([-8, -4, -1, 0, 1, 4, 8]), 0, 1)

    def likely(share: float) -> float:
        return np.exp(-0.5 * ((share - value) / noise) ** 2)

    def over(function: Callable[[float], float]) -> float:
        if min(a, b) >= 1:
            ends = np.unique(np.concatenate([[0.0], points, law.ppf([1e-9, 0.5, 1 - 1e-9]), [1.0]]))
            return sum(integrate.quad(lambda x: law.pdf(x) * function(x), *p)[0] for p in pairwise(ends))
        ends = np.unique(np.concatenate([[0.0], law.cdf(points), [1.0]]))
        return sum(integrate.quad(lambda t: function(law.ppf(t)), *p, limit=200)[0] for p in pairwise(ends))

    evidence = over(likely)
    logs = over(lambda share: np.log(max(share, 1e-6)) * likely(share)) / evidence
    return np.log(evidence), over(lambda share: share * likely(share)) / evidence, logs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (0.3, 0.7), (0.05, 3.0), (2.0, 126.0), (64, 64), (256, 256), (51, 461), (1, 25)]
)
@pytest.mark.parametrize(("value", "noise"), [(0.5, 0.1), (0.1, 0.05), (-0.3, 0.2), (1.4, 0.5), (0.3, 20.0)])
def test_the_quadrature_agrees_with_adaptive_integration(value, noise, a, b):
    found = beta_posterior(np.array([value]), np.array([noise]), np.array([[a]]), np.array([[b]]))
    evidence, mean, log = integrated(value, noise, a, b)
    assert found.evidence[0, 0] == pytest.approx(evidence, abs=2e-3)
    assert found.mean[0, 0] == pytest.approx(mean, rel=2e-3, abs=1e-5)
    assert found.log[0, 0] == pytest.approx(log, rel=5e-3, abs=5e-3)


def test_many_reports_leave_the_estimate_as_it_is():
    value, noise = np.array([1e-4, 0.2, 0.999]), np.array([1e-6, 1e-5, 1e-6])
    found = beta_posterior(value, noise, np.full((1, 3), 2.0), np.full((1, 3), 5.0))
    np.testing.assert_allclose(found.mean[0], value, rtol=1e-3)
    np.testing.assert_allclose(np.exp(found.log[0]), value, rtol=1e-3)


def test_long_tables_are_integrated_in_blocks():
    value, noise, one = np.linspace(-1, 2, 10_000), np.full(10_000, 0.3), np.ones((1, 1))
    whole = beta_posterior(value, noise, one, one).mean[0]
    part = beta_posterior(value[5000:5010], noise[:10], one, one).mean[0]
    np.testing.assert_array_equal(whole[5000:5010], part)
    assert (np.diff(whole) > 0).all()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_noise_of_a_centred_table_equals_that_of_the_full_covariance_matrix(mechanism):
    size, k, n = 3, 4, 500
    rng = np.random.default_rng(1)
    likely, prior = rng.dirichlet(np.ones(size * k)), rng.dirichlet(np.ones(k))
    noise = FrequencyCovariance.from_mechanism(design(mechanism, size * k, Decimal(1)), likely, n)
    whole = np.diag(noise.independent_variance) + noise.shared - np.outer(likely, likely) / n
    whole += noise.slope * (likely[:, None] + likely)
    centre = np.kron(np.eye(size) - 1 / size, np.eye(k) - np.outer(prior, np.ones(k)))
    expected = np.diag(centre @ whole @ centre.T).reshape(size, k)
    (found,) = Interaction.from_tables([Frequencies(None, n, likely, noise)], prior)
    np.testing.assert_allclose((found.noise * prior) ** 2, expected)
    np.testing.assert_allclose(
        found.value - found.shares[:, None], (centre @ likely).reshape(size, k) / prior
    )


def test_without_reports_all_classes_are_equal():
    silent = IntervalEstimate.from_stderr(np.full(3, np.nan), np.full(3, np.inf))
    np.testing.assert_allclose(smooth_prior(silent), 1 / 3)


def test_a_well_known_prior_is_left_as_it_is():
    share = np.array([0.7, 0.299, 0.001])
    np.testing.assert_allclose(
        smooth_prior(IntervalEstimate.from_stderr(share, np.full(3, 1e-4))), share, atol=2e-4
    )


def world_plan(epsilon: float, weight: int | None = None) -> Plan:
    features = {f"f{number}": ["a", "b", "c"] for number in range(8)}
    return make_plan(epsilon=epsilon, label={"values": ["no", "yes"], "weight": weight}, features=features)


def world(people: int, seed: int, informative: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of features, the first `informative` of which depend on the label (30% "yes")."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(people) < 0.3).astype(np.int64)
    shares = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    drawn = (rng.random((people, 8))[..., None] > shares[labels].cumsum(axis=1)[:, None]).sum(axis=2)
    drawn[:, informative:] = rng.integers(0, 3, (people, 8 - informative))
    return np.minimum(drawn, 2), labels


def estimate(
    epsilon: float, people: int, seed: int, informative: int, estimator: str = "default"
) -> NaiveBayesParameters:
    plan = world_plan(epsilon, weight=1 if estimator == "paper" else None)
    return estimate_parameters(
        simulate_reports(plan, *world(people, seed, informative), FastStream(seed)), estimator
    )


def scores(found: NaiveBayesParameters, codes: np.ndarray) -> np.ndarray:
    logs = np.log(found.prior) + sum(
        np.log(table)[codes[:, place]] for place, table in enumerate(found.conditionals)
    )
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_uninformative_features_do_not_outvote_the_prior():
    codes, _ = world(2000, 99, 0)
    wrong = [(scores(estimate(0.5, 20_000, seed, 0), codes).argmax(axis=1) != 0).mean() for seed in range(20)]
    assert np.mean(wrong) < 0.08  # 0.13 with the paper's estimator


@pytest.mark.slow
def test_probabilities_are_better_calibrated_than_the_papers():
    codes, labels = world(4000, 99, 3)

    def error(estimator: str) -> float:
        off = []
        for seed in range(20):
            share = scores(estimate(0.5, 5000, seed, 3, estimator), codes)[:, 1]
            bins = np.digitize(share, np.linspace(0, 1, 11)[1:-1])
            gaps = [abs((share - labels)[bins == each].sum()) for each in range(10)]
            off.append(sum(gaps) / len(share))
        return np.mean(off)

    ours, papers = error("default"), error("paper")
    assert ours < 0.12
    assert ours < 0.7 * papers


@pytest.mark.parametrize("value", [0.0, -0.2, -1e-7])
@pytest.mark.parametrize("noise", [1e-3, 1e-7, 1e-9])
def test_neither_noise_nor_rounding_makes_a_label_impossible(value, noise):
    one, all_ = np.array([1.0, value, value]), np.full(3, value)
    assert (smooth_prior(IntervalEstimate.from_stderr(one, np.full(3, noise)))[1:] >= 3e-7).all()
    np.testing.assert_allclose(smooth_prior(IntervalEstimate.from_stderr(all_, np.full(3, noise))), 1 / 3)


@pytest.mark.slow
def test_a_cell_is_the_posterior_mean_under_its_prior():
    shares, value, noise = np.array([[0.1]]), np.array([[0.02]]), np.array([[0.03]])
    evidence, given = (each[:, 0, 0] for each in _cell_posteriors(shares, value, noise))
    rng = np.random.default_rng(5)
    for place, people in enumerate(CONCENTRATIONS):
        drawn = rng.beta(people * 0.1, people * 0.9, 200_000)
        likely = np.exp(-0.5 * ((drawn - 0.02) / 0.03) ** 2)
        logs = np.average(np.log(np.maximum(drawn, MIN_SHARE)), weights=likely)
        nobody, none = 0.9**people, np.exp(-0.5 * (0.02 / 0.03) ** 2)
        total = nobody * none + (1 - nobody) * likely.mean()
        assert evidence[place] == pytest.approx(np.log(total), abs=0.02)
        expected = (nobody * none * MIN_SHARE + (1 - nobody) * likely.mean() * np.exp(logs)) / total
        assert given[place] == pytest.approx(expected, rel=0.05)


def lacking(epsilon: int, people: int, seed: int, rare: float = 0.0) -> np.ndarray:
    """Return P(value | label) of the first feature, whose value 'c' has the share `rare` in label 'yes'."""
    codes, labels = world(people, seed, 8)
    rng = np.random.default_rng([seed, 1])
    never = (codes[:, 0] == 2) & (labels == 1)
    codes[never, 0] = 0
    codes[(labels == 1) & (rng.random(people) < rare), 0] = 2
    plan = world_plan(epsilon)
    return estimate_parameters(simulate_reports(plan, codes, labels, FastStream(seed))).conditionals[0]


@pytest.mark.slow
def test_with_many_reports_a_value_that_a_label_never_has_excludes_the_label():
    few = [lacking(1, 2000, seed)[2, 1] for seed in range(10)]
    many = [lacking(4, 200_000, seed)[2, 1] for seed in range(10)]
    assert np.mean(few) > 0.02
    assert np.median(many) < 3e-4


@pytest.mark.slow
def test_a_rare_value_does_not_exclude_its_label():
    assert all(0.01 < lacking(4, 200_000, seed, rare=0.03)[2, 1] < 0.05 for seed in range(10))


def test_many_rare_values_do_not_change_the_frequent_ones():
    k, truth = 2, np.repeat([0.6, 0.3, *[0.0125] * 8], 2) / 2
    noise = FrequencyCovariance.from_mechanism(design("DE", len(truth), Decimal(3)), truth, 2000)
    (found,) = Interaction.from_tables([Frequencies(None, 2000, truth, noise)], np.full(k, 0.5))
    np.testing.assert_allclose(found.shares[:2], [0.6, 0.3], rtol=0.03)
