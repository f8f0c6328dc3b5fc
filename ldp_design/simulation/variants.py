"""Variants of one survey, and the grid of variants that a simulation runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from math import prod

from encoders.canonical import equal_width_edges
from encoders.errors import LdpError, SurveyError
from encoders.mechanisms import check_numeric_name
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Survey
from ldp_aggregator.simulated_population import parse_epsilon
from ldp_design.authoring.project import project_survey, projection_inputs, to_number
from reduction.fit import METHODS, Fit

AS_AUTHORED = "survey"
"""Value of `numeric`: ask about numbers as the survey is written."""
NO_PROJECTION = "none"

_BINS = re.compile(r"bins:([0-9]{1,4})")
_PROJECTION = re.compile(rf"({'|'.join(METHODS)}):([0-9]{{1,4}})")


class SimulationError(LdpError):
    """A table or a grid that cannot be simulated."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to ask a survey and to estimate from its reports."""

    epsilon: Decimal
    mechanism: str = "auto"
    """Frequency oracle of discrete questions, see :func:`encoders.mechanisms.design`."""
    numeric: str = AS_AUTHORED
    """How numbers are asked: "survey", as authored (components of a projection as numbers); "bins:N", in N
    bins of equal width; or a mechanism for numbers, for example "auto" or "onebit"."""
    projection: str = NO_PROJECTION
    """"none", or a method and its number of components, for example "dca:1" or "pca:6"."""
    validated: bool = False
    """Whether some people validate the model, see :mod:`ldp_design.model_validation`."""
    estimator: str = "default"
    """"paper" also asks the questions of Yilmaz et al. 2019: a label question too, all questions equally
    often, and THE at its threshold of .25. {"default", "paper"}."""

    @property
    def encoding(self) -> tuple[str, str]:
        """The numeric mechanism and the projection; the codes of a row depend only on these."""
        return self.numeric, self.projection

    @property
    def seed_settings(self) -> tuple[object, ...]:
        """What seeds the variant's reports beside epsilon, see :mod:`ldp_design.simulation.experiment`.

        The 1 was a number of rounds; without it, every published simulation would draw other reports.
        """
        return self.mechanism, self.numeric, self.projection, 1, self.validated, self.estimator

    def apply(self, survey: Survey, fit: Fit | None = None) -> Survey:
        """Return the survey with this variant's settings; `fit` is the projection, if the variant has one."""
        survey = replace(survey, epsilon=self.epsilon, frequency=self.mechanism, relay=None)
        survey = _ask_numbers(project_survey(survey, fit) if fit else survey, self.numeric)
        if self.estimator != "paper":
            return survey
        frequency = "THE(0.25)" if self.mechanism == "THE" else self.mechanism
        return replace(survey, frequency=frequency, weights=(1,) * len(survey.weights))


@dataclass(frozen=True, kw_only=True)
class SimulationGrid:
    """The variants that a simulation runs: every combination of these values."""

    epsilons: Sequence[float | str | Decimal] = (1,)
    mechanisms: Sequence[str] = ("auto",)
    numeric: Sequence[str] = (AS_AUTHORED,)
    projections: Sequence[str] = (NO_PROJECTION,)
    """`mechanisms`, `numeric` and `projections`: see :class:`Variant`. Projections are fitted again in
    each repeat."""
    validate: bool = False
    """Whether a fifth of the people validate the model of the others, and do not answer the survey. The
    model then keeps the features with which it is most accurate."""

    def __len__(self) -> int:
        return prod(map(len, (self.epsilons, self.mechanisms, self.numeric, self.projections)))

    def list_variants(self, survey: Survey, estimator: str) -> list[Variant]:
        """Return the variants; those that share the codes of a row are adjacent.

        Raises
        ------
        SurveyError, SimulationError
            If the survey has no such variant.
        """
        for name in self.numeric:
            check_numeric(name)
        for name in self.projections:
            check_projection(name, survey)
        epsilons = [parse_epsilon(each) for each in self.epsilons]
        axes = product(self.numeric, self.projections, epsilons, self.mechanisms)
        return [
            Variant(
                epsilon=epsilon,
                mechanism=mechanism,
                numeric=numeric,
                projection=projection,
                validated=self.validate,
                estimator=estimator,
            )
            for numeric, projection, epsilon, mechanism in axes
        ]


def check_numeric(text: str) -> str:
    """Return `text` if it is a value of :attr:`Variant.numeric`; else raise SimulationError."""
    match = _BINS.fullmatch(text)
    if text == AS_AUTHORED or (match and 2 <= int(match[1]) <= 1000):
        return text
    try:
        return check_numeric_name(text)
    except SurveyError as error:
        raise SimulationError(
            f'{error.why}, "survey" (as the survey is written), or "bins:N" with 2 to 1000 bins'
        ) from error


def parse_projection(text: str) -> tuple[str, int] | None:
    """Return (method, components) for a text such as "dca:1", None for "none"; else raise SimulationError."""
    match = _PROJECTION.fullmatch(text)
    if match:
        return match[1], int(match[2])
    if text == NO_PROJECTION:
        return None
    examples = ", ".join(f"{method}:1" for method in METHODS)
    raise SimulationError(f"choose none, or a method and its number of components: {examples}")


def check_projection_name(text: str) -> str:
    """Return `text` if :func:`parse_projection` accepts it; else raise SimulationError."""
    parse_projection(text)
    return text


def check_projection(text: str, survey: Survey) -> None:
    """Raise SimulationError unless the survey has enough numbers for a projection."""
    parsed = parse_projection(text)
    if not parsed:
        return
    numbers = len(projection_inputs(survey))
    if not numbers:
        raise SimulationError(f"{text}: the survey asks about no number, so there is nothing to project")
    if not 1 <= parsed[1] <= numbers:
        choices = "1 component" if numbers == 1 else f"1 to {numbers} components"
        raise SimulationError(f"{text}: choose {choices}; the survey asks about {numbers} numbers")


def _ask_numbers(survey: Survey, numeric: str) -> Survey:
    """Return the survey with its numbers asked according to :attr:`Variant.numeric`."""
    if numeric == AS_AUTHORED:
        return survey
    if match := _BINS.fullmatch(numeric):
        return replace(survey, features=tuple(_to_bins(each, int(match[1])) for each in survey.features))
    features = tuple(
        each if isinstance(each, CategoricalFeature) else to_number(each) for each in survey.features
    )
    return replace(survey, numeric=numeric, features=features)


def _to_bins(feature: Feature, bins: int) -> Feature:
    if isinstance(feature, CategoricalFeature):
        return feature
    number = to_number(feature)
    edges = equal_width_edges(Decimal(number.low), Decimal(number.high), bins)
    return BinnedFeature(number.name, edges, number.missing)
