"""Levels of an ordered feature: questions about intervals of adjacent values.

Shares of many adjacent values, such as P(x < 40), are sums of many noisy estimates. A question about wide
intervals estimates them with fewer terms. So a feature with many values is asked about at several levels, and
each person answers one of them (Qardaji, Yang and Li 2013; Kulkarni, Cormode and Srivastava 2019).
"""

from __future__ import annotations

from encoders.errors import SurveyError
from encoders.survey.features import CategoricalFeature, Feature
from encoders.survey.numeric_features import BinnedFeature, NumericFeature


def count_values(feature: Feature) -> int:
    """Return the number of values of a feature, without the missing one."""
    return feature.size - (feature.missing == "category")


def find_shift(feature: Feature, width: int) -> int:
    """Return how many values the first interval lacks, if all others have `width` values.

    The interval of code v is (v + shift) // width. This holds for a missing value too.
    """
    return -count_values(feature) % width


def join_values(feature: Feature, width: int) -> Feature:
    """Return a feature whose values are intervals of `width` adjacent values of an ordered feature.

    Raises
    ------
    SurveyError
        If the feature is not ordered, or if there are not at least two intervals of several values.
    """
    first = width - find_shift(feature, width)
    if isinstance(feature, NumericFeature) or not (feature.ordered and width > 1):
        raise SurveyError("only an ordered feature can be asked about in intervals", feature.name)
    if count_values(feature) <= width:
        raise SurveyError(f"has too few values for intervals of {width}", feature.name)
    if isinstance(feature, BinnedFeature):
        return BinnedFeature(feature.name, (feature.edges[0], *feature.edges[first::width]), feature.missing)
    starts = [0, *range(first, len(feature.values), width)]
    ends = [*starts[1:], len(feature.values)]
    values = feature.values
    texts = [
        values[start] if end == start + 1 else f"{values[start]} to {values[end - 1]}"
        for start, end in zip(starts, ends, strict=True)
    ]
    return CategoricalFeature(feature.name, tuple(texts), feature.missing, ordered=True)
