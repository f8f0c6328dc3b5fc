"""One repeat of a simulation: rows split and coded, everybody's one report, and how well the model does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from encoders.errors import LdpError
from encoders.randomness import FastStream
from encoders.survey import CategoricalFeature, Plan, Survey
from encoders.survey.encode_table import encode_labels, encode_table
from encoders.survey.numeric_features import GRID
from ldp_aggregator.arrays import BoolArray, FloatArray, IntArray
from ldp_aggregator.estimation import estimate_parameters
from ldp_aggregator.estimation.validation_result import refuse_validation
from ldp_aggregator.models.baseline import train_baseline
from ldp_aggregator.models.scoring import LogProbabilities
from ldp_aggregator.models.table_input import Columns, is_list_of_dicts, read_numbers, select_columns
from ldp_aggregator.rounds.learn import PILOT_BINS, PILOT_SHARE, learn_projection
from ldp_aggregator.rounds.narrow import compute_round_ends, next_round
from ldp_aggregator.rounds.validate import SHARE, ValidationError, build_validation
from ldp_aggregator.simulated_population import simulate_reports
from ldp_aggregator.simulation.variants import (
    NO_PROJECTION,
    Variant,
    apply_variant,
    count_learned_components,
    parse_projection,
    projection_inputs,
)
from ldp_aggregator.snapshot import Snapshot
from reduction.class_means import LEARNED_METHOD, learn
from reduction.fit import fit
from reduction.publish import Fit

TRAINING_SHARE = 0.8
_PILOT = f"bins:{PILOT_BINS}"


class SimulationError(LdpError):
    """A table that cannot be simulated on."""


@dataclass(frozen=True)
class Table:
    """A labelled table: columns as people hold them, numbers as doubles, and coded labels (m,)."""

    survey: Survey
    columns: Columns
    labels: IntArray


def read_table(survey: Survey, rows: Any) -> Table:
    """Take from rows, however they are held, what the survey needs, and the label."""
    refuse_validation(survey)
    names = list(rows[0]) if is_list_of_dicts(rows) else list(rows)
    columns = select_columns(rows, names)
    label = survey.label.name if survey.label.name in columns else "class"
    if label not in columns:
        why = f'there is no column {survey.label.name!r} to take the label from, nor a "class"'
        raise SimulationError(why)
    for feature in survey.entries:
        if feature.name not in columns:
            raise SimulationError(f"there is no column {feature.name!r}")
        if not isinstance(feature, CategoricalFeature):
            columns[feature.name] = read_numbers(columns[feature.name], feature.name)
    return Table(survey, columns, encode_labels(survey.compile(), columns[label]))


@dataclass(frozen=True)
class Split:
    """One repeat's rows, by number: those that report, those that test, those a projection is fitted on."""

    train: IntArray
    test: IntArray
    public: IntArray


def split_rows(count: int, repeats: int, seed: int, public_share: float) -> list[Split]:
    """Return the rows that report and those that test, four fifths and one, anew for each repeat."""
    if not 0 <= public_share < 1:
        raise SimulationError("the public share of the training rows is a number from 0 to less than 1")
    middle = min(max(round(TRAINING_SHARE * count), 1), count - 1)
    # a share above 0 means public rows, and never "none of them", which would be the rows that report
    known = max(round(public_share * middle), 1) if public_share else 0
    if known == middle:
        raise SimulationError("the public share of the training rows leaves nobody to report")
    seeds = np.random.SeedSequence(seed).spawn(repeats)
    shuffled: Iterator[IntArray] = (np.random.default_rng(each).permutation(count) for each in seeds)
    return [Split(order[known:middle], order[middle:], order[: known or middle]) for order in shuffled]


class Asked(NamedTuple):
    """What is asked in a first round: the survey, and its plan."""

    survey: Survey
    plan: Plan

    @classmethod
    def of(cls, survey: Survey) -> Self:
        """Compile a survey."""
        return cls(survey, survey.compile())


