"""One trial: training rows send reports, a model is trained on the reports and tested on other rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey import Plan, Survey
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.classifiers.baseline import train_baseline
from ldp_aggregator.classifiers.prediction_quality import PredictionQuality, measure_predictions
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.rows.encode_table import encode_table
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.snapshot import Snapshot
from ldp_design.model_validation import VALIDATION_SHARE, ValidationError, build_validation
from ldp_design.simulation.rows import LabelledTable, RowSplit, fit_projection
from ldp_design.simulation.variants import Variant, parse_projection
from reduction.publish import Fit

compile_survey = lru_cache(maxsize=4)(Survey.compile)
"""Cached, because the repeats of a variant compile the same survey."""


@dataclass(frozen=True)
class EncodedRows:
    """The encoded rows of one repeat; variants that differ in epsilon or mechanism share them."""

    table: LabelledTable
    split: RowSplit
    fit: Fit | None
    """The projection, if the numbers are projected."""
    plan: Plan
    """The plan whose features define the codes."""
    codes: IntArray
    """Codes of all rows of the table. Shape (m, n)."""

    @cached_property
    def baseline(self) -> LogProbabilities:
        """Naive Bayes trained without privacy, on the true training rows."""
        return train_baseline(self.plan, self.codes, self.table.labels, self.split.train)

    @cached_property
    def non_private(self) -> float:
        """Accuracy of the baseline."""
        return self.compute_accuracy(self.baseline)

    def compute_accuracy(self, model: LogProbabilities) -> float:
        """Return the share of test rows whose label the model predicts."""
        return compute_accuracy(model, self.codes, self.table.labels, self.split.test)

    def measure(self, model: LogProbabilities) -> PredictionQuality:
        """Measure the model's predictions of the test rows."""
        scores = model.compute_scores(self.codes, self.split.test)
        return measure_predictions(scores, self.table.labels[self.split.test])

    @cached_property
    def majority(self) -> float:
        """Accuracy on the test rows of always predicting the most frequent label of the training rows."""
        most_frequent = np.bincount(self.table.labels[self.split.train]).argmax()
        return float(np.mean(self.table.labels[self.split.test] == most_frequent))

    def simulate_reports(self, survey: Survey, people: IntArray, rng: RandomSource) -> Snapshot:
        """Simulate one report of each person; `people` are row numbers."""
        return simulate_reports(compile_survey(survey), self.codes, self.table.labels, rng, users=people)


@dataclass(frozen=True)
class Trial:
    """The reports of one trial, and the model trained on them."""

    rows: EncodedRows
    snapshot: Snapshot
    model: LogProbabilities

    @property
    def accuracy(self) -> float:
        """Accuracy of the model on the test rows."""
        return self.rows.compute_accuracy(self.model)

    @property
    def quality(self) -> PredictionQuality:
        """The model's predictions of the test rows, measured."""
        return self.rows.measure(self.model)


def seed_cell(seed: int, repeat: int, epsilon: Decimal, *settings: object) -> np.random.SeedSequence:
    """Return the seed of the reports and the noise of one cell in one repeat.

    `settings` are what else distinguishes the cell: a trust model, or the other settings of a variant. All
    cells of a repeat share its split and its people, so that their differences are not differences of rows.
    """
    text = "\n".join(map(str, (seed, repeat, epsilon.normalize(), *settings)))
    return np.random.SeedSequence(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest()))


def run_trial(rows: EncodedRows, variant: Variant, rng: RandomSource) -> Trial:
    """Simulate one variant of the survey, and train a model on its reports."""
    users = rows.table.survey.users or rows.split.users or len(rows.split.train)
    survey = variant.apply(replace(rows.table.survey, users=users), rows.fit)
    return run_survey(rows, survey, variant, rng)


def run_survey(rows: EncodedRows, survey: Survey, variant: Variant, rng: RandomSource) -> Trial:
    """Simulate a survey and the validation of its model, one report per person, and train on all reports.

    Parameters
    ----------
    rows : EncodedRows
    survey : Survey
    variant : Variant
        The variant, of which validation and estimator are used.
    rng : RandomSource
    """
    # Split the people: some validate, the others answer.
    people = rows.split.draw_people()
    validators, respondents = np.split(
        people, [round(VALIDATION_SHARE * len(people)) if variant.validated else 0]
    )
    snapshot = rows.simulate_reports(survey, respondents, rng)
    # Let the validators validate the model, unless it has fewer than two informative features.
    validation = None
    if variant.validated:
        estimates = estimate_parameters(snapshot, variant.estimator)
        try:
            model = build_validation(snapshot.plan, estimates.prior, estimates.conditionals)
            validation = rows.simulate_reports(survey.with_validation(model), validators, rng)
        except ValidationError:
            pass
    # Estimate and train.
    return Trial(rows, snapshot, train_model(snapshot, variant.estimator, validation))


def train_model(
    snapshot: Snapshot, estimator: str = "default", validation: Snapshot | None = None
) -> LogProbabilities:
    """Train a classifier on a snapshot: estimate the probabilities, and return their logarithms."""
    estimates = estimate_parameters(snapshot, estimator, validation)
    return LogProbabilities.from_probabilities(estimates.prior, estimates.conditionals)


def compute_accuracy(
    model: LogProbabilities, codes: IntArray, labels: IntArray, rows: IntArray | None = None
) -> float:
    """Return the share of rows, by default all, whose label the model predicts."""
    return float(np.mean(predict_labels(model, codes, rows) == (labels if rows is None else labels[rows])))


def predict_labels(model: LogProbabilities, codes: IntArray, rows: IntArray | None = None) -> IntArray:
    """Return the code of the label that the model predicts for each row, by default for all rows."""
    labels: IntArray = model.compute_scores(codes, rows).argmax(axis=1)
    return labels


def encode_repeats(table: LabelledTable, splits: Sequence[RowSplit], variant: Variant) -> list[EncodedRows]:
    """Encode the table for each repeat; a projection is fitted again in each."""
    projection = parse_projection(variant.projection)
    if projection:
        fits = (fit_projection(table, split, *projection) for split in splits)
        return [_encode(table, split, variant, fit) for split, fit in zip(splits, fits, strict=True)]
    first = _encode(table, splits[0], variant, None)  # without a projection all repeats share the codes
    return [replace(first, split=split) for split in splits]


def _encode(table: LabelledTable, split: RowSplit, variant: Variant, fit: Fit | None) -> EncodedRows:
    plan = compile_survey(replace(variant, estimator="default").apply(table.survey, fit))
    return EncodedRows(table=table, split=split, fit=fit, plan=plan, codes=encode_columns(table, plan))


def encode_columns(table: LabelledTable, plan: Plan) -> IntArray:
    """Return the codes of a table's rows, for the features of a plan made from its survey."""
    columns = {entry.name: table.columns[entry.name] for entry in plan.entries}
    return np.asfortranarray(encode_table(plan, columns)[table.kept])
