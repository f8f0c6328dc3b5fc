"""Builds the result of each feature from raw estimates and from the probabilities of an estimator."""

from __future__ import annotations

from collections.abc import Iterator

from encoders.survey.features import NumericFeature
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.estimators import ClassConditionals
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.numeric.gaussians import Gaussian
from ldp_aggregator.estimation.numeric.number import ClassMoments
from ldp_aggregator.estimation.raw_estimates import NOT_ASKED, RawEstimates, summarise_questions
from ldp_aggregator.snapshot import AnySnapshot, Snapshot


def describe_features(
    snapshot: AnySnapshot, raw: RawEstimates, conditionals: ClassConditionals, prior: FloatArray
) -> tuple[FeatureResult | NumberResult, ...]:
    """Return the result of each feature: raw estimates with intervals, relevance, and the smoothed ones."""
    return tuple(_describe(snapshot, raw, conditionals, prior))


def _describe(
    snapshot: AnySnapshot, raw: RawEstimates, conditionals: ClassConditionals, prior: FloatArray
) -> Iterator[FeatureResult | NumberResult]:
    asked = summarise_questions(snapshot) if isinstance(snapshot, Snapshot) else {}
    parts = zip(snapshot.plan.features, raw.feature_estimates, raw.share_estimates, conditionals, strict=True)
    for index, (feature, estimate, shares, conditional) in enumerate(parts):
        if isinstance(estimate, ClassMoments):
            assert isinstance(feature, NumericFeature)
            assert isinstance(conditional, Gaussian)
            mean, square = asked.get(index, (NOT_ASKED, NOT_ASKED))
            if raw.silos:
                mean = mean.add_silos(raw.silos)
            yield NumberResult.from_estimates(feature, (mean, square), estimate, conditional, prior)
        else:
            assert not isinstance(feature, NumericFeature)
            assert not isinstance(conditional, Gaussian)
            assert not isinstance(shares, ClassMoments)
            yield FeatureResult.from_estimates(feature, estimate, prior, shares)
