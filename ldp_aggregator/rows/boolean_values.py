"""Reads columns of other spellings of the values true and false, as CSV files and pandas have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from encoders.survey import CategoricalFeature, Feature
from encoders.survey.boolean_values import has_booleans, read_boolean
from encoders.survey.choices import Choices


def read_boolean_columns(features: Iterable[Feature], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with the cells of boolean features replaced by "true" and "false"."""
    replaced = dict(columns)
    for feature in features:
        if (
            isinstance(feature, CategoricalFeature)
            and not isinstance(feature, Choices)
            and feature.name in columns
            and has_booleans(feature.values)
        ):
            column = columns[feature.name]
            cells = column.tolist() if hasattr(column, "tolist") else column
            replaced[feature.name] = [read_boolean(cell, feature.values) for cell in cells]
    return replaced
