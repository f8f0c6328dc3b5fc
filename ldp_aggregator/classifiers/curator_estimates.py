"""Estimates with intervals from the noisy counts in a curator's model file, as the table of a local survey.

They are computed from what the training released, so they cost no epsilon. The intervals contain the noise,
and the error of a sample: the people in the rows stand for others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.survey import Feature, NumericFeature
from ldp_aggregator.classifiers.curator_file import CentralModelFile, Conditionals
from ldp_aggregator.classifiers.model_document import ModelError
from ldp_aggregator.estimation import Estimates
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, ratio_intervals
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.numeric.gaussians import Gaussian
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import NOT_ASKED, QuestionSummary
from ldp_aggregator.estimation.tables.noisy_tables import CellFrequencies, ClassCounts, NoisyTable
from ldp_aggregator.estimation.tables.soft_moments import SoftMoments
from ldp_aggregator.views.estimate_rows import CLASS_PRIOR, COUNT, EstimateRow, build_table

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"


def build_central_table(content: CentralModelFile) -> list[EstimateRow]:
    """Return the table of estimates of Naive Bayes: the counts of classes, if any, then :func:`build_table`.

    Raises
    ------
    ModelError
        If the model is not Naive Bayes.
    """
    if not isinstance(content.model, Conditionals):
        raise ModelError(
            f"a {content.learner} model has no table of estimates: train with --learner nb for one"
        )
    model = content.model
    if content.privacy.delta:
        model = replace(model, counts=tuple(replace(each, terms=math.inf) for each in model.counts))
    classes = ClassCounts.from_tables(model.counts)
    counts = _build_count_rows(content, classes) if content.plan.label.exists else []
    rows = build_table(_estimate(content, model, classes), content.plan)
    return [*counts, *(row for row in rows if row.mechanism or row.statistic == CLASS_PRIOR)]


def _estimate(content: CentralModelFile, model: Conditionals, classes: ClassCounts) -> Estimates:
    """Return the estimates of all features; those that were not measured are unknown."""
    plan = content.plan
    return Estimates(
        survey=plan.id,
        plan_digest=plan.digest,
        estimator="default",
        label=plan.label.name,
        classes=plan.label.values,
        label_n=None,
        reports=round(classes.rows),
        raw_prior=classes.pooled_prior.estimate,
        prior=classes.prior,
        features=tuple(_estimate_features(content, model, classes)),
        poisoning=None,
    )


def _build_count_rows(content: CentralModelFile, classes: ClassCounts) -> Iterator[EstimateRow]:
    """Yield the number of rows of each class. The rows are given, so noise is the only error."""
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
    counts = IntervalEstimate(value, np.sqrt(constant), *intervals)
    label = content.plan.label
    for index, name in enumerate(label.values):
        yield EstimateRow.from_estimate(
            counts,
            (index,),
            max(float(value[index]), 0.0),
            feature=label.name,
            statistic=COUNT,
            class_name=name,
            n=round(classes.rows),
            span=math.inf,
        )


def _estimate_features(
    content: CentralModelFile, model: Conditionals, classes: ClassCounts
) -> Iterator[FeatureResult | NumberResult]:
    mechanism = GAUSSIAN if content.privacy.delta else LAPLACE
    counts = dict(zip(model.selected, model.counts, strict=True))
    for index, feature in enumerate(content.plan.features):
        yield _estimate_feature(feature, counts.get(index), model.tables[index], classes, mechanism)


def _estimate_feature(
    feature: Feature, table: NoisyTable | None, smoothed: Any, classes: ClassCounts, mechanism: str
) -> FeatureResult | NumberResult:
    if isinstance(feature, NumericFeature):
        assert isinstance(smoothed, Gaussian)
        prior, can_be_missing = classes.pooled_prior, feature.missing == "category"
        moments = SoftMoments.from_table(table, classes) if table else None
        # one table measures means and squares
        measured = QuestionSummary(mechanism, round(classes.rows)) if table else NOT_ASKED
        return NumberResult.from_estimates(
            feature,
            (measured, NOT_ASKED),
            moments or ClassMoments(None, None, prior, can_be_missing),
            smoothed,
            classes.prior,
        )
    frequencies = CellFrequencies.from_table(table, classes) if table else None
    result = FeatureResult.from_estimates(feature, frequencies, smoothed, classes.prior)
    return replace(result, mechanism=mechanism if table else None)
