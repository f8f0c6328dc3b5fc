"""One survey, asked in other ways: another epsilon, other mechanisms, numbers in bins, numbers projected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from encoders.errors import LdpError, SurveyError
from encoders.mechanisms import check_numeric_name
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, NumericFeature, Survey
from encoders.survey.decimals import equal_width
from ldp_aggregator.simulated_population import parse_epsilon
from reduction.class_means import LEARNED_METHOD
from reduction.fit import METHODS
from reduction.publish import Fit

AS_AUTHORED = "survey"
"""How numbers are asked for, unless said otherwise: as the survey does."""
NO_PROJECTION = "none"

_BINS = re.compile(r"bins:([0-9]{1,4})")
_PROJECTION = re.compile(rf"({'|'.join((*METHODS, LEARNED_METHOD))}):([0-9]{{1,4}})")


class VariantError(LdpError):
    """A way to ask that does not exist."""


@dataclass(frozen=True)
class Variant:
    """One way to ask a survey.

    Attributes
    ----------
    epsilon : Decimal
    mechanism : str
        Of what is discrete, see :func:`encoders.mechanisms.design`.
    numeric : str
        How numbers are asked for: "survey", as written, and components as numbers; "bins:N", in N bins of
        equal width; or as numbers by a mechanism, "auto" or "onebit" for example.
    projection : str
        "none", or "dca:1", "pca:6": the numbers' so many components; "learned:1": learned from the reports
        of a first round.
    rounds : int
        Later ones leave out what turned out to tell nothing, see :mod:`ldp_aggregator.rounds.narrow`.
    validated : bool
        Whether some people judge the model of the first round, see :mod:`ldp_aggregator.rounds.validate`.
    """

    epsilon: Decimal
    mechanism: str = "auto"
    numeric: str = AS_AUTHORED
    projection: str = NO_PROJECTION
    rounds: int = 1
    validated: bool = False


def check_numeric(text: str) -> str:
    """Return a name for :attr:`Variant.numeric` if there is such a way; else raise VariantError."""
    match = _BINS.fullmatch(text)
    if text == AS_AUTHORED or (match and 2 <= int(match[1]) <= 1000):
        return text
    try:
        return check_numeric_name(text)
    except SurveyError as error:
        raise VariantError(
            f'{error.why}, "survey" for as written, or "bins:N" with 2 to 1000 bins'
        ) from error


def parse_projection(text: str) -> tuple[str, int] | None:
    """Return (method, components) of "dca:1", None of "none"; else raise VariantError."""
    match = _PROJECTION.fullmatch(text)
    if match:
        return match[1], int(match[2])
    if text == NO_PROJECTION:
        return None
    examples = ", ".join(f"{method}:1" for method in (*METHODS, LEARNED_METHOD))
    raise VariantError(f"choose none, or a method and its components: {examples}")


def count_learned_components(text: str) -> int:
    """Return how many components a second round learns from the first; 0 if the projection is another."""
    wanted = parse_projection(text)
    return wanted[1] if wanted and wanted[0] == LEARNED_METHOD else 0


def check_projection(text: str, survey: Survey) -> None:
    """Make sure that the survey has numbers enough for a projection; else raise VariantError."""
    wanted = parse_projection(text)
    if not wanted:
        return
    numbers = len(projection_inputs(survey))
    classes = len(survey.label.values)
    most, why = numbers, f"the survey asks for {numbers} numbers"
    if count_learned_components(text) and classes <= numbers:
        most, why = classes - 1, f"the means of {classes} classes hold no more"
    if not numbers:
        raise VariantError(f"{text}: the survey asks for no number: there is nothing to project")
    if not 1 <= wanted[1] <= most:
        raise VariantError(
            f"{text}: choose {'1 component' if most == 1 else f'1 to {most} components'}; {why}"
        )


def apply_variant(survey: Survey, variant: Variant, fit: Fit | None, paper: bool) -> Survey:
    """Return the survey asked in another way.

    Parameters
    ----------
    survey : Survey
    variant : Variant
    fit : Fit, optional
        The projection, if the variant has one.
    paper : bool
        Ask as Yilmaz et al. 2019 does: the label too, everything equally often, THE at its threshold.
    """
    changed = replace(survey, epsilon=parse_epsilon(variant.epsilon), frequency=variant.mechanism)
    changed = _numbers(_projected(changed, fit) if fit else changed, variant.numeric)
    if not paper:
        return changed
    paper_name = "THE(0.25)" if variant.mechanism == "THE" else variant.mechanism
    return replace(changed, frequency=paper_name, weights=(1,) * len(changed.weights))


def projection_inputs(survey: Survey) -> dict[NumericFeature, int]:
    """Return the numbers that are asked as inputs of a projection, and the weights of their questions."""
    pairs = zip(survey.features, survey.weights[1:], strict=True)
    return {
        _as_number(each): weight
        for each, weight in pairs
        if weight and not isinstance(each, CategoricalFeature)
    }


def component_weight(weights: Iterable[int]) -> int:
    """Return the weight of a projection's components: the inputs' if all have the same, otherwise 1."""
    different = set(weights)
    return different.pop() if len(different) == 1 else 1


def _projected(survey: Survey, fit: Fit) -> Survey:
    """Replace the numbers that are asked by the components of a projection."""
    pairs = list(zip(survey.features, survey.weights[1:], strict=True))
    kept: list[tuple[Feature, int | None]] = [
        (each, weight) for each, weight in pairs if isinstance(each, CategoricalFeature) or not weight
    ]
    absent = any(each.missing == "category" for each in fit.projection.inputs)
    weight = component_weight(projection_inputs(survey).values())
    for component, bounds in zip(fit.projection.components, fit.bounds, strict=True):
        kept.append((NumericFeature(component.name, *bounds, "category" if absent else "error"), weight))
    features, weights = zip(*kept, strict=True)
    return replace(
        survey, features=features, weights=(survey.weights[0], *weights), projection=fit.projection
    )


def _numbers(survey: Survey, how: str) -> Survey:
    if how == AS_AUTHORED:
        return survey
    match = _BINS.fullmatch(how)
    if match:
        return replace(survey, features=tuple(_in_bins(each, int(match[1])) for each in survey.features))
    return replace(survey, numeric=how, features=_as_numbers(survey.features))


def _as_numbers(features: Sequence[Feature]) -> tuple[Feature, ...]:
    return tuple(each if isinstance(each, CategoricalFeature) else _as_number(each) for each in features)


def _as_number(feature: BinnedFeature | NumericFeature) -> NumericFeature:
    if isinstance(feature, NumericFeature):
        return feature
    return NumericFeature(feature.name, feature.edges[0], feature.edges[-1], feature.missing)


def _in_bins(feature: Feature, bins: int) -> Feature:
    if isinstance(feature, CategoricalFeature):
        return feature
    whole = _as_number(feature)
    edges = equal_width(Decimal(whole.low), Decimal(whole.high), bins)
    return BinnedFeature(whole.name, edges, whole.missing)
