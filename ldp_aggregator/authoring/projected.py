"""The text of a projected survey: new tables where the numbers were, all else as its author wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Survey, read_survey
from encoders.survey.numeric_features import NumericFeature
from ldp_aggregator.authoring.projection_inputs import component_weight, projection_inputs
from ldp_aggregator.authoring.toml_edit import (
    add_suffix,
    check_edit,
    format_array,
    format_comment,
    format_decimal,
    format_key,
    parse_toml,
    quote,
    rename_survey,
    replace_tables,
)
from ldp_aggregator.estimation.validation_result import refuse_validation
from reduction.publish import Fit

_FIRST = "The survey {old}, its numbers projected."
_THEN = "Look at the tables [features.{stem}...], then run  ldp-survey check  and  ldp-survey preview."
_LAST = "It is another survey than that, so it has another id: confirm it. Fitted anew, it needs a new one."
_DEVICE = (
    "Each device clips these numbers to their ranges, normalises them to [-1, 1] and takes the weighted "
    "sums below. It is asked about the sums only."
)


class ProjectionError(LdpError):
    """A survey, a table or a model that cannot be projected by."""


def read_unprojected(text: str, stem: str, components: int) -> tuple[str, Survey]:
    """Return an authored survey with bare line ends, and what it says.

    Raises
    ------
    ProjectionError
        If it has no numbers to project, or a column that is called like one of the components.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    survey = read_survey(text)
    refuse_validation(survey)
    if survey.projection:
        raise ProjectionError("the survey has a projection already; project the survey that it was made from")
    if not projection_inputs(survey):
        raise ProjectionError(
            "the survey asks for no number, a feature with range or edges: nothing to project"
        )
    taken = {survey.label.name, *(feature.name for feature in survey.features)}
    for name in (f"{stem}{place}" for place in range(1, components + 1)):
        if name in taken:
            raise ProjectionError(f"{name}: the survey has a column of that name already; rename it")
    return text, survey


@dataclass(frozen=True)
class Projected:
    """A projection as it is written, and what the comments say of it.

    Attributes
    ----------
    found : Fit
    stem : str
        What its components' names begin with, and the suffix of the survey's id.
    header, origin : tuple of str
        Paragraphs: where the projection came from, at the top and above its tables.
    powers, ranges : tuple of str
        Of each component: what it is good for, and where its range came from.
    bins : int or None
        Bins of each component; None for numbers.
    family : str or None
        The family to make the survey a round of, if it is to be.
    """

    found: Fit
    stem: str
    header: tuple[str, ...]
    origin: tuple[str, ...]
    powers: tuple[str, ...]
    ranges: tuple[str, ...]
    bins: int | None
    family: str | None = None

    def survey(self, text: str, survey: Survey) -> str:
        """Return the projected survey of the `survey` that is written as `text`.

        Raises
        ------
        LayoutError
            If the tables of the text cannot be told apart.
        SurveyError
            If the result is no survey, for being too large.
        """
        entry = self._entry(survey)
        first, then = _FIRST.format(old=quote(survey.id)), _THEN.format(stem=self.stem)
        header = [first, *self.header, _LAST, then]
        names = [each.name for each in self.found.projection.inputs]
        tables = self._tables(survey)
        changed = replace_tables(
            rename_survey(text, survey.id, entry), [("features", name) for name in names], tables
        )
        check_edit(changed, self._expected(text, names, tables, entry))
        changed = f"{format_comment(*header)}\n{changed}"
        read_survey(changed)
        return changed

    @staticmethod
    def _expected(text: str, names: Sequence[str], tables: str, entry: Mapping[str, str]) -> dict[str, Any]:
        """Return what the text said, but for the survey's entry and the tables exchanged."""
        document, added = map(parse_toml, (text, tables))
        left = {name: table for name, table in document["features"].items() if name not in names}
        return {
            **document,
            "survey": {**document["survey"], **entry},
            "features": {**left, **added["features"]},
            "projection": added["projection"],
        }

    def _entry(self, survey: Survey) -> dict[str, str]:
        """Return what becomes of the survey's id, and of its family if that changes."""
        suffix = f"-{self.stem}{len(self.found.powers)}"
        entry = {"id": add_suffix(survey.id, suffix)}
        if entry["id"] == survey.id:
            raise ProjectionError(
                f"{survey.id}: leaves no room for a new id that ends in {suffix}: shorten it"
            )
        if self.family and self.family != survey.family:
            entry["family"] = self.family
        return entry

    def _tables(self, survey: Survey) -> str:
        """Return the tables of the inputs and of the components."""
        weights = projection_inputs(survey)
        weight = component_weight(survey)
        places = range(len(self.found.powers))
        components = (self._component(place, weight) for place in places)
        return "\n".join([format_comment(*self.origin, _DEVICE), *map(_input, weights), *components])

    def _component(self, place: int, weight: int) -> str:
        component = self.found.projection.components[place]
        gaps = any(each.missing == "category" for each in self.found.projection.inputs)
        low, high = self.found.bounds[place]
        lines = [
            format_comment(self.powers[place]).rstrip(),
            f"[features.{component.name}]",
            format_array("weights", component.weights),
            f"offset = {component.offset}",
            format_comment(self.ranges[place]).rstrip(),
            f"range = [{low}, {high}]",
            *([f"bins = {self.bins}"] if self.bins else []),
            *(["# missing where one of the numbers is", 'missing = "category"'] if gaps else []),
            *([f"weight = {weight}"] if weight != 1 else []),
        ]
        return "\n".join([*lines, ""])


def _input(feature: NumericFeature) -> str:
    lines = [
        f"[projection.inputs.{format_key(feature.name)}]",
        format_array("range", [format_decimal(Decimal(feature.low)), format_decimal(Decimal(feature.high))]),
        *(['missing = "category"'] if feature.missing == "category" else []),
    ]
    return "\n".join([*lines, ""])
