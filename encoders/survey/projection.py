"""A public projection: computes a few numbers from several numbers of a row, in fixed point.

Each input is clipped to its public bounds and normalised to [-1, 1]. Each component is a weighted sum of
the inputs plus an offset. The package ``reduction`` fits the weights. Applying them is part of coding a row,
so device, simulation and prediction must agree on it to the last bit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from encoders.errors import SurveyError
from encoders.survey.features import GRID, Feature, NumericFeature, row_entries
from encoders.survey.parse_value import row_entry

UNIT = 10**6
"""Denominator of weights and offsets, which are whole numbers of millionths."""

MAX_SUM = 8000
"""Largest sum of the absolute weights and the absolute offset of a component.

MAX_SUM UNIT GRID is below 2^53: every sum is exact, as an int64 and as a double.
"""

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{0,5}[1-9])?")


@dataclass(frozen=True)
class Component:
    name: str
    weights: tuple[str, ...]
    """One for each input, as canonical decimal strings of at most 6 decimals."""
    offset: str = "0"

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "offset": self.offset, "weights": list(self.weights)}


@dataclass(frozen=True)
class Projection:
    """Weighted sums of numbers in exact fixed point.

    With the weights W_j and the offset B in millionths, and the inputs' codes c_j + GRID, a component is
    (sum_j W_j c_j + B GRID) / (10^6 GRID): a sum of integers below 2^53, divided once in IEEE doubles.
    """

    inputs: tuple[NumericFeature, ...]
    components: tuple[Component, ...]

    def apply(self, row: Mapping[str, object]) -> dict[str, float | None]:
        """Return the components of a row; all None if an input is missing and there is a category for that.

        Raises RowError for an input that is absent, of a wrong type, or missing without a category.
        """
        codes = [feature.code(row_entry(row, feature.name)) for feature in self.inputs]
        if any(code > 2 * GRID for code in codes):
            return dict.fromkeys([component.name for component in self.components])
        sums = (
            sum(weight * (code - GRID) for weight, code in zip(weights, codes, strict=True)) + offset * GRID
            for weights, offset in self.millionths
        )
        return {each.name: total / (UNIT * GRID) for each, total in zip(self.components, sums, strict=True)}

    def clipped_inputs(self, row: Mapping[str, object]) -> tuple[str, ...]:
        return tuple(
            feature.name for feature in self.inputs if feature.is_clipped(row_entry(row, feature.name))
        )

    def check(self) -> None:
        for problem in self.problems():
            raise problem

    def problems(self) -> Iterator[SurveyError]:
        """Yield every mistake, each with the name of its entry in the authored survey."""
        if not self.inputs:
            yield SurveyError("add at least one table [projection.inputs.NAME]", "projection.inputs")
            return
        if not 1 <= len(self.components) <= len(self.inputs):
            why = f"{len(self.inputs)} inputs make 1 to {len(self.inputs)} components, each with weights"
            yield SurveyError(f"{why}; this survey has {len(self.components)}", "projection")
        names = [each.name for each in self.inputs] + [each.name for each in self.components]
        twice = sorted(str(name) for name, count in Counter(names).items() if count > 1)
        if twice:
            yield SurveyError(
                f"inputs and components need different names; repeated: {', '.join(twice)}",
                "projection.inputs",
            )
        for component in self.components:
            yield from _component_problems(component, len(self.inputs))

    def as_dict(self) -> dict[str, Any]:
        return {
            "components": [component.as_dict() for component in self.components],
            "inputs": [feature.as_dict() for feature in self.inputs],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Projection:
        """Read a projection from its entry in a plan; `check` raises an error if it cannot be used."""
        inputs = tuple(map(_input, document["inputs"]))
        components = (
            Component(entry["name"], tuple(entry["weights"]), entry["offset"])
            for entry in document["components"]
        )
        return cls(inputs, tuple(components))

    @cached_property
    def millionths(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        return tuple((tuple(map(_scaled, each.weights)), _scaled(each.offset)) for each in self.components)


def _component_problems(component: Component, inputs: int) -> Iterator[SurveyError]:
    field = f"features.{component.name}"
    parts = (*component.weights, component.offset)
    decimals = all(map(_is_decimal, component.weights)), _is_decimal(component.offset)
    if len(component.weights) != inputs:
        why = f"needs a weight for each of the {inputs} inputs, in their order; it has"
        yield SurveyError(f"{why} {len(component.weights)}", f"{field}.weights")
    if not decimals[0]:
        yield SurveyError("weights must be finite decimals of at most 6 decimals", f"{field}.weights")
    if not decimals[1]:
        yield SurveyError("the offset must be a finite decimal of at most 6 decimals", f"{field}.offset")
    if all(decimals) and sum(abs(_scaled(text)) for text in parts) > MAX_SUM * UNIT:
        yield SurveyError(
            f"the absolute weights and offset add up to more than {MAX_SUM}: scale them down",
            f"{field}.weights",
        )


def _is_decimal(text: object) -> bool:
    return isinstance(text, str) and _DECIMAL.fullmatch(text) is not None and text != "-0"


def _scaled(text: str) -> int:
    return int(Fraction(text) * UNIT)


def _input(entry: Mapping[str, Any]) -> NumericFeature:
    if entry["kind"] != NumericFeature.kind:
        raise SurveyError("inputs of a projection must be numeric", "projection.inputs")
    return NumericFeature(entry["name"], entry["low"], entry["high"], entry["missing"])


def required_features(features: Sequence[Feature], projection: Projection | None) -> tuple[Feature, ...]:
    """Return the entries that a row must have: a projection's inputs, and features that are not projected."""
    if projection is None:
        return row_entries(features)
    projected = {component.name for component in projection.components}
    return (*projection.inputs, *row_entries(each for each in features if each.name not in projected))
