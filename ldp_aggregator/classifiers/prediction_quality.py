"""Measures predictions on rows whose labels are known: accuracy, log loss and calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.prediction.scoring import normalise_log_scores

CALIBRATION_BINS = 10
_LEAST_PROBABILITY = 1e-15
"""A smaller probability of the true label counts as this one, so that the log loss is finite."""


@dataclass(frozen=True, kw_only=True)
class PredictionQuality:
    """How well a model predicts the labels of some rows."""

    accuracy: float
    balanced_accuracy: float
    """Share of correct predictions among the rows of each class, averaged over the classes."""
    log_loss: float
    """Mean of -log P(true label), in nats."""
    calibration_error: float
    """The expected calibration error, see :func:`compute_calibration_error`."""


def measure_predictions(scores: FloatArray, labels: IntArray) -> PredictionQuality:
    log_probabilities = normalise_log_scores(scores)
    correct = scores.argmax(axis=1) == labels
    true_class = np.maximum(log_probabilities[np.arange(len(labels)), labels], np.log(_LEAST_PROBABILITY))
    return PredictionQuality(
        accuracy=float(np.mean(correct)),
        balanced_accuracy=float(np.mean([correct[labels == each].mean() for each in np.unique(labels)])),
        log_loss=float(-true_class.mean()),
        calibration_error=compute_calibration_error(np.exp(log_probabilities.max(axis=1)), correct),
    )


def compute_calibration_error(confidences: FloatArray, correct: BoolArray) -> float:
    """Return the mean |accuracy - confidence| of CALIBRATION_BINS equally wide bins, weighted by size."""
    bins = np.minimum((confidences * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    return float(np.abs(np.bincount(bins, correct - confidences, CALIBRATION_BINS)).sum() / len(confidences))
