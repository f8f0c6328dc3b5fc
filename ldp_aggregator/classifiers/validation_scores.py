"""Rounds the scores of a model to integers, as devices that validate it add them up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from encoders.survey import Feature, NumericFeature
from encoders.survey.numeric_features import GRID
from encoders.survey.validation_round import BINS, LOWEST, NATS, Scores
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import ClassConditional, Gaussian
from ldp_aggregator.prediction.scoring import GaussianLikelihood


def round_prior(prior: FloatArray) -> tuple[int, ...]:
    """Return the integer scores of P(label)."""
    [scores] = _round_logs(_log(prior)[None, :])
    return scores


def round_conditionals(
    features: Sequence[Feature], conditionals: Sequence[ClassConditional]
) -> tuple[Scores, ...]:
    """Return the integer scores of P(value | label) of each feature, a row per value."""
    pairs = zip(features, conditionals, strict=True)
    return tuple(_round_logs(_compute_log_scores(feature, each)) for feature, each in pairs)


def _compute_log_scores(feature: Feature, conditional: ClassConditional) -> FloatArray:
    """Return log P(value | label), (values, k); for a number, its log-density in the middle of each bin."""
    if not isinstance(conditional, Gaussian):
        return _log(conditional)
    assert isinstance(feature, NumericFeature)
    ends = (2 * GRID + 1) * np.arange(BINS + 1) // BINS
    codes = [(low + high) // 2 for low, high in pairwise(ends.tolist())]
    if conditional.missing is not None:
        codes.append(2 * GRID + 1)
    logs = np.zeros((len(codes), len(conditional.mean)))
    GaussianLikelihood.from_gaussian(conditional).add_to(logs, np.array(codes))
    return logs


def _log(shares: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(shares)
    return logs


def _round_logs(logs: FloatArray) -> Scores:
    """Return integer scores in thousandths of nats; the largest of each row is 0."""
    scores = np.rint(NATS * (logs - logs.max(axis=1, keepdims=True)))
    return tuple(map(tuple, np.maximum(scores, LOWEST).astype(np.int64).tolist()))
