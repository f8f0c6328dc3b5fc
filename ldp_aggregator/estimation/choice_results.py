"""Joins the results of the choices of one entry: people see one feature with the share of each choice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from encoders.survey import Feature
from encoders.survey.choices import TICKS, ChoiceFeature, Choices
from encoders.survey.parse_value import MISSING_TEXT
from ldp_aggregator.estimation.feature_result import FeatureResult
from ldp_aggregator.estimation.intervals import IntervalEstimate, simultaneous_z
from ldp_aggregator.estimation.number_result import NumberResult
from ldp_aggregator.estimation.relevance import Relevance

_TICKED = TICKS.index("yes")


def join_choices(
    features: Sequence[Feature], results: Sequence[FeatureResult | NumberResult]
) -> Iterator[tuple[Feature, FeatureResult | NumberResult]]:
    """Yield each entry of the row with its result; several choices of an entry are the values of one.

    If answers can be missing, the last value is the missing answer. The shares of choices do not add up to
    one. Their simultaneous intervals hold for all choices and the missing answer together.
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
    cells = [(each, _TICKED) for each in choices]
    if len(entry.texts) > len(entry.values):
        # an answer is missing for all choices at once: the choice with the most reports estimates it
        most = max(choices, key=lambda each: each.n)
        cells.append((most, most.values.index(MISSING_TEXT)))
    correlations = [each.correlation[place] for each, place in cells if each.correlation is not None]
    asked = [each.mechanism for each in choices if each.mechanism]
    return FeatureResult(
        name=name,
        kind=entry.kind,
        values=entry.texts,
        mechanism=" + ".join(dict.fromkeys(asked)) or None,
        n=min(each.n for each in choices),
        asked_with=(),
        shares=_join_estimates([(each.shares, place) for each, place in cells]),
        frequencies=_join_estimates([(each.frequencies, place) for each, place in cells]),
        conditionals=_join_estimates([(each.conditionals, place) for each, place in cells]),
        distinguishable_entries=np.array([each.distinguishable_entries[place] for each, place in cells]),
        relevance=max((each.relevance for each in choices), key=_rank),
        correlation=np.array(correlations) if len(correlations) == len(cells) else None,
        counts=tuple(each.n for each, _ in cells),
    )


def _rank(relevance: Relevance) -> float:
    """Return the estimated relevance; an unknown one is below all others."""
    value = float(relevance.estimate.value)
    return -math.inf if math.isnan(value) else value


def _join_estimates(cells: Sequence[tuple[IntervalEstimate, int]]) -> IntervalEstimate:
    names = vars(cells[0][0])
    joined = IntervalEstimate(
        *(np.stack([vars(each)[name][place] for each, place in cells]) for name in names)
    )
    factor = simultaneous_z(joined.value.size) / simultaneous_z(cells[0][0].value.size)
    return joined.stretch(1.0, max(factor, 1.0))
