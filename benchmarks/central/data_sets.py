"""The data sets, coded for our learners and for those of other libraries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from encoders.survey import CategoricalFeature, Feature, Survey
from encoders.survey.toml_reader import read_survey
from ldp_aggregator.arrays import FloatArray, IntArray
from ldp_aggregator.rows.encode_table import encode_columns, encode_values
from ldp_aggregator.rows.table_input import read_text_columns
from ldp_central.coded_rows import CodedRows
from ldp_design.authoring.draft import draft_survey

DATA_SETS = (
    "car",
    "chess",
    "mushroom",
    "connect-4",
    "australian",
    "pima",
    "yrbss",
    "adult",
    "skin",
    "nursery",
)
TWO_CLASSES = ("chess", "mushroom", "australian", "pima", "adult", "skin")
DRIVING = "text_while_driving_30d"
OTHER = "other"
Columns = dict[str, list[str]]


@dataclass(frozen=True)
class DataSet:
    """A data set, coded by its survey.

    Attributes
    ----------
    rows : CodedRows
        For our learners.
    scaled : (m, F) array
        For other libraries: numbers relative to the survey's range, categories as code / (A - 1). All are in
        [0, 1]; a missing number is NaN.
    """

    rows: CodedRows
    scaled: FloatArray

    def take(self, indices: IntArray) -> DataSet:
        return DataSet(self.rows.take(indices), self.scaled[indices])

    @property
    def are_categories(self) -> list[bool]:
        return [isinstance(feature, CategoricalFeature) for feature in self.rows.features]

    def without_gaps(self) -> FloatArray:
        """Return the scaled columns, with a missing number in the middle of its range."""
        return np.where(np.isnan(self.scaled), 0.5, self.scaled)

    def one_hot(self) -> FloatArray:
        """Return a column for each value of a category, and for two values one column.

        A number has one column, and one for its missing values. The squares of a feature's columns add up to
        at most 1.
        """
        columns = []
        for feature, codes, scaled in zip(self.rows.features, self.rows.codes.T, self.scaled.T, strict=True):
            if isinstance(feature, CategoricalFeature):
                values = range(feature.size) if feature.size > 2 else (1,)
                columns += [codes == value for value in values]
            else:
                columns.append(np.nan_to_num(scaled))
                if feature.missing == "category":
                    columns.append(np.isnan(scaled))
        return np.stack(columns, axis=1).astype(np.float64)


@lru_cache(maxsize=1)
def read_data_set(path: Path) -> DataSet:
    """Return a data set, coded by a survey that `ldp-survey init` drafts from the whole file."""
    texts, label = read_columns(path)
    survey = draft_confirmed_survey(texts, label, path.stem)
    rows = code_rows(survey, texts)
    scaled = [
        _scale(feature, texts[feature.name], column)
        for feature, column in zip(survey.features, rows.codes.T, strict=True)
    ]
    return DataSet(rows, np.stack(scaled, axis=1))


def code_rows(survey: Survey, texts: Columns) -> CodedRows:
    """Return the rows of a table as a survey codes them."""
    columns = {each.name: [each.from_text(cell) for cell in texts[each.name]] for each in survey.features}
    codes = encode_columns(survey.features, columns)
    labels = encode_values(texts[survey.label.name], survey.label.code, survey.label.name)
    return CodedRows(survey.features, len(survey.label.values), codes, labels)


def read_columns(path: Path) -> tuple[Columns, str]:
    """Return the columns of a data set, and the name of its label."""
    columns = read_text_columns(path)
    if path.stem != "yrbss":
        return columns, "class"
    answers = [{"0": "no", "did not drive": answer, "": ""}.get(answer, "yes") for answer in columns[DRIVING]]
    kept = [row for row, answer in enumerate(answers) if answer]
    columns[DRIVING] = answers
    return {name: [cells[row] for row in kept] for name, cells in columns.items()}, DRIVING


def draft_confirmed_survey(columns: Columns, label: str, name: str) -> Survey:
    """Return the drafted survey with exactly the values of the data set: it is public, and complete."""
    survey = read_survey(draft_survey(columns, label, name))

    def confirm(listed: tuple[str, ...], cells: list[str]) -> tuple[str, ...]:
        found = {*cells} - {""}
        return (*(value for value in listed if value in found), *sorted(found.difference(listed)))

    features = [
        replace(feature, values=confirm(feature.values, columns[feature.name]))
        if isinstance(feature, CategoricalFeature)
        else feature
        for feature in survey.features
    ]
    confirmed = replace(survey.label, values=confirm(survey.label.values, columns[label]))
    return replace(survey, features=tuple(features), label=confirmed)


def _scale(feature: Feature, cells: list[str], codes: IntArray) -> FloatArray:
    if isinstance(feature, CategoricalFeature):
        return codes / max(feature.size - 1, 1)
    low, high = feature.bounds
    numbers = np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    scaled: FloatArray = (np.clip(numbers, low, high) - low) / (high - low)
    return scaled
