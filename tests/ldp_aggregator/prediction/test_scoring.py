"""Scores of mixed rows are sums of the log-likelihoods of scikit-learn's classifiers."""

import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from encoders.survey import Plan
from encoders.survey.features import GRID
from ldp_aggregator.classifiers.baseline import describe_rows
from ldp_aggregator.estimation import Gaussian
from ldp_aggregator.prediction.scoring import LogProbabilities, normalise_log_scores
from tests.support.surveys import make_plan

PRIOR = np.array([0.5, 0.3, 0.2])
TABLE = np.array([[0.2, 0.5, 1.0], [0.8, 0.5, 0.0]])
NORMAL = Gaussian(np.array([-0.5, 0.0, 0.5]), np.array([0.1, 0.2, 0.01]), np.array([0.1, 0.2, 0.3]))


def train(*rows) -> LogProbabilities:
    people = describe_rows(*rows)
    return LogProbabilities.from_probabilities(people.prior, people.conditionals)


def codes_of(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), 2 * GRID + 1, np.rint((np.nan_to_num(x) + 1) * GRID)).astype(np.int64)


def test_scores_add_up_over_features():
    x = np.array([-1, -0.25, 0.5, np.nan])
    codes = np.column_stack([codes_of(x), [0, 1, 0, 0]])
    scores = LogProbabilities.from_probabilities(PRIOR, [NORMAL, TABLE]).compute_scores(codes)
    density = stats.norm.pdf(x[:, None], NORMAL.mean, np.sqrt(NORMAL.variance)) * (1 - NORMAL.missing)
    density[3] = NORMAL.missing
    with np.errstate(divide="ignore"):
        expected = np.log(PRIOR * density * TABLE[codes[:, 1]])
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    assert scores[1, 2] == -np.inf  # a probability of exactly zero excludes the label


def test_scores_of_selected_rows_equal_those_of_all():
    codes = np.column_stack([codes_of(np.linspace(-1, 1, 9)), np.arange(9) % 2])
    tables = LogProbabilities.from_probabilities(PRIOR, [NORMAL, TABLE])
    chosen = np.array([7, 2, 2])
    np.testing.assert_array_equal(tables.compute_scores(codes, chosen), tables.compute_scores(codes)[chosen])


def test_extreme_numbers_still_give_probabilities():
    # Yilmaz et al.'s estimator may give a mean far outside the range, and a variance near zero
    wild = Gaussian(np.array([1e9, -1e9, 0.0]), np.full(3, 1e-6), None)
    logs = normalise_log_scores(
        LogProbabilities.from_probabilities(PRIOR, [wild]).compute_scores(codes_of(np.array([[0.3]])))
    )
    np.testing.assert_allclose(np.exp(logs).sum(), 1)


def plan_of(missing: str | None) -> Plan:
    features = {"number": {"range": [-1, 1], "missing": missing}, "tea": ["black", "green"]}
    return make_plan(label=["a", "b", "c"], features=features)


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    label = rng.choice(3, size=5000, p=PRIOR)
    x = np.clip(rng.normal(np.array([-0.3, 0.1, 0.4])[label], 0.2), -1, 1)
    return x, (rng.random(5000) < 0.2 + 0.3 * label).astype(np.int64), label


def test_the_baseline_equals_scikit_learns_model(rows):
    x, tea, label = rows
    plan = plan_of(None)
    codes = np.column_stack([codes_of(x), tea])
    found = train(plan, codes, label, np.arange(len(label))).compute_scores(codes)
    grid = (codes[:, 0] - GRID) / GRID
    normal = GaussianNB(var_smoothing=0).fit(grid[:, None], label)
    counted = CategoricalNB(alpha=1).fit(tea[:, None], label)
    # both include log P(label): subtract it once
    expected = normal.predict_joint_log_proba(grid[:, None]) + counted.predict_joint_log_proba(tea[:, None])
    np.testing.assert_allclose(found, expected - counted.class_log_prior_, atol=0.01)


def test_the_baseline_accepts_missing_numbers_and_absent_labels(
    rows,
):
    x, tea, label = rows
    x = np.where(np.arange(len(x)) % 10 == 0, np.nan, x)
    plan = plan_of("category")
    codes = np.column_stack([codes_of(x), tea])
    model = train(plan, codes, label, np.flatnonzero(label < 2))
    np.testing.assert_allclose(np.exp(model.likelihoods[0].log_missing[:2]), 0.1, atol=0.02)
    assert np.isfinite(model.compute_scores(codes)).all()
