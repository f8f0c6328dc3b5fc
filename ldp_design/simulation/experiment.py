"""The experiment that simulations, comparisons and forecasts share: people answer, and others test the model.

Each repeat splits labelled rows into those that answer and those that test. Each way to learn, such as a
variant of a survey or a trust model at one epsilon, has one trial in each repeat. All ways share a repeat's
split and people, and each trial has a separate seed, so a result does not depend on the other ways.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

import numpy as np

from encoders.randomness import RandomSource
from encoders.survey import CategoricalFeature, Plan, Survey
from encoders.survey.features import GRID
from ldp_aggregator.arrays import IntArray
from ldp_aggregator.classifiers.baseline import describe_rows
from ldp_aggregator.classifiers.prediction_quality import PredictionQuality, measure_predictions
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.prediction.predictor import encode_any_labels
from ldp_aggregator.prediction.scoring import LogProbabilities
from ldp_aggregator.rows.encode_table import (
    drop_missing_codes,
    encode_numbers,
    encode_table,
    read_boolean_columns,
)
from ldp_aggregator.rows.table_input import Columns, check_table, column_names, read_numbers, select_columns
from ldp_aggregator.simulated_population import SyntheticPopulation, simulate_reports
from ldp_aggregator.snapshot import SiloSnapshot, Snapshot
from ldp_design.authoring.project import projection_inputs
from ldp_design.model_validation import VALIDATION_SHARE, ValidationError, build_validation
from ldp_design.simulation.variants import SimulationError, Variant, parse_projection
from reduction.fit import Fit, fit

TRAINING_SHARE = 0.8

Progress = Callable[[int], object]
Repeat = TypeVar("Repeat")
Found = TypeVar("Found")

compile_survey = lru_cache(maxsize=4)(Survey.compile)
"""Cached, because the repeats of a variant compile the same survey."""


# -- the loop -----------------------------------------------------------------------------------


def run_trials(
    trial: Callable[[Repeat, np.random.SeedSequence], Found],
    repeats: Sequence[Repeat],
    seeds: Iterable[np.random.SeedSequence],
    progress: Progress = int,
) -> list[Found]:
    """Run one trial in each repeat with its seed; call `progress` with 1 after each."""
    found = []
    for repeat, seed in zip(repeats, seeds, strict=True):
        found.append(trial(repeat, seed))
        progress(1)
    return found


def run_variants(
    trial: Callable[[Variant, EncodedRows, np.random.SeedSequence], Found],
    table: LabelledTable,
    splits: Sequence[RowSplit],
    variants: Iterable[Variant],
    seed: int,
    progress: Progress = int,
) -> Iterator[tuple[Variant, list[EncodedRows], list[Found]]]:
    """Yield each variant with the encoded rows of its repeats, and the results of its trials."""
    encoded: list[EncodedRows] = []
    encoding = None
    for variant in variants:
        if variant.encoding != encoding:  # adjacent variants with equal encodings share the codes
            encoded, encoding = encode_repeats(table, splits, variant), variant.encoding
        seeds = seed_trials(seed, len(splits), variant.epsilon, *variant.seed_settings)
        found = run_trials(partial(trial, variant), encoded, seeds, progress)
        yield variant, encoded, found


def seed_trials(seed: int, repeats: int, epsilon: Decimal, *settings: object) -> list[np.random.SeedSequence]:
    """Return the seed of each repeat of one way to learn; `settings` distinguish it from other ways."""
    texts = ("\n".join(map(str, (seed, repeat, epsilon.normalize(), *settings))) for repeat in range(repeats))
    digests = (hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts)
    return [np.random.SeedSequence(int.from_bytes(digest)) for digest in digests]


# -- who answers, and who tests -----------------------------------------------------------------


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
    def people(self) -> SyntheticPopulation:
        """The true training rows, described."""
        return describe_rows(self.plan, self.codes, self.table.labels, self.split.train)

    @cached_property
    def baseline(self) -> LogProbabilities:
        """Naive Bayes trained without privacy, on the true training rows."""
        return LogProbabilities.from_probabilities(self.people.prior, self.people.conditionals)

    @cached_property
    def non_private(self) -> float:
        """Accuracy of the baseline."""
        return self.measure(self.baseline).accuracy

    @cached_property
    def majority(self) -> float:
        """Accuracy on the test rows of always predicting the most frequent label of the training rows."""
        most_frequent = np.bincount(self.table.labels[self.split.train]).argmax()
        return float(np.mean(self.table.labels[self.split.test] == most_frequent))

    def predict(self, model: LogProbabilities) -> IntArray:
        """Return the label that the model predicts for each test row."""
        labels: IntArray = model.compute_scores(self.codes, self.split.test).argmax(axis=1)
        return labels

    def measure(self, model: LogProbabilities) -> PredictionQuality:
        """Measure the model's predictions of the test rows."""
        scores = model.compute_scores(self.codes, self.split.test)
        return measure_predictions(scores, self.table.labels[self.split.test])

    def simulate_reports(self, survey: Survey, people: IntArray, rng: RandomSource) -> Snapshot:
        """Simulate one report of each person; `people` are row numbers."""
        return simulate_reports(compile_survey(survey), self.codes, self.table.labels, rng, users=people)


