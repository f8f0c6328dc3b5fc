"""Estimates with intervals from the noisy counts of a curator's training.

They are computed from what the training releases, so they cost no epsilon. The intervals contain the noise,
and the error of a sample: the people in the rows stand for others.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from encoders.survey import Feature, NumericFeature, Plan
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation import Estimates, FeatureResult, Gaussian, NumberResult
from ldp_aggregator.estimation.class_prior import PooledPrior, pool_prior
from ldp_aggregator.estimation.estimators import UNIFORM_VARIANCE
from ldp_aggregator.estimation.intervals import IntervalEstimate, ratio_intervals
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import NOT_ASKED, QuestionSummary
from ldp_aggregator.estimation.tables.noisy_tables import ClassCounts, NoisyTable, estimate_table
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_central.curator_naive_bayes import CentralNaiveBayes
from ldp_central.learner import Training

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"


def estimate_training(plan: Plan, training: Training) -> Estimates:
    """Estimate all features from a training, if it measured them; a linear model and a tree measure none."""
    k, model = len(plan.label.values), training.model
    prior, pooled, classes = np.full(k, 1 / k), pool_prior([], k), None
    measured: dict[int, tuple[NoisyTable, Gaussian | None]] = {}
    if isinstance(model, CentralNaiveBayes):
        terms = math.inf if training.promise.delta else 1  # Gaussian noise
        tables = [replace(table, terms=terms) for table in model.tables]
        classes = ClassCounts.from_tables(tables)
        prior, pooled = classes.prior, classes.pooled_prior
        for index, table in zip(model.selected, tables, strict=True):
            smoothed = model.conditionals[index]
            measured[index] = table, smoothed if isinstance(smoothed, Gaussian) else None
    mechanism = GAUSSIAN if training.promise.delta else LAPLACE
    return Estimates(
        survey=plan.id,
        plan_digest=plan.digest,
        estimator="default",
        label=plan.label.name,
        classes=plan.label.values,
        label_n=None,
        reports=round(classes.rows) if classes else 0,
        raw_prior=pooled.estimate,
        features=tuple(
            _estimate_feature(feature, *measured[index], classes, prior, mechanism)
            if classes and index in measured
            else _describe_unmeasured(feature, pooled, prior)
            for index, feature in enumerate(plan.features)
        ),
        poisoning=None,
        class_counts=_count_classes(classes) if classes and k > 1 else None,
    )


def _count_classes(classes: ClassCounts) -> IntervalEstimate:
    """Return the number of rows of each class. The rows are given, so noise is the only error."""
    value = classes.counts
    constant, none = np.full_like(value, classes.variance), np.zeros_like(value)
    intervals = ratio_intervals(
        value,
        np.ones_like(value),
        constant,
        none,
        none,
        count=value.size,
        bounds=(0.0, math.inf),
        kurtosis=classes.fourth / classes.variance**2,
    )
    return IntervalEstimate(value, np.sqrt(constant), *intervals)


def _estimate_feature(
    feature: Feature,
    table: NoisyTable,
    smoothed: Gaussian | None,
    classes: ClassCounts,
    prior: FloatArray,
    mechanism: str,
) -> FeatureResult | NumberResult:
    """Estimate one feature from its table; `smoothed` are the distributions of a number."""
    if isinstance(feature, NumericFeature):
        assert smoothed
        # one table measures means and squares
        questions = QuestionSummary(mechanism, round(classes.rows)), NOT_ASKED
        moments = SoftMoments.from_table(table, classes)
        return NumberResult.from_estimates(feature, questions, moments, smoothed, prior)
    frequencies = estimate_table(table, classes)
    return replace(FeatureResult.from_estimates(feature, frequencies, prior), mechanism=mechanism)


def _describe_unmeasured(
    feature: Feature, pooled: PooledPrior, prior: FloatArray
) -> FeatureResult | NumberResult:
    if not isinstance(feature, NumericFeature):
        return FeatureResult.from_estimates(feature, None, prior)
    k = len(prior)
    smoothed = Gaussian(np.zeros(k), np.full(k, UNIFORM_VARIANCE), None)
    moments = ClassMoments((), pooled, feature.missing == "category")
    return NumberResult.from_estimates(feature, (NOT_ASKED, NOT_ASKED), moments, smoothed, prior)
