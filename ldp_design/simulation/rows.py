"""Who answers in a simulation: labelled rows, split for each repeat, and projections fitted on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.survey import CategoricalFeature, Survey
from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.prediction.class_labels import encode_any_labels
from ldp_aggregator.rows.boolean_values import read_boolean_columns
from ldp_aggregator.rows.missing_codes import drop_missing_codes
from ldp_aggregator.rows.table_input import Columns, check_table, column_names, read_numbers, select_columns
from ldp_design.authoring.projection_inputs import projection_inputs
from ldp_design.simulation.variants import SimulationError
from reduction.fit import fit
from reduction.publish import Fit

TRAINING_SHARE = 0.8


@dataclass(frozen=True)
class LabelledTable:
    """A survey, columns of its entries, and codes of the labels (m,), which are 0 if there is no label."""

    survey: Survey
    columns: Columns
    labels: IntArray
    kept: IntArray
    """Indices of the m rows in the columns, which have more if missing codes drop some."""


def read_labelled_table(survey: Survey, rows: Any) -> LabelledTable:
    """Read the survey's columns and the label, if any, from a DataFrame, dicts, or a dict of columns."""
    refuse_validation(survey)
    check_table(rows)
    columns = select_columns(rows, column_names(rows) or [])
    label = survey.label.name if survey.label.name in columns else "class"
    if survey.label.exists and label not in columns:
        raise SimulationError(
            f'there is no column {survey.label.name!r} to take the label from, nor a "class": add one'
        )
    absent = [feature.name for feature in survey.entries if feature.name not in columns]
    if absent:
        raise SimulationError(f"there is no column {', '.join(map(repr, absent))}: add what is missing")
    columns, kept = drop_missing_codes(survey.entries, columns)
    for feature in survey.entries:
        if not isinstance(feature, CategoricalFeature):
            columns[feature.name] = read_numbers(columns[feature.name], feature.name)
    columns = read_boolean_columns(survey.entries, columns)
    if not survey.label.exists:
        return LabelledTable(survey, columns, np.zeros(len(kept), dtype=np.int64), kept)
    labels = encode_any_labels(survey.compile().label, columns[label])
    return LabelledTable(survey, columns, labels[kept], kept)


@dataclass(frozen=True)
class RowSplit:
    """Row numbers of one repeat."""

    train: IntArray
    test: IntArray
    """Rows that report, and rows that test the model."""
    public: IntArray
    """Rows that projections are fitted on."""
    users: int = 0
    """Number of people, drawn with replacement from the rows that report; 0 stands for one person per row."""
    seed: tuple[int, ...] = ()
    """Seeds the draw of the people."""

    def draw_people(self) -> IntArray:
        """Return the row number of each person; equal splits draw equal people."""
        if not self.users:
            return self.train
        people: IntArray = np.random.default_rng(self.seed).choice(self.train, self.users)
        return people


def split_rows(count: int, repeats: int, seed: int, public_share: float, users: int = 0) -> list[RowSplit]:
    """Shuffle and split `count` rows for each repeat: four fifths to report, one fifth to test.

    Public rows are a share of the first part and do not report. Without them projections are fitted on the
    rows that report.
    """
    if not 0 <= public_share < 1:
        raise SimulationError("public_share must be a number from 0 to less than 1")
    training = min(max(round(TRAINING_SHARE * count), 1), count - 1)
    public = max(round(public_share * training), 1) if public_share else 0
    if public == training:
        raise SimulationError("public_share leaves no row that reports: give a smaller one")
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    shuffled: Iterator[IntArray] = (np.random.default_rng(each).permutation(count) for each in seeds)
    return [
        RowSplit(
            train=order[public:training],
            test=order[training:],
            public=order[:public] if public else order[:training],
            users=users,
            seed=(seed, repeat, users),
        )
        for repeat, order in enumerate(shuffled)
    ]


def fit_projection(table: LabelledTable, split: RowSplit, method: str, components: int) -> Fit:
    """Fit a projection on public rows."""
    inputs = tuple(projection_inputs(table.survey))
    codes = np.stack([each.code_array(table.columns[each.name]) for each in inputs], axis=1)
    codes = codes[table.kept][split.public]
    complete = (codes <= 2 * GRID).all(axis=1)
    rows, labels = (codes[complete] - GRID) / GRID, table.labels[split.public][complete]
    return fit(method, inputs, rows, labels, components)
