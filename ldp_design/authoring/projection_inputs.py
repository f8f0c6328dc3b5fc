"""Finds the numbers that a projection replaces, and builds the survey that asks about its components."""

from __future__ import annotations

from dataclasses import replace

from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature, Survey
from reduction.fit import Fit


def projection_inputs(survey: Survey) -> dict[NumericFeature, int]:
    """Return the numbers that the survey asks about, as inputs of a projection, and their weights."""
    return {
        to_number(feature): weight
        for feature, weight in zip(survey.features, survey.weights[1:], strict=True)
        if weight and not isinstance(feature, CategoricalFeature)
    }


def component_weight(survey: Survey) -> int:
    """Return the weight of a projection's components: that of the inputs if all are equal, otherwise 1."""
    weights = set(projection_inputs(survey).values())
    return weights.pop() if len(weights) == 1 else 1


def to_number(feature: BinnedFeature | NumericFeature) -> NumericFeature:
    if isinstance(feature, NumericFeature):
        return feature
    codes = feature.missing_codes
    return NumericFeature(
        feature.name, feature.edges[0], feature.edges[-1], feature.missing, missing_codes=codes
    )


def project_survey(survey: Survey, fit: Fit) -> Survey:
    """Return the survey with the numbers that it asks about replaced by the components of a projection."""
    pairs: list[tuple[Feature, int | None]] = [
        (feature, weight)
        for feature, weight in zip(survey.features, survey.weights[1:], strict=True)
        if isinstance(feature, CategoricalFeature) or not weight
    ]
    missing = "category" if any(each.missing == "category" for each in fit.projection.inputs) else "error"
    weight = component_weight(survey)
    for component, bounds in zip(fit.projection.components, fit.bounds, strict=True):
        pairs.append((NumericFeature(component.name, *bounds, missing), weight))
    features, weights = zip(*pairs, strict=True)
    return replace(
        survey, features=features, weights=(survey.weights[0], *weights), projection=fit.projection
    )
