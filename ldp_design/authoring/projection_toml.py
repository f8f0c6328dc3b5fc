"""Writes the text of a projected survey: tables of inputs and components replace those of the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from encoders.errors import LdpError
from encoders.survey import Survey, read_survey
from encoders.survey.missing_codes import show_code
from encoders.survey.numeric_features import NumericFeature
from encoders.survey.toml_lines import parse_toml
from ldp_design.authoring.projection_inputs import component_weight, projection_inputs
from ldp_design.authoring.toml_edit import (
    add_suffix,
    check_edit,
    format_array,
    format_comment,
    format_decimal,
    format_key,
    quote,
    read_editable_survey,
    rename_survey,
    rename_tables,
    replace_tables,
)
from reduction.publish import Fit

_TITLE = "The survey {old}, its numbers projected."
_NEW_ID = "It is a different survey, so it has a new id: confirm it. After another fit it needs another id."
_NEXT_STEPS = "Check the tables [features.{stem}...], then run  ldp-survey check  and  ldp-survey preview."
_DEVICE = (
    "Each device clips these numbers to their ranges, normalises them to [-1, 1] and takes the weighted "
    "sums below. It is asked about the sums only."
)


class ProjectionError(LdpError):
    """A survey that cannot be projected, or a table or model that does not fit it."""


def read_unprojected(text: str, stem: str, components: int) -> tuple[str, Survey]:
    """Read a survey file's text that can be projected; return the text with LF line ends, and the survey.

    Raises
    ------
    ProjectionError
        If the survey has a projection already, no numbers to project, or a column with a component's name.
    """
    text, survey = read_editable_survey(text)
    if survey.projection:
        raise ProjectionError("the survey has a projection already; project the survey that it was made from")
    if not projection_inputs(survey):
        raise ProjectionError(
            "the survey asks about no number (a feature with range or edges), so there is nothing to project"
        )
    taken = {survey.label.name, *(feature.name for feature in survey.features)}
    for name in (f"{stem}{number}" for number in range(1, components + 1)):
        if name in taken:
            raise ProjectionError(f"{name}: the survey has a column of that name already; rename it")
    return text, survey


@dataclass(frozen=True, kw_only=True)
class ProjectedSurvey:
    """A projection, and the comments that explain it in a survey file."""

    fit: Fit
    stem: str
    """Prefix of the components' names, and suffix of the survey's id."""
    header: tuple[str, ...]
    origin: tuple[str, ...]
    """Paragraphs that state the origin of the projection, for the top of the file and for its tables."""
    powers: tuple[str, ...]
    ranges: tuple[str, ...]
    """For each component: how informative it is, and the origin of its range."""
    bins: int | None
    """Number of bins of each component; None for numbers."""
    family: str | None = None
    """Id of the family of which the survey becomes a round, if any."""

    def write(self, text: str, survey: Survey) -> str:
        """Return the text of a survey with its numbers projected.

        Raises
        ------
        LayoutError
            If the tables of the text cannot be found.
        SurveyError
            If the result is too large for a survey.
        """
        suffix = f"-{self.stem}{len(self.fit.powers)}"
        entry = {"id": add_suffix(survey.id, suffix)}
        if entry["id"] == survey.id:
            raise ProjectionError(f"{survey.id}: is too long for a new id that ends in {suffix}: shorten it")
        if self.family and self.family != survey.family:
            entry["family"] = self.family
        inputs = self.fit.projection.inputs
        tables = self._format_tables(survey)
        projected = replace_tables(
            rename_survey(text, survey.id, entry), [("features", each.name) for each in inputs], tables
        )
        # The parsed result must equal the old survey, except for its entry and the replaced tables.
        document, new = parse_toml(text), parse_toml(tables)
        features: dict[str, Any] = {**document["features"], **new["features"]}
        for each in inputs:
            del features[each.name]
        check_edit(
            projected,
            {
                **document,
                **rename_tables(document, entry),
                "features": features,
                "projection": new["projection"],
            },
        )
        title, next_steps = _TITLE.format(old=quote(survey.id)), _NEXT_STEPS.format(stem=self.stem)
        projected = f"{format_comment(title, *self.header, _NEW_ID, next_steps)}\n{projected}"
        read_survey(projected)
        return projected

    def _format_tables(self, survey: Survey) -> str:
        """Return the tables of the inputs and of the components."""
        tables = [format_comment(*self.origin, _DEVICE)]
        tables += [_format_input(feature) for feature in projection_inputs(survey)]
        weight = component_weight(survey)
        tables += [self._format_component(index, weight) for index in range(len(self.fit.powers))]
        return "\n".join(tables)

    def _format_component(self, index: int, weight: int) -> str:
        component = self.fit.projection.components[index]
        can_miss = any(each.missing == "category" for each in self.fit.projection.inputs)
        low, high = self.fit.bounds[index]
        lines = [
            format_comment(self.powers[index]).rstrip(),
            f"[features.{component.name}]",
            format_array("weights", component.weights),
            f"offset = {component.offset}",
            format_comment(self.ranges[index]).rstrip(),
            f"range = [{low}, {high}]",
            *([f"bins = {self.bins}"] if self.bins else []),
            *(["# missing where one of the numbers is", 'missing = "category"'] if can_miss else []),
            *([f"weight = {weight}"] if weight != 1 else []),
        ]
        return "\n".join([*lines, ""])


def _format_input(feature: NumericFeature) -> str:
    lines = [
        f"[projection.inputs.{format_key(feature.name)}]",
        format_array("range", [format_decimal(Decimal(feature.low)), format_decimal(Decimal(feature.high))]),
        *(['missing = "category"'] if feature.missing == "category" else []),
        *(
            [format_array("missing_codes", map(show_code, feature.missing_codes))]
            * bool(feature.missing_codes)
        ),
    ]
    return "\n".join([*lines, ""])
