"""Writes a survey whose numbers are projected by a projection fitted on public rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from encoders.errors import LdpError, RowError
from encoders.survey import BinnedFeature, CategoricalFeature, Feature, Label, Survey, read_survey
from encoders.survey.features import GRID, NumericFeature
from encoders.survey.parse_value import is_missing
from encoders.survey.row_cells import is_missing_code, show_code
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_design.authoring import toml_edit
from reduction.fit import DEFAULT_RIDGE, Fit, fit

_MISSING_CODE = 2 * GRID + 1

_WORDS = toml_edit.WORDS["projection"]


class ProjectionError(LdpError):
    """A survey that cannot be projected, or a table or model that does not fit it."""


def write_projection(
    text: str,
    columns: Mapping[str, Sequence[str]],
    source: str,
    method: str = "dca",
    components: int = 1,
    bins: int | None = None,
    ridge: float = DEFAULT_RIDGE,
) -> str:
    """Return the text of the survey with its numbers as inputs of a projection fitted on PUBLIC rows.

    Numbers of weight 0 and all other entries are unchanged; the survey's id gets a suffix such as -dca1. The
    components have the numbers' weight if all numbers have the same weight, otherwise 1. `columns` are texts
    of a CSV file; rows with a missing input (for DCA, also a missing label) are left out. `source` is their
    name in comments, and `method` "dca" or "pca", see :func:`reduction.fit.fit`. Without `bins`, components
    are numeric.
    Raises SurveyError, ProjectionError, FitError or RowError if the survey cannot be projected, or the rows
    do not fit it; the message names the entry or the column, never a value.
    """
    text, survey = toml_edit.read_editable_survey(text)
    _check_projectable(survey, method, components)
    inputs = tuple(projection_inputs(survey))
    rows, labels, total = _read_public_rows(inputs, survey.label if method == "dca" else None, columns)
    fitted = fit(method, inputs, rows, labels, components, ridge)
    lacking = "a number" if labels is None else "a number or the label"
    gaps = f"; the others lack {lacking}" if len(rows) < total else ""
    title = _WORDS[f"method-{method}"].format(ridge=ridge)
    origin = [f"{title} of {toml_edit.quote(source)}: {len(rows)} of its {total} rows{gaps}."]
    classes = 0 if labels is None else len(np.unique(labels))
    if classes and components >= classes:
        signals = "component" if classes == 2 else f"{classes - 1} components"
        origin.append(
            f"Only the first {signals} can separate {classes} classes; in the others, their means are equal."
        )
    tables = [
        toml_edit.format_comment(*origin, _WORDS["device"]),
        *map(_format_input, inputs),
        *_format_components(survey, method, fitted, bins),
    ]
    suffix = f"-{method}{components}"
    name = toml_edit.add_suffix(survey.id, suffix)
    if name == survey.id:
        raise ProjectionError(f"{name}: is too long for a new id that ends in {suffix}: shorten it")
    changed = toml_edit.replace_features(text, [each.name for each in inputs], "\n".join(tables))
    header = toml_edit.format_comment(
        _WORDS["title"].format(old=toml_edit.quote(survey.id)),
        _WORDS["public-rows"].format(source=toml_edit.quote(source)),
        _WORDS["new-id"],
        _WORDS["next-steps"].format(method=method),
    )
    projected = f"{header}\n{toml_edit.rename_survey(changed, name)}"
    read_survey(projected)
    return projected


def _check_projectable(survey: Survey, method: str, components: int) -> None:
    if survey.projection:
        raise ProjectionError("the survey has a projection already; project the survey that it was made from")
    if not projection_inputs(survey):
        raise ProjectionError(
            "the survey asks about no number (a feature with range or edges), so there is nothing to project"
        )
    taken = {survey.label.name, *(feature.name for feature in survey.features)}
    for name in (f"{method}{number}" for number in range(1, components + 1)):
        if name in taken:
            raise ProjectionError(f"{name}: the survey has a column of that name already; rename it")
    if method == "dca" and not survey.label.exists:
        raise ProjectionError("DCA separates the values of a label, and there is none: use --method pca")


def _format_components(survey: Survey, method: str, fitted: Fit, bins: int | None) -> Iterator[str]:
    can_miss = any(each.missing == "category" for each in fitted.projection.inputs)
    weight = component_weight(survey)
    measured = zip(fitted.projection.components, fitted.powers, fitted.bounds, fitted.middle, strict=True)
    for component, power, (low, high), middle in measured:
        lines = [
            toml_edit.format_comment(_WORDS[f"power-{method}"].format(round(power, 9))).rstrip(),
            f"[features.{component.name}]",
            toml_edit.format_array("weights", component.weights),
            f"offset = {component.offset}",
            toml_edit.format_comment(_WORDS["range"].format(*middle)).rstrip(),
            f"range = [{low}, {high}]",
            *([f"bins = {bins}"] if bins else []),
            *(["# missing where one of the numbers is", 'missing = "category"'] if can_miss else []),
            *([f"weight = {weight}"] if weight != 1 else []),
        ]
        yield "\n".join([*lines, ""])


def _format_input(feature: NumericFeature) -> str:
    lines = [
        f"[projection.inputs.{toml_edit.format_key(feature.name)}]",
        toml_edit.format_array(
            "range",
            [toml_edit.format_decimal(Decimal(feature.low)), toml_edit.format_decimal(Decimal(feature.high))],
        ),
        *(['missing = "category"'] if feature.missing == "category" else []),
        *(
            [toml_edit.format_array("missing_codes", map(show_code, feature.missing_codes))]
            * bool(feature.missing_codes)
        ),
    ]
    return "\n".join([*lines, ""])


def _read_public_rows(
    inputs: Sequence[NumericFeature], label: Label | None, columns: Mapping[str, Sequence[str]]
) -> tuple[FloatArray, IntArray | None, int]:
    """Return normalised numbers (m, n) and labels (m,) of complete rows, and the number of all rows."""
    codes = np.stack([_encode_column(columns, each.name, _number_encoder(each)) for each in inputs], axis=1)
    complete = (codes != _MISSING_CODE).all(axis=1)
    labels = None
    if label:
        labels = _encode_column(
            columns, label.name, lambda cell: _MISSING_CODE if is_missing(cell) else label.code(cell)
        )
        complete &= labels != _MISSING_CODE
        labels = labels[complete]
    return (codes[complete] - GRID) / GRID, labels, len(codes)


def _number_encoder(feature: NumericFeature) -> Callable[[str], int]:
    """Return a function that encodes a cell; missing cells are allowed even if devices refuse them."""
    tolerant = replace(feature, missing="category")

    def encode(cell: str) -> int:
        value = tolerant.from_text(cell)
        return tolerant.code(None if is_missing_code(tolerant, value) else value)

    return encode


def _encode_column(columns: Mapping[str, Sequence[str]], name: str, encode: Callable[[str], int]) -> IntArray:
    if name not in columns:
        known = ", ".join(map(toml_edit.quote, columns))
        raise ProjectionError(f"the table has no column {toml_edit.quote(name)}; it has {known}")
    codes = []
    for row, cell in enumerate(columns[name], 1):
        try:
            codes.append(encode(cell))
        except RowError as error:
            raise RowError(name, f"row {row}: {error.why}") from error
    return np.array(codes, dtype=np.int64)


# -- the survey that asks about the components ---------------------------------------------------------


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
