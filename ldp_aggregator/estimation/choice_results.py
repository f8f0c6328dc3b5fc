"""Joins the results of the choices of one entry: people see one feature with the share of each choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from encoders.survey import Feature
from encoders.survey.choices import TICKS, ChoiceFeature, Choices
from ldp_aggregator.arrays import FloatArray
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, simultaneous_z
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.relevance import Relevance

_TICKED = TICKS.index("yes")


def join_choices(
    features: Sequence[Feature], results: Sequence[FeatureResult | NumberResult]
) -> Iterator[tuple[Feature, FeatureResult | NumberResult]]:
    """Yield each entry of the row with its result; several choices of an entry are the values of one.

    The shares of choices do not add up to one. Their simultaneous intervals hold for all choices together.
    """
    pairs = zip(features, results, strict=True)
    for name, group in groupby(pairs, key=lambda pair: pair[0].row_name):
        listed = list(group)
        feature = listed[0][0]
        if not isinstance(feature, ChoiceFeature):
            yield from listed
            continue
        choices = [result for _, result in listed if isinstance(result, FeatureResult)]
        yield feature.entry, _join(name, feature.entry, choices)


def _join(name: str, entry: Choices, choices: Sequence[FeatureResult]) -> FeatureResult:
    correlations = [each.correlation for each in choices]
    asked = [each.mechanism for each in choices if each.mechanism]
    return FeatureResult(
        name=name,
        kind=entry.kind,
        values=entry.values,
        mechanism=" + ".join(dict.fromkeys(asked)) or None,
        n=min(each.n for each in choices),
        asked_with=(),
        shares=_join_estimates([each.shares for each in choices]),
        frequencies=_join_estimates([each.frequencies for each in choices]),
        conditionals=_join_estimates([each.conditionals for each in choices]),
        distinguishable_entries=np.array([each.distinguishable_entries[_TICKED] for each in choices]),
        relevance=max((each.relevance for each in choices), key=_rank),
        smoothed=np.stack([each.smoothed[_TICKED] for each in choices]),
        correlation=None
        if any(each is None for each in correlations)
        else np.array([each[_TICKED] for each in correlations if each is not None]),
    )


def _rank(relevance: Relevance) -> float:
    """Return the estimated relevance; an unknown one is below all others."""
    value = float(relevance.estimate.value)
    return -math.inf if math.isnan(value) else value


def _join_estimates(estimates: Sequence[IntervalEstimate]) -> IntervalEstimate:
    def stack(read: Callable[[IntervalEstimate], FloatArray]) -> FloatArray:
        return np.stack([read(each)[_TICKED] for each in estimates])

    joined = IntervalEstimate(
        value=stack(lambda each: each.value),
        stderr=stack(lambda each: each.stderr),
        low=stack(lambda each: each.low),
        high=stack(lambda each: each.high),
        simultaneous_low=stack(lambda each: each.simultaneous_low),
        simultaneous_high=stack(lambda each: each.simultaneous_high),
    )
    factor = simultaneous_z(joined.value.size) / simultaneous_z(estimates[0].value.size)
    return joined.stretch(1.0, max(factor, 1.0))