def encode_repeats(table: LabelledTable, splits: Sequence[RowSplit], variant: Variant) -> list[EncodedRows]:
    """Encode the table for each repeat; a projection is fitted again in each."""
    projection = parse_projection(variant.projection)
    if projection:
        fits = (_fit_projection(table, split, *projection) for split in splits)
        return [_encode(table, split, variant, fit) for split, fit in zip(splits, fits, strict=True)]
    first = _encode(table, splits[0], variant, None)  # without a projection all repeats share the codes
    return [replace(first, split=split) for split in splits]


def _encode(table: LabelledTable, split: RowSplit, variant: Variant, fit: Fit | None) -> EncodedRows:
    plan = compile_survey(replace(variant, estimator="default").apply(table.survey, fit))
    columns = {entry.name: table.columns[entry.name] for entry in plan.entries}
    codes = np.asfortranarray(encode_table(plan, columns)[table.kept])
    return EncodedRows(table=table, split=split, fit=fit, plan=plan, codes=codes)


def _fit_projection(table: LabelledTable, split: RowSplit, method: str, components: int) -> Fit:
    inputs = tuple(projection_inputs(table.survey))
    codes = np.stack([encode_numbers(each, table.columns[each.name]) for each in inputs], axis=1)
    codes = codes[table.kept][split.public]
    complete = (codes <= 2 * GRID).all(axis=1)
    rows, labels = (codes[complete] - GRID) / GRID, table.labels[split.public][complete]
    return fit(method, inputs, rows, labels, components)


# -- one trial ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """The reports of one trial, and the model trained on them."""

    rows: EncodedRows
    snapshot: Snapshot
    model: LogProbabilities

    @property
    def quality(self) -> PredictionQuality:
        """The model's predictions of the test rows, measured."""
        return self.rows.measure(self.model)


def run_trial(rows: EncodedRows, variant: Variant, rng: RandomSource, survey: Survey | None = None) -> Trial:
    """Simulate a variant of the rows' survey, and its validation, by one report per person; train on all."""
    if survey is None:
        users = rows.table.survey.users or rows.split.users or len(rows.split.train)
        survey = variant.apply(replace(rows.table.survey, users=users), rows.fit)
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
    snapshot: Snapshot | SiloSnapshot, estimator: str = "default", validation: Snapshot | None = None
) -> LogProbabilities:
    """Train a classifier on a snapshot: estimate the probabilities, and return their logarithms."""
    estimates = estimate_parameters(snapshot, estimator, validation)
    return LogProbabilities.from_probabilities(estimates.prior, estimates.conditionals)


def compute_accuracy(model: LogProbabilities, codes: IntArray, labels: IntArray) -> float:
    """Return the share of rows whose label the model predicts."""
    return float(np.mean(model.compute_scores(codes).argmax(axis=1) == labels))
