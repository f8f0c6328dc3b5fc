"""Accuracy, log loss and calibration of predictions whose true labels are known."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss

from ldp_aggregator.classifiers.prediction_quality import compute_calibration_error, measure_predictions
from ldp_aggregator.prediction.scoring import normalise_log_scores


def test_measures_equal_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    scores, labels = 2 * rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    found = measure_predictions(scores, labels)
    predicted = scores.argmax(axis=1)
    assert found.accuracy == pytest.approx((predicted == labels).mean())
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(labels, predicted))
    assert found.log_loss == pytest.approx(log_loss(labels, np.exp(normalise_log_scores(scores))))


def test_the_calibration_error_is_the_distance_from_the_predicted_probability():
    correct = np.array([True, True, True, False])
    assert compute_calibration_error(np.full(4, 0.75), correct) == pytest.approx(0)
    assert compute_calibration_error(np.full(4, 1.0), correct) == pytest.approx(0.25)
    confidences = np.array([0.55, 0.65, 0.95, 0.95])
    assert compute_calibration_error(confidences, correct) == pytest.approx(0.425)


def test_calibrated_predictions_have_an_error_near_zero_and_their_entropy_as_log_loss():
    rng = np.random.default_rng(2)
    share = rng.uniform(0.05, 0.95, 100_000)
    scores = np.log(np.stack([1 - share, share], axis=1))
    found = measure_predictions(scores, (rng.random(100_000) < share).astype(np.int64))
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share)).mean()
    assert found.calibration_error < 0.02
    assert found.log_loss == pytest.approx(entropy, abs=0.01)


def test_an_excluded_true_label_has_a_finite_loss():
    scores = np.array([[0.0, -np.inf]])
    assert np.isfinite(measure_predictions(scores, np.array([1])).log_loss)