@dataclass(frozen=True)
class View:
    """One repeat's rows as one numeric way and one projection code them, whatever the epsilon."""

    table: Table
    split: Split
    fit: Fit | None
    plan: Plan
    codes: IntArray

    def trial(
        self, asked: Asked, estimator: str, rng: FastStream, rounds: int = 1, validated: bool = False
    ) -> Trial:
        """Let everybody send one report, in one round or in some that narrow, and train on them all.

        Some of them may judge the model of the first round instead.
        """
        train = self.split.train
        judges, answering = np.split(train, [round(SHARE * len(train)) if validated else 0])
        first, *others = np.split(answering, compute_round_ends(len(answering), rounds)[:-1])
        snapshot = self._answer(asked.plan, first, rng)
        judged = self._judge(asked.survey, snapshot, estimator, judges, rng) if validated else None
        survey = asked.survey
        for people in others:
            survey = next_round(survey, snapshot, judged)
            snapshot += self._answer(survey.compile(), people, rng)
        estimated = estimate_parameters(snapshot, estimator, judged)
        return Trial(
            self, snapshot, LogProbabilities.from_probabilities(estimated.prior, estimated.conditionals)
        )

    def _judge(
        self, survey: Survey, snapshot: Snapshot, estimator: str, judges: IntArray, rng: FastStream
    ) -> Snapshot | None:
        """Let people judge the model that a snapshot makes, if there is anything to judge."""
        found = estimate_parameters(snapshot, estimator)
        try:
            validation = build_validation(snapshot.plan, found.prior, found.conditionals)
        except ValidationError:
            return None
        return self._answer(survey.with_validation(validation).compile(), judges, rng)

    def _answer(self, plan: Plan, people: IntArray, rng: FastStream) -> Snapshot:
        return simulate_reports(plan, self.codes, self.table.labels, rng, users=people)

    @cached_property
    def counted(self) -> LogProbabilities:
        """Naive Bayes trained on the rows themselves."""
        return train_baseline(self.plan, self.codes, self.table.labels, self.split.train)

    @cached_property
    def non_private(self) -> float:
        """Its accuracy."""
        return self.accuracy(self.counted)

    def accuracy(self, model: LogProbabilities) -> float:
        """Return a model's share of right predictions on the rows that test."""
        found = model.scores(self.codes, self.split.test).argmax(axis=1)
        return float(np.mean(found == self.table.labels[self.split.test]))


@dataclass(frozen=True)
class Trial:
    """One repeat's reports, and the model trained on them."""

    view: View
    snapshot: Snapshot
    model: LogProbabilities

    @property
    def accuracy(self) -> float:
        """Of the model, on the rows that test."""
        return self.view.accuracy(self.model)


def run_trials(
    seen: Sequence[View], variant: Variant, estimator: str, seeds: Iterable[np.random.SeedSequence]
) -> Iterator[Trial]:
    """Ask in one way in every view, each with the randomness of its seed, and yield what comes of it."""
    asked = None
    for view, seed in zip(seen, seeds, strict=True):
        rng = FastStream(seed)
        if count_learned_components(variant.projection):
            view = encode_second_round(view, variant, rng)
        if asked is None or view.fit:  # a projection is fitted anew in each repeat
            survey = view.table.survey
            survey = replace(survey, users=survey.users or len(view.split.train))
            asked = Asked.of(apply_variant(survey, variant, view.fit, estimator == "paper"))
        yield view.trial(asked, estimator, rng, variant.rounds, variant.validated)


def views(table: Table, splits: Sequence[Split], how: str, projection: str) -> list[View]:
    """Return each repeat's view."""
    wanted = parse_projection(projection)
    found: list[View] = []
    for split in splits:
        if found and not wanted:  # without a projection all repeats code alike
            found.append(replace(found[0], split=split))
        else:
            variant = Variant(table.survey.epsilon, table.survey.frequency, how, projection)
            found.append(_view(table, split, variant, _fit(table, split, *wanted) if wanted else None))
    return found


def encode_second_round(view: View, variant: Variant, rng: FastStream) -> View:
    """Return the view of those who answer what the others, who answered a pilot, have taught."""
    survey, split = view.table.survey, view.split
    pilot = apply_variant(
        survey, replace(variant, numeric=_PILOT, projection=NO_PROJECTION), None, paper=False
    )
    cut = round(PILOT_SHARE * len(split.train))
    plan = pilot.compile()
    snapshot = simulate_reports(
        plan, _codes(view.table, plan), view.table.labels, rng, users=split.train[:cut]
    )
    heard = estimate_parameters(snapshot)
    components = count_learned_components(variant.projection)
    learned = learn_projection(pilot, heard.prior, heard.conditionals, components)
    return _view(view.table, replace(split, train=split.train[cut:]), variant, learned)


def _view(table: Table, split: Split, variant: Variant, projected: Fit | None) -> View:
    plan = apply_variant(table.survey, variant, projected, paper=False).compile()
    return View(table, split, projected, plan, _codes(table, plan))


def _codes(table: Table, plan: Plan) -> IntArray:
    columns = {entry.name: table.columns[entry.name] for entry in plan.entries}
    return np.asfortranarray(encode_table(plan, columns))


def _fit(table: Table, split: Split, method: str, components: int) -> Fit:
    """Fit a projection on public rows; one that is to be learned, as if those who report were public."""
    inputs = tuple(projection_inputs(table.survey))
    fitted = split.train if method == LEARNED_METHOD else split.public
    codes = np.stack([each.codes(table.columns[each.name]) for each in inputs], axis=1)[fitted]
    rows, labels, present = (codes - GRID) / GRID, table.labels[fitted], codes <= 2 * GRID
    if method == LEARNED_METHOD:
        return learn(inputs, *_class_means(rows, present, labels, len(table.survey.label.values)), components)
    whole = present.all(axis=1)
    return fit(method, inputs, rows[whole], labels[whole], components)


def _class_means(
    rows: FloatArray, present: BoolArray, labels: IntArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return the class means (k, n) of what is present, and the shares of the classes (k,)."""
    members = (labels[:, None] == np.arange(k)).astype(np.float64).T
    counts, sums = members @ present, members @ np.where(present, rows, 0.0)
    overall = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
    return means, members.mean(axis=1)
